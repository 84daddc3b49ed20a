mod harmless;
mod loops;

use super::count::STEPS;
use super::*;
use std::path::{Path, PathBuf};

/// Sizes of the pieces in which each text comes.
const PIECES: [usize; 4] = [1, 7, 100, usize::MAX];

/// A generator of the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A word of four letters, another one for each number.
fn word(n: usize) -> String {
    let letter = |at: u32| char::from(b'a' + (n / 26_usize.pow(at) % 26) as u8);
    (0..4).map(letter).collect()
}

/// The texts of all numbers up to `end`, one after the other.
fn repeat(end: usize, text: impl Fn(usize) -> String) -> String {
    (1..=end).map(text).collect()
}

/// Returns how many bytes of `text` are kept when it comes in pieces of `size` bytes, and how many
/// were read by then; none where nothing repeats.
fn find_loop(text: &str, size: usize) -> Option<(usize, usize)> {
    let mut watch = Repetition::default();
    let mut read = 0;
    while read < text.len() {
        let end = text.ceil_char_boundary(read.saturating_add(size));
        if let Some(kept) = watch.push(&text[read..end]) {
            return Some((kept, end));
        }
        read = end;
    }
    None
}

/// Checks that a text which goes on for ever is cut after its start and once what it repeats, by
/// the time that `read_max` bytes of it came.
#[track_caller]
fn check_loop(name: &str, start: &str, once: usize, read_max: usize, tail: &str) {
    let text = format!("{start}{tail}");
    let Some((kept, read)) = find_loop(&text, 1) else { panic!("{name}: no loop is found") };
    assert!(read <= read_max, "{name}: found after {read} bytes");
    assert!(kept >= start.trim_end().len(), "{name}: {kept} bytes, less than before the loop");
    assert!(kept <= start.len() + once, "{name}: {kept} bytes kept of a loop");
    assert!(text.is_char_boundary(kept), "{name}");
    for size in PIECES {
        assert_eq!(find_loop(&text, size).map(|it| it.0), Some(kept), "{name} in pieces of {size}");
    }
}

#[track_caller]
fn check_harmless(name: &str, text: &str) {
    for size in PIECES {
        let found = find_loop(text, size);
        assert_eq!(found, None, "{name} in pieces of {size}: {:.200}", text);
    }
}

#[test]
fn loops_are_found_and_cut_after_the_first_time() {
    let start = "A monolith is easier to run. It has one place to look at.\n\n";
    for (name, once, read_max, tail) in loops::all() {
        check_loop(name, "", once, read_max, &tail);
        check_loop(name, start, once, read_max + 1_024, &tail);
    }
}

#[test]
fn a_loop_is_cut_between_characters() {
    // The last byte of the first character is also the last one of the period.
    check_loop("accents", "\u{a9}", 12, 3_072, &" ou a\u{e9}".repeat(900));
}

#[test]
fn a_recorded_loop_is_found() {
    let text = include_str!("../../testdata/loops/smollm2-135m.txt");
    let (kept, read) = find_loop(text, 5).expect("a model of 135 million parameters in a loop");
    assert!(kept < 1_400 && read < text.len(), "{kept} of {read} bytes are kept");
}

#[test]
fn tables_code_lists_and_songs_are_no_loops() {
    let prose = "The answer is below; it is as long as it has to be.\n\n";
    for (name, text) in harmless::all() {
        check_harmless(name, &text);
        check_harmless(name, &format!("{prose}{text}\n{prose}"));
        check_harmless(name, &format!("{prose}```\n{text}\n```\n"));
    }
}

#[test]
fn what_is_in_a_fence_may_repeat_itself() {
    let output = "Hello, world!\n".repeat(150);
    check_harmless("output", &format!("It prints:\n\n```text\n{output}```\n"));
    check_loop("lines", "", 20, 3_072, &output);
}

/// A plan says the same under many headings; one whose text goes in circles is a loop all the same.
#[test]
fn forms_repeat_themselves_up_to_a_point() {
    let watch = |text: &str| Repetition::of_form().push(text);
    let step = |n| {
        format!(
            "{{\"title\": \"{}\", \"why\": \"It stands on something.\", \"steps\": [\"Begin.\", \
             \"Say when it is done.\"], \"risk\": \"None is known.\"}},\n",
            word(n)
        )
    };
    assert_eq!(watch(&repeat(400, step)), None);
    let circle = "you are asked to have your doubts and you are asked to meet the challenges, ";
    let text = format!("{{\"summary\": \"{}", circle.repeat(30));
    assert!(Repetition::default().push(&text).is_some() && watch(&text).is_none());
    assert!(watch(&format!("{text}{}", circle.repeat(80))).is_some());
}

#[test]
fn what_is_new_is_never_dropped() {
    let news = "But a team of nine needs other rules than this one.";
    let old = "The team is small and it should stay so. ";
    let text = format!("{}{news} {}", old.repeat(12), old.repeat(200));
    let (kept, _) = find_loop(&text, 64).expect("a loop");
    assert!(text[..kept].contains(news));
}

#[test]
fn a_loop_is_found_in_the_middle_of_a_piece_and_stays_found() {
    let rest = repeat(300, |n| format!("and {} {} ", word(n * 91), word(n * 7)));
    let text = format!("A start. {}{rest}", "so much ".repeat(300));
    let mut watch = Repetition::default();
    let kept = watch.push(&text);
    assert!(kept.is_some_and(|kept| kept < 40), "{kept:?}");
    assert_eq!(watch.push("Something else."), kept);
}

/// Every text file of the repository below `folder`. What others made, and loops, are left out.
fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    const LEFT_OUT: [&str; 3] = ["target", "node_modules", "loops"];
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if name.starts_with('.') || LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        match entry.file_type().unwrap() {
            it if it.is_dir() => collect_files(&path, files),
            it if it.is_file() => files.push(path),
            _ => {}
        }
    }
}

#[test]
fn no_file_of_this_repository_is_a_loop() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md"), root.join("ARCHITECTURE.md")];
    for folder in ["bench", "crates", "docs", "examples", "peers", "xtask"] {
        collect_files(&root.join(folder), &mut files);
    }
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(&file).ok().map(|text| (file, text)))
        .collect();
    assert!(texts.len() > 1_000, "{} files", texts.len());
    let is_alarm = |(file, text): &(PathBuf, String)| Some((file.clone(), find_loop(text, 4_096)?));
    let alarms: Vec<_> = texts.iter().filter_map(is_alarm).collect();
    assert_eq!(alarms, [], "a false alarm, or files that say one thing dozens of times");
}

/// The steps that a text without a loop takes in pieces of `size` bytes.
fn count_steps_of(text: &str, size: usize) -> usize {
    STEPS.set(0);
    assert_eq!(find_loop(text, size), None, "{text:.200}");
    STEPS.get()
}

/// Checks that the work is in proportion to the text that `piece` makes, however it comes.
#[track_caller]
fn check_linear(name: &str, piece: fn(&mut Random) -> String) {
    let mut random = Random(42);
    let mut text = String::new();
    while text.len() < 1 << 20 {
        text += &piece(&mut random);
    }
    let quarter = &text[..text.floor_char_boundary(1 << 18)];
    let steps = count_steps_of(quarter, 7);
    for size in [1, 4_096] {
        assert_eq!(count_steps_of(quarter, size), steps, "{name} in pieces of {size}");
    }
    let all = count_steps_of(&text, 7);
    assert!(all < steps * 17 / 4, "{name}: {steps} steps for a quarter, {all} for all");
    assert!(all < text.len() * 40, "{name}: {all} steps for {} bytes", text.len());
}

#[test]
fn long_prose_takes_work_in_proportion() {
    check_linear("words", |random| format!("{} ", word(random.below(1 << 18))));
    check_linear("sentences", |random| format!("{} is so. ", word(random.below(1 << 18))));
}

#[test]
fn long_data_takes_work_in_proportion() {
    check_linear("digits", |random| random.below(10).to_string());
    check_linear("signs", |random| random.pick(&["|", "-", "+", "=", "<", ">"]).into());
}

#[test]
fn long_runs_take_work_in_proportion() {
    check_linear("blanks", |random| random.pick(&[" ", "\n", "\t"]).into());
    // Too short to be loops, so they are looked at again and again.
    check_linear("rulers", |random| format!("{}{}\n", "=".repeat(2_000), random.below(10)));
}
