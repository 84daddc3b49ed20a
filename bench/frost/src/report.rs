//! The table, and whether the aims are met.

use std::fmt;

use crate::subject::Round;

pub struct Report {
    names: Vec<&'static str>,
    best: Vec<Round>,
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
        let best = vec![Round::default(); names.len()];
        Report { names, best }
    }

    /// Keeps the best of each measurement, with the times that belong to it.
    pub fn add(&mut self, index: usize, round: Round) {
        let best = &mut self.best[index];
        if round.small > best.small {
            (best.small, best.small_p50, best.small_p99) =
                (round.small, round.small_p50, round.small_p99);
        }
        if round.big > best.big {
            (best.big, best.big_p50) = (round.big, round.big_p50);
        }
        best.flight = best.flight.max(round.flight);
    }

    /// The best of all whose name begins so: a bare ping-pong is measured with a spin and without.
    fn of(&self, name: &str, figure: fn(&Round) -> f64) -> Option<f64> {
        let rows = self.names.iter().zip(&self.best).filter(|(it, _)| it.starts_with(name));
        rows.map(|(_, round)| figure(round)).reduce(f64::max)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "calls per second, times in microseconds")?;
        let head = ["one by one", "p50", "p99", "100 in flight", "1 MiB", "p50"];
        write!(f, "{:<20}", "")?;
        head.iter().try_for_each(|it| write!(f, " | {it:>13}"))?;
        for (name, it) in self.names.iter().zip(&self.best) {
            write!(f, "\n{name:<20}")?;
            for figure in [it.small, it.small_p50, it.small_p99, it.flight, it.big, it.big_p50] {
                write!(f, " | {figure:>13.0}")?;
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
