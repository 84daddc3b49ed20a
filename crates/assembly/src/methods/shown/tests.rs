use super::super::form::Form;
use super::super::{ALL, advocate, brainstorm, tradeoff};
use super::*;
use crate::methods::method;

/// Plays `text` letter by letter: what is shown only grows, and is the beginning of `whole`.
#[track_caller]
fn check(name: &str, text: &str, whole: &str, shown_last: bool) {
    let method = method(name).unwrap();
    let bare = |text: &str| text.trim_start_matches(['*', '_', ' ']).to_string();
    let mut before = String::new();
    for (cut, _) in text.char_indices().chain([(text.len(), ' ')]) {
        let shown = method.so_far(&text[..cut]);
        assert!(
            bare(&shown).starts_with(&bare(&before)),
            "{name} at {cut}: {before:?}, then {shown:?}"
        );
        assert!(bare(whole).starts_with(&bare(&shown)), "{name} at {cut}: {shown:?} of {whole:?}");
        before = shown;
    }
    // Before the end, too: otherwise there would be nothing to watch.
    assert_eq!(!before.is_empty(), shown_last, "{name}: {before:?}");
}

#[test]
fn a_synthesis_is_shown_as_it_is_written() {
    let plain = "CONSENSUS: YES\nAGREED: - tea\nSYNTHESIS: Drink tea, all of you.\nIt is warm.\n\n\
                 DIFFERENCES: Sugar.\nEVOLUTION: None";
    for text in [
        plain.to_string(),
        plain.replace('\n', "\n\n"),
        plain.replace("SYNTHESIS:", "**SYNTHESIS:**").replace("DIFFERENCES:", "**DIFFERENCES:**"),
        plain
            .replace("SYNTHESIS: ", "## Synthesis\n\n")
            .replace("DIFFERENCES: ", "## Difference\n"),
        plain.replace("SYNTHESIS:", "3. __Synthesis__:").replace("DIFFERENCES:", "4. Differences:"),
        plain.replace(".\n\nDIFFERENCES", ".\n---\nDIFFERENCES"),
        plain.replace("\n\nDIFFERENCES", " **DIFFERENCES"),
        plain.replace("all of you", "DIFFERENCES aside, **EVOLUTION** or not, all"),
        plain.replace("It is warm.", "Differences remain\nEVOLUTIONARY: no.\n2. It is **warm**"),
        plain.replace("It is warm.", "```\nDIFFERENCES: code\n```\n> EVOLUTION: quoted\nYes."),
        plain.replace("Drink", "**Drink**"),
        plain.replace("Drink tea", "**Drink tea"),
        plain.replace("Drink", "Größe \u{1f375} zählt: Trink"),
    ] {
        check("standard", &text, &Form::COMMON.read(&text, vec![]).synthesis, true);
    }
    for text in ["Just tea.", "CONSENSUS: YES\nTea.", "SYNTHESIS: Tea.", ""] {
        check("standard", text, &Form::COMMON.read(text, vec![]).synthesis, false);
    }
}

#[test]
fn the_prompts_own_words_are_not_shown() {
    let [verdict, _, synthesis, open, _] =
        Form::COMMON.lines().map(|line| format!("{}: {}", line.label, line.what));
    let form = Form::COMMON.lines().map(|line| format!("{}: {}\n", line.label, line.what)).concat();
    for (text, shown) in [
        (form.clone(), false),
        (format!("{synthesis}\nDrink tea, all of you.\n{open}"), false),
        (format!("{form}\n{verdict}\nSYNTHESIS: Drink tea, all of you.\nDIFFERENCES: No"), true),
        (format!("{synthesis}: Drink tea, all of you.\nDIFFERENCES: Sugar"), true),
        (format!("{synthesis} or more\nDIFFERENCES: Sugar"), true),
        ("SYNTHESIS: The answer this supports is tea, of course.\nDIFFERENCES: No".into(), true),
        ("SYNTHESIS: the bottom line first\nTea, of course.\nDIFFERENCES: No".into(), false),
        ("SYNTHESIS: likewise\nTea, of course.\nDIFFERENCES: No".into(), false),
        ("SYNTHESIS: Likewise tea, of course.\nDIFFERENCES: No".into(), true),
        ("SYNTHESIS: None\nDIFFERENCES: No".into(), false),
    ] {
        check("standard", &text, &Form::COMMON.read(&text, vec![]).synthesis, shown);
    }
}

/// Any mixture of labels, the prompt's words and others.
#[test]
fn what_is_shown_is_the_beginning_of_what_is_read() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let pieces = [
        "SYNTHESIS: ",
        "**SYNTHESIS:** ",
        "DIFFERENCES: ",
        "AGREED:",
        "\n",
        "\n\n",
        " ",
        "tea ",
        "the answer this supports: ",
        "the bottom line first",
        ", then what decides it",
        ", then its limits",
        "likewise",
        "None",
        "Drink tea, all of you. ",
        "what",
        " **why** ",
    ];
    for round in 0..400 {
        let count = random.usize(1..14);
        let text: String = (0..count).map(|_| pieces[random.usize(..pieces.len())]).collect();
        let whole = Form::COMMON.read(&text, vec![]).synthesis;
        let method = method("standard").unwrap();
        let bare = |text: &str| text.trim_start_matches(['*', '_', ' ', '\n']).to_string();
        for (cut, _) in text.char_indices() {
            let shown = method.so_far(&text[..cut]);
            let is_front = bare(&whole).starts_with(&bare(&shown));
            assert!(is_front, "seed {seed}, {round}: {shown:?} of {whole:?}, in {text:?} at {cut}");
        }
    }
}

#[test]
fn every_form_can_be_watched() {
    for method in ALL {
        let Shown { lines, parts } = &method.shown;
        assert!(!parts.is_empty(), "{}", method.name);
        assert!(
            parts.iter().all(|(_, label)| lines.iter().any(|line| line.label == *label)),
            "{}",
            method.name
        );
    }
    let verdict = "SURVIVED: - it\nFAILED: None\nUNRESOLVED: None\nVERDICT: Stay where you are.";
    check("advocate", verdict, &advocate::read(verdict).synthesis, true);
    let ideas = "IDEA 1: A boat, with oars.\nIDEA 2: A raft, with a sail.\nIDEA 3: None\n\
                 IDEA 4: A kite, too late.\nALTERNATIVES: Swim";
    check("brainstorm", ideas, &brainstorm::read(ideas).synthesis, true);
    let none = "IDEA 1: None\nALTERNATIVES: Swim for it";
    check("brainstorm", none, &brainstorm::read(none).synthesis, false);
    let scores = crate::event::Quoted { name: "Scores".into(), text: "1".into() };
    for (text, shown) in [
        ("ALIGNMENT: YES\nRECOMMENDATION: The boat\nAGREED: None\nANALYSIS: It floats.", true),
        ("ANALYSIS: It floats well.\nRECOMMENDATION: The boat", true),
        ("ANALYSIS: It floats, and no more is said.", false),
    ] {
        check("tradeoff", text, &tradeoff::read(text, &scores).synthesis, shown);
    }
}
