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
    /// Read once, by one seat: later prompts do not have it.
    aside: Option<Round>,
    /// Whether every speech stays, however short it becomes.
    keeps_all: bool,
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

    /// Returns the same with a round at its end that only one prompt has.
    pub fn with_aside(&self, heading: &str, quotes: Vec<Quote>) -> Transcript {
        let aside = Round { heading: heading.to_string(), quotes };
        Transcript { aside: Some(aside), ..self.clone() }
    }

    /// Returns a transcript called `name` with only what `speaker` said in the first round.
    pub fn with_first_round_of(&self, speaker: &str, name: &'static str) -> Transcript {
        let mut transcript = Transcript { name, ..self.clone() };
        if let Some(first) = transcript.rounds.first_mut() {
            first.quotes.retain(|quote| is_by(quote, speaker));
        }
        transcript
    }

    /// Adds a round with what the first round of `whole` has more.
    pub fn with_rest_of_first_round(mut self, heading: &str, whole: &Transcript) -> Transcript {
        let known = self.rounds.first().map_or(&[][..], |round| &round.quotes);
        let first = whole.rounds.first().into_iter().flat_map(|round| &round.quotes);
        let rest: Vec<Quote> = first.filter(|quote| !known.contains(quote)).cloned().collect();
        self.add_round(heading, rest);
        self
    }

    /// Makes every speech stay: where room is short, all become shorter and none is dropped.
    pub fn keeping_all(mut self) -> Transcript {
        self.keeps_all = true;
        self
    }

    pub(crate) fn keeps_all(&self) -> bool {
        self.keeps_all
    }

    /// Rounds that hold a speech, without the one that only this prompt has.
    pub fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(|round| !round.quotes.is_empty())
    }

    /// Speeches that only this prompt has.
    pub fn aside_quotes(&self) -> &[Quote] {
        self.aside.as_ref().map_or(&[], |aside| &aside.quotes)
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

    /// Returns the cut that leaves out the most: the newest speech without its words is left, or all
    /// of them where none is dropped.
    pub(crate) fn shortest_cut(&self) -> Cut {
        let dropped = if self.keeps_all { 0 } else { self.len().saturating_sub(1) };
        Cut { dropped, until: self.len(), chars: 0, aside_chars: Some(0) }
    }

    /// Returns what `cut` leaves out.
    pub fn left_out(&self, cut: &Cut) -> LeftOut {
        let mut left = LeftOut::default();
        for (at, quote) in self.quotes().enumerate() {
            left.add(quote, cut.limit(at));
        }
        for quote in self.aside_quotes() {
            left.add(quote, cut.aside_limit());
        }
        left
    }

    /// Writes what `cut` keeps, each round under its heading and each speech in its fence. Returns
    /// where each part of it ends that later prompts repeat.
    pub fn render(&self, cut: &Cut, out: &mut String) -> Vec<usize> {
        let limits = (0..).map(|at| cut.limit(at));
        let mut limited = self.rounds.iter().flat_map(|round| &round.quotes).zip(limits);
        write_left_out(limited.clone(), "earlier", out);
        let mut ends = Vec::new();
        for round in &self.rounds {
            let quotes = limited.by_ref().take(round.quotes.len());
            render_round(&round.heading, quotes, out, &mut ends);
        }
        if let Some(aside) = &self.aside {
            let quotes = aside.quotes.iter().map(|quote| (quote, cut.aside_limit()));
            render_round(&aside.heading, quotes.clone(), out, &mut Vec::new());
            write_left_out(quotes, "more", out);
        }
        ends
    }
}

/// Whether `speaker` said it; behind a name may stand how the speech was cut off.
fn is_by(quote: &Quote, speaker: &str) -> bool {
    let rest = quote.name.strip_prefix(speaker);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
}

/// How much of a speech a cut keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Whole,
    Chars(usize),
    Dropped,
}

impl LeftOut {
    fn add(&mut self, quote: &Quote, limit: Limit) {
        match limit {
            Limit::Whole => {}
            Limit::Chars(chars) => {
                if let Some(short) = shorten(&quote.text, chars) {
                    self.shortened += 1;
                    self.words += short.words_left_out;
                }
            }
            Limit::Dropped => {
                self.speeches += 1;
                self.words += count_words(&quote.text);
            }
        }
    }
}

/// Writes how many of the speeches are dropped; nothing where none is.
fn write_left_out<'a>(
    quotes: impl Iterator<Item = (&'a Quote, Limit)>,
    which: &str,
    out: &mut String,
) {
    let mut left = LeftOut::default();
    let dropped = quotes.filter(|(_, limit)| *limit == Limit::Dropped);
    dropped.for_each(|(quote, limit)| left.add(quote, limit));
    let LeftOut { speeches, words, .. } = left;
    if speeches > 0 {
        open_paragraph(out);
        out.push_str(&format!("(left out here: {words} words in {speeches} {which} speeches)"));
    }
}

/// Writes a round and adds where each of its speeches ends.
fn render_round<'a>(
    heading: &str,
    quotes: impl Iterator<Item = (&'a Quote, Limit)>,
    out: &mut String,
    ends: &mut Vec<usize>,
) {
    let mut heading = heading;
    for (quote, limit) in quotes.filter(|(_, limit)| *limit != Limit::Dropped) {
        if !heading.is_empty() {
            open_paragraph(out);
            out.push_str(std::mem::take(&mut heading));
        }
        open_paragraph(out);
        write_quote(quote, limit, out);
        ends.push(out.len());
    }
}

fn open_paragraph(out: &mut String) {
    out.push_str(if out.is_empty() { "" } else { GAP });
}

fn write_quote(quote: &Quote, limit: Limit, out: &mut String) {
    let short = match limit {
        Limit::Chars(chars) => shorten(&quote.text, chars),
        Limit::Whole | Limit::Dropped => None,
    };
    match short {
        None => write_fenced(&quote.mark, &quote.name, &quote.text, out),
        Some(Shortened { text, words_left_out: words }) => {
            let text = format!("{text}\n({words} words are left out here)");
            write_fenced(&quote.mark, &quote.name, &text, out);
        }
    }
}
