//! Ids and names of added providers, so that no two are the same.

/// Characters of an id.
const ID_CHARS_MAX: usize = 40;
/// What stands for something else before the colon of a model's name.
const RESERVED: &[&str] = &["alias", "althing", "demo", "worker"];

/// `My OpenAI` as `my-openai`; a name without a single fit character becomes `otherwise`.
pub(crate) fn slug(name: &str, otherwise: &str) -> String {
    let mut id = String::new();
    for c in name.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => id.push(c),
            _ if !id.is_empty() && !id.ends_with('-') => id.push('-'),
            _ => {}
        }
    }
    id.truncate(ID_CHARS_MAX);
    let id = id.trim_end_matches('-');
    if id.is_empty() { otherwise.into() } else { id.into() }
}

/// `base`, else `base-2`, `base-3`, …
pub(crate) fn free_id(base: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| {
        let end = format!("-{number}");
        let start: String = base.chars().take(ID_CHARS_MAX - end.len()).collect();
        format!("{}{end}", start.trim_end_matches('-'))
    });
    let mut all = std::iter::once(base.to_string()).chain(numbered);
    // There are fewer providers than numbers.
    all.find(|id| !RESERVED.contains(&id.as_str()) && !is_taken(id)).unwrap_or_default()
}

/// `name`, else `name (2)`, `name (3)`, …
pub(crate) fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut all = std::iter::once(name.to_string()).chain(numbered);
    // There are fewer providers than numbers.
    all.find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_names() {
        #[track_caller]
        fn check(name: &str, taken: &[&str], want: &str) {
            assert_eq!(free_id(&slug(name, "openai"), |id| taken.contains(&id)), want, "{name}");
        }
        check("My OpenAI", &[], "my-openai");
        check("My OpenAI", &["my-openai"], "my-openai-2");
        check("my - openai!", &["my-openai", "my-openai-2"], "my-openai-3");
        check("  Grüße, 2 Läufer ", &[], "gr-e-2-l-ufer");
        check("我的", &[], "openai");
        check("我的", &["openai"], "openai-2");
        check("Demo", &[], "demo-2");
        check("alias", &["alias-2"], "alias-3");
        let long = "x".repeat(50);
        check(&long, &[], &long[..40]);
        check(&long, &[&long[..40]], &format!("{}-2", &long[..38]));
    }

    #[test]
    fn names_are_told_apart() {
        let taken = ["Work", "Work (2)"];
        assert_eq!(free_name("Work", |name| taken.contains(&name)), "Work (3)");
        assert_eq!(free_name("Home", |name| taken.contains(&name)), "Home");
    }
}
