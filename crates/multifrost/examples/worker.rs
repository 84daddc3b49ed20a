//! A worker: `cargo run --example worker`. A parent that starts it calls its functions; started alone
//! it is the service `math`.

use std::fs;

use multifrost::child::{Cancel, Failure, Service};
use multifrost::{Blob, Child, Error, Value};

fn main() -> Result<(), Error> {
    let child = Child::new()
        .function("add", |(a, b): (i64, Option<i64>)| Ok(a + b.unwrap_or(1)))
        // Any error is a failure, with its causes and its place.
        .function("size", |(path,): (String,)| Ok(fs::metadata(path)?.len()))
        .function("root", |(number,): (f64,)| root(number))
        .function("reverse", |(Blob(bytes),): (Blob,)| Ok(Blob(bytes.into_iter().rev().collect())))
        .function("show", |(any,): (Value<'static>,)| Ok(any.to_string()))
        .stream_function("count", |(to,): (u64,)| {
            let cancel = Cancel::current();
            Ok((1..=to).take_while(move |_| !cancel.is_cancelled()).map(Ok))
        })
        .async_function("later", |(text,): (String,)| async move {
            tokio::task::yield_now().await;
            Ok(text)
        })
        .service(Service::new("math"));
    child.run().map(drop)
}

fn root(number: f64) -> Result<f64, Failure> {
    if number < 0.0 {
        return Err(Failure::new("ValueError", format!("{number} has no root")));
    }
    Ok(number.sqrt())
}
