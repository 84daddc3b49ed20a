//! The figures of `multifrost`, each beside its references, in one run: `cargo run --release` here.
//! The program is also every child that it starts.

mod bare;
mod frost;
mod libzmq;
mod python;
mod report;
mod start;
mod subject;

use std::process::ExitCode;

use report::Report;
use subject::{Subject, measure};

/// Rounds in which every subject is measured once; the best of each counts, since these machines
/// are shared.
const ROUNDS: usize = 15;
/// The payload of the bare ping-pongs: as long as a call of `echo("hello")`.
const SMALL: usize = 160;
const BIG: usize = 1 << 20;
const IN_FLIGHT: usize = 100;

type Done<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Done<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["child"] => frost::child(),
        ["bare", port, spin] => bare::child(port, spin),
        ["zmq", port] => libzmq::child(port),
        ["memory"] => frost::memory(),
        [] => compare(ROUNDS, ""),
        [rounds] => compare(rounds.parse()?, ""),
        [rounds, only] => compare(rounds.parse()?, only),
        _ => Err("frost-bench [ROUNDS [SUBJECT]]".into()),
    }
}

/// All of it, or only the subjects whose name contains a text.
fn compare(rounds: usize, only: &str) -> Done<()> {
    let mut subjects: Vec<(&str, Box<dyn Subject>)> = vec![
        ("blocking handle", Box::new(frost::Blocking::start()?)),
        ("async handle", Box::new(frost::Async::start()?)),
        ("bare ZMTP", Box::new(bare::Bare::start(true)?)),
        ("bare ZMTP, no spin", Box::new(bare::Bare::start(false)?)),
        ("bare zmq crate", Box::new(libzmq::Zmq::start()?)),
    ];
    let python = python::find();
    match &python {
        Some(python) => {
            subjects.push(("pyzmq + msgpack", Box::new(python::Python::start(python)?)));
        }
        None => eprintln!("no pyzmq: cargo xtask peers installs it"),
    }
    subjects.retain(|(name, _)| name.contains(only));
    let mut report = Report::new(subjects.iter().map(|(name, _)| *name).collect());
    for _ in 0..rounds {
        for (index, (_, subject)) in subjects.iter_mut().enumerate() {
            report.add(index, measure(subject.as_mut())?);
        }
    }
    drop(subjects);
    println!("{report}");
    if !only.is_empty() {
        return Ok(());
    }
    println!("{}", start::memory()?);
    if let Some(python) = &python {
        println!("{}", start::python(python, rounds)?);
    }
    println!("{}", start::rust(rounds)?);
    Ok(())
}
