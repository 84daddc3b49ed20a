//! Nothing in a plan may tell the judge who wrote it. Names of makers and models, instructions, ids,
//! paths and traces of tools become marks that can be turned back afterwards; keys become
//! `[secret]` for good. One [`Veil`] covers all plans of a run, so the same thing has the same mark
//! in each of them.

mod names;
mod paths;
#[cfg(test)]
mod tests;

use super::words::{change, texts};
use althing_stdx::redact::redact;
use names::Names;
use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Something that was covered, and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// `[path-2]`.
    pub mark: String,
    pub text: String,
}

/// What must not be seen, and what was covered so far.
pub struct Veil {
    names: Names,
    /// Everything the judge reads anyway: a path named there says nothing about a planner.
    task: String,
    /// Folders that are covered with all that is in them, whatever they are called.
    folders: Vec<String>,
    /// Marks that somebody wrote who covered nothing: they stand for themselves.
    foreign: BTreeSet<String>,
    /// The last number given in each class of marks.
    numbers: BTreeMap<String, u64>,
    covered: Vec<Redaction>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the tests use every pattern")
}

/// Calls of tools as agents print them, in tags or a line each.
static TRACES: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        pattern(
            r"(?is)<(?:tool_\w+|function_\w+|invoke)\b.*?(?:</(?:tool_\w+|function_\w+|invoke)>|$)",
        ),
        pattern(
            r"(?im)^[ \t]*(?:[⏺●]|\[tool[^\]\n]*\]|tool[ _-](?:call|trace|use|result|output)s?[ \t]*[:#(]|(?:called|calling|using|invoking) (?:the )?tool\b|(?:Bash|Read|Grep|Glob|Edit|Write|WebFetch)\([^)\n]*\)).*$",
        ),
        pattern(r"(?i)\btrace[ _-]?id\b[ \t]*[:=]?[ \t]*[\w-]*"),
    ]
});

/// Sentences about one's own instructions.
static PROMPTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[^.!?\n]*\b(?:(?:system|developer) (?:prompt|message)s?|my (?:own )?(?:instructions|guidelines)|i (?:was|am|have been) (?:instructed|trained|told|created|made)|as an? (?:ai|large) (?:language )?(?:model|assistant))\b[^.!?\n]*[.!?]?",
    )
});

/// Ids of requests, sessions and messages.
static IDS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        pattern(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        pattern(
            r"\b(?:req|request|msg|resp|chatcmpl|gen|toolu|call|sess|session|run|thread|conv|asst|evt|ses)[-_][A-Za-z0-9_-]{8,}\b",
        ),
        pattern(r"\b[0-9a-fA-F]{24,}\b"),
    ]
});

/// What stands for something covered.
static MARKS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\[(?:trace|prompt|id|path|name)-[0-9]+\]|\[secret\]"));

impl Veil {
    /// A veil for plans about `task`, written by agents with these names and models.
    pub fn new(task: &str, agents: impl IntoIterator<Item = String>) -> Veil {
        Veil {
            names: Names::new(agents),
            task: task.to_string(),
            folders: Vec::new(),
            foreign: written(task).collect(),
            numbers: BTreeMap::new(),
            covered: Vec::new(),
        }
    }

    /// With folders of this machine that are covered wherever a plan names them.
    pub fn hiding<'a>(mut self, folders: impl IntoIterator<Item = &'a str>) -> Veil {
        let bare = folders.into_iter().map(|it| it.trim_end_matches('/'));
        self.folders.extend(bare.filter(|it| it.starts_with('/')).map(String::from));
        // One inside another goes first: its name may have a space.
        self.folders.sort_by_key(|it| std::cmp::Reverse(it.len()));
        self
    }

    /// With marks that differ from all that the plans themselves contain, so that no text is turned
    /// back into something that it never was.
    pub fn apart_from<'a>(mut self, plans: impl IntoIterator<Item = &'a Value>) -> Veil {
        for plan in plans {
            let mut all = Vec::new();
            texts(plan, &mut all);
            self.foreign.extend(all.into_iter().flat_map(written));
        }
        self
    }

    /// `plan` with everything covered that could tell who wrote it.
    pub fn cover(&mut self, plan: &Value) -> Value {
        let mut plan = plan.clone();
        change(&mut plan, &mut |text| self.text(text));
        plan
    }

    /// What was covered, in the order in which it was met.
    pub fn covered(self) -> Vec<Redaction> {
        self.covered
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = redact(text);
        for trace in TRACES.iter() {
            text = self.replace(trace, "trace", &text, |_, _| true);
        }
        text = self.replace(&PROMPTS, "prompt", &text, |_, _| true);
        text = self.places(text);
        for id in IDS.iter() {
            // A word such as `session_management` is none: ids have digits.
            text = self.replace(id, "id", &text, |it, _| it.contains(|c: char| c.is_ascii_digit()));
        }
        for path in paths::SURE.iter() {
            text = self.replace(path, "path", &text, |_, _| true);
        }
        let task = std::mem::take(&mut self.task);
        text = self.replace(&paths::SHAPED, "path", &text, |it, before| {
            paths::is_path(it, before) && !task.contains(it)
        });
        self.task = task;
        let names = std::mem::take(&mut self.names);
        for name in names.literals() {
            text = self.literal(name, &text);
        }
        text = self.tokens(&names, &text);
        self.names = names;
        text
    }

    /// Covers the folders that are always covered, unless the task itself names them.
    fn places(&mut self, mut text: String) -> String {
        for folder in self.folders.clone() {
            let mut found = paths::inside(&folder, &text);
            found.retain(|(at, end)| !self.task.contains(&text[*at..*end]));
            text = self.cover_at("path", found.into_iter(), &text);
        }
        text
    }

    /// Covers what `pattern` finds and `is_meant` confirms, given the match and the text before it.
    fn replace(
        &mut self,
        pattern: &Regex,
        class: &str,
        text: &str,
        is_meant: impl Fn(&str, &str) -> bool,
    ) -> String {
        let marks = marks(text);
        let cover = |found: &Captures| {
            let Some(it) = found.get(0) else { return String::new() };
            let (whole, before) = (it.as_str(), &text[..it.start()]);
            let in_mark = marks.iter().any(|mark| mark.contains(&it.start()));
            let bare = whole.trim_matches([' ', '\t']);
            if bare.is_empty() || in_mark || !is_meant(bare, before) {
                return whole.to_string();
            }
            whole.replacen(bare, &self.mark(class, bare), 1)
        };
        pattern.replace_all(text, cover).into_owned()
    }

    /// Covers a configured name wherever it is no part of a longer word, in any case.
    fn literal(&mut self, name: &str, text: &str) -> String {
        let (wanted, folded) = (names::folded(name, name), names::folded(name, text));
        let found = folded.match_indices(&wanted).map(|(at, _)| (at, at + wanted.len()));
        let whole = found.filter(|(at, end)| names::is_edge(text, name, *at, *end));
        let whole = whole.map(|(at, end)| (at, end + names::behind(&text[end..])));
        self.cover_at("name", whole, text)
    }

    /// Names as words, with what follows them: `google maps` is no maker.
    fn tokens(&mut self, names: &Names, text: &str) -> String {
        let found = names::TOKEN.find_iter(text).filter_map(|it| {
            let reach = names.reach(it.as_str(), &text[it.end()..])?;
            Some((it.start(), it.end() + reach))
        });
        self.cover_at("name", found, text)
    }

    /// Covers what stands at these places, in order; not again what is covered.
    fn cover_at(
        &mut self,
        class: &str,
        found: impl Iterator<Item = (usize, usize)>,
        text: &str,
    ) -> String {
        let marks = marks(text);
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (at, end) in found {
            let in_mark = marks.iter().any(|mark| mark.contains(&at));
            if at >= done && !in_mark {
                out.push_str(&text[done..at]);
                out.push_str(&self.mark(class, &text[at..end]));
                done = end;
            }
        }
        out.push_str(&text[done..]);
        out
    }

    /// The mark of `text`: always the same one for the same text.
    fn mark(&mut self, class: &str, text: &str) -> String {
        let start = format!("[{class}-");
        let of_class = |it: &&Redaction| it.mark.starts_with(&start);
        if let Some(known) = self.covered.iter().filter(of_class).find(|it| it.text == text) {
            return known.mark.clone();
        }
        let mark = self.next_mark(class);
        self.covered.push(Redaction { mark: mark.clone(), text: text.to_string() });
        mark
    }

    /// The next mark of a class that nobody wrote.
    fn next_mark(&mut self, class: &str) -> String {
        let number = self.numbers.entry(class.to_string()).or_default();
        loop {
            *number += 1;
            let mark = format!("[{class}-{number}]");
            // There are fewer foreign marks than numbers.
            if !self.foreign.contains(&mark) {
                return mark;
            }
        }
    }
}

/// Prepares the patterns, which takes a moment that nobody should wait for.
pub(super) fn prepare() {
    LazyLock::force(&TRACES);
    LazyLock::force(&IDS);
    LazyLock::force(&PROMPTS);
    LazyLock::force(&MARKS);
    names::prepare();
    paths::prepare();
}

/// Puts back what was covered.
pub fn restore(value: &mut Value, covered: &[Redaction]) {
    change(value, &mut |text| {
        // A covered text may hold marks of what was covered before it: the last goes first.
        covered.iter().rev().fold(text.to_string(), |text, it| text.replace(&it.mark, &it.text))
    });
}

/// The marks that a text contains.
fn written(text: &str) -> impl Iterator<Item = String> {
    MARKS.find_iter(text).map(|it| it.as_str().to_string())
}

/// Where marks stand in a text: what is inside one is not covered again.
fn marks(text: &str) -> Vec<std::ops::Range<usize>> {
    MARKS.find_iter(text).map(|it| it.range()).collect()
}
