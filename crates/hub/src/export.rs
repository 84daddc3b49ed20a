//! A run as a document. Pure: events in, text out. Every format dresses the same [`Account`].

mod account;
mod html;
mod json;
mod md;
mod sheet;
#[cfg(test)]
mod tests;
mod txt;
mod words;

pub use account::{Account, Heard, Line, Phase, Section};
use althing_assembly::Event;
use althing_stdx::{Fault, Result};
pub use words::{
    DEMO_NOTE, called, confidence, cut_of, describe_cut, describe_left_out, ending, failure, iso,
    list_shortfalls, totals, when,
};

/// A kind of document: a file and a row in [`FORMATS`].
#[derive(Debug)]
pub struct Format {
    /// How a person asks for it, and how its files end.
    pub name: &'static str,
    /// One line for a person who chooses.
    pub about: &'static str,
    write: fn(&Account, &[Event]) -> String,
}

/// Every format, in the order in which they are listed.
pub static FORMATS: &[&Format] = &[&md::FORMAT, &json::FORMAT, &html::FORMAT, &txt::FORMAT];

impl Format {
    /// The format called `name`.
    pub fn parse(name: &str) -> Result<&'static Format> {
        FORMATS.iter().find(|format| format.name.eq_ignore_ascii_case(name)).copied().ok_or_else(
            || {
                let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                Fault::invalid(format!("format: no '{name}'; there are {}", names.join(", ")))
            },
        )
    }
}

/// The run with these events, as a document.
pub fn export(events: &[Event], format: &Format) -> Result<String> {
    Ok((format.write)(&Account::of(events)?, events))
}
