use super::*;

#[test]
fn picks_as_models_write_them() {
    #[track_caller]
    fn check(text: &str, want: &[usize]) {
        assert_eq!(ballot(text, 12), want, "\n{text}");
    }
    check("PICK 1: 3 because\nPICK 2: 12\nPICK 3: 1", &[3, 12, 1]);
    check("**Pick 1:** #7 – cheap\n**Pick 2:** Idea 2, for 3 reasons", &[7, 2]);
    check("pick 3: 5\npick 1: 4", &[4, 5]);
    check("PICK 1: 99, no, 4\nPICK 2: 4\nPICK 3: 0", &[4]);
    check("I like 3 and 4", &[]);
    check("PICK 1: Tea garden (idea 7)\nPICK 2: Kite (3): cheap\nPICK 3: No. 5", &[7, 3, 5]);
    check("PICK 1: [4] Tea\nPICK 2: 2. Coffee\nPICK 3: the kite, #6", &[4, 2, 6]);
    check("PICK 1: None of the 5 ideas\nPICK 2: 3 of us like it\nPICK 3: for 2 reasons", &[]);
    check("PICK 1: I would not take idea 3\nPICK 2: not 4\nPICK 3: No idea 5 for me", &[]);
    check("", &[]);
}

#[test]
fn selections_as_models_write_them() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        let read = read(text);
        let fields = [read.consensus.unwrap_or("-".into()), read.synthesis, read.differences];
        assert_eq!(fields.join(" | "), want, "\n{text}");
    }
    check(
        "IDEA 1: one\nmore\nIDEA 2: two\nALTERNATIVES: other",
        "2 SELECTED | IDEA 1: one\nmore\n\nIDEA 2: two | other",
    );
    check(
        "Intro.\n\n## **Idea 1:** one\n\n## Idea 2\ntwo\n\n**ALTERNATIVES**: none",
        "2 SELECTED | IDEA 1: one\n\nIDEA 2: two | None",
    );
    check("idea 2: two\nidea 1: one", "2 SELECTED | IDEA 1: one\n\nIDEA 2: two | (not stated)");
    check("IDEA 1: one\nIDEA 2: None\nIDEA 3: n/a", "1 SELECTED | IDEA 1: one | (not stated)");
    check("They want IDEA 9: all of it", "- | They want IDEA 9: all of it | (not stated)");
    check("Nothing was worth it.\nALTERNATIVES: wait", "- | Nothing was worth it. | wait");
    check("IDEA 1:\nIDEA 2: two\nALTERNATIVES: wait", "- | (not stated) | wait");
    check("IDEA 1: None\nALTERNATIVES:", "- | (not stated) | (not stated)");
    check(
        "IDEA 1: one\nIDEA 2: likewise\nIDEA 3: three",
        "1 SELECTED | IDEA 1: one | (not stated)",
    );
}
