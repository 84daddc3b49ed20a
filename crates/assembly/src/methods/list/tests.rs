use super::*;

#[test]
fn lists_as_models_write_them() {
    #[track_caller]
    fn check(answer: &str, want: &[&str]) {
        assert_eq!(items(answer, 9), want, "\n{answer}");
    }
    check("1. one\n2. two", &["one", "two"]);
    check("Here:\n\n1) **One**: it\n   goes on\n2) Two", &["One: it goes on", "Two"]);
    check("**1. One** – it\n\n**2. Two** – it", &["One – it", "Two – it"]);
    check("### 1. One\nbody\n### 2. Two\nbody", &["One body", "Two body"]);
    check("1. One\n   1. deep\n   - deeper\n2. Two", &["One 1. deep - deeper", "Two"]);
    check("IDEA 1: one\nidea 2: two", &["one", "two"]);
    check("- one\n- two\n* three", &["one", "two", "three"]);
    check("1. one\n- a point of it\n2. two", &["one - a point of it", "two"]);
    check("No list at all,\njust words", &["No list at all, just words"]);
    check("1. costs\n2.5 million\n2. more", &["costs 2.5 million", "more"]);
    check("1990: a year\n1. one", &["one"]);
    check("", &[]);
    assert_eq!(items("1. a\n2. b\n3. c", 2), ["a", "b"], "no more than wanted");
    assert_eq!(items(&format!("1. {}", "é".repeat(700)), 2)[0].chars().count(), 601);
}

#[test]
fn items_have_a_name_and_perhaps_more() {
    #[track_caller]
    fn check(section: &str, want: Option<(&str, &str)>) {
        let item = Item::read(section);
        let got = item.as_ref().map(|item| (item.name.as_str(), item.about.as_str()));
        assert_eq!(got, want, "\n{section}");
    }
    check("Monolith: one deployable", Some(("Monolith", "one deployable")));
    check("**Monolith** - one deployable", Some(("Monolith", "one deployable")));
    check("Monolith\nDESCRIPTION: one\ndeployable", Some(("Monolith", "one deployable")));
    check("Monolith", Some(("Monolith", "")));
    check("Build-or-buy — later", Some(("Build-or-buy", "later")));
    check("**", None);
    check("", None);
}

#[test]
fn lists_are_pooled_by_support_then_rank() {
    let list = |names: &[&str]| -> Vec<Item> {
        names.iter().filter_map(|name| Item::read(name)).collect()
    };
    let lists = [
        list(&["Monolith: x", "Micro-services", "Wait"]),
        list(&["The monoliths", "Buy it"]),
        list(&[]),
        list(&["Serverless", "micro services: small ones", "the monolith"]),
    ];
    let names = |max| -> Vec<String> { pool(&lists, max).into_iter().map(|i| i.name).collect() };
    assert_eq!(names(9), ["Monolith", "Micro-services", "Serverless", "Buy it", "Wait"]);
    assert_eq!(names(3), ["Monolith", "Micro-services", "Serverless"]);
    assert_eq!(pool(&lists, 9)[1].about, "small ones", "what one left out another may tell");
    assert_eq!(pool(&[], 9), []);
}
