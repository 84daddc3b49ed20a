//! A parent: `cargo run --example parent -- target/debug/examples/worker`, or with any other worker
//! that has `add`, as `python3 worker.py`.
#![allow(clippy::print_stdout, reason = "it is there to be read")]

use std::env;

use multifrost::parent::Options;
use multifrost::{Error, Parent, Program};

fn main() -> Result<(), Error> {
    let mut words = env::args().skip(1);
    let Some(program) = words.next() else {
        println!("which worker? parent PROGRAM [ARGUMENT…]");
        return Ok(());
    };
    let program = words.fold(Program::new(program), Program::argument).worker_flag();
    let worker = Parent::spawn(program, Options::default())?;
    // A thread that waits needs no runtime.
    let blocking = worker.blocking();
    let sum: i64 = blocking.call("add", (1, 2))?;
    println!("1 + 2 = {sum}");
    let sums = blocking.call_each::<i64, _>("add", (0..1000).map(|n| (n, 1)));
    println!("a thousand more: {}", sums.sum::<Result<i64, Error>>()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::System(error.to_string()))?;
    runtime.block_on(async {
        let both =
            tokio::join!(worker.call::<i64>("add", (3, 4)), worker.call::<i64>("add", (5, 6)));
        println!("3 + 4 = {}, 5 + 6 = {}", both.0?, both.1?);
        worker.stop().await;
        Ok(())
    })
}
