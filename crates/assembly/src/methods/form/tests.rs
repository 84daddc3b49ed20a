use super::*;
use crate::methods::{delphi, oxford, socratic};

#[test]
fn a_verdict_is_one_word_of_what_is_said() {
    const SIDES: &[&str] = oxford::FORM.words;
    let words = Form::COMMON.words;
    for (said, of, want) in [
        ("YES", words, Some("YES")),
        ("Partial: there is NO agreement on cost", words, Some("PARTIAL")),
        ("**No**", words, Some("NO")),
        ("the answer is yes", words, Some("YES")),
        ("nothing was settled", words, None),
        ("", words, None),
        ("The case for change failed: AGAINST", SIDES, Some("AGAINST")),
        ("against, for three reasons", SIDES, Some("AGAINST")),
        ("for", SIDES, Some("FOR")),
    ] {
        assert_eq!(choose(said, of), want, "{said}");
    }
}

/// Verdict, agreed, synthesis, what is open and how views moved, joined by ` | `.
#[track_caller]
fn check(form: &Form, text: &str, want: &str) {
    let read = form.read(text, vec![]);
    let more: Vec<String> = read.more.into_iter().map(|more| more.text).collect();
    let fields = [
        read.consensus.unwrap_or("-".into()),
        read.agreed,
        read.synthesis,
        read.differences,
        more.join(", "),
    ];
    assert_eq!(fields.join(" | "), want, "\n{text}");
}

#[test]
fn forms_as_models_fill_them() {
    let form = Form::COMMON;
    check(
        &form,
        "CONSENSUS: NO\nAGREED: a\nSYNTHESIS: s\nDIFFERENCES: d\nEVOLUTION: e",
        "NO | a | s | d | e",
    );
    check(
        &form,
        "**CONSENSUS:** Yes\n\n**AGREED:**\n- a\n- b\n\n**SYNTHESIS:** s\n\n**DIFFERENCES:** \
         None.\n\n**EVOLUTION:** none",
        "YES | - a\n- b | s | None | ",
    );
    check(
        &form,
        "## Synthesis\ns\n\n## Consensus\npartial, mostly\n## Differences\nd",
        "PARTIAL |  | s | d | ",
    );
    check(&form, "evolution: e\nsynthesis: s\nconsensus: no", "NO |  | s | None | e");
    check(&form, "We agree on everything.", "- |  | We agree on everything. | None | ");
    check(&form, "The answer is tea.\n\nCONSENSUS: YES", "YES |  | The answer is tea. | None | ");
    check(
        &form,
        "CONSENSUS: YES\nAGREED: all",
        "YES | all | CONSENSUS: YES\nAGREED: all | None | ",
    );
    check(&form, "CONSENSUS: perhaps\nSYNTHESIS: s", "- |  | s | None | ");
    check(
        &form,
        "> CONSENSUS: NO\n\nCONSENSUS: YES\nSYNTHESIS: s\nCONSENSUS: NO",
        "YES |  | s\nCONSENSUS: NO | None | ",
    );
}

#[test]
fn each_method_has_its_own_words() {
    let oxford = &oxford::FORM;
    check(oxford, "CONSENSUS: AGAINST\nSYNTHESIS: s", "AGAINST |  | s | None | ");
    check(oxford, "**consensus**: the side for it, FOR\nSYNTHESIS: s", "FOR |  | s | None | ");
    check(oxford, "CONSENSUS: YES\nSYNTHESIS: s", "- |  | s | None | ");
    let socratic = &socratic::FORM;
    check(
        socratic,
        "APORIA: yes\nSYNTHESIS: s\nOPEN_QUESTIONS: why?\nEVOLUTION: e",
        "YES |  | s | why? | e",
    );
    check(
        socratic,
        "**Open Questions:** None\n**Aporia:** no",
        "NO |  | **Open Questions:** None\n**Aporia:** no | None | ",
    );
    let delphi = &delphi::FORM;
    check(
        delphi,
        "### CONVERGENCE\nPARTIAL\n### SYNTHESIS\n5 weeks",
        "PARTIAL |  | 5 weeks | None - strong convergence | ",
    );
    check(
        delphi,
        "CONVERGENCE: YES\nSYNTHESIS: 5\nDIFFERENCES: C says 9",
        "YES |  | 5 | C says 9 | ",
    );
}
