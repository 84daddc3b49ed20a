//! A parent that finds a service: `cargo run --example caller -- math` while `worker` runs.
#![allow(clippy::print_stdout, reason = "it is there to be read")]

use std::env;

use multifrost::parent::{Blocking, Options};
use multifrost::{Blob, Error, Value};

fn main() -> Result<(), Error> {
    let service = env::args().nth(1).unwrap_or_else(|| "math".into());
    let math = Blocking::connect(&service, Options::default())?;
    let any: Value<'static> = math.call("list_functions", ())?;
    println!("it has {any}");
    let Blob(bytes) = math.call("reverse", (Blob(b"frost".to_vec()),))?;
    println!("reversed: {}", String::from_utf8_lossy(&bytes));
    for number in math.stream::<u64>("count", (3,))? {
        println!("counted {}", number?);
    }
    match math.call::<f64>("root", (-1,)) {
        Ok(root) => println!("the root is {root}"),
        Err(Error::Remote(said)) => {
            println!("kind {:?}, message {:?}", said.kind(), said.message());
            println!("{}", said.trace().unwrap_or("without a trace"));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
