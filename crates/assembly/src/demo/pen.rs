//! Turns sentences with slots into sentences about this question, and remembers what it wrote.

use super::scene::{Other, Scene};
use super::topic::Shape;

/// Slots that only some questions fill: a line with one of these is about this very shape.
const SPECIFIC: [&str; 8] =
    ["{who}", "{Who}", "{whom}", "{act}", "{a}", "{b}", "{amount}", "{why}"];

/// How far apart voices start in a pool they share: a voice may take two lines of it in a row.
const SHARED_STRIDE: usize = 2;

pub(super) struct Pen<'a> {
    pub scene: &'a Scene,
    /// Differs by question, voice and task; the same for the same.
    seed: u64,
    voice: String,
    /// Keeps voices apart where they draw from one pool.
    offset: usize,
    /// Whom the next lines answer, and a second one to set against.
    partners: [Option<Partner>; 2],
    written: Vec<String>,
    turns: usize,
}

#[derive(Debug, Clone)]
struct Partner {
    name: String,
    phrase: String,
}

impl<'a> Pen<'a> {
    pub fn new(scene: &'a Scene, voice: &str, offset: usize) -> Pen<'a> {
        let seed = hash(&[&scene.topic.topic, &scene.topic.keys.join(" "), voice, &scene.task]);
        Pen {
            scene,
            seed,
            voice: voice.to_string(),
            offset,
            partners: [None, None],
            written: vec![],
            turns: 0,
        }
    }

    /// A number below `count` that is the same for the same question, voice, task and `what`.
    pub fn draw(&self, what: &str, count: usize) -> usize {
        (hash(&[&self.seed.to_string(), what]) % count.max(1) as u64) as usize
    }

    /// As [`Pen::draw`], but the same for every voice and task.
    pub fn draw_together(&self, what: &str, count: usize) -> usize {
        (hash(&[&self.scene.topic.topic, what]) % count.max(1) as u64) as usize
    }

    /// As [`Pen::draw`], but the same for every task of this voice.
    pub fn draw_always(&self, what: &str, count: usize) -> usize {
        (hash(&[&self.voice, &self.scene.topic.topic, what]) % count.max(1) as u64) as usize
    }

    /// From here on the lines answer `other`.
    pub fn turn_to(&mut self, other: Option<&Other>) {
        self.partners = [other.and_then(|other| self.partner(other)), None];
    }

    /// Sets two speakers against each other.
    pub fn set_against(&mut self, one: &Other, two: &Other) {
        self.partners = [self.partner(one), self.partner(two)];
    }

    /// From here on the lines speak of these very words.
    pub fn turn_to_words(&mut self, name: &str, words: &str) {
        let (name, phrase) = (name.to_string(), words.to_string());
        self.partners = [Some(Partner { name, phrase }), None];
    }

    fn partner(&mut self, other: &Other) -> Option<Partner> {
        self.turns += 1;
        let pick = self.draw("phrase", 97) + self.turns;
        let phrase = other.phrase(pick, &self.scene.topic.topic)?;
        Some(Partner { name: other.name.clone(), phrase })
    }

    pub fn has_partner(&self) -> bool {
        self.partners[0].is_some()
    }

    /// A sentence of `pool` that nobody has said yet, as far as there is one. Lines that fit the
    /// shape of the question go first.
    pub fn line(&mut self, pool: &[&str]) -> String {
        let name = pool.first().copied().unwrap_or_default();
        // A voice does not hear all it said in earlier rounds, so each round starts elsewhere.
        self.line_from(pool, self.draw_always(name, pool.len()) + self.scene.round)
    }

    /// As [`Pen::line`] for a pool that several voices share: each starts at another place.
    pub fn shared(&mut self, pool: &[&str]) -> String {
        let name = pool.first().copied().unwrap_or_default();
        let start = self.draw_together(name, pool.len()) + SHARED_STRIDE * self.offset;
        let start = start + self.written.len();
        self.line_from(pool, start)
    }

    /// As [`Pen::shared`] for voices that do not hear each other: each passes over as many lines as
    /// those before it say.
    pub fn shared_after(&mut self, pool: &[&str], lines: usize) -> String {
        let name = pool.first().copied().unwrap_or_default();
        let start = self.draw_together(name, pool.len());
        (0..lines).for_each(|_| drop(self.line_from(pool, start)));
        self.line_from(pool, start)
    }

    /// As [`Pen::shared`] for a line about the thing numbered `number`: two voices that speak of
    /// the same thing start at different places.
    pub fn shared_about(&mut self, pool: &[&str], number: usize) -> String {
        let at = number + SHARED_STRIDE * self.offset;
        let line = pool[at % pool.len().max(1)];
        self.line_from(&[line], 0)
    }

    fn line_from(&mut self, pool: &[&str], start: usize) -> String {
        let count = pool.len().max(1);
        let turned = (0..pool.len()).map(|at| pool[(start + at) % count]);
        let is_specific = |line: &&str| SPECIFIC.iter().any(|slot| line.contains(slot));
        let (mut lines, general): (Vec<&str>, Vec<&str>) = turned.partition(is_specific);
        lines.extend(general);
        // Words that were used before come last, and the same sentence again last of all.
        lines.sort_by_key(|line| self.is_worn(line));
        let mut keys = self.scene.topic.keys.clone();
        let main = keys.len() - self.scene.topic.spare;
        keys[..main].rotate_left((self.offset + self.written.len()) % main);
        let texts: Vec<String> = keys
            .iter()
            .flat_map(|key| lines.iter().filter_map(|line| self.fill(line, key)))
            .collect();
        let is_new = |text: &&String| !self.scene.was_said(text) && !self.written.contains(text);
        let text = texts.iter().find(is_new).or(texts.first()).cloned();
        let text =
            text.unwrap_or_else(|| format!("I have nothing to add on {}.", self.scene.topic.topic));
        self.written.push(text.clone());
        text
    }

    /// Whether the longest stretch of a line between its slots was said or written before.
    fn is_worn(&self, line: &str) -> bool {
        let pieces =
            line.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, rest)| rest));
        let longest = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
        self.scene.was_said(longest) || self.written.iter().any(|text| text.contains(longest))
    }

    /// `line` with its slots filled; none where the scene has nothing for one of them.
    fn fill(&self, line: &str, key: &str) -> Option<String> {
        let mut out = String::with_capacity(line.len() * 2);
        let mut rest = line;
        while let Some((before, tail)) = rest.split_once('{') {
            let (slot, after) = tail.split_once('}')?;
            let value = self.slot(&slot.to_lowercase(), key)?;
            out.push_str(before);
            if is_article(&out) && value.starts_with(is_vowel) {
                out.insert(out.len() - 1, 'n');
            }
            // What opens a sentence is written large, whatever fills it.
            let opens = out.is_empty() || slot.starts_with(|c: char| c.is_uppercase());
            out.push_str(&if opens { capitalised(&value) } else { value });
            rest = after;
        }
        out.push_str(rest);
        Some(out)
    }

    /// The topic, or a shorter word for it where this speech has named it already.
    fn topic_or(&self, key: &str) -> String {
        let topic = &self.scene.topic.topic;
        match self.written.iter().any(|text| text.contains(topic)) {
            true => format!("the {key} question"),
            false => topic.clone(),
        }
    }

    fn slot(&self, slot: &str, key: &str) -> Option<String> {
        let topic = &self.scene.topic;
        let of_shape = |shape: Shape| (topic.shape == shape).then(|| topic.topic.clone());
        let [one, two] = &self.partners;
        match slot {
            "topic" => Some(self.topic_or(key)),
            "key" => Some(key.to_string()),
            "who" => topic.who.clone(),
            "whom" => topic.whom(),
            "act" => topic.act.clone(),
            "a" => topic.options.as_ref().map(|(a, _)| a.clone()),
            "b" => topic.options.as_ref().map(|(_, b)| b.clone()),
            "amount" => of_shape(Shape::Amount),
            "why" => of_shape(Shape::Why),
            "name" => one.as_ref().map(|one| one.name.clone()),
            "phrase" => one.as_ref().map(|one| one.phrase.clone()),
            "other" => two.as_ref().map(|two| two.name.clone()),
            "words" => two.as_ref().map(|two| two.phrase.clone()),
            _ => None,
        }
    }
}

/// Whether a text ends in the word `a`, which is `an` before a vowel.
fn is_article(text: &str) -> bool {
    ["a ", "A "].contains(&text) || text.ends_with(" a ")
}

fn is_vowel(c: char) -> bool {
    matches!(c.to_ascii_lowercase(), 'a' | 'e' | 'i' | 'o' | 'u')
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// FNV-1a with a last mix: the same on every machine and in every version.
pub(super) fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (sum ^ (sum >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}
