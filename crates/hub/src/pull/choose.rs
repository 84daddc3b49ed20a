//! Which file of a repository: its quantisations, and the one that suits the machine. Pure.

use super::memory::{format_bytes, memory_need};
use super::name::is_gguf;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::collections::BTreeMap;

/// Parts of a model that is split; one of more is left out.
const PARTS_MAX: usize = 200;
/// Names that a message lists.
const LISTED_MAX: usize = 24;
/// Characters of a name that is shown.
const SHOWN_CHARS_MAX: usize = 80;

/// Quantisations in the order in which they are tried: the best that fits is taken. Finer ones than
/// the first cost twice the memory for a difference that nobody notices.
const PREFERRED: &[&str] = &[
    "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q4_K_M", "Q4_K_S", "MXFP4", "IQ4_NL", "Q4_1", "Q4_0",
    "IQ4_XS", "Q3_K_L", "Q3_K_M", "IQ3_M", "Q3_K_S", "IQ3_XS", "IQ3_XXS", "Q2_K", "IQ2_M",
];
/// What is taken where nobody knows how much memory is free: good, and half the size of the first.
const USUAL: &str = "Q4_K_M";

/// A file that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    pub path: String,
    pub bytes: u64,
    /// 64 hexadecimal digits in lower case.
    pub sha256: Option<String>,
}

/// A model as it can be downloaded: one file, or several in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its quantisation, else the file's name.
    pub label: String,
    pub files: Vec<RemoteFile>,
    /// Its path without what numbers its parts.
    stem: String,
    /// How many parts its names speak of.
    parts: usize,
}

impl Variant {
    /// Returns the size of all files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// Tells whether all its parts are there.
    pub(super) fn is_whole(&self) -> bool {
        self.files.len() == self.parts
    }
}

/// Groups the files of a repository; what is not a model for text is left out.
pub fn list_variants(files: &[RemoteFile]) -> Vec<Variant> {
    let mut groups: BTreeMap<(String, usize), Vec<(usize, RemoteFile)>> = BTreeMap::new();
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        // Parts that see, and the measurements that quantisations were made by.
        if !is_gguf(&name) || name.contains("mmproj") || name.contains("imatrix") {
            continue;
        }
        let (stem, part, parts) = split_part(&file.path);
        groups.entry((stem.into(), parts)).or_default().push((part, file.clone()));
    }
    let variant = |((stem, parts), mut files): ((String, usize), Vec<(usize, RemoteFile)>)| {
        files.sort_by_key(|(part, _)| *part);
        let is_in_order = files.iter().enumerate().all(|(at, (part, _))| *part == at + 1);
        let files: Vec<RemoteFile> = files.into_iter().map(|(_, file)| file).collect();
        let parts = if is_in_order { parts } else { 0 };
        Variant { label: label_of(&stem), files, stem, parts }
    };
    groups.into_iter().map(variant).collect()
}

/// Leaves out what is there in fewer parts as well, whole.
fn distinct(variants: &[Variant]) -> Vec<&Variant> {
    let is_better = |it: &Variant, other: &Variant| {
        let is_smaller = !it.is_whole() || other.files.len() < it.files.len();
        other.stem == it.stem && other.is_whole() && is_smaller
    };
    variants.iter().filter(|it| !variants.iter().any(|other| is_better(it, other))).collect()
}

/// Takes the variant that is called `label`.
pub fn pick_label(variants: &[Variant], label: &str) -> Result<Variant> {
    let same = |it: &&Variant| it.label.eq_ignore_ascii_case(label);
    let fitting: Vec<&Variant> = distinct(variants).into_iter().filter(same).collect();
    match fitting.as_slice() {
        [] => Err(Fault::new(
            Kind::NotFound,
            format!(
                "there is no file of {}; there are {}",
                one_line(label, SHOWN_CHARS_MAX),
                list_labels(variants)
            ),
        )),
        [one] => whole(one),
        several => Err(ambiguous(label, several)),
    }
}

/// Takes the variant that has the file at `path`, with all parts that belong to it.
pub fn pick_path(variants: &[Variant], path: &str) -> Result<Variant> {
    let has = |it: &&Variant| it.files.iter().any(|file| file.path == path);
    variants.iter().find(has).map(whole).unwrap_or_else(|| {
        let shown = one_line(path, SHOWN_CHARS_MAX);
        let text = format!("there is no model file {shown}; there are {}", list_labels(variants));
        Err(Fault::new(Kind::NotFound, text))
    })
}

/// Takes the best variant that fits `free` bytes of memory, and says why. Where none fits, it is the
/// smallest; refusing it is for the caller.
pub fn pick_fitting(variants: &[Variant], free: Option<u64>) -> Result<(Variant, String)> {
    let usable: Vec<&Variant> = distinct(variants).into_iter().filter(|it| it.is_whole()).collect();
    let Some(first) = usable.first().copied() else {
        return Err(match variants.first() {
            Some(broken) => incomplete(broken),
            None => Fault::new(Kind::NotFound, "there is no GGUF file; its name may end in -GGUF"),
        });
    };
    if usable.len() == 1 {
        return Ok((first.clone(), format!("{}, the only one there is", first.label)));
    }
    let rank = |it: &Variant| PREFERRED.iter().position(|name| it.label.eq_ignore_ascii_case(name));
    let mut ranked: Vec<&Variant> =
        usable.iter().copied().filter(|it| rank(it).is_some()).collect();
    ranked.sort_by_key(|it| rank(it));
    if ranked.is_empty() {
        ranked = usable;
        ranked.sort_by_key(|it| std::cmp::Reverse(it.bytes()));
    }
    let (chosen, why) = match free {
        None => {
            let usual = ranked.iter().find(|it| it.label.eq_ignore_ascii_case(USUAL));
            let chosen = usual.or(ranked.last()).copied().unwrap_or(first);
            (chosen, "as free memory is not known here".to_string())
        }
        Some(free) => {
            let fits = |it: &&&Variant| memory_need(it.bytes()) <= free;
            let shown = format_bytes(free);
            match ranked.iter().find(fits) {
                Some(chosen) => (*chosen, format!("the best that fits {shown} of free memory")),
                None => {
                    let smallest = ranked.iter().min_by_key(|it| it.bytes()).copied();
                    (smallest.unwrap_or(first), "the smallest there is".to_string())
                }
            }
        }
    };
    let same: Vec<&Variant> = ranked.into_iter().filter(|it| it.label == chosen.label).collect();
    if same.len() > 1 {
        return Err(ambiguous(&chosen.label, &same));
    }
    Ok((chosen.clone(), format!("{}, {why}", chosen.label)))
}

fn whole(variant: &Variant) -> Result<Variant> {
    if variant.is_whole() { Ok(variant.clone()) } else { Err(incomplete(variant)) }
}

fn incomplete(variant: &Variant) -> Fault {
    let name = variant.files.first().map_or("", |file| file.path.as_str());
    let shown = one_line(name, SHOWN_CHARS_MAX);
    let text = format!("{shown} is split, and not all of its parts are there; name another file");
    Fault::new(Kind::NotFound, text)
}

fn ambiguous(label: &str, several: &[&Variant]) -> Fault {
    let paths = several.iter().filter_map(|it| it.files.first()).map(|file| file.path.as_str());
    let paths: Vec<String> =
        paths.take(LISTED_MAX).map(|path| one_line(path, SHOWN_CHARS_MAX)).collect();
    let text = format!(
        "there are several files of {}: name one as owner/repo/FILE, of {}",
        one_line(label, SHOWN_CHARS_MAX),
        paths.join(", ")
    );
    Fault::invalid(text)
}

fn list_labels(variants: &[Variant]) -> String {
    if variants.is_empty() {
        return "no GGUF files at all".into();
    }
    let shown: Vec<String> =
        variants.iter().take(LISTED_MAX).map(|it| one_line(&it.label, SHOWN_CHARS_MAX)).collect();
    let more = variants.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Splits `x-00002-of-00003.gguf` into `x`, 2 and 3; other files are the only part.
fn split_part(path: &str) -> (&str, usize, usize) {
    let stem = path.get(..path.len().saturating_sub(".gguf".len())).unwrap_or(path);
    let parts = || {
        let (head, total) = stem.rsplit_once("-of-")?;
        let (base, number) = head.rsplit_once('-')?;
        let is_number = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
        let (number, total) =
            (is_number(number).then_some(number)?, is_number(total).then_some(total)?);
        let (number, total): (usize, usize) = (number.parse().ok()?, total.parse().ok()?);
        (1..=PARTS_MAX).contains(&total).then_some((base, number, total))
    };
    parts().unwrap_or((stem, 1, 1))
}

/// Finds the quantisation in a file's name, else in its folder's; else the name stands for itself.
fn label_of(stem: &str) -> String {
    let mut components = stem.rsplit('/');
    let name = components.next().unwrap_or(stem);
    let found = quantisation(name).or_else(|| components.next().and_then(quantisation));
    found.unwrap_or_else(|| name.into())
}

/// Finds the last word of a name that is a quantisation.
pub(super) fn quantisation(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split(['-', '.']).collect();
    let at = words.iter().rposition(|word| is_quantisation(word))?;
    let label = words[at].to_ascii_uppercase();
    let is_dynamic = at > 0 && words[at - 1].eq_ignore_ascii_case("UD");
    Some(if is_dynamic { format!("UD-{label}") } else { label })
}

fn is_quantisation(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    if matches!(word.as_str(), "F16" | "BF16" | "F32" | "FP16" | "MXFP4") {
        return true;
    }
    let rest = word.strip_prefix("IQ").or_else(|| word.strip_prefix("TQ"));
    let Some(rest) = rest.or_else(|| word.strip_prefix('Q')) else { return false };
    let mut parts = rest.split('_');
    let is_digit = |part: &str| part.len() == 1 && part.bytes().all(|b| b.is_ascii_digit());
    let is_kind = |part: &str| !part.is_empty() && part.len() <= 3;
    parts.next().is_some_and(is_digit) && parts.all(is_kind) && rest.len() > 1
}

#[cfg(test)]
mod tests;
