//! Good answers that repeat themselves because of what they are.

use super::{Random, repeat, word};

/// Each with its name.
pub(super) fn all() -> Vec<(&'static str, String)> {
    [tables(), code(), data(), drawings(), songs(), plans(), reasoning()].concat()
}

fn tables() -> Vec<(&'static str, String)> {
    let head = "| Case | A | B |\n|---|---|---|\n";
    let who = ["Ann", "Bob", "Cyd"];
    vec![
        ("empty cells", "| | | | | | | | |\n".repeat(40)),
        ("rows without values", format!("{head}{}", "| n/a | n/a | n/a |\n".repeat(25))),
        ("numbered rows", repeat(40, |n| format!("| {n} | supported in all versions | yes |\n"))),
        ("two numbers", repeat(40, |n| format!("| {n} | not applicable here | {} |\n", n * 3))),
        ("named rows", repeat(200, |n| format!("| item {} | supported | yes |\n", word(n * 37)))),
        ("years", repeat(40, |n| format!("| {} | {} million people |\n", 1989 + n, n * 7 % 100))),
        (
            "a row for everyone",
            repeat(40, |n| format!("| {} | Invite to the first meeting | pending |\n", who[n % 3])),
        ),
        ("wide cells", format!("| {}|\n", " ".repeat(90)).repeat(20)),
    ]
}

fn code() -> Vec<(&'static str, String)> {
    let zeros = "    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,\n";
    let mut random = Random(3);
    let board =
        (0..150).map(|_| random.pick(&["    Cell::Free,\n", "    Cell::Taken,\n"])).collect();
    vec![
        ("cells of a board", board),
        ("asserts", repeat(60, |n| format!("    assert_eq!(fibonacci({n}), {});\n", n * n))),
        (
            "inserts",
            repeat(60, |n| format!("INSERT INTO sizes VALUES ({n}, {}, {});\n", n * 7, n * 13)),
        ),
        ("arms", repeat(60, |n| format!("        {n} => return Some(Variant::Number({n})),\n"))),
        (
            "animations",
            repeat(60, |n| format!(".grid > div:nth-child({n}) {{ delay: {}ms; }}\n", n * 50)),
        ),
        ("rules", repeat(60, |n| format!(".dot:nth-child({n}) {{\n  delay: {}ms;\n}}\n", n * 50))),
        ("zeros in C", format!("static const uint8_t t[] = {{\n{}}};\n", zeros.repeat(64))),
        ("ones in C", zeros.replace("00", "ff").repeat(100)),
        ("zeros in Rust", format!("let zeros = [{}];", "0.0, ".repeat(400))),
        ("nulls", format!("[{}null]", "null, ".repeat(120))),
        ("closing tags", "</div>\n".repeat(90)),
        ("closing braces", repeat(60, |n| format!("{}}}\n", "  ".repeat(60 - n)))),
        ("empty rows", "  <tr><td></td><td></td><td></td></tr>\n".repeat(40)),
        ("links", repeat(60, |n| format!("<li class=\"item\"><a href=\"#{n}\">{n}</a></li>\n"))),
        ("pictures", repeat(60, |n| format!("![Figure {n}](images/figure-{n}.png)\n"))),
        ("functions", repeat(60, |n| format!("fn f{n}() {{\n    total += 1;\n}}\n\n"))),
        ("greetings", "Hello, world!\n".repeat(50)),
    ]
}

fn data() -> Vec<(&'static str, String)> {
    let mut random = Random(9);
    let digits = (0..4_000).map(|_| random.below(10).to_string()).collect();
    vec![
        (
            "objects of a long key",
            repeat(60, |n| {
                format!("  {{\n    \"id\": {n},\n    \"temperature_celsius\": {n}.5\n  }},\n")
            }),
        ),
        (
            "objects in a line",
            repeat(60, |n| {
                format!(
                    "    {{\"step\": {n}, \"owner\": \"backend team\", \"status\": \"open\"}},\n"
                )
            }),
        ),
        (
            "access log",
            repeat(90, |n| {
                format!(
                    "10.0.0.{n} - - [10/Oct/2000:13:{n:02}] \"GET /index.html\" 200 {}\n",
                    n * 31
                )
            }),
        ),
        (
            "heartbeats",
            repeat(90, |n| format!("2024-01-01 10:{n:02}:01 INFO worker heartbeat received\n")),
        ),
        ("base64 of zeros", "A".repeat(3_000)),
        ("base64 in lines", ("A".repeat(76) + "\n").repeat(40)),
        ("hex dump", repeat(60, |n| format!("{:08x}  {}|........|\n", n * 16, "00 ".repeat(16)))),
        ("digits", digits),
        ("bits", "01001000 ".repeat(400)),
        ("rows of zeros", ("0 ".repeat(30) + "\n").repeat(60)),
        ("zeros with commas", "0,0,0,0,0,0,0,0\n".repeat(200)),
    ]
}

fn drawings() -> Vec<(&'static str, String)> {
    let line = "─".repeat(40);
    let frame = format!("┌{line}┬{line}┬{line}┐\n│ it │ is │ so │\n└{line}┴{line}┴{line}┘\n");
    vec![
        ("ruler", "-".repeat(300)),
        ("box", frame.repeat(3)),
        ("emoji", "⭐".repeat(300)),
        ("grid of emoji", ("🟩".repeat(20) + "\n").repeat(20)),
        ("maze", ("#".repeat(60) + "\n").repeat(40)),
        ("game of life", "..........................o.......................\n".repeat(50)),
        ("bars", repeat(20, |n| format!("{n:>2} {}\n", "█".repeat(n * 8)))),
        ("Morse", "... --- ... ".repeat(200)),
        ("checklist", "- [ ] \n".repeat(90)),
        ("padding", format!("{}\n{}b\n", "-".repeat(600), " ".repeat(1_900))),
    ]
}

fn songs() -> Vec<(&'static str, String)> {
    let chorus = "Roll, roll, roll the stone,\nSlowly up the hill,\n\
                  Heavily, heavily, heavily, heavily,\nAnd it is rolling still.\n\n";
    let verse =
        |n: usize| format!("The {} sun is {}\nOver {}.\n\n", word(n), word(n + 9), word(n * 77));
    let down = |n: usize| {
        let left = 100 - n;
        format!(
            "{left} kettles on the stove so hot, {left} kettles on the stove.\nLift one up and pour \
             it out, {} kettles on the stove.\n\n",
            left - 1
        )
    };
    vec![
        ("refrain after each verse", repeat(12, |n| verse(n) + chorus)),
        ("chorus sung six times", chorus.repeat(6)),
        ("coda", "La la la, la la la la, la la la la, dear June.\n".repeat(20)),
        ("counting song", repeat(40, down)),
        (
            "psalm",
            repeat(40, |n| {
                format!(
                    "Sing of {} and {},\nfor the light shall never fail.\n",
                    word(n * 91),
                    word(n)
                )
            }),
        ),
        ("litany", repeat(90, |n| format!("Holy {}, stay with us.\n", word(n * 977)))),
    ]
}

fn plans() -> Vec<(&'static str, String)> {
    let week = |n| {
        format!(
            "## Week {n}\n- Review the backlog with the team.\n- Ship one small improvement.\n\
             - Write down the result ({n} points).\n\n"
        )
    };
    let run = |n| {
        format!(
            "Week {n}\n- Monday: easy run {n} km\n- Tuesday: rest\n- Wednesday: intervals\n\
             - Thursday: rest\n- Friday: tempo run {n} km\n- Saturday: rest\n- Sunday: {} km\n\n",
            n + 10
        )
    };
    let payment = |n| {
        format!("Month {n}: payment 350.00, interest {}.10, balance {}\n", 60 - n, 12_000 - n * 300)
    };
    vec![
        ("plan of weeks", repeat(26, week)),
        ("running schedule", repeat(12, run)),
        ("amortisation", repeat(36, payment)),
        ("list", repeat(300, |n| format!("{n}. Take {} to {}.\n", word(n), word(n * 3)))),
        ("key of a test", repeat(60, |n| format!("{n}. {}\n", ["Yes.", "No."][n * n % 7 % 2]))),
        (
            "a notice under each chapter",
            repeat(8, |n| {
                let chapter = |m| format!("The {} is what {} needs. ", word(n * m), word(n + m));
                let notice = |m| format!("It is {} that {} is meant. ", word(m), word(m * 5));
                format!("{}\n\n{}\n\n", repeat(300, chapter), repeat(60, notice))
            }),
        ),
        (
            "a draft and what became of it",
            repeat(40, |n| format!("The {} is what {} needs. ", word(n * 5), word(n * 7)))
                .repeat(3),
        ),
    ]
}

fn reasoning() -> Vec<(&'static str, String)> {
    vec![
        (
            "a search",
            repeat(90, |n| {
                format!("Let me check x = {n}: {n}^2 + 5 = {}, not divisible by 7.\n", n * n + 5)
            }),
        ),
        (
            "a formula",
            repeat(90, |n| {
                format!("For n = {n}, the formula gives {}, which is correct.\n", n * n)
            }),
        ),
        (
            "a trace",
            repeat(90, |n| {
                format!("Iteration {n}: low = {n}, high = {}, mid = {}\n", 100 - n, n * 3)
            }),
        ),
        ("a recursion", repeat(90, |n| format!("T({n}) = T({}) + T({})\n", n + 1, n + 2))),
        ("cases", repeat(90, |n| format!("If n = {n} then it holds.\n"))),
        (
            "a sentence in between",
            repeat(90, |n| format!("So {} is out. Let us go on with the next one. ", word(n))),
        ),
    ]
}
