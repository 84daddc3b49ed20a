use super::*;
use crate::event::Parts;
use crate::methods::tests::kit::{name, render, table as kit_table, voice};
use althing_testkit::Step;
use expect_test::expect;

fn board() -> Board {
    let items = |names: &[&str]| names.iter().filter_map(|name| Item::read(name)).collect();
    Board {
        alternatives: items(&["Tea", "Black coffee", "Water"]),
        criteria: items(&["Price", "Taste"]),
    }
}

/// Rows of scores by criterion, `-` where there is none.
#[track_caller]
fn check(text: &str, want: &str) {
    let rows = table::read(text, &board()).map(|scores| {
        let cell = |cell: &Option<f64>| cell.map_or("-".into(), |score| score.to_string());
        let row = |row: &Vec<Option<f64>>| row.iter().map(cell).collect::<Vec<_>>().join(" ");
        scores.iter().map(row).collect::<Vec<_>>().join(" / ")
    });
    assert_eq!(rows.as_deref().unwrap_or("none"), want, "\n{text}");
}

#[test]
fn tables_as_models_write_them() {
    check("| | A | B | C |\n|-|-|-|-|\n| 1 | 8 | 6 | 4 |\n| 2 | 1 | 2 | 3 |", "8 6 4 / 1 2 3");
    check(
        "SCORES:\n| Criterion | A. Tea | B. Black coffee | Water |\n|:--|:-:|--:|---|\n\
         | **1. Price** | **8**/10 | 6.5 | 4 |\n| Taste | 1 | 11 | n/a |\n| Total | 9 | 9 | 9 |",
        "8 6.5 4 / 1 - -",
    );
    check("| | C | A |\n|-|-|-|\n| C2 | 3 | 9 |", "- - - / 9 - 3");
    check("|Alternative|Price|Taste|\n|-|-|-|\n|Tea|8|1|\n|Option C|4|3|", "8 - 4 / 1 - 3");
    check("| 1 | 8 | 6 | 4 |", "8 6 4 / - - -");
    check("1 | 8 | 6 | 4", "8 6 4 / - - -");
    check("| | A |\n| 1 | 8 |\n| 1 | 2 |\n\n| | A |\n| 1 | 3 |", "8 - - / - - -");
    check(
        "| | A | B | C |\n| 1 | 1-10 | 8 (of 10) | 1 to 10 |\n| 2 | -3 | 7 - 9 | 8 - good |",
        "- 8 - / - - 8",
    );
    check("| | A | B | C |\n| 1 | 1-10 | 1–10 | 1 to 10 |", "none");
    check("Tea gets 8, coffee 6.", "none");
    check("| a | table | of | words |", "none");
    check("", "none");
}

#[test]
fn decisions_as_models_write_them() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        let scores = Quoted { name: "Scores".into(), text: "1. Tea".into() };
        let read = read(text, &scores);
        let more = read.more.into_iter().map(|more| more.text).collect::<Vec<_>>().join(", ");
        let fields = [
            read.consensus.unwrap_or("-".into()),
            read.agreed,
            read.synthesis,
            read.differences,
            more,
        ];
        assert_eq!(fields.join(" | "), want, "\n{text}");
    }
    check(
        "ALIGNMENT: YES\nRECOMMENDATION: Tea\nAGREED: a\nTRADEOFFS: t\nANALYSIS: why\nOTHERWISE: o",
        "YES | a | RECOMMENDATION: Tea\n\nwhy | t | 1. Tea, o",
    );
    check(
        "**Recommendation:** Tea\n\n**Alignment:** Yes, all of them\n\n**Analysis:** why",
        "YES |  | RECOMMENDATION: Tea\n\nwhy | (not stated) | 1. Tea",
    );
    check("alignment: no\nanalysis: why", "NO |  | why | (not stated) | 1. Tea");
    check("analysis: why\ntradeoffs: none", "- |  | why | See analysis | 1. Tea");
    check("Tea, of course.", "- |  | Tea, of course. | (not stated) | 1. Tea");
    check("RECOMMENDATION:\nALIGNMENT: YES", "YES |  | (not stated) | (not stated) | 1. Tea");
    check("RECOMMENDATION:\nANALYSIS: why", "- |  | why | (not stated) | 1. Tea");
    check("ALIGNMENT: YES or NO\nANALYSIS: why", "- |  | why | (not stated) | 1. Tea");
}

#[test]
fn lists_as_models_write_them() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        let (model, name) = ("test:ada".into(), "Ada".into());
        let (text_said, parts) = (text.to_string(), Parts::Plain);
        let said = [Spoken {
            seat: 0,
            model,
            name,
            role: None,
            text: text_said,
            parts,
            cut: None,
            mark: "bcdfgh".into(),
        }];
        let names = |items: Vec<Item>| {
            items.into_iter().map(|item| item.name).collect::<Vec<_>>().join(", ")
        };
        let found = [names(pooled(&said, ALTERNATIVES)), names(pooled(&said, CRITERIA))];
        assert_eq!(found.join(" | "), want, "\n{text}");
    }
    check("ALTERNATIVE A: Tea: hot\nALTERNATIVE B: Water: cold", "Tea, Water | ");
    check("**ALTERNATIVE A:** Tea: hot\n**Alternative B**: Water", "Tea, Water | ");
    check("alternative a: Tea\n\nalternative b: Water", "Tea, Water | ");
    check("ALTERNATIVE B: Water\nALTERNATIVE A: Tea", "Tea, Water | ");
    check("ALTERNATIVE A: Tea\nALTERNATIVE C: None\nALTERNATIVE D: Milk", "Tea, Milk | ");
    check("## Criterion 1: Price: in money\n## Criterion 2: Taste", " | Price, Taste");
    check("**criterion 2:** Taste\n**criterion 1:** Price", " | Price, Taste");
    check("ALTERNATIVE A: Tea\nALTERNATIVE B: likewise\nALTERNATIVE C: Likewise.", "Tea | ");
    check("CRITERION 1: a name of at most four words\nCRITERION 2: Price", " | Price");
    check("Tea or water.", " | ");
    check("", " | ");
}

#[tokio::test(start_paused = true)]
async fn the_lists_of_all_are_pooled_and_scored() {
    let table = kit_table("tradeoff", 3).script(|call| {
        let own = name(call.seat);
        vec![Step::SayText(match call.heard.labels[0].as_str() {
            "ALTERNATIVE A" => format!(
                "ALTERNATIVE A: Plan of {own}: x\nALTERNATIVE B: Wait: y\nALTERNATIVE C: None"
            ),
            "CRITERION 1" => format!("CRITERION 1: Joy of {own}: x\nCRITERION 2: Price: y"),
            "SCORES" if call.seat == 2 => "I cannot score these.".into(),
            "SCORES" => "| | A | B | C | D |\n|-|-|-|-|-|\n| 1 | 9 | 5 | 5 | 1 |\n".into(),
            _ => voice(call),
        })]
    });
    let events = table.hold().await;
    let calls = table.stage.calls();
    let last = crate::prompt::hear(&calls.last().unwrap().ask);
    expect![[r#"
        A. Wait: y
        B. Plan of ada: x
        C. Plan of bob: x
        D. Plan of cyd: x
        1. Price: y
        2. Joy of ada: x
        3. Joy of bob: x
        4. Joy of cyd: x"#]]
    .assert_eq(&format!("{}\n{}", last.quotes[0].1, last.quotes[1].1));
    assert!(last.plain.contains(
        "Mean scores over all tables and criteria, as computed: A 9.0 (rank 1), B 5.0 (rank 2), C \
         5.0 (rank 2), D 1.0 (rank 4)."
    ));
    let log = render(&events);
    let scores = log.lines().find(|line| line.trim_start().starts_with("Scores")).unwrap();
    expect![
        "   Scores: 1. Wait: 9.0 of 10 / 2. Plan of ada: 5.0 of 10 / 2. Plan of bob: 5.0 of \
             10 / 4. Plan of cyd: 1.0 of 10 / Criteria: Price, Joy of ada, Joy of bob, Joy of \
             cyd. Tables read: 2."
    ]
    .assert_eq(scores);
}

/// Nobody keeps to the form: the discussion goes on with what they said.
#[tokio::test(start_paused = true)]
async fn without_labels_the_words_themselves_are_passed_on() {
    let table =
        kit_table("tradeoff", 2).script(|call| vec![Step::SayText(format!("{} talks", call.name))]);
    let log = render(&table.hold().await);
    assert!(log.ends_with("=> completed\n"), "{log}");
    let last = crate::prompt::hear(&table.stage.calls().last().unwrap().ask);
    assert_eq!(last.quotes.len(), 6, "frames, criteria and evaluations as they were");
    assert!(last.plain.contains("No table of scores could be read."));
}
