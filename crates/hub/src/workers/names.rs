//! Names of tools that every provider takes, each once.

/// Characters that every provider takes.
const NAME_CHARS_MAX: usize = 64;

/// `calc_add`, else `calc_add_2`, `calc_add_3`, …
pub(super) fn tool_name(worker: &str, function: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let base: String = format!("{worker}_{function}").chars().map(fit).collect();
    let numbered = (2..).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", cut(&base, NAME_CHARS_MAX - end.len()))
    });
    let mut all = std::iter::once(cut(&base, NAME_CHARS_MAX).to_string()).chain(numbered);
    // There are fewer tools than numbers.
    all.find(|name| !is_taken(name)).unwrap_or_default()
}

/// All of it is ASCII by now.
fn cut(name: &str, chars: usize) -> &str {
    &name[..name.len().min(chars)]
}

#[cfg(test)]
#[test]
fn names_fit_everywhere_and_differ() {
    #[track_caller]
    fn check(worker: &str, function: &str, taken: &[&str], want: &str) {
        assert_eq!(tool_name(worker, function, |name| taken.contains(&name)), want);
    }
    check("calc", "add", &[], "calc_add");
    check("calc", "add", &["calc_add"], "calc_add_2");
    check("my-calc", "größe.of x", &[], "my-calc_gr__e_of_x");
    check("a", "b_c", &["a_b_c", "a_b_c_2"], "a_b_c_3");
    let long = "f".repeat(80);
    check("w", &long, &[], &format!("w_{}", &long[..62]));
    check("w", &long, &[&format!("w_{}", &long[..62])], &format!("w_{}_2", &long[..60]));
}
