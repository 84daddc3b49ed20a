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
        ("The consensus is partial: they share the core", words, Some("PARTIAL")),
        ("I'd say no.", words, Some("NO")),
        ("Yes they all mean tea", words, Some("YES")),
        ("Partial agreement on the core", words, Some("PARTIAL")),
        ("No consensus.", words, Some("NO")),
        ("NO real consensus", words, Some("NO")),
        ("PARTIAL (YES on tea, NO on milk)", words, Some("PARTIAL")),
        ("AGAINST (FOR: 2, AGAINST: 3)", SIDES, Some("AGAINST")),
        ("NO: some say YES, others PARTIAL", words, Some("NO")),
        ("Against the motion, since it costs too much", SIDES, Some("AGAINST")),
        ("Neither side carried it; PARTIAL", SIDES, Some("PARTIAL")),
        ("For both sides a lot was said, so AGAINST", SIDES, Some("AGAINST")),
    ] {
        assert_eq!(choose(said, of), want, "{said}");
    }
}

#[test]
fn a_verdict_that_is_left_open_or_denied_is_none() {
    const SIDES: &[&str] = oxford::FORM.words;
    let words = Form::COMMON.words;
    for (said, of) in [
        ("YES if all amount to the same answer, PARTIAL if they share its core, else NO", words),
        ("YES if all amount to the same answer, PARTIAL …", words),
        ("yes if they share its core, else NO", words),
        ("YES / PARTIAL / NO", words),
        ("[YES, PARTIAL or NO]", words),
        ("- YES\n- PARTIAL\n- NO", words),
        ("Yes and no.", words),
        ("There is no consensus", words),
        ("There is no consensus stated here", words),
        ("there is NO consensus stated here", words),
        ("we have no idea", words),
        ("No idea.", words),
        ("No positions were given", words),
        ("I cannot give a verdict because no positions were given", words),
        ("I cannot say YES", words),
        ("I can’t say that it is a yes.", words),
        ("It is not clear whether the answer is yes.", words),
        ("neither YES nor NO", words),
        ("It could be YES, it could be NO", words),
        ("FOR or AGAINST, whichever side carried the motion; PARTIAL if neither", SIDES),
        ("FOR or AGAINST, whichever side …", SIDES),
        ("For or against", SIDES),
        ("there is much to be said for both sides", SIDES),
        ("For both sides much was said", SIDES),
        ("it cannot be decided for lack of evidence", SIDES),
        ("For lack of evidence it cannot be decided", SIDES),
        ("That is what one argues for.", SIDES),
        ("The argument FOR tea was met", SIDES),
        ("YES", SIDES),
    ] {
        assert_eq!(choose(said, of), None, "{said}");
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
    check(&form, "evolution: e\nsynthesis: s\nconsensus: no", "NO |  | s | (not stated) | e");
    check(&form, "We agree on everything.", "- |  | We agree on everything. | (not stated) | ");
    check(
        &form,
        "The answer is tea.\n\nCONSENSUS: YES",
        "YES |  | The answer is tea. | (not stated) | ",
    );
    check(
        &form,
        "CONSENSUS: YES\nAGREED: all",
        "YES | all | CONSENSUS: YES\nAGREED: all | (not stated) | ",
    );
    check(&form, "CONSENSUS: perhaps\nSYNTHESIS: s", "- |  | s | (not stated) | ");
    check(
        &form,
        "> CONSENSUS: NO\n\nCONSENSUS: YES\nSYNTHESIS: s\nCONSENSUS: NO",
        "YES |  | s\nCONSENSUS: NO | (not stated) | ",
    );
}

#[test]
fn what_is_empty_or_cut_away_is_not_stated() {
    let form = Form::COMMON;
    check(
        &form,
        "CONSENSUS:\nAGREED:\nSYNTHESIS:\nDIFFERENCES:",
        "- |  | (not stated) | (not stated) | ",
    );
    check(&form, "CONSENSUS: YES\nSYNTHESIS:\nDIFFERENCES: d", "YES |  | (not stated) | d | ");
    check(
        &form,
        "CONSENSUS: YES\nSYNTHESIS: None\nEVOLUTION:",
        "YES |  | (not stated) | (not stated) | ",
    );
    check(&form, "Tea.\nCONSENSUS: YES\nSYNTHESIS:", "YES |  | Tea. | (not stated) | ");
    check(
        &form,
        "CONSENSUS: NO\nSYNTHESIS: The answer that",
        "NO |  | The answer that | (not stated) | ",
    );
    check(&form, "", "- |  | (not stated) | (not stated) | ");
}

#[test]
fn each_method_has_its_own_words() {
    let oxford = &oxford::FORM;
    check(oxford, "CONSENSUS: AGAINST\nSYNTHESIS: s", "AGAINST |  | s | (not stated) | ");
    check(
        oxford,
        "**consensus**: the side for it, FOR\nSYNTHESIS: s",
        "FOR |  | s | (not stated) | ",
    );
    check(oxford, "CONSENSUS: YES\nSYNTHESIS: s", "- |  | s | (not stated) | ");
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
        "PARTIAL |  | 5 weeks | (not stated) | ",
    );
    check(
        delphi,
        "CONVERGENCE: YES\nSYNTHESIS: 5\nDIFFERENCES: None.",
        "YES |  | 5 | None - strong convergence | ",
    );
    check(
        delphi,
        "CONVERGENCE: YES\nSYNTHESIS: 5\nDIFFERENCES: C says 9",
        "YES |  | 5 | C says 9 | ",
    );
}
