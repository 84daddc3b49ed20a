use super::*;
use crate::event::Level;

/// Sections joined by ` | `, `-` where one is missing.
#[track_caller]
fn check<const N: usize>(labels: [&str; N], answer: &str, want: &str) {
    let got = sections(answer, labels).map(|s| s.unwrap_or("-".into()));
    assert_eq!(got.join(" | "), want, "\n{answer}");
}

const CRITIQUE: [&str; 3] = ["AGREEMENTS", "DISAGREEMENTS", "MISSING"];
const POSITION: [&str; 2] = ["POSITION", "CONFIDENCE"];

#[test]
fn labels_as_models_write_them() {
    check(CRITIQUE, "AGREEMENTS: a\nDISAGREEMENTS: b\nMISSING: c", "a | b | c");
    check(CRITIQUE, "**AGREEMENTS:** a\n\n**DISAGREEMENTS**: b\n\n**MISSING:**\nc", "a | b | c");
    check(CRITIQUE, "## Agreements\na\n\n## Disagreements\nb\n## Missing\nc", "a | b | c");
    check(CRITIQUE, "agreement: a\nDisagreement: b\nmissing: c", "a | b | c");
    check(
        CRITIQUE,
        "1. **Agreements**: a\n2. **Disagreements**: b\n3. **Missing**: c",
        "a | b | c",
    );
    check(CRITIQUE, "- AGREEMENTS: a\n- DISAGREEMENTS: b\n* MISSING: c", "a | b | c");
    check(CRITIQUE, "### **AGREEMENTS**\n\na\n\n---\n\n### **DISAGREEMENTS**\n\nb", "a | b | -");
    check(CRITIQUE, "AGREEMENTS：a\nDISAGREEMENTS：b", "a | b | -");
    check(CRITIQUE, "AGREEMENTS\na\nDISAGREEMENTS\nb", "a | b | -");
}

#[test]
fn order_and_prose_do_not_matter() {
    check(CRITIQUE, "DISAGREEMENTS: b\nMISSING: c\nAGREEMENTS: a", "a | b | c");
    check(
        CRITIQUE,
        "Sure! Here is my view.\n\nAGREEMENTS: a\nmore a\n\nDISAGREEMENTS: b",
        "a\nmore a | b | -",
    );
    check(CRITIQUE, "no labels at all", "- | - | -");
    check(CRITIQUE, "Agreements: a\nKEY DISAGREEMENTS: b\n**Main missing:** c", "a | b | c");
    check(CRITIQUE, "AGREEMENTS: a. **KEY DISAGREEMENTS:** b", "a. | b | -");
    check(CRITIQUE, "## Remaining Disagreements\nb", "- | b | -");
    check(CRITIQUE, "MONKEY DISAGREEMENTS: b", "- | b | -");
    check(CRITIQUE, "The disagreements between us are small.", "- | - | -");
    check(
        CRITIQUE,
        "AGREEMENTS: a\nMy agreements with Bob: many",
        "a\nMy agreements with Bob: many | - | -",
    );
    assert_eq!(before("first\nAGREEMENTS: a", &CRITIQUE), "first");
    assert_eq!(before("all of it", &CRITIQUE), "all of it");
}

#[test]
fn several_labels_on_one_line() {
    check(POSITION, "POSITION: Yes, go. CONFIDENCE: HIGH 80", "Yes, go. | HIGH 80");
    check(
        POSITION,
        "**POSITION:** Yes, **go**. **CONFIDENCE:** HIGH (80)",
        "Yes, **go**. | HIGH (80)",
    );
    check(POSITION, "**POSITION: Yes**\n**CONFIDENCE: LOW**", "Yes | LOW");
    check(POSITION, "| POSITION: Yes | CONFIDENCE: LOW |", "Yes | LOW |");
}

#[test]
fn the_first_label_wins_and_quoted_ones_do_not_count() {
    check(
        POSITION,
        "POSITION: mine\nPOSITION: again\nCONFIDENCE: LOW",
        "mine\nPOSITION: again | LOW",
    );
    check(POSITION, "> POSITION: theirs\n\nPOSITION: mine", "mine | -");
    check(POSITION, "```\nPOSITION: code\n```\nPOSITION: mine", "mine | -");
    check(POSITION, "POSITION:", " | -");
    check(POSITION, "", "- | -");
}

#[test]
fn longer_labels_win_and_blanks_may_be_underscores() {
    check(["REVISED ESTIMATE", "ESTIMATE"], "REVISED ESTIMATE: 5", "5 | -");
    check(["ESTIMATE", "REVISED ESTIMATE"], "Revised_Estimate: 5\nestimate: 4", "4 | 5");
    check(["OPEN QUESTIONS"], "**OPEN_QUESTIONS:** why?", "why?");
    check(["IDEA 1", "IDEA 10"], "IDEA 10: ten\nIDEA 1: one", "one | ten");
}

#[test]
fn confidences() {
    #[track_caller]
    fn check(text: &str, want: Option<(Level, u8)>) {
        assert_eq!(confidence(text).map(|c| (c.level, c.score)), want, "{text}");
    }
    check("HIGH", Some((Level::High, 85)));
    check("medium", Some((Level::Medium, 60)));
    check("Low - I guess", Some((Level::Low, 30)));
    check("HIGH (92%)", Some((Level::High, 92)));
    check("HIGH, 92/100", Some((Level::High, 92)));
    check("85", Some((Level::High, 85)));
    check("0.7", Some((Level::Medium, 70)));
    check("12.5 %", Some((Level::Low, 13)));
    check("MEDIUM 150", Some((Level::Medium, 60)));
    check("**HIGH** — 92", Some((Level::High, 92)));
    check("HIGH: 92 percent", Some((Level::High, 92)));
    check("92 (HIGH)", Some((Level::High, 92)));
    check("MEDIUM-HIGH (72)", Some((Level::Medium, 72)));
    check("LOW\n20", Some((Level::Low, 20)));
    check("HIGH 0.9, since we agree", Some((Level::High, 90)));
    check("MEDIUM. I would say 55% by now", Some((Level::Medium, 55)));
    check("LOW: it is at most 20/100", Some((Level::Low, 20)));
    check("8/10", Some((Level::High, 80)));
    check("HIGH (9 / 10)", Some((Level::High, 90)));
    check("MEDIUM, 6.5 out of 10", Some((Level::Medium, 65)));
    check("**85**", Some((Level::High, 85)));
    check("0", Some((Level::Low, 0)));
    check("1.0", Some((Level::High, 100)));
    check("the progress is slow and highly uncertain", None);
    check("", None);
}

#[test]
fn numbers_that_are_no_confidence() {
    #[track_caller]
    fn check(text: &str, want: Option<u8>) {
        assert_eq!(confidence(text).map(|c| c.score), want, "{text}");
    }
    check("HIGH - all 3 of us agree on it", Some(85));
    check("HIGH - 3 of us agree on it", Some(85));
    check("HIGH, 2 of 3 agree", Some(85));
    check("HIGH (4/5)", Some(85));
    check("HIGH\n1. It is cheap.\n2. It is fast.", Some(85));
    check("LOW, since version 3.2 is from 2024", Some(30));
    check("MEDIUM: the 90s and the 3rd of May", Some(60));
    check("MEDIUM, v2.50% is no number", Some(60));
    check("HIGH 250%", Some(85));
    check("MEDIUM - 2 caveats", Some(60));
    check("MEDIUM - 2", Some(60));
    check("MEDIUM – 2 caveats: cost and time", Some(60));
    check("MEDIUM, 2", Some(60));
    check("HIGH, -5", Some(85));
    check("HIGH -5", Some(85));
    check("LOW 5", Some(5));
    check("HIGH - 0 doubts", Some(85));
    check("85,5 %", Some(86));
    check("0,7", Some(70));
    check("N/A (0)", None);
    check("not stated, 0", None);
    check("all 3 of us agree", None);
    check("11/10", None);
}

#[test]
fn confidences_in_sentences() {
    #[track_caller]
    fn check(text: &str, want: Option<(Level, u8)>) {
        assert_eq!(confidence(text).map(|c| (c.level, c.score)), want, "{text}");
    }
    check("My confidence is high.", Some((Level::High, 85)));
    check("I have medium confidence in it", Some((Level::Medium, 60)));
    check("Very low, since nobody measured it", Some((Level::Low, 30)));
    check("I would say high", Some((Level::High, 85)));
    check("I am 80% sure", Some((Level::High, 80)));
    check("80% certain", Some((Level::High, 80)));
    check("85 because it is measured", Some((Level::High, 85)));
    check("HIGH 80: the risk is low", Some((Level::High, 80)));
    check("HIGH. The risk is low.", Some((Level::High, 85)));
    check("MEDIUM/HIGH 80", Some((Level::High, 80)));
    check("HIGH (80-90)", Some((Level::High, 85)));
    check("70 to 80 %", Some((Level::High, 75)));
    check("MEDIUM 60 on the scale 0 to 100", Some((Level::Medium, 60)));
    check("There is no doubt: HIGH 90", Some((Level::High, 90)));
    check("LOW, then 15", Some((Level::Low, 15)));
    check("HIGH 92 likely to survive", Some((Level::High, 92)));
}

#[test]
fn a_confidence_that_is_left_open_or_denied_is_none() {
    for text in [
        "HIGH, MEDIUM or LOW, then 0 to 100: how likely this survives a careful check",
        "HIGH, MEDIUM or LOW, then 0 to 100: …",
        "HIGH, MEDIUM or LOW",
        "[HIGH, MEDIUM or LOW]",
        "HIGH/MEDIUM/LOW",
        "- HIGH\n- MEDIUM\n- LOW",
        "MEDIUM or HIGH",
        "between LOW and MEDIUM",
        "HIGH for tea. LOW for coffee: LOW.",
        "HIGH if you trust me, LOW otherwise",
        "not high",
        "Not very HIGH 90",
        "I cannot say whether it is high or low",
        "I have no confidence; the risk is high.",
        "I have no confidence; the risk is HIGH.",
        "The risk is high",
        "High stakes make this hard",
        "low-risk",
        "0 to 100",
        "0-100",
        "0 – 100 %",
        "1-10",
        "HIGH 0 to 100",
        "LOW, then 0 to 100",
        "HIGH or LOW 0 to 100",
        "I am 100% unsure",
        "100% uncertain",
        "I am not 100% sure",
        "I don’t think 90% is right",
        "1. I think so",
        "1. I think\n2. that it depends",
        "3 reasons speak for it",
        "how likely this survives a careful check",
    ] {
        assert_eq!(confidence(text), None, "{text}");
    }
}

#[test]
fn every_cut_of_a_dressed_answer_parses_without_panic() {
    let answer = "1) **AGREEMENTS：** é\n> x\n```\n|_MISSING_: ü| DISAGREEMENTS: **\n---\n\
                  CONFIDENCE: not “HIGH” – 0–100 %, ½ or l’ow-½ (9 / 10…) — no, 8–ß: YES’n’t NO";
    let lines = make_lines(CRITIQUE, "é ü – what “it” is");
    for (cut, _) in answer.char_indices() {
        for part in [&answer[..cut], &answer[cut..]] {
            let _ = sections(part, CRITIQUE);
            let _ = before(part, &CRITIQUE);
            let _ = read_form(part, &lines);
            let _ = settled(part, &lines).len();
            let _ = confidence(part);
            let _ = choose(part, &["YES", "NO"]);
        }
    }
}

/// Would not end if a mention were compared with all of the text before it.
#[test]
fn the_same_again_and_again_is_read_to_its_end() {
    for text in ["not HIGH LOW ", "YES no ", "no 5% ", "POSITION: what is it\n", "what is "] {
        let text = text.repeat(20_000);
        assert_eq!(confidence(&text), None);
        assert_eq!(read_form(&text, &make_lines(["CONFIDENCE"], "what is it")), [None]);
        let _ = choose(&text, &["YES", "NO"]);
    }
}
