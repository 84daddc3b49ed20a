//! Random messages and patches, the same ones for the same seed. Under `ALTHING_SOAK` it goes on
//! for so many seconds, each time with another seed.

use super::views::check_identity;
use super::*;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

const ROUNDS: u64 = 300;
/// What `ALTHING_SOAK=1` means.
const SOAK: Duration = Duration::from_secs(10 * 60);
/// Changes of one message.
const PATCHES: usize = 6;

/// A message and what is done to it; also the form of the cases that are kept.
#[derive(Debug, Serialize, Deserialize)]
struct Case {
    text: String,
    /// Path, value, remove, create.
    patches: Vec<(String, Option<String>, bool, bool)>,
}

/// Every patch does what the model does, and every view comes back.
fn check(case: &Case) {
    let mut text = case.text.clone();
    for (path, value, remove, create) in &case.patches {
        let value = value.clone().map(Value::String);
        let patch = Patch { path: path.clone(), value, remove: *remove, create: *create };
        if text.trim().is_empty() {
            return;
        }
        let ours = patched(Form::Hl7, &text, &patch);
        assert_eq!(
            ours.as_ref().ok(),
            model::patched(&text, &patch).as_ref(),
            "{patch:?} of {text:?}"
        );
        text = ours.unwrap_or(text);
    }
    if super::super::hl7::check(&text).is_ok() {
        check_identity(&text);
    }
}

fn case(random: &mut fastrand::Rng) -> Case {
    let mut text = MESSAGES[random.usize(..MESSAGES.len())].to_string();
    for _ in 0..random.usize(..8) {
        mutate(&mut text, random);
    }
    let patches = (0..random.usize(..PATCHES)).map(|_| {
        let value = random.bool().then(|| word(random));
        (path(random), value, random.u8(..4) == 0, random.u8(..4) == 0)
    });
    Case { text, patches: patches.collect() }
}

const BITS: &[&str] = &[
    "|", "^", "~", "\\", "&", "#", "\r", "\n", "\r\n", "\r\r", "PID", "NK1", "OBX", "MSH|", "a",
    "0", " ", "é", "€", "\\T\\", "\\.br\\", "\"", "'", "\t", "\u{7f}", "\u{feff}", "null", "~~",
    "||||",
];

fn word(random: &mut fastrand::Rng) -> String {
    (0..random.usize(..4)).map(|_| BITS[random.usize(..BITS.len())]).collect()
}

fn mutate(text: &mut String, random: &mut fastrand::Rng) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let from = places[random.usize(..places.len())];
    let to = places.iter().copied().find(|to| *to >= from + random.usize(..6)).unwrap_or(from);
    let put = if random.bool() { word(random) } else { String::new() };
    // The start decides what everything else means: let it be most of the time.
    if from > 9 || random.u8(..8) == 0 {
        text.replace_range(from..to, &put);
    }
}

fn path(random: &mut fastrand::Rng) -> String {
    const NAMES: &[&str] = &["PID", "NK1", "OBX", "MSH", "ZZZ", "ZZ", "PIDé", "BHS"];
    let mut path = NAMES[random.usize(..NAMES.len())].to_string();
    let number = |random: &mut fastrand::Rng| match random.u8(..30) {
        0 => "0".to_string(),
        1 => "9999".to_string(),
        2 => "10000".to_string(),
        3 => "99999999999999999999999".to_string(),
        4 => String::new(),
        _ => random.usize(1..6).to_string(),
    };
    if random.u8(..3) == 0 {
        path += &format!("[{}]", number(random));
    }
    for _ in 0..random.usize(..4) {
        path.push(['.', '-', ' '][random.usize(..3)]);
        path += &number(random);
        if random.u8(..5) == 0 {
            path += &format!("[{}]", number(random));
        }
    }
    if random.u8(..20) == 0 {
        path += &word(random);
    }
    path
}

fn kept() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fuzz/patches")
}

#[test]
fn what_went_wrong_once_stays_right() {
    let mut count = 0;
    for entry in std::fs::read_dir(kept()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        check(&serde_json::from_str(&text).unwrap());
        count += 1;
    }
    assert!(count > 0, "there are kept cases");
}

#[test]
fn soak_patches_and_views() {
    let soak = soak();
    let started = Instant::now();
    let mut seed = if soak.is_some() { fastrand::u64(..) } else { 0 };
    let mut rounds = 0;
    while soak.map_or(rounds < ROUNDS, |soak| started.elapsed() < soak) {
        let case = case(&mut fastrand::Rng::with_seed(seed));
        let checked = std::panic::catch_unwind(|| check(&case));
        if let Err(panic) = checked {
            eprintln!(
                "keep it in testdata/fuzz/patches: {}",
                serde_json::to_string(&case).unwrap()
            );
            std::panic::resume_unwind(panic);
        }
        seed = seed.wrapping_add(1);
        rounds += 1;
    }
    println!("{rounds} messages");
}

/// How long to go on, if so.
fn soak() -> Option<Duration> {
    let told = std::env::var("ALTHING_SOAK").ok()?;
    let seconds = told.parse().ok().filter(|seconds| *seconds > 1);
    Some(seconds.map_or(SOAK, Duration::from_secs))
}
