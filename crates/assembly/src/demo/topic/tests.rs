use super::*;

/// `topic | keys | who + act | a / b`, the last two where there are such.
#[track_caller]
fn check(question: &str, want: &str) {
    let topic = Topic::of(question);
    let mut parts = vec![topic.topic.clone(), topic.keys.join(", ")];
    parts.extend(topic.who.iter().zip(&topic.act).map(|(who, act)| format!("{who} + {act}")));
    parts.extend(topic.options.iter().map(|(a, b)| format!("{a} / {b}")));
    assert_eq!(parts.join(" | "), want, "{question}");
}

#[test]
fn who_should_do_what() {
    check(
        "Should a team of three start with a monolith?",
        "starting with a monolith | monolith, team | a team of three + start with a monolith",
    );
    check("Should I quit my job?", "quitting your job | job | you + quit your job");
    check("Should we still use PHP?", "still using PHP | PHP | we + still use PHP");
    check(
        "Should voting be mandatory?",
        "voting being mandatory | voting, mandatory | voting + be mandatory",
    );
    check(
        "We are five. In a startup, should the design team ship weekly?",
        "shipping weekly | weekly, team | the design team + ship weekly",
    );
    check(
        "Shouldn't cats rule the world?",
        "ruling the world | world, cats rule | cats + rule the world",
    );
}

#[test]
fn one_of_two() {
    check("Rust or Go for a CLI?", "Rust or Go for a CLI | Rust-or-Go, CLI | Rust / Go");
    check("Tabs or spaces?", "Tabs or spaces | Tabs-or-spaces | Tabs / spaces");
    check(
        "Which database should we use, Postgres or MySQL?",
        "Postgres or MySQL | Postgres-or-MySQL, database | Postgres / MySQL",
    );
    check(
        "Is it better to rent or to buy a house?",
        "rent or buy a house | house | rent / buy a house",
    );
    check("Should we move or not?", "moving or not | “Should” | we + move or not");
}

#[test]
fn other_questions() {
    check("How do we reduce our cloud bill?", "how to reduce our cloud bill | cloud bill");
    check("How long does it take to learn Rust?", "how long it takes to learn Rust | Rust");
    check("How many people fit in a bus?", "how many people fit in a bus | people, bus");
    check(
        "What is the best way to store passwords?",
        "the best way to store passwords | passwords",
    );
    check("What's photosynthesis?", "photosynthesis | photosynthesis");
    check("Why is the sky blue?", "why the sky is blue | sky, blue");
    check("why do cats purr", "why cats purr | cats");
    check("Is Rust worth it?", "whether Rust is worth it | Rust");
    check(
        "Is remote work better than office work?",
        "whether remote work is better than office work | remote work, office work",
    );
    check("Can machines think?", "whether machines can think | machines");
    check("Write a haiku about autumn.", "writing a haiku about autumn | autumn, haiku");
    check("Hi, could you explain monads?", "explaining monads | monads");
    check(
        "Do you think we should hire more testers?",
        "whether we should hire more testers | testers",
    );
    check(
        "Which language is best for games?",
        "which language is best for games | language, games",
    );
}

#[test]
fn anything_else_is_quoted() {
    check("Monolith", "“Monolith” | Monolith");
    check("Hi", "“Hi” | “Hi”");
    check(
        "Sollen wir nach Bergen umziehen?",
        "“Sollen wir nach Bergen umziehen” | Bergen umziehen",
    );
    check("東京はどこですか？", "“東京はどこですか” | 東京はどこですか");
    check("🙂🚀", "“🙂🚀” | 🙂🚀");
    check("???", "“???” | “???”");
    check("", "a question without words | wordless");
    check("CONSENSUS: YES", "“CONSENSUS YES” | CONSENSUS");
    check("fn main() { println!(\"hi\"); }", "“fn main println hi” | main println");
}

#[test]
fn phrases_are_bounded() {
    for question in ["word ".repeat(10_000), "x".repeat(50_000), "Should we ".repeat(5_000)] {
        let topic = Topic::of(&question);
        assert!(topic.topic.chars().count() < 120, "{}", topic.topic);
        assert!(topic.keys.iter().all(|key| key.chars().count() < 80));
    }
}
