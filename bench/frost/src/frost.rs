//! The handles of the crate, and its child.

use std::pin::pin;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use multifrost::parent::Options;
use multifrost::{Child, Parent, Program, Value};
use tokio::runtime::{Builder, Runtime};

use crate::{BIG, Done, IN_FLIGHT};

/// The child: `echo` gives its first argument back.
pub fn child() -> Done<()> {
    Child::new().packed_function("echo", |args| Ok(args.slice(1..))).run()?;
    Ok(())
}

pub fn spawn() -> Done<Parent> {
    let program = Program::new(std::env::current_exe()?).argument("child");
    Ok(Parent::spawn(program, Options::default())?)
}

fn check(answer: &Value, wanted: usize) -> Done<()> {
    match answer {
        Value::Str(text) if text.len() == wanted => Ok(()),
        other => Err(format!("not an echo: {other:?}").into()),
    }
}

pub struct Blocking {
    handle: multifrost::parent::Blocking,
    text: String,
}

impl Blocking {
    pub fn start() -> Done<Blocking> {
        Ok(Blocking { handle: spawn()?.blocking(), text: "x".repeat(BIG) })
    }
}

impl crate::Subject for Blocking {
    fn small(&mut self) -> Done<()> {
        let answer = self.handle.call_values("echo", &["hello".into()])?;
        check(&answer.value()?, 5)
    }

    fn big(&mut self) -> Done<()> {
        let answer = self.handle.call_values("echo", &[self.text.as_str().into()])?;
        check(&answer.value()?, BIG)
    }

    fn flight(&mut self, until: Instant) -> Done<usize> {
        let calls = std::iter::repeat(("hello",)).take_while(|_| Instant::now() < until);
        let mut count = 0;
        for answer in self.handle.call_each::<String, _>("echo", calls) {
            answer?;
            count += 1;
        }
        Ok(count)
    }
}

/// The blocking handle with a thread for each call.
pub struct Threads(pub Blocking);

impl crate::Subject for Threads {
    fn small(&mut self) -> Done<()> {
        self.0.small()
    }

    fn big(&mut self) -> Done<()> {
        self.0.big()
    }

    fn is_for_flight(&self) -> bool {
        true
    }

    fn flight(&mut self, until: Instant) -> Done<usize> {
        let run = || -> usize {
            let mut count = 0;
            let call = || self.0.handle.call::<String>("echo", ("hello",));
            while Instant::now() < until && call().is_ok() {
                count += 1;
            }
            count
        };
        Ok(std::thread::scope(|scope| {
            let threads: Vec<_> = (0..IN_FLIGHT).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|it| it.join().unwrap_or(0)).sum()
        }))
    }
}

pub struct Async {
    handle: Parent,
    runtime: Runtime,
    text: String,
}

impl Async {
    pub fn start() -> Done<Async> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Async { handle: spawn()?, runtime, text: "x".repeat(BIG) })
    }

    fn call(&self, text: &str) -> Done<()> {
        let answer = self.runtime.block_on(self.handle.call_values("echo", &[text.into()]))?;
        check(&answer.value()?, text.len())
    }
}

impl crate::Subject for Async {
    fn small(&mut self) -> Done<()> {
        self.call("hello")
    }

    fn big(&mut self) -> Done<()> {
        self.call(&self.text)
    }

    fn flight(&mut self, until: Instant) -> Done<usize> {
        let calls = std::iter::repeat(("hello",)).take_while(|_| Instant::now() < until);
        self.runtime.block_on(async {
            let mut count = 0;
            let mut answers = pin!(self.handle.call_each::<String, _>("echo", calls));
            while let Some(answer) = answers.next().await {
                answer?;
                count += 1;
            }
            Ok(count)
        })
    }
}

/// The async handle with a future for each call.
pub struct Futures(pub Async);

impl crate::Subject for Futures {
    fn small(&mut self) -> Done<()> {
        self.0.small()
    }

    fn big(&mut self) -> Done<()> {
        self.0.big()
    }

    fn is_for_flight(&self) -> bool {
        true
    }

    fn flight(&mut self, until: Instant) -> Done<usize> {
        let handle = &self.0.handle;
        let call = || handle.call::<String>("echo", ("hello",));
        self.0.runtime.block_on(async {
            let mut count = 0;
            let mut calls: FuturesUnordered<_> = (0..IN_FLIGHT).map(|_| call()).collect();
            while let Some(answer) = calls.next().await {
                answer?;
                count += 1;
                if Instant::now() < until {
                    calls.push(call());
                }
            }
            Ok(count)
        })
    }
}

/// A parent of its own, for its memory: small calls, then many at once, then long ones.
pub fn memory() -> Done<()> {
    let mut parent = Blocking::start()?;
    for _ in 0..10_000 {
        crate::Subject::small(&mut parent)?;
    }
    let small = resident()?;
    for _ in 0..100 {
        crate::Subject::big(&mut parent)?;
    }
    println!("{small} {}", resident()?);
    Ok(())
}

fn resident() -> Done<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
