//! The figures of `bench/README.md`: each beside a reference measured in the same run, since these
//! machines are noisy. `cargo bench` runs it in full; under `cargo test` it runs small, so that it
//! cannot rot, and judges nothing.

mod discussion;
mod parsing;
mod process;

/// How much to measure.
#[derive(Clone, Copy)]
pub struct Size {
    pub runs: usize,
    pub megabytes: usize,
}

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let size =
        if is_bench { Size { runs: 30, megabytes: 64 } } else { Size { runs: 2, megabytes: 1 } };
    say(&format!("sizes: {} runs, {} MB", size.runs, size.megabytes));
    discussion::measure(size);
    process::measure(size);
    parsing::measure(size);
}

/// Prints a line of the report.
#[expect(clippy::print_stdout, reason = "a bench reports on standard output")]
pub fn say(line: &str) {
    println!("{line}");
}

/// The middle one, and the best.
pub fn median_and_min(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

/// Seconds something takes, in milliseconds.
pub fn milliseconds(work: impl FnOnce()) -> f64 {
    let began = tokio::time::Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1e3
}
