//! What was said so far, as prompts quote it: in rounds, in the order of speaking, and only ever
//! added to, so that every later prompt begins as the earlier ones did.

use crate::fence::write_fenced;
use crate::fit::{Cut, Shortened, count_words, shorten};

/// Between two paragraphs.
const GAP: &str = "\n\n";

/// One quoted speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Who said it, as the table knows them.
    pub name: String,
    pub text: String,
    /// The mark of its fence: nothing in `text` contains it.
    pub mark: String,
}

/// Speeches that belong together: those that are dropped together where room is short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// What stands above it; empty where it goes on with the round before.
    pub heading: String,
    pub quotes: Vec<Quote>,
}

/// All speeches so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Tells transcripts of one run apart: each is cut by itself.
    pub name: &'static str,
    rounds: Vec<Round>,
    /// Read this once, by one seat: later prompts do not have it.
    aside: Option<Round>,
}

/// What a cut leaves out of a transcript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Speeches that are not there at all.
    pub speeches: usize,
    /// Speeches that are there in part.
    pub shortened: usize,
    /// Words of both that are not shown.
    pub words: usize,
}

impl Transcript {
    pub fn new(name: &'static str) -> Transcript {
        Transcript { name, ..Transcript::default() }
    }

    /// Opens a round. One that stays empty is not shown.
    pub fn open_round(&mut self, heading: impl Into<String>) {
        self.rounds.push(Round { heading: heading.into(), quotes: vec![] });
    }

    /// Adds a speech to the round that is open.
    pub fn add(&mut self, quote: Quote) {
        match self.rounds.last_mut() {
            Some(round) => round.quotes.push(quote),
            None => self.rounds.push(Round { heading: String::new(), quotes: vec![quote] }),
        }
    }

    /// Adds a whole round.
    pub fn add_round(
        &mut self,
        heading: impl Into<String>,
        quotes: impl IntoIterator<Item = Quote>,
    ) {
        let (heading, quotes) = (heading.into(), quotes.into_iter().collect());
        self.rounds.push(Round { heading, quotes });
    }

    /// The same with a round at its end that only one prompt has.
    pub fn with_aside(&self, heading: &str, quotes: Vec<Quote>) -> Transcript {
        let aside = Round { heading: heading.to_string(), quotes };
        Transcript { aside: Some(aside), ..self.clone() }
    }

    /// Rounds that hold a speech.
    pub fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter().chain(&self.aside).filter(|round| !round.quotes.is_empty())
    }

    /// Speeches in all rounds, in order.
    pub fn quotes(&self) -> impl Iterator<Item = &Quote> {
        self.rounds().flat_map(|round| &round.quotes)
    }

    pub fn len(&self) -> usize {
        self.quotes().count()
    }

    pub fn is_empty(&self) -> bool {
        self.quotes().next().is_none()
    }

    /// What `cut` leaves out.
    pub fn left_out(&self, cut: &Cut) -> LeftOut {
        let mut left = LeftOut::default();
        for (at, quote) in self.quotes().enumerate() {
            if at < cut.dropped {
                left.speeches += 1;
                left.words += count_words(&quote.text);
            } else if let Some(short) = shorten_by(cut, at, quote) {
                left.shortened += 1;
                left.words += short.words_left_out;
            }
        }
        left
    }

    /// Writes what `cut` keeps, each round under its heading and each speech in its fence. Returns
    /// how much of it later prompts repeat.
    pub fn render(&self, cut: &Cut, out: &mut String) -> usize {
        let LeftOut { speeches, words, .. } = self.left_out(&Cut { until: 0, ..*cut });
        if speeches > 0 {
            out.push_str(&format!("(left out here: {words} words in {speeches} earlier speeches)"));
        }
        let mut at = 0;
        for round in &self.rounds {
            at = render_round(round, at, cut, out);
        }
        let repeated = out.len();
        if let Some(aside) = &self.aside {
            render_round(aside, at, cut, out);
        }
        repeated
    }
}

/// Writes the round whose first speech has the number `at`; returns the number behind its last.
fn render_round(round: &Round, at: usize, cut: &Cut, out: &mut String) -> usize {
    let mut heading = round.heading.as_str();
    for (at, quote) in (at..).zip(&round.quotes).filter(|(at, _)| *at >= cut.dropped) {
        if !heading.is_empty() {
            open_paragraph(out);
            out.push_str(std::mem::take(&mut heading));
        }
        open_paragraph(out);
        write_quote(cut, at, quote, out);
    }
    at + round.quotes.len()
}

fn open_paragraph(out: &mut String) {
    out.push_str(if out.is_empty() { "" } else { GAP });
}

fn write_quote(cut: &Cut, at: usize, quote: &Quote, out: &mut String) {
    match shorten_by(cut, at, quote) {
        None => write_fenced(&quote.mark, &quote.name, &quote.text, out),
        Some(short) => {
            let words = short.words_left_out;
            let text = format!("{}\n({words} words are left out here)", short.text);
            write_fenced(&quote.mark, &quote.name, &text, out);
        }
    }
}

fn shorten_by<'a>(cut: &Cut, at: usize, quote: &'a Quote) -> Option<Shortened<'a>> {
    if at >= cut.until { None } else { shorten(&quote.text, cut.chars) }
}
