use super::*;

/// Writes a random text of a grammar, to see what it lets pass.
pub struct Writer<'g> {
    grammar: &'g Grammar,
    chance: fastrand::Rng,
}

/// A text that is this long is ended as soon as it can be.
const LONG: usize = 400;
/// Rules in rules beyond this are not followed any more: such a text is given up.
const DEPTH_MAX: usize = 150;

impl Writer<'_> {
    pub fn new(grammar: &Grammar, seed: u64) -> Writer<'_> {
        Writer { grammar, chance: fastrand::Rng::with_seed(seed) }
    }

    /// None: it would never end.
    pub fn write(&mut self) -> Option<String> {
        let root = self.grammar.numbers["root"];
        let mut out = String::new();
        self.write_rule(root, &mut out, 0).then_some(out)
    }

    fn write_rule(&mut self, number: usize, out: &mut String, depth: usize) -> bool {
        let alternatives = self.grammar.rules[number].as_ref().unwrap();
        self.write_alternatives(alternatives, out, depth + 1)
    }

    fn write_alternatives(&mut self, all: &Alternatives, out: &mut String, depth: usize) -> bool {
        if depth > DEPTH_MAX {
            return false;
        }
        // Deep in recursion the last one is the simplest.
        let at = if depth > 40 { all.len() - 1 } else { self.chance.usize(..all.len()) };
        all[at].iter().all(|item| self.write_item(item, out, depth))
    }

    fn write_item(&mut self, item: &Item, out: &mut String, depth: usize) -> bool {
        match item {
            Item::Any => out.push('x'),
            Item::Token => return false,
            Item::Literal(text) => out.push_str(text),
            Item::Rule(number) => return self.write_rule(*number, out, depth),
            Item::Group(all) => return self.write_alternatives(all, out, depth),
            Item::Class { is_negated, ranges } => out.push(self.choose(*is_negated, ranges)),
            Item::Repeat { item, least, most } => {
                let more = if out.len() > LONG || depth > 40 { 0 } else { self.chance.u32(..5) };
                let times = match most {
                    // Both ends of what is allowed are of interest.
                    Some(most) if self.chance.u8(..4) == 0 && *most < 300 => *most,
                    Some(most) => (least + more).min(*most),
                    None => least + more,
                };
                return (0..times).all(|_| self.write_item(item, out, depth));
            }
        }
        true
    }

    fn choose(&mut self, is_negated: bool, ranges: &[(char, char)]) -> char {
        if !is_negated {
            let (low, high) = ranges[self.chance.usize(..ranges.len())];
            return [low, high, self.chance.char(low..=high)][self.chance.usize(..3)];
        }
        let fits = |sign: &char| !ranges.iter().any(|(low, high)| (*low..=*high).contains(sign));
        let tried = "az09 \"\\\n\u{1}-_é🦙".chars().filter(fits).collect::<Vec<_>>();
        tried[self.chance.usize(..tried.len())]
    }
}

#[track_caller]
fn refuse(grammar: &str, why: &str) {
    let refused = check(grammar).expect_err(&grammar[..grammar.len().min(80)]);
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn what_llama_cpp_would_not_survive_is_refused() {
    refuse("root ::= \"a\"{5,1}", "line 1: at most fewer repetitions than at least");
    refuse("root ::= \"a\"{0,99999}", "more than 2000 repetitions");
    refuse(&format!("root ::= {}\"a\"", "(".repeat(5_000)), "nested deeper than 200");
    refuse("root ::= ((\"a\"?){1000}){2}", "may be empty more than 16 times");
    refuse("root ::= ((\"a\"){1000}){11}", "more than 10000 times in all");
    refuse(&format!("root ::= \"{}\"{{2000}}", "a".repeat(9_000)), "too large");
    refuse(
        &format!("root ::= {0}\n{0} ::= \"a\"", "x".repeat(20_000)),
        "a name is longer than 256 bytes",
    );
    refuse(&"# long\n".repeat(20_000), "at most 65536 are read");
    let chain: String = (0..2_500).map(|at| format!("r{at} ::= r{}\n", at + 1)).collect();
    refuse(&format!("root ::= r0\n{chain}r2500 ::= \"a\""), "more than 2000 rules");
    // llama.cpp looks for left recursion along every way: these double with every rule.
    let doubling: String = (0..40).map(|at| format!("r{at} ::= r{0}? r{0}?\n", at + 1)).collect();
    refuse(&format!("root ::= r0\n{doubling}r40 ::= \"a\""), "more than 512 ways");
    refuse(&format!("root ::= \"x\" {}", "\"a\"? ".repeat(600)), "more than 512 ways");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    for (grammar, why) in [
        ("root ::= (", "line 1: ) is missing"),
        ("root ::= \"a\"\nroot", "line 2: ::= is missing"),
        ("root ::= a", "rule a is not defined"),
        ("root ::= root \"a\"", "rule root begins with itself"),
        ("root ::= [z-a]", "goes backwards"),
        ("root ::= \"\\q\"", "\\q is unknown"),
        ("root ::= *", "* repeats nothing"),
        ("root ::= \"a", "ends in the middle of a text"),
        ("root ::= \"a\" }", "'}' is not expected"),
    ] {
        refuse(grammar, why);
    }
}

#[test]
fn usual_grammars_pass() {
    for grammar in [
        "root ::= \"yes\" | \"no\"",
        "# numbers\nroot ::= (\n  [0-9]+ # digits\n | \"-\" [^a-z\\]]{1,3}\n)\n",
        "root ::= item (\",\" item)*\nitem ::= [a-z] {2, 4} | \"(\" root \")\"",
        "root ::= <think> .* !<[3]>",
        "root ::= e\ne ::= t ((\"+\" | \"-\") t)*\nt ::= [0-9] | \"(\" e \")\"",
    ] {
        assert_eq!(check(grammar), Ok(()), "{grammar}");
    }
}
