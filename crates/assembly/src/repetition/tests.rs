use super::*;

/// Bytes kept of `text` when it comes in pieces of `size` bytes; all of it where nothing repeats.
fn kept_of(text: &str, size: usize) -> Option<usize> {
    let mut watch = Repetition::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        if let Some(kept) = watch.push(piece) {
            return Some(kept);
        }
        rest = after;
    }
    None
}

#[track_caller]
fn check_loop(start: &str, period: impl Fn(usize) -> String) {
    let tail: String = (0..1_500).map(period).collect();
    let text = format!("{start}{tail}");
    for size in [1, 7, 4_096] {
        let kept = kept_of(&text, size).unwrap_or_else(|| panic!("no loop in {text:.200}"));
        assert!(kept >= start.trim_end().len(), "what was said before the loop is kept");
        assert!(kept <= start.len() + 4_096, "{kept} bytes of a loop are kept");
        assert!(text.is_char_boundary(kept));
    }
}

#[test]
fn loops_as_weak_models_make_them() {
    let start = "A monolith is easier to run. It has one place to look at.\n\n";
    check_loop(start, |_| "The team should use the team. ".into());
    check_loop(start, |_| "ha".into());
    check_loop(start, |_| "\n".into());
    check_loop("", |_| "so much ".into());
    check_loop(start, |_| "三人团队应该从单体开始吗".into());
    check_loop(start, |at| format!("{at}. Use a monolith for the first version of it.\n"));
    let lines = ["The first reason is the cost.", "The second reason is the time it takes."];
    check_loop(start, |at| format!("{} ", lines[at % 2]));
    // A period longer than what a look takes in.
    let long: Vec<String> = (0..90)
        .map(|n| format!("Reason {} says that {} holds here.", letters(n), letters(n * 7)))
        .collect();
    let tail: String = (0..2_000).map(|at| format!("{}\n", long[at % 90])).collect();
    assert!(kept_of(&tail, 64).is_some_and(|kept| kept < 4 * 90 * 60));
}

fn letters(n: usize) -> String {
    let letter = |at: usize| char::from(b'a' + (n / 26_usize.pow(at as u32) % 26) as u8);
    (0..4).map(letter).collect()
}

#[test]
fn tables_code_lists_and_poems_are_no_loops() {
    let table: String = (0..200)
        .map(|n| format!("| case {n} | {} | yes | no | {} |\n", n * 7, letters(n)))
        .collect();
    let cells = "| | | | | | | | |\n".repeat(20);
    let ruler = "-".repeat(300);
    let list: String =
        (0..300).map(|n| format!("{n}. Take {} to {}.\n", letters(n), letters(n * 3))).collect();
    let matrix = format!("let zeros = [{}];", "0, ".repeat(120));
    let refrain = "And miles to go before I sleep,\nAnd miles to go before I sleep.\n";
    let verse = |n: usize| {
        format!(
            "The {} wood is {} and deep,\nBut I have {} to keep.\n{refrain}",
            letters(n),
            letters(n + 9),
            letters(n + 77)
        )
    };
    let poem: String = (0..12).map(verse).collect();
    for text in [table, cells, ruler, list, matrix, poem] {
        for size in [1, 50, 100_000] {
            assert_eq!(kept_of(&text, size), None, "{text:.300}");
        }
    }
}

#[test]
fn real_texts_are_no_loops() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![folder.join("../../README.md"), folder.join("../../ARCHITECTURE.md")];
    files.push(folder.join("../../bench/README.md"));
    for folder in
        ["src", "src/methods", "src/demo", "src/demo/lines", "src/council", "src/methods/tests"]
    {
        let found =
            std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
        files.extend(found.unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_file()));
    }
    assert!(files.len() > 60);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(kept_of(&text, 200), None, "{}", file.display());
    }
}

#[test]
fn a_long_text_takes_time_in_proportion() {
    // The work is bounded by construction: each byte is read once for its sentence and at most
    // TAIL_BYTES / LOOK_EVERY times for its period. This would take hours if it were not.
    let text: String = (0..40_000)
        .map(|n| format!("{} went to {} alone. ", letters(n), letters(n * 31)))
        .collect();
    assert!(text.len() > 700_000);
    assert_eq!(kept_of(&text, 3), None);
    let one_line = "x y z w v ".repeat(10) + &(0..200_000).map(letters).collect::<String>();
    assert_eq!(kept_of(&one_line, 5), None);
}
