//! Every rule of the protocol has a test that bears its number: 6.1.6 is in a name as `s6_1_6`.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::path::Path;

/// What the protocol's text says with MUST, SHOULD, MAY or OPTIONAL.
const RULES: &str = "4.2 4.3 4.4 4.5 6.1.3 6.1.4 6.1.5 6.1.6 6.2.2 6.2.3 6.3.2 6.3.3 6.4.3 6.5.2 \
    6.7.1 7.1.1 7.1.2 7.2.1 7.3.1 7.4.1 7.5.1 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.10 9.1 9.2 9.3 9.4 9.5 \
    9.6 9.7 9.8 9.9 10.1.5 15.3 19.2 22.1 22.2 22.3 22.4 22.5 22.6 22.7 22.8 22.9 22.10 22.11 26.1 \
    33.1 33.2 33.3 36.2";
/// What it says plainly: the frames, the two modes, the registry, the table of errors, the
/// checklists, the vectors, and the extensions that it suggests.
const FACTS: &str = "3.1 3.2 3.3 3.4 3.5 3.6 3.7 5.2 5.3 5.4 6.2.1 6.3.1 6.4.2 8.8 8.9 10.1.1 10.1.2 \
    10.1.3 10.1.4 10.2.1 10.2.2 10.2.3 11.1 11.3 11.5 11.6 11.7 11.8 11.9 13.1 13.4 13.5 14.4 14.5 \
    15.1 15.2 16.1 16.2 16.3 20.1 20.2 20.3 21.1 21.2 21.3 21.4 21.5 21.6 21.7 21.8 21.10 23.9 \
    23.10 24.5 24.6 25.1 25.2 25.3 25.4 25.5 25.6 25.7 25.8 26.2 26.3 26.4 26.5 26.6 26.7 30.6 32.1 \
    32.2 34.1 34.2 34.3 34.4 34.5 34.7 34.9 35.1 35.2 35.3 36.1 38.1 38.2 38.3 38.4 39.1";

#[test]
fn s26_1_every_rule_has_a_test() {
    let mut tested = BTreeSet::new();
    for folder in ["src", "tests"] {
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut tested);
    }
    let missing = RULES.split_whitespace().chain(FACTS.split_whitespace());
    let missing: Vec<_> = missing.filter(|rule| !tested.contains(*rule)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

fn read(folder: &Path, tested: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, tested);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            tested.extend(text.split("fn s").skip(1).flat_map(numbers));
        }
    }
}

/// The numbers at the front of a name, behind its first `s`: `6_1_6_s9_6_a_private_function`.
fn numbers(name: &str) -> Vec<String> {
    let mut all: Vec<Vec<&str>> = vec![vec![]];
    for part in name.split(['_', '(']) {
        let is_new = part.starts_with('s');
        let digits = part.strip_prefix('s').unwrap_or(part);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        if is_new {
            all.push(vec![]);
        }
        all.last_mut().unwrap().push(digits);
    }
    all.into_iter().map(|parts| parts.join(".")).collect()
}

#[test]
fn numbers_are_read_from_names() {
    assert_eq!(numbers("6_1_6_s9_6_a_private_function()"), ["6.1.6", "9.6"]);
    assert_eq!(numbers("38_an_old_worker()"), ["38"]);
}
