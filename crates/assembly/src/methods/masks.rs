//! Names taken off a transcript, so that whoever judges it cannot tell which side was its own.

use crate::event::{Quoted, Synthesis};
use crate::floor::{Floor, Seat, Spoken};
use crate::transcript::Quote;

/// Stands for a seat that said nothing, and for a model that sits on several seats: its id does not
/// say which one is meant.
const SOMEBODY: &str = "a participant";

/// What each seat is called instead of its name.
#[derive(Clone)]
pub(super) struct Masks {
    /// By seat index.
    masks: Vec<String>,
    /// Seat names, by seat index.
    names: Vec<String>,
    /// What is replaced by what, the longest first.
    words: Vec<(String, String)>,
}

impl Masks {
    /// Masks after the roles of the seats: `FOR 1`, `FOR 2`. Each row has a role of the method and
    /// the word for who has it.
    pub fn of_roles(floor: &Floor, roles: &[(&str, &str)]) -> Masks {
        let mut masks = vec![SOMEBODY.to_string(); floor.seats().len()];
        for (role, word) in roles {
            for (at, seat) in floor.role(role).into_iter().enumerate() {
                masks[seat.index] = format!("{word} {}", at + 1);
            }
        }
        Masks::new(floor, masks)
    }

    /// Masks by letter: `Panelist A`, `Panelist B`.
    pub fn lettered(floor: &Floor, word: &str) -> Masks {
        let masks = ('A'..='Z').take(floor.seats().len()).map(|letter| format!("{word} {letter}"));
        Masks::new(floor, masks.collect())
    }

    fn new(floor: &Floor, masks: Vec<String>) -> Masks {
        let names: Vec<String> = floor.seats().iter().map(|seat| seat.name.clone()).collect();
        let mut words: Vec<(String, String)> = Vec::new();
        for (seat, mask) in floor.seats().iter().zip(&masks) {
            for word in called(seat) {
                match words.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, other)) if other != mask => *other = SOMEBODY.to_string(),
                    Some(_) => {}
                    None => words.push((word, mask.clone())),
                }
            }
        }
        // A name is one seat's alone, even where it is also the id of a model on several.
        for (name, mask) in names.iter().zip(&masks) {
            words.retain(|(word, _)| *word != name.to_lowercase());
            words.push((name.to_lowercase(), mask.clone()));
        }
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.chars().count()));
        Masks { masks, names, words }
    }

    /// What the seat is called.
    pub fn of(&self, seat: usize) -> &str {
        self.masks.get(seat).map_or(SOMEBODY, String::as_str)
    }

    /// `text` with every name and model id in it masked: whole words, in any case.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let hit = if before.is_alphanumeric() { None } else { self.starts(rest) };
            let taken = match hit {
                Some((length, mask)) => {
                    out.push_str(mask);
                    length
                }
                None => {
                    out.push(c);
                    c.len_utf8()
                }
            };
            before = rest[..taken].chars().next_back().unwrap_or(' ');
            rest = &rest[taken..];
        }
        out
    }

    /// A speech under its mask. One in a role that fell to the seat later says so.
    pub fn quote(&self, floor: &Floor, spoken: &Spoken) -> Quote {
        let mask = self.of(spoken.seat);
        let name = match spoken.role.filter(|role| !is_under(mask, role)) {
            Some(role) => format!("{mask} as {role}"),
            None => mask.to_string(),
        };
        floor.quote(spoken, name, &self.text(&spoken.text))
    }

    /// Adds who was who, for the person who reads the result.
    pub fn reveal(&self, mut synthesis: Synthesis) -> Synthesis {
        let known = self.masks.iter().zip(&self.names).filter(|(mask, _)| *mask != SOMEBODY);
        let lines = known.map(|(mask, name)| format!("{mask}: {name}"));
        let text = lines.collect::<Vec<_>>().join("\n");
        synthesis.more.push(Quoted { name: "Speakers".into(), text });
        synthesis
    }

    /// The longest masked word with which `text` starts, as its length and its mask.
    fn starts(&self, text: &str) -> Option<(usize, &str)> {
        self.words.iter().find_map(|(word, mask)| {
            let length = prefix(text, word)?;
            ends_word(&text[length..]).then_some((length, mask.as_str()))
        })
    }
}

/// Everything a seat may be called by, in small letters: its name, its model id, the id without
/// its provider and without its owner.
fn called(seat: &Seat) -> Vec<String> {
    let id = seat.model.id().to_lowercase();
    let bare = id.split_once(':').map_or(id.as_str(), |(_, bare)| bare).to_string();
    let last = bare.rsplit('/').next().unwrap_or_default().to_string();
    let mut words = vec![seat.name.to_lowercase(), id, bare, last];
    // A model called by one letter would take every "a" with it.
    words.retain(|word| word.chars().count() > 1);
    words.dedup();
    words
}

/// Whether a mask such as `FOR 1` or `Panelist A` already tells the role.
fn is_under(mask: &str, role: &str) -> bool {
    mask.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(role))
}

/// Bytes of `text` that equal `word` but for case.
fn prefix(text: &str, word: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    for want in word.chars() {
        let (_, got) = chars.next()?;
        if got != want && !got.to_lowercase().eq([want]) {
            return None;
        }
    }
    Some(chars.offset())
}

/// Whether a word ends before `rest`; `GPT 5` does not end before the `.1` of `GPT 5.1`.
fn ends_word(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        Some('.') => !chars.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !c.is_alphanumeric(),
        None => true,
    }
}

#[cfg(test)]
mod tests;
