//! Patterns of a `.gitignore`, as far as a list of files needs them: names, folders, `*`, `?` and
//! `**`, places below the root, and exceptions. What is written in another way is passed over.

/// Lines of a file; more are not looked at.
const LINES_MAX: usize = 1000;

/// What is not part of a repository.
pub(super) struct Patterns(Vec<Pattern>);

struct Pattern {
    text: String,
    /// It holds for the whole path and not for a name wherever it is.
    is_path: bool,
    only_folders: bool,
    is_exception: bool,
}

impl Patterns {
    pub(super) fn read(text: &str) -> Patterns {
        Patterns(text.lines().take(LINES_MAX).filter_map(Pattern::read).collect())
    }

    /// Whether `path` below the root is left out: the last pattern that fits says so.
    pub(super) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let last = self.0.iter().rfind(|it| it.fits(path, is_folder));
        last.is_some_and(|it| !it.is_exception)
    }
}

impl Pattern {
    fn read(line: &str) -> Option<Pattern> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.contains(['[', '\\']) {
            return None;
        }
        let (is_exception, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (only_folders, line) = match line.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let line = line.strip_prefix("**/").filter(|rest| !rest.contains('/')).unwrap_or(line);
        let (is_path, text) = (line.contains('/'), line.trim_start_matches('/'));
        let text = text.to_string();
        Some(Pattern { text, is_path, only_folders, is_exception })
    }

    fn fits(&self, path: &str, is_folder: bool) -> bool {
        if self.only_folders && !is_folder {
            return false;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        fits(self.text.as_bytes(), if self.is_path { path } else { name }.as_bytes())
    }
}

/// Whether `text` is as `pattern` says. The last star is the only one that is tried again, but a
/// single one does not cross a slash: the double one before it is tried again then.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on after a star that takes one more byte: behind it, and in the text.
    let (mut star, mut double) = (None::<(usize, usize)>, None::<(usize, usize)>);
    loop {
        match pattern.get(p) {
            None if t == text.len() => return true,
            Some(b'*') if pattern[p..].starts_with(b"**") => {
                // `**/` is also no folder at all.
                p += if pattern[p..].starts_with(b"**/") { 3 } else { 2 };
                (double, star) = (Some((p, t)), None);
                continue;
            }
            Some(b'*') => {
                p += 1;
                star = Some((p, t));
                continue;
            }
            Some(b'?') if t < text.len() && text[t] != b'/' => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            Some(byte) if text.get(t) == Some(byte) => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            _ => {}
        }
        let more = |it: &mut (usize, usize), may_cross: bool| {
            let can = it.1 < text.len() && (may_cross || text[it.1] != b'/');
            it.1 += usize::from(can);
            can.then_some(*it)
        };
        let single = star.as_mut().and_then(|it| more(it, false));
        let next = single.or_else(|| {
            star = None;
            double.as_mut().and_then(|it| more(it, true))
        });
        match next {
            Some(next) => (p, t) = next,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patterns: &str, path: &str, is_left_out: bool) {
        let (path, is_folder) = match path.strip_suffix('/') {
            Some(folder) => (folder, true),
            None => (path, false),
        };
        let found = Patterns::read(patterns).leave_out(path, is_folder);
        assert_eq!(found, is_left_out, "{patterns:?} {path}");
    }

    #[test]
    fn names_and_places() {
        check("", "a", false);
        check("# a\n\n", "a", false);
        check("*.log", "deep/x.log", true);
        check("*.log", "x.log.txt", false);
        check("out", "a/out/", true);
        check("out", "a/outer", false);
        check("out/", "out", false);
        check("out/", "out/", true);
        check("/out", "out", true);
        check("/out", "a/out", false);
        check("a/out", "a/out", true);
        check("a/out", "b/a/out", false);
        check("doc/*.txt", "doc/a.txt", true);
        check("doc/*.txt", "doc/b/a.txt", false);
        check("doc/**/*.txt", "doc/a.txt", true);
        check("doc/**/*.txt", "doc/b/c/a.txt", true);
        check("doc/**/*.txt", "doc/b/c/a.md", false);
        check("**/out", "a/b/out", true);
        check("a/**", "a/b/c", true);
        check("?.rs", "a.rs", true);
        check("?.rs", "ab.rs", false);
        check("*", "a", true);
    }

    #[test]
    fn the_last_that_fits_decides() {
        check("*.log\n!keep.log", "keep.log", false);
        check("*.log\n!keep.log", "other.log", true);
        check("!keep.log\n*.log", "keep.log", true);
    }

    #[test]
    fn many_stars_take_no_time() {
        check(&"*a".repeat(200), &"a".repeat(150), false);
        check(&format!("x/{}b", "**/*a".repeat(40)), &format!("x/{}", "a/".repeat(90)), false);
    }
}
