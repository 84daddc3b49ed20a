//! What weak models say for ever.

use super::{Random, repeat, word};

/// Each with its name, the bytes of it that may be kept, the bytes after which it is found at the
/// latest, and the text.
pub(super) fn all() -> Vec<(&'static str, usize, usize, String)> {
    [periods(), sentences(), numbered(), variants()].concat()
}

/// What repeats exactly.
fn periods() -> Vec<(&'static str, usize, usize, String)> {
    let words = |end| repeat(end, |n| format!("{} ", word(n * n * 91)));
    vec![
        ("two words", 20, 2_048, "so much ".repeat(1_000)),
        ("a syllable", 8, 10_240, "ha".repeat(9_000)),
        ("a word", 20, 3_072, "very ".repeat(2_000)),
        ("newlines", 4, 3_072, "\n".repeat(9_000)),
        ("ideographic blanks", 6, 3_072, "\u{3000}".repeat(3_000)),
        ("dots", 4, 10_240, ".".repeat(20_000)),
        ("commas", 4, 10_240, ", ".repeat(10_000)),
        ("Chinese without a stop", 80, 3_072, "三人团队应该从单体开始吗".repeat(500)),
        ("500 bytes without a stop", 510, 3_072, words(100).repeat(40)),
        ("1,100 bytes without a stop", 1_110, 6_144, words(220).repeat(40)),
        ("2,900 bytes without a stop", 2_950, 13_312, words(580).repeat(40)),
        ("a fence that opens again", 40, 13_312, "```\nprint(total)\n```\n".repeat(2_000)),
    ]
}

/// The same sentences or paragraphs.
fn sentences() -> Vec<(&'static str, usize, usize, String)> {
    let clause = |n: usize| format!("Reason {} is that {} holds. ", word(n), word(n * 7));
    let paragraph = |sentences| repeat(sentences, clause) + "\n\n";
    let long = |n: usize| format!("{} The {} has to keep it running.\n", clause(n), word(n * 3));
    vec![
        ("a sentence", 40, 2_048, "The team should use the team. ".repeat(900)),
        ("a line", 60, 2_048, "It goes to the other person, and so on.\n".repeat(900)),
        ("a short sentence", 20, 2_560, "It is. ".repeat(2_000)),
        ("quoted sentences", 40, 2_560, "\"It is the door.\" (It is.) ".repeat(900)),
        ("a paragraph of 3 sentences", 120, 2_560, paragraph(3).repeat(200)),
        ("a paragraph of 10 sentences", 400, 3_072, paragraph(10).repeat(200)),
        ("a page of 50 sentences", 1_800, 7_168, paragraph(50).repeat(40)),
        ("90 lines", 6_000, 24_576, repeat(90, long).repeat(40)),
        ("Hindi", 200, 4_096, "यह टीम के लिए बहुत अच्छा है। ".repeat(900)),
        ("Chinese", 80, 3_072, "团队太小成本很高。".repeat(900)),
    ]
}

/// Items that differ only in their number.
fn numbered() -> Vec<(&'static str, usize, usize, String)> {
    let item = |n| {
        format!(
            "{n}. Reliability: The reliability of the system depends on the people who keep it.\n"
        )
    };
    vec![
        ("a list", 90, 30 * 84, repeat(900, item)),
        (
            "a list in bold",
            90,
            40 * 84,
            repeat(900, |n| format!("**{n}. Cost**: The cost of it.\n")),
        ),
        ("a short list", 20, 4_096, repeat(9_000, |n| format!("{n}. Yes.\n"))),
        (
            "a list with brackets",
            60,
            3_072,
            repeat(900, |n| format!("{n}) It is the cost of it.\n")),
        ),
        ("steps", 40, 30_720, repeat(4_000, |n| format!("Step {n}: do it. "))),
        (
            "headings",
            90,
            30_720,
            repeat(900, |n| {
                format!("## Reason {n}\n\nThe team is too small for the other way.\n\n")
            }),
        ),
        (
            "Chinese counted",
            60,
            24_576,
            repeat(3_000, |n| format!("第{n}个理由是团队太小成本很高。")),
        ),
        ("Hindi counted", 99, 51_200, repeat(2_000, |n| format!("यह टीम के लिए बहुत अच्छा है {n}। "))),
    ]
}

/// A few sentences in any order.
fn variants() -> Vec<(&'static str, usize, usize, String)> {
    let any = |of: &[&str]| -> String {
        let mut random = Random(5);
        (0..6_000).map(|_| random.pick(of)).collect()
    };
    vec![
        ("two who agree", 200, 3_072, any(&["I agree with Ada. ", "I agree with Bob. "])),
        (
            "four sentences",
            600,
            3_072,
            any(&["The answer is A. ", "It is too small.\n", "So it depends. ", "Why is it so? "]),
        ),
        (
            "short sentences",
            600,
            4_096,
            any(&["It is X. ", "It is Y. ", "(It is Z.) ", "\"It is so.\" "]),
        ),
        (
            "rows of a table",
            900,
            20_480,
            any(&["| low | yes |\n", "| mid | no |\n", "| high | yes |\n", "| low | no |\n"]),
        ),
    ]
}
