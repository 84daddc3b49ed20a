use super::*;
use crate::parse::{FormLine, read_form};

const FORM: [FormLine; 3] = [
    FormLine { label: "POSITION", what: "your answer in two sentences, and why; None if none" },
    FormLine { label: "CONFIDENCE", what: "HIGH or LOW, then 0 to 100" },
    FormLine { label: "MISSING", what: "what is open" },
];

/// Sections joined by ` | `, `-` where nothing is stated.
#[track_caller]
fn check(answer: &str, want: &str) {
    let got = read_form(answer, &FORM).map(|section| section.unwrap_or("-".into()));
    assert_eq!(got.join(" | "), want, "\n{answer}");
}

#[test]
fn the_prompts_own_words_state_nothing() {
    let [position, confidence, missing] = FORM.map(|line| format!("{}: {}", line.label, line.what));
    check(&[position.as_str(), &confidence, &missing].join("\n"), "- | - | -");
    check(&[position.as_str(), &confidence, &missing].join(" "), "- | - | -");
    check(&position.to_lowercase(), "- | - | -");
    check("**POSITION:** **Your answer in two sentences, and why; None if none.**", "- | - | -");
    check("POSITION: [your answer in two sentences, and why; None if none]", "- | - | -");
    check("POSITION:\nyour answer in two sentences,\nand why; none if none", "- | - | -");
    check("POSITION: your answer in two sentences", "- | - | -");
    check("POSITION: None if none\nCONFIDENCE: <HIGH or LOW>\nMISSING: what is open?", "- | - | -");
    check(
        "POSITION: likewise\nCONFIDENCE: \"Likewise.\"\nMISSING: likewise\n\nI am done.",
        "- | - | -",
    );
    check("POSITION:\nCONFIDENCE:\nMISSING: …", "- | - | -");
}

#[test]
fn what_is_written_behind_them_counts() {
    check("POSITION: your answer in two sentences, and why; None if none: Tea.", "Tea. | - | -");
    check("POSITION: your answer in two sentences\nTea.\nMISSING: milk", "Tea. | - | milk");
    check("CONFIDENCE: HIGH or LOW, then 0 to 100 = HIGH 80", "- | HIGH 80 | -");
    check("CONFIDENCE: HIGH or LOW\n\nLOW 20", "- | LOW 20 | -");
    check("POSITION: Your answer is wrong", "Your answer is wrong | - | -");
    check("MISSING: what is", "- | - | what is");
    check("MISSING: likewise the milk", "- | - | likewise the milk");
}

#[test]
fn a_form_that_is_filled_in_after_it_was_repeated_counts() {
    let form = FORM.map(|line| format!("{}: {}\n", line.label, line.what)).concat();
    check(&format!("{form}\nPOSITION: Tea.\nCONFIDENCE: LOW"), "Tea. | LOW | -");
    check(&format!("{form}\nMy answer:\nPOSITION: Tea.\nMISSING: milk"), "Tea. | - | milk");
    check(
        &format!("POSITION: Tea.\nCONFIDENCE: LOW\n{form}"),
        &format!("Tea. | LOW\n{} | -", form.lines().take(2).collect::<Vec<_>>().join("\n")),
    );
}

#[test]
fn while_it_is_written_an_echo_may_still_come() {
    let what = FORM[0].what;
    for (cut, _) in what.char_indices() {
        assert!(may_be_echo(&what[..cut], what), "{}", &what[..cut]);
    }
    for (section, want) in [
        ("in two", true),
        ("none if", true),
        ("LIKE", true),
        ("likewise the", false),
        ("your answer is", false),
        ("in two\n", false),
        ("your answer in two\n", true),
        ("Tea", false),
    ] {
        assert_eq!(may_be_echo(section, what), want, "{section}");
    }
}
