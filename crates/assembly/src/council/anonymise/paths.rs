//! Paths of files and folders, told apart from what is only shaped like them.

use super::{names, pattern};
use regex::Regex;
use std::sync::LazyLock;

/// Paths that are nothing else, wherever they lie.
pub(super) static SURE: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        pattern(r#"(?i)\bfile://[^\s"'`<>)]+"#),
        pattern(r#"\b[A-Za-z]:\\[^\s"'`<>|)]+|\\\\[\w.-]+\\[^\s"'`<>|)]+"#),
        pattern(r#"(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%)[/\\][^\s"'`<>|),;]*"#),
    ]
});

/// What has the shape of a path; [`is_path`] says whether it is one.
pub(super) static SHAPED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:\.{0,2}/)?(?:[\w@.+-]+/)*[\w@.+-]*[\w@+-]/?"));

/// What follows a folder: a path inside it.
static INSIDE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^/(?:[\w@.+-]+/)*(?:[\w@.+-]*[\w@+-])?"));

/// First folders of paths on a machine; `/users/7` of a web service is none of these.
const ROOTS: &[&str] = &[
    "home",
    "root",
    "tmp",
    "var",
    "etc",
    "opt",
    "usr",
    "mnt",
    "srv",
    "private",
    "Users",
    "Volumes",
    "workspace",
    "workspaces",
    "work",
    "data",
    "app",
    "proc",
    "dev",
    "bin",
    "lib",
    "run",
];
/// First folders of paths that are as often those of a web service: `/projects/7` is one's.
const SHARED_ROOTS: &[&str] = &["projects", "repo", "repos", "code", "build", "media"];
/// What stands before a path of a web service.
const VERBS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Characters of the end of a file's name behind its last dot.
const SUFFIX_CHARS_MAX: usize = 5;

/// Prepares the patterns.
pub(super) fn prepare() {
    LazyLock::force(&SURE);
    LazyLock::force(&SHAPED);
    LazyLock::force(&INSIDE);
}

/// Where `folder` stands in `text`, with the path inside it that follows.
pub(super) fn inside(folder: &str, text: &str) -> Vec<(usize, usize)> {
    let found = text.match_indices(folder).map(|(at, _)| (at, at + folder.len()));
    let own = found.filter(|(at, end)| {
        !text[..*at].ends_with(is_in_path) && names::is_edge(text, folder, *at, *end)
    });
    let rest = |end: usize| INSIDE.find(&text[end..]).map_or(0, |inside| inside.end());
    own.map(|(at, end)| (at, end + rest(end))).collect()
}

/// Whether a path that begins behind this character is part of another, or of an address.
fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')
}

/// Whether something with slashes is a file's path: under a folder of a machine, begun with a dot,
/// or ended like a file. Addresses of the web and plain `either/or` are not.
pub(super) fn is_path(text: &str, before: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    let joins: &[char] = if text.starts_with('/') { &['/'] } else { &['/', ':', '@'] };
    if parts.len() < 2 || before.ends_with(joins) || text.starts_with("//") {
        return false;
    }
    let last = parts.last().copied().unwrap_or_default();
    let is_file = last.rsplit_once('.').is_some_and(|(stem, suffix)| {
        !stem.is_empty()
            && suffix.len() <= SUFFIX_CHARS_MAX
            && suffix.starts_with(|c: char| c.is_ascii_alphabetic())
            && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    match parts[0] {
        "" => is_file || ROOTS.contains(&parts[1]) || is_in_shared(&parts, before),
        "." | ".." => true,
        // `example.com/index.html` is on the web; `.github/ci.yml` is not.
        first => is_file && !first.trim_start_matches('.').contains('.'),
    }
}

/// Whether a path under a root that web services have too is one of a machine: below it is a name,
/// and nobody is told to request it.
fn is_in_shared(parts: &[&str], before: &str) -> bool {
    let below = parts.get(2).copied().unwrap_or_default();
    let mut words = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty());
    let is_requested = words.next().is_some_and(|it| VERBS.contains(&it));
    SHARED_ROOTS.contains(&parts[1])
        && below.contains(|c: char| !c.is_ascii_digit())
        && !is_requested
}
