//! The child that the tests start: spawned, or with `SERVICE FOLDER` as a service in a registry.

use std::io::Write;
use std::time::Duration;

use multifrost::Child;
use multifrost::child::{Failure, Service};
use multifrost::registry::Registry;

fn main() -> Result<(), multifrost::Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut child = functions(Child::new());
    if let [service, folder, ..] = &arguments[..] {
        let registry = Some(Registry::at(folder));
        child = child.service(Service { registry, ..Service::new(service) });
    }
    if let Some(calls) = std::env::var("FROST_CONCURRENCY").ok().and_then(|it| it.parse().ok()) {
        child = child.concurrency(calls);
    }
    child.run().map(drop)
}

fn functions(child: Child) -> Child {
    let (out, err) = (child.stdout(), child.stderr());
    child
        .function("add", |(a, b): (i64, i64)| Ok(a + b))
        .packed_function("echo", |args| Ok(args[1..].to_vec()))
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
}
