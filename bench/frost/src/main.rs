//! The figures of `multifrost`, each beside its references, in one run: `cargo run --release` here.
//! The program is also every child that it starts.

mod bare;
mod frost;
mod libzmq;
mod python;
mod report;
mod start;
mod subject;
mod tcp;

use std::path::Path;
use std::process::ExitCode;

use report::Report;
use subject::{Subject, measure};

/// Rounds in which every subject is measured once.
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
        ["tcp", port] => tcp::child(port),
        ["memory"] => frost::memory(),
        [] => compare(ROUNDS, "", ""),
        [rounds] => compare(rounds.parse()?, "", ""),
        [rounds, only] => compare(rounds.parse()?, only, ""),
        [rounds, only, what] => compare(rounds.parse()?, only, what),
        _ => Err("frost-bench [ROUNDS [SUBJECT [small|flight|big]]]".into()),
    }
}

/// The handles with a thread or a future for each call in flight, instead of one caller for all.
const THREADS: &str = "a hundred threads";
const FUTURES: &str = "a hundred futures";
const PYTHON: &str = "pyzmq + msgpack";
const SUBJECTS: &[&str] = &[
    "blocking handle",
    "async handle",
    THREADS,
    FUTURES,
    "bare ZMTP",
    "bare ZMTP, no spin",
    "bare zmq crate",
    "bare TCP",
    PYTHON,
];

fn start(name: &str, python: Option<&Path>) -> Done<Box<dyn Subject>> {
    Ok(match name {
        "blocking handle" => Box::new(frost::Blocking::start()?),
        THREADS => Box::new(frost::Threads(frost::Blocking::start()?)),
        "async handle" => Box::new(frost::Async::start()?),
        FUTURES => Box::new(frost::Futures(frost::Async::start()?)),
        "bare ZMTP" => Box::new(bare::Bare::start(true)?),
        "bare ZMTP, no spin" => Box::new(bare::Bare::start(false)?),
        "bare zmq crate" => Box::new(libzmq::Zmq::start()?),
        "bare TCP" => Box::new(tcp::Tcp::start()?),
        _ => Box::new(python::Python::start(python.ok_or("no pyzmq")?)?),
    })
}

/// All of it, or only the subjects whose name contains a text, or only one measurement of them.
fn compare(rounds: usize, only: &str, what: &str) -> Done<()> {
    let python = python::find();
    if python.is_none() {
        eprintln!("no pyzmq: cargo xtask peers installs it");
    }
    let is_wanted = |name: &&&str| name.contains(only) && (**name != PYTHON || python.is_some());
    let mut subjects = Vec::new();
    for name in SUBJECTS.iter().filter(is_wanted) {
        subjects.push((*name, start(name, python.as_deref())?));
    }
    let mut report = Report::new(subjects.iter().map(|(name, _)| *name).collect());
    for _ in 0..rounds {
        for (index, (_, subject)) in subjects.iter_mut().enumerate() {
            report.add(index, measure(subject.as_mut(), what)?);
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
