//! The processes that the tests start: a worker, spawned or with `SERVICE FOLDER` as a service in a
//! registry; with `parent PROGRAM SCRIPT` or `connect SERVICE FOLDER` a parent; with `registry` one that only registers.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use multifrost::child::{Cancel, Failure, Service};
use multifrost::parent::{Blocking, Options};
use multifrost::registry::{Found, Registry};
use multifrost::{Child, Error, Parent, Program, Token};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["parent", program, script] => return parent(program, script),
        ["connect", service, folder] => return connect(service, folder),
        ["registry", folder, name, rounds, end, _] => return registry(folder, name, rounds, end),
        _ => {}
    }
    let mut child = functions(Child::new());
    if let [service, folder, ..] = &arguments[..] {
        let registry = Some(Registry::at(folder));
        let token = std::env::var("FROST_TOKEN").ok().map(Token::new);
        let mut service = Service { registry, token, ..Service::new(service) };
        if let Some(ip) = std::env::var("FROST_IP").ok().and_then(|it| it.parse().ok()) {
            service.ip = ip;
        }
        child = child.service(service);
    }
    if let Some(calls) = std::env::var("FROST_CONCURRENCY").ok().and_then(|it| it.parse().ok()) {
        child = child.concurrency(calls);
    }
    let ended = child.run()?;
    match std::env::var_os("FROST_ENDED") {
        Some(file) => std::fs::write(file, format!("{ended:?}"))
            .map_err(|error| Error::System(error.to_string())),
        None => Ok(()),
    }
}

/// Spawns a worker, prints its process id, and waits.
fn parent(program: &str, script: &str) -> Result<(), Error> {
    stay(&Parent::spawn(Program::script(program, script), Options::default())?.blocking())
}

/// The same with a service.
fn connect(service: &str, folder: &str) -> Result<(), Error> {
    let (registry, connect_max) = (Some(Registry::at(folder)), Duration::from_secs(60));
    stay(&Blocking::connect(service, Options { registry, connect_max, ..Options::default() })?)
}

fn stay(parent: &Blocking) -> Result<(), Error> {
    tell(&parent.call::<u32>("pid", ())?.to_string())?;
    loop {
        std::thread::park();
    }
}

fn tell(line: &str) -> Result<(), Error> {
    let mut out = std::io::stdout();
    let told = writeln!(out, "{line}").and_then(|()| out.flush());
    told.map_err(|error| Error::System(error.to_string()))
}

/// Registers and unregisters so often, and looks each time whether that is so. Then it leaves,
/// stays until standard input ends, or dies with its entry.
fn registry(folder: &str, name: &str, rounds: &str, end: &str) -> Result<(), Error> {
    let registry = Registry::at(folder);
    let pid = std::process::id();
    let register = || {
        let port = 1024 + pid as u16 % 60_000;
        let registration = registry.register(name, port)?;
        expect(&registry, name, Some(Found { port, pid }))?;
        Ok::<_, Error>(registration)
    };
    for _ in 0..rounds.parse().unwrap_or(1) {
        drop(register()?);
        expect(&registry, name, None)?;
    }
    if end == "leave" {
        return Ok(());
    }
    let _registration = register()?;
    tell("registered")?;
    if end == "die" {
        // As good as killed: nothing is tidied up.
        std::process::abort();
    }
    let read = std::io::read_to_string(std::io::stdin());
    read.map(drop).map_err(|error| Error::System(error.to_string()))
}

/// JavaScript's library writes in place, so outside of its lock the file may be half there.
fn expect(registry: &Registry, name: &str, wanted: Option<Found>) -> Result<(), Error> {
    for _ in 0..50 {
        if registry.find(name) == wanted {
            return Ok(());
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Err(Error::System(format!("{name}: {:?}, not {wanted:?}", registry.find(name))))
}

fn functions(child: Child) -> Child {
    let (out, err) = (child.stdout(), child.stderr());
    child
        .function("add", |(a, b): (i64, i64)| Ok(a + b))
        .packed_function("echo", |args| Ok(args.slice(1..)))
        .function("fail", |(text,): (String,)| -> Result<(), Failure> {
            Err(Failure::new("ValueError", text))
        })
        .function("say", move |(text,): (String,)| {
            writeln!(out.clone(), "{text}")?;
            Ok(writeln!(err.clone(), "{text}")?)
        })
        .async_function("sleep", |(seconds,): (f64,)| async move {
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            Ok(seconds)
        })
        .function("pid", |()| Ok(std::process::id()))
        .function("getenv", |(name,): (String,)| Ok(std::env::var(name).ok()))
        .function("crash", |(code,): (i32,)| -> Result<(), Failure> {
            writeln!(std::io::stderr(), "these are my last words")?;
            std::process::exit(code)
        })
        .function("flood", |(bytes,): (usize,)| {
            Ok(writeln!(std::io::stdout(), "{}", "x".repeat(bytes))?)
        })
        .function("_secret", |()| Ok(42))
        .function("power", |(base, exponent): (u64, u32)| {
            let power = base.checked_pow(exponent);
            power.ok_or_else(|| Failure::new("OverflowError", "more than 64 bits"))
        })
        .function("wait_for_cancel", |()| {
            let cancel = Cancel::current();
            BEGUN.fetch_add(1, Ordering::SeqCst);
            while !cancel.is_cancelled() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            CANCELLED.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
        .function("begun", |()| Ok(BEGUN.load(Ordering::SeqCst)))
        .function("cancelled", |()| Ok(CANCELLED.load(Ordering::SeqCst)))
        .stream_function("count", |(n,): (u64,)| {
            Ok((0..n).map(|n| {
                PRODUCED.store(n + 1, Ordering::SeqCst);
                Ok(n)
            }))
        })
        .function("produced", |()| Ok(PRODUCED.load(Ordering::SeqCst)))
        .async_stream_function("tick", |(n,): (u64,)| {
            futures_util::stream::unfold(0, move |tick| async move {
                tokio::task::yield_now().await;
                (tick < n).then_some((Ok(tick), tick + 1))
            })
        })
}

/// How often a function has begun to wait, and has seen that its caller gave up; and how far
/// `count` has come.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static CANCELLED: AtomicU64 = AtomicU64::new(0);
static PRODUCED: AtomicU64 = AtomicU64::new(0);
