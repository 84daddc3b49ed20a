//! What a parent costs before its first answer, and in memory.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use multifrost::parent::Options;
use multifrost::{Parent, Program};

use crate::{Done, python};

/// Megabytes that a parent may take.
const MEMORY_AIM: f64 = 10.0;

pub fn memory() -> Done<String> {
    let output = Command::new(std::env::current_exe()?).arg("memory").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = Vec::new();
    for (megabytes, when) in text.split_whitespace().zip(["10 000 calls", "100 more of 1 MiB"]) {
        let megabytes: f64 = megabytes.parse()?;
        let met = if megabytes <= MEMORY_AIM { "met" } else { "MISSED" };
        lines.push(format!(
            "{met:<6} memory of a parent after {when}: {megabytes:.1} MB, aim {MEMORY_AIM} MB"
        ));
    }
    Ok(lines.join("\n"))
}

/// From the spawn to the first answer, beside the time until the same script has its imports.
pub fn python(interpreter: &Path, rounds: usize) -> Done<String> {
    let (mut own, mut bare) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        own = own.min(first_answer(Program::script(interpreter, python::script()))?);
        bare = bare.min(imports(interpreter)?);
    }
    let ratio = own.as_secs_f64() / bare.as_secs_f64();
    let met = if ratio <= 1.2 { "met" } else { "MISSED" };
    Ok(format!(
        "{met:<6} spawn to the first answer of Python: {own:.1?}, its own start {bare:.1?}, ratio {ratio:.2}, aim 1.2"
    ))
}

pub fn rust(rounds: usize) -> Done<String> {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let program = Program::new(std::env::current_exe()?).argument("child");
        best = best.min(first_answer(program)?);
    }
    Ok(format!("spawn to the first answer of Rust: {best:.1?}"))
}

fn first_answer(program: Program) -> Done<Duration> {
    let start = Instant::now();
    let handle = Parent::spawn(program, Options::default())?.blocking();
    let text: String = handle.call("echo", ("hello",))?;
    let took = start.elapsed();
    handle.stop();
    if text == "hello" { Ok(took) } else { Err("not an echo".into()) }
}

fn imports(interpreter: &Path) -> Done<Duration> {
    let start = Instant::now();
    let mut command = Command::new(interpreter);
    let mut process = command.arg(python::script()).arg("ready").stdout(Stdio::piped()).spawn()?;
    let mut output = process.stdout.take().ok_or("no output")?;
    output.read_exact(&mut [0])?;
    let took = start.elapsed();
    process.wait()?;
    Ok(took)
}
