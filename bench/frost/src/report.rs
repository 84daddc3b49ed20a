//! The table, and whether the aims are met.

use std::fmt;

use crate::subject::Round;

/// Of every figure the median of all rounds counts. All take their turns within a round, and where
/// the host puts the two processors changes from one to the other: a pair that shares a cache is half
/// as fast again as one that does not, so the best of one subject says little beside that of another.
pub struct Report {
    names: Vec<&'static str>,
    rounds: Vec<Vec<Round>>,
}

/// What is measured, of whom, at least so many times what of whom.
type Aim = (&'static str, fn(&Round) -> f64, &'static str, f64, &'static str);

const SMALL: fn(&Round) -> f64 = |round| round.small;
const FLIGHT: fn(&Round) -> f64 = |round| round.flight;
const BIG: fn(&Round) -> f64 = |round| round.big;

const AIMS: &[Aim] = &[
    ("one by one", SMALL, "blocking handle", 0.85, "bare ZMTP"),
    ("one by one", SMALL, "async handle", 0.6, "bare ZMTP"),
    ("one by one", SMALL, "blocking handle", 1.5, "bare zmq crate"),
    ("one by one", SMALL, "async handle", 1.5, "bare zmq crate"),
    ("one by one", SMALL, "blocking handle", 5.0, "pyzmq + msgpack"),
    ("one by one", SMALL, "async handle", 5.0, "pyzmq + msgpack"),
    ("100 in flight", FLIGHT, "blocking handle", 1.0, "bare zmq crate"),
    ("100 in flight", FLIGHT, "async handle", 1.0, "bare zmq crate"),
    ("100 in flight", FLIGHT, "blocking handle", 5.0, "pyzmq + msgpack"),
    ("100 in flight", FLIGHT, "async handle", 5.0, "pyzmq + msgpack"),
    ("1 MiB", BIG, "blocking handle", 1.5, "bare zmq crate"),
    ("1 MiB", BIG, "async handle", 1.5, "bare zmq crate"),
    ("1 MiB", BIG, "blocking handle", 5.0, "pyzmq + msgpack"),
    ("1 MiB", BIG, "async handle", 5.0, "pyzmq + msgpack"),
];

impl Report {
    pub fn new(names: Vec<&'static str>) -> Report {
        let rounds = vec![Vec::new(); names.len()];
        Report { names, rounds }
    }

    pub fn add(&mut self, index: usize, round: Round) {
        self.rounds[index].push(round);
    }

    /// The best of all whose name begins so: a bare ping-pong is measured with a spin and without.
    fn of(&self, name: &str, figure: fn(&Round) -> f64) -> Option<f64> {
        let rows = self.names.iter().zip(&self.rounds).filter(|(it, _)| it.starts_with(name));
        rows.map(|(_, rounds)| median(rounds, figure)).reduce(f64::max)
    }
}

fn median(rounds: &[Round], figure: fn(&Round) -> f64) -> f64 {
    let mut all: Vec<f64> = rounds.iter().map(figure).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "calls per second, times in microseconds")?;
        let head = ["one by one", "p50", "p99", "100 in flight", "1 MiB", "p50"];
        write!(f, "{:<20}", "")?;
        head.iter().try_for_each(|it| write!(f, " | {it:>13}"))?;
        for (name, rounds) in self.names.iter().zip(&self.rounds) {
            write!(f, "\n{name:<20}")?;
            for figure in
                [SMALL, |it| it.small_p50, |it| it.small_p99, FLIGHT, BIG, |it| it.big_p50]
            {
                write!(f, " | {:>13.0}", median(rounds, figure))?;
            }
        }
        writeln!(f, "\n")?;
        for (what, figure, who, aim, beside) in AIMS {
            if let (Some(its), Some(other)) = (self.of(who, *figure), self.of(beside, *figure)) {
                let ratio = its / other;
                let met = if ratio >= *aim { "met" } else { "MISSED" };
                writeln!(f, "{met:<6} {what}, {who}: {ratio:.2} of {beside}, aim {aim}")?;
            }
        }
        Ok(())
    }
}
