//! Nothing in a plan may tell the judge who wrote it. Names of makers and models, instructions, ids,
//! paths and traces of tools become marks that can be turned back afterwards; keys become
//! `[secret]` for good. What the task itself says stays: it tells nothing about a planner. One [`Veil`] covers all plans of a run, so the same thing has the same mark
//! in each of them.

mod fold;
mod names;
mod paths;
mod secrets;
#[cfg(test)]
mod tests;

use super::words::{change, texts};
use althing_stdx::redact::redact;
use fold::{fold, fold_small};
use names::Names;
use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
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
    /// Everything the judge reads anyway: what is named there says nothing about a planner.
    task: Task,
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

/// What the task says.
#[derive(Default)]
struct Task {
    text: String,
    /// The same as it is compared.
    small: String,
    /// Its words without what parts them.
    words: HashSet<String>,
    /// Makers and models that it names.
    names: HashSet<&'static str>,
}

impl Task {
    fn new(text: &str) -> Task {
        let small = fold_small(text).text.into_owned();
        let words = names::TOKEN.find_iter(&small).map(|it| names::squeezed(it.as_str())).collect();
        let named = names::TOKEN.find_iter(&small).flat_map(|it| names::named(it.as_str()));
        Task { text: text.to_string(), words, names: named.collect(), small }
    }

    /// Whether it says these words, as they are compared.
    fn says(&self, small: &str) -> bool {
        let is_word =
            |(at, it): (usize, &str)| names::is_edge(&self.small, small, at, at + it.len());
        !small.is_empty() && self.small.match_indices(small).any(is_word)
    }

    /// Whether it says this name, or all names that are in it; a version only as it stands.
    fn names(&self, name: &str) -> bool {
        let squeezed = names::squeezed(name);
        let named = names::named(name);
        let is_bare = !squeezed.contains(|c: char| c.is_ascii_digit());
        self.words.contains(&squeezed)
            || (is_bare && !named.is_empty() && named.iter().all(|it| self.names.contains(it)))
    }
}

/// Calls of tools and what a program puts around a model, as agents print them: in tags, in signs of
/// a chat, or a line each. What is named `word` tells what it is about.
static TRACES: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    /// Tags that stand around something that nobody planned.
    const TAGS: &str = r"(?:antml:)?(?:tool_\w+|function_\w+|invoke|system[-_](?:reminder|prompt|message|instruction)s?|environment_(?:context|details)|user_(?:instructions|info|query)|permissions instructions|local-command-\w+|command-(?:name|message|args)|turn_aborted|bash-(?:input|stdout|stderr))";
    [
        pattern(&format!(r"(?is)<{TAGS}\b.*?(?:</{TAGS}>|$)")),
        pattern(r"<\|[A-Za-z_]+\|>|\[/?INST\]|<</?SYS>>"),
        pattern(
            r"(?im)^[ \t]*(?:[⏺●⎿]|└ |• (?:ran|explored|read|edited|updated plan|searched|called)\b|[✓✦✔] ?\w+\(|\[tool[^\]\n]*\]|(?P<word>tool[ _-](?:call|trace|use|result|output))s?[ \t]*[:#(]|(?:called|calling|using|invoking) (?:the )?tool\b|(?:Bash|Read|Grep|Glob|Edit|MultiEdit|Write|WebFetch|WebSearch|TodoWrite|NotebookEdit|ReadFile|WriteFile|ReadManyFiles|FindFiles|SearchText|Shell|GoogleSearch|apply_patch|update_plan|exec_command|read_file|write_file|list_directory|run_shell_command|search_file_content|google_web_search|web_fetch)\([^)\n]*\)).*$",
        ),
        pattern(r"(?i)\b(?P<word>trace[ _-]?id)\b[ \t]*[:=]?[ \t]*[\w-]*"),
    ]
});

/// Sentences about one's own instructions.
static PROMPTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[^.!?\n]*\b(?P<word>(?:system|developer) (?:prompt|message)|my (?:own )?(?:instructions|guidelines)|i (?:was|am|have been) (?:instructed|trained|told|created|made)|as an? (?:ai|large) (?:language )?(?:model|assistant))s?\b[^.!?\n]*[.!?]?",
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

/// Addresses of people. `git@` is nobody.
static MAILS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[A-Za-z0-9][\w.+%-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b")
});

/// What stands for something covered.
static MARKS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\[(?:trace|prompt|id|mail|path|name)-[0-9]+\]|\[secret\]"));

impl Veil {
    /// A veil for plans about `task`, written by agents with these names and models.
    pub fn new(task: &str, agents: impl IntoIterator<Item = String>) -> Veil {
        Veil {
            names: Names::new(agents),
            task: Task::new(task),
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
    /// back into something that it never was. Plain words that people have `chosen` as names of
    /// planners are not covered where several plans use them.
    pub fn apart_from<'a>(
        mut self,
        plans: impl IntoIterator<Item = &'a Value>,
        chosen: &[String],
    ) -> Veil {
        let mut wholes = Vec::new();
        for plan in plans {
            let mut all = Vec::new();
            texts(plan, &mut all);
            wholes.push(all.join("\n"));
            self.foreign.extend(all.into_iter().flat_map(written));
        }
        self.names = self.names.without_common_words(chosen, &wholes);
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
        let mut text = secrets::cover(&redact(text));
        let task = std::mem::take(&mut self.task);
        let is_free = |it: &str| !task.text.contains(it);
        for trace in TRACES.iter() {
            text = self.replace(trace, "trace", &text, &task, |_, _| true);
        }
        text = self.replace(&PROMPTS, "prompt", &text, &task, |_, _| true);
        text = self.places(text, &task);
        let is_person = |it: &str, _: &str| is_free(it) && !it.starts_with("git@");
        text = self.replace(&MAILS, "mail", &text, &task, is_person);
        for id in IDS.iter() {
            // A word such as `session_management` is none: ids have digits.
            let is_id =
                |it: &str, _: &str| is_free(it) && it.contains(|c: char| c.is_ascii_digit());
            text = self.replace(id, "id", &text, &task, is_id);
        }
        for path in paths::SURE.iter() {
            text = self.replace(path, "path", &text, &task, |_, _| true);
        }
        let is_path = |it: &str, before: &str| paths::is_path(it, before) && is_free(it);
        text = self.replace(&paths::SHAPED, "path", &text, &task, is_path);
        let names = std::mem::take(&mut self.names);
        for name in names.literals() {
            text = self.literal(name, &text, &task);
        }
        text = self.spaced(&names, &text);
        text = self.tokens(&names, &text, &task);
        (self.names, self.task) = (names, task);
        text
    }

    /// Covers the folders that are always covered, unless the task itself names them.
    fn places(&mut self, mut text: String, task: &Task) -> String {
        for folder in self.folders.clone() {
            let mut found = paths::inside(&folder, &text);
            found.retain(|(at, end)| !task.text.contains(&text[*at..*end]));
            text = self.cover_at("path", found.into_iter(), &text);
        }
        text
    }

    /// Covers what `pattern` finds and `is_meant` confirms, given the match and the text before it,
    /// unless it is about something that the task is about.
    fn replace(
        &mut self,
        pattern: &Regex,
        class: &str,
        text: &str,
        task: &Task,
        is_meant: impl Fn(&str, &str) -> bool,
    ) -> String {
        let folded = fold(text);
        let place = |found: Captures| {
            let it = found.get(0)?;
            let bare = it.as_str().trim_matches([' ', '\t']);
            let at = it.start() + it.as_str().find(bare)?;
            let word = found.name("word").map(|it| it.as_str().to_lowercase());
            let is_of_task = word.is_some_and(|word| task.small.contains(&word));
            let is_covered =
                !bare.is_empty() && !is_of_task && is_meant(bare, &folded.text[..it.start()]);
            let place = folded.original(at..at + bare.len());
            is_covered.then_some((place.start, place.end))
        };
        let found: Vec<(usize, usize)> =
            pattern.captures_iter(&folded.text).filter_map(place).collect();
        self.cover_at(class, found.into_iter(), text)
    }

    /// Covers a configured name wherever it is no part of a longer word, in any case.
    fn literal(&mut self, name: &str, text: &str, task: &Task) -> String {
        if task.says(name) {
            return text.to_string();
        }
        let (large, small) = (fold(text), fold_small(text));
        let (wanted, compared) = (names::compared(name, name), names::compared(name, &small.text));
        let found = compared.match_indices(&wanted).map(|(at, _)| (at, at + wanted.len()));
        let whole = found.filter(|(at, end)| names::is_edge(&small.text, name, *at, *end));
        let whole = whole.map(|(at, end)| {
            let place = large.original(at..end + names::behind(&large.text[end..]));
            (place.start, place.end)
        });
        let whole: Vec<(usize, usize)> = whole.collect();
        self.cover_at("name", whole.into_iter(), text)
    }

    /// Covers names whose letters are parted.
    fn spaced(&mut self, names: &Names, text: &str) -> String {
        let folded = fold(text);
        let runs = names::SPACED.find_iter(&folded.text);
        let found = runs.flat_map(|run| {
            let places = names.spaced(run.as_str()).into_iter();
            places.map(move |it| it.start + run.start()..it.end + run.start())
        });
        let found = found.map(|it| folded.original(it)).map(|it| (it.start, it.end));
        let found: Vec<(usize, usize)> = found.collect();
        self.cover_at("name", found.into_iter(), text)
    }

    /// Names as words, with what follows them: `google maps` is no maker.
    fn tokens(&mut self, names: &Names, text: &str, task: &Task) -> String {
        let folded = fold(text);
        let place = |it: regex::Match| {
            let (token, after) = (it.as_str(), &folded.text[it.end()..]);
            if !names::is_edge(&folded.text, token, it.start(), it.end()) {
                return None;
            }
            let reach = names.reach(token, after)?;
            let (whole, behind) = (it.start()..it.end() + reach, &after[..reach]);
            let is_named = task.names(token) || task.names(&folded.text[whole.clone()]);
            let hidden = match is_named {
                false => whole,
                // The task's own word stays, and the version that it does not name goes.
                true if task.says(&fold_small(&folded.text[whole.clone()]).text) => return None,
                true => it.end() + (reach - behind.trim_start().len())..whole.end,
            };
            let place = folded.original(hidden);
            (!place.is_empty()).then_some((place.start, place.end))
        };
        let found: Vec<(usize, usize)> =
            names::TOKEN.find_iter(&folded.text).filter_map(place).collect();
        self.cover_at("name", found.into_iter(), text)
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
    LazyLock::force(&MAILS);
    names::prepare();
    paths::prepare();
    secrets::prepare();
}

/// Puts back what was covered.
pub fn restore(value: &mut Value, covered: &[Redaction]) {
    change(value, &mut |text| restored(text, covered));
}

/// The same for one text.
pub fn restored(text: &str, covered: &[Redaction]) -> String {
    // A covered text may hold marks of what was covered before it: the last goes first.
    covered.iter().rev().fold(text.to_string(), |text, it| text.replace(&it.mark, &it.text))
}

/// The marks that a text contains.
fn written(text: &str) -> impl Iterator<Item = String> {
    MARKS.find_iter(text).map(|it| it.as_str().to_string())
}

/// Where marks stand in a text: what is inside one is not covered again.
fn marks(text: &str) -> Vec<std::ops::Range<usize>> {
    MARKS.find_iter(text).map(|it| it.range()).collect()
}
