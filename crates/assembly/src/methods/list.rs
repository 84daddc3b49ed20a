//! Lists that models write, as lists.

use crate::parse;
use althing_stdx::text;

/// Characters of an item; the rest of a longer one is cut.
const ITEM_CHARS_MAX: usize = 600;
const NAME_CHARS_MAX: usize = 80;

/// The items of a numbered list, or of a bulleted one where nothing is numbered; all of the text
/// where there is no list. Each is one line, so that none can pass for several.
pub(super) fn items(answer: &str, max: usize) -> Vec<String> {
    let numbered = split(answer, number);
    let found = if numbered.is_empty() { split(answer, bullet) } else { numbered };
    let found = if found.is_empty() { vec![answer.to_string()] } else { found };
    found.iter().map(|item| one_line(item)).filter(|item| !item.is_empty()).take(max).collect()
}

/// Cuts an answer where `start` finds an item. Deeper lines belong to the item above them.
fn split(answer: &str, start: impl Fn(&str) -> Option<&str>) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut indent = 0;
    for line in answer.lines() {
        let bare = line.trim_start();
        let depth = line.len() - bare.len();
        let is_nested = !items.is_empty() && depth > indent + 1;
        match start(bare).filter(|_| !is_nested) {
            Some(item) => {
                indent = depth;
                items.push(item.to_string());
            }
            None => {
                if let Some(item) = items.last_mut() {
                    item.push(' ');
                    item.push_str(bare);
                }
            }
        }
    }
    items
}

/// The text behind `1.`, `2)`, `**3.**`, `### 4.` or `IDEA 5:`.
fn number(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['#', '*', '_', ' ']);
    let (line, ends) = match line.get(..4) {
        Some(word) if word.eq_ignore_ascii_case("idea") => {
            (line[4..].trim_start(), &[':', '.'][..])
        }
        _ => (line, &['.', ')', ':'][..]),
    };
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let rest = rest.trim_start_matches('*').strip_prefix(ends)?;
    // `2.5 million` is a figure, not the second item.
    let is_item = (1..=3).contains(&digits) && !rest.starts_with(|c: char| c.is_ascii_digit());
    is_item.then_some(rest)
}

fn bullet(line: &str) -> Option<&str> {
    line.strip_prefix(['-', '*', '•', '+'])?.strip_prefix([' ', '\t'])
}

fn one_line(item: &str) -> String {
    text::one_line(item.replace("**", "").trim_matches(['*', '_', ' ', '\t']), ITEM_CHARS_MAX)
}

/// A thing with a name, such as an alternative or a criterion.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub name: String,
    pub about: String,
}

impl Item {
    /// Reads `Name: what it is`, also with a dash, a line end or a label in between.
    pub fn read(section: &str) -> Option<Item> {
        let [about] = parse::sections(section, ["DESCRIPTION"]);
        let name = parse::before(section, &["DESCRIPTION"]);
        let cuts = [":", " - ", " – ", " — ", "\n"];
        let cut = cuts.iter().filter_map(|cut| Some((name.find(cut)?, cut.len()))).min();
        let (name, rest) = match cut {
            Some((at, length)) => (&name[..at], &name[at + length..]),
            None => (name, ""),
        };
        let about = about.unwrap_or_else(|| rest.to_string());
        let name = text::one_line(&one_line(name), NAME_CHARS_MAX);
        (!words(&name).is_empty()).then(|| Item { name, about: one_line(&about) })
    }

    /// Whether two names say the same.
    pub fn is(&self, name: &str) -> bool {
        words(&self.name) == words(name)
    }
}

/// A name without case, punctuation, articles and plurals.
fn words(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let words = words.filter(|word| !matches!(word.as_str(), "" | "a" | "an" | "the"));
    words
        .map(|word| match word.strip_suffix('s') {
            Some(singular) if singular.len() > 3 => singular.to_string(),
            _ => word,
        })
        .collect()
}

/// What several people listed, as one list without doubles: what more of them named comes first,
/// then what stood higher on their lists.
pub(super) fn pool(lists: &[Vec<Item>], max: usize) -> Vec<Item> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let by_rank = (0..longest).flat_map(|rank| lists.iter().filter_map(move |list| list.get(rank)));
    let mut pooled: Vec<Item> = Vec::new();
    for item in by_rank {
        match pooled.iter_mut().find(|known| known.is(&item.name)) {
            Some(known) if known.about.is_empty() => known.about = item.about.clone(),
            Some(_) => {}
            None => pooled.push(item.clone()),
        }
    }
    let support =
        |item: &Item| lists.iter().filter(|list| list.iter().any(|i| i.is(&item.name))).count();
    pooled.sort_by_key(|item| std::cmp::Reverse(support(item)));
    pooled.truncate(max);
    pooled
}

#[cfg(test)]
mod tests;
