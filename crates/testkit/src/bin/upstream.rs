//! The upstream by itself, for scripts and for looking by hand. Prints its URL and serves until
//! its standard input closes.

use althing_testkit::{Options, Upstream};
use std::{
    env,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

const USAGE: &str = "usage: upstream [--latency-ms N] [--chunks N] [--delay-us N] [--calls 0]";

fn main() -> ExitCode {
    match options(env::args().skip(1)).map(serve) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => complain(&error.to_string()),
        None => complain(USAGE),
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default().chunks_by_limit();
    while let Some(flag) = args.next() {
        let number: u64 = args.next()?.parse().ok()?;
        options = match flag.as_str() {
            "--latency-ms" => options.latency(Duration::from_millis(number)),
            "--chunks" => options.chunks(number.try_into().ok()?),
            "--calls" if number == 0 => options.without_calls(),
            "--delay-us" => options.delay(Duration::from_micros(number)),
            _ => return None,
        };
    }
    Some(options)
}

fn serve(options: Options) -> io::Result<()> {
    let upstream = Upstream::start(options);
    writeln!(io::stdout(), "{}", upstream.url())?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

fn complain(what: &str) -> ExitCode {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "{what}");
    ExitCode::from(2)
}
