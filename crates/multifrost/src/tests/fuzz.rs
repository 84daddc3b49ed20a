//! Fuzzing without tools: what is kept in `testdata/fuzz` is tried as it is, and then changed at
//! random, with the `check` of the unit tests. A few rounds in every test run, with the same seed;
//! many under `cargo xtask soak`, each time with another. What fails is told as hexadecimal text:
//! it belongs into the folder as a file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fastrand::Rng;

const ROUNDS: usize = 2_000;
const ROUNDS_SOAK: usize = 1_000_000;
/// A longer input is cut.
const INPUT_BYTES_MAX: usize = 1 << 14;
/// Changes of one input.
const CHANGES_MAX: usize = 8;
/// Bytes that mean something to ZMTP or msgpack.
const TELLING: &[u8] = &[
    0x00, 0x01, 0x02, 0x04, 0x06, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc6,
    0xc7, 0xcb, 0xcf, 0xd3, 0xd4, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff,
];

/// Tries everything kept for a target, and what comes of it.
pub(crate) fn run(target: &str, check: impl Fn(&[u8], &mut Rng)) {
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "nothing is kept for {target}");
    let is_soak = std::env::var_os("ALTHING_SOAK").is_some();
    let seed = if is_soak { fastrand::u64(..) } else { 7 };
    let mut rng = Rng::with_seed(seed);
    corpus.iter().for_each(|input| attempt(target, input, &mut rng, &check));
    for _ in 0..if is_soak { ROUNDS_SOAK } else { ROUNDS } {
        let mut input = corpus[rng.usize(..corpus.len())].clone();
        for _ in 0..rng.usize(1..=CHANGES_MAX) {
            change(&mut input, &corpus, &mut rng);
        }
        input.truncate(INPUT_BYTES_MAX);
        attempt(target, &input, &mut rng, &check);
    }
}

fn attempt(target: &str, input: &[u8], rng: &mut Rng, check: &impl Fn(&[u8], &mut Rng)) {
    let hex = || input.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let tried = catch_unwind(AssertUnwindSafe(|| check(input, rng)));
    assert!(tried.is_ok(), "{target} fails with {}", hex());
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fuzz").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.usize(0..=input.len());
    let until = rng.usize(at..=input.len().min(at + 16));
    match rng.u8(0..7) {
        0 if at < input.len() => input[at] ^= 1 << rng.u8(0..8),
        1 if at < input.len() => input[at] = TELLING[rng.usize(..TELLING.len())],
        2 => input.insert(at, TELLING[rng.usize(..TELLING.len())]),
        3 => drop(input.drain(at..until)),
        4 => {
            let piece = input[at..until].to_vec();
            input.splice(at..at, piece);
        }
        5 => input.truncate(at),
        _ => {
            let other = &corpus[rng.usize(..corpus.len())];
            let from = rng.usize(0..=other.len());
            input.splice(at..at, other[from..].iter().copied());
        }
    }
}
