use super::breaker::{OPEN_MAX, OPEN_MIN, PROBE_WAIT, WINDOW};
use super::pins::{PIN_TIME, PINS_MAX};
use super::*;
use crate::route::rules::{COOL_DEFAULT, COOL_MAX, COOL_PERMANENT};
use crate::{Endpoint, provider};
use althing_stdx::redact::Secret;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// `endpoint key model`.
fn target(name: &str) -> Target {
    let words: Vec<&str> = name.split(' ').collect();
    let endpoint = Endpoint {
        id: words[0].into(),
        provider: provider("custom").unwrap(),
        base_url: String::new(),
        key: Some(Secret::new(words[1])),
        parallel: 1,
        access: None,
        headers: vec![],
    };
    Target { endpoint: Arc::new(endpoint), model: words[2].into() }
}

fn spots(health: &Health, names: &[&str]) -> Vec<Spot> {
    names.iter().map(|name| health.spot(&target(name))).collect()
}

fn fault(kind: Kind, asked_ms: Option<u64>) -> Fault {
    Fault::new(kind, "no").retry_after(asked_ms.map(Duration::from_millis))
}

/// Which of two is asked, as `pick` says it, with nobody tried.
fn picked(health: &mut Health, spots: &[Spot], affinity: Option<u64>, now: Instant) -> String {
    let tried = vec![false; spots.len()];
    match health.pick(spots, &tried, affinity, now) {
        None => "nobody".into(),
        Some(Pick { at, probe, last }) => {
            let words = [(probe, " probe"), (last, " last")];
            let words = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word);
            format!("{at}{}", words.collect::<String>())
        }
    }
}

/// What one fault does to the target that had it and to its neighbours, and until when.
#[track_caller]
fn check_rest(fault: &Fault, name: &str, wait: Option<Duration>) {
    let begun = Instant::now();
    let mut health = Health::default();
    let failed = health.spot(&target("home key-1 large"));
    health.fail(&failed, false, fault, begun);
    let spot = health.spot(&target(name));
    let rest = health.rest(&spot, false, begun);
    let want = wait.map(|wait| Rest { wait, kind: fault.kind });
    assert_eq!(rest, want, "{:?} for {name}", fault.kind);
    if let Some(wait) = wait {
        let just_before = begun + wait - Duration::from_millis(1);
        assert!(health.rest(&spot, false, just_before).is_some());
        assert_eq!(health.rest(&spot, false, begun + wait), None);
    }
}

#[test]
fn rests_are_for_those_they_concern() {
    let same = "home key-1 large";
    let others = ["home key-1 small", "home key-2 large", "work key-1 large"];
    let asked = fault(Kind::RateLimited, Some(7_000));
    check_rest(&asked, same, Some(7 * SECOND));
    for other in others {
        check_rest(&asked, other, None);
    }
    check_rest(&fault(Kind::Overloaded, Some(500)), same, Some(SECOND / 2));
    check_rest(&fault(Kind::RateLimited, None), same, Some(COOL_DEFAULT));
    check_rest(&fault(Kind::Overloaded, None), same, Some(COOL_DEFAULT));
    check_rest(&fault(Kind::RateLimited, Some(86_400_000)), same, Some(COOL_MAX));
    for kind in [Kind::BadKey, Kind::NoCredit] {
        for (name, wait) in [
            (same, Some(COOL_PERMANENT)),
            (others[0], Some(COOL_PERMANENT)),
            (others[1], None),
            (others[2], None),
        ] {
            check_rest(&fault(kind, None), name, wait);
        }
    }
    check_rest(&fault(Kind::UnknownModel, None), same, Some(COOL_PERMANENT));
    check_rest(&fault(Kind::UnknownModel, None), others[0], None);
    for kind in [Kind::ContextTooLong, Kind::Upstream, Kind::Refused, Kind::Cancelled] {
        check_rest(&fault(kind, Some(9_000)), same, None);
    }
}

#[test]
fn one_without_others_rests_only_where_it_was_asked_to() {
    let now = Instant::now();
    for (fault, want) in [
        (fault(Kind::RateLimited, Some(1_000)), "nobody"),
        (fault(Kind::RateLimited, None), "0 last"),
        (fault(Kind::BadKey, None), "0 last"),
        (fault(Kind::Network, None), "0 last"),
    ] {
        let mut health = Health::default();
        let lone = spots(&health, &["home key large"]);
        (0..9).for_each(|_| health.fail(&lone[0], false, &fault, now));
        assert_eq!(picked(&mut health, &lone, None, now), want, "{:?}", fault.kind);
    }
}

#[test]
fn the_first_one_free_is_asked() {
    let now = Instant::now();
    let mut health = Health::default();
    let three = spots(&health, &["a k m", "b k m", "c k m"]);
    assert_eq!(picked(&mut health, &three, None, now), "0");
    health.fail(&three[0], false, &fault(Kind::RateLimited, Some(5_000)), now);
    assert_eq!(picked(&mut health, &three, None, now), "1");
    health.fail(&three[1], false, &fault(Kind::BadKey, None), now);
    assert_eq!(picked(&mut health, &three, None, now), "2 last");
    health.fail(&three[2], false, &fault(Kind::Overloaded, Some(9_000)), now);
    assert_eq!(picked(&mut health, &three, None, now), "nobody");
    assert_eq!(picked(&mut health, &three, None, now + 5 * SECOND), "0 last");
    let tried = [true, false, false];
    assert_eq!(health.pick(&three, &tried, None, now + 5 * SECOND), None);
}

/// Plays results against one server's breaker: `+` an answer, `-` a failure, `s` a second passes,
/// `?` asks who is picked of it and another.
#[track_caller]
fn check_breaker(play: &str, want: &[&str]) {
    let mut now = Instant::now();
    let mut health = Health::default();
    let two = spots(&health, &["a k m", "b k m"]);
    let (mut probe, mut got) = (false, vec![]);
    for step in play.chars() {
        match step {
            '+' => health.succeed(&two[0], None, now),
            '-' => {
                health.fail(&two[0], std::mem::take(&mut probe), &fault(Kind::Network, None), now)
            }
            's' => now += SECOND,
            'm' => now += 60 * SECOND,
            'x' => health.release(&two[0], now),
            _ => {
                let pick = picked(&mut health, &two, None, now);
                probe = pick.contains("probe");
                got.push(pick);
            }
        }
    }
    assert_eq!(got, want, "{play}");
}

#[test]
fn a_breaker_opens_and_tries_again() {
    let ten = "s".repeat(OPEN_MIN.as_secs() as usize);
    check_breaker("----?", &["0"]);
    check_breaker("-----?", &["1 last"]);
    // The first failure is what begins to be counted.
    check_breaker("-++++++---?", &["0"]);
    check_breaker("-+++----?", &["1 last"]);
    check_breaker(&format!("----{}-?", "s".repeat(WINDOW.as_secs() as usize)), &["0"]);
    check_breaker("-----sssssssss?s?+?", &["1 last", "0 probe", "0"]);
    // One probe at a time; a failed one doubles the rest.
    check_breaker(&format!("-----{ten}??"), &["0 probe", "1 last"]);
    check_breaker(&format!("-----{ten}?-{ten}?{ten}?"), &["0 probe", "1 last", "0 probe"]);
    // A client that goes away leaves the probe to the next.
    check_breaker(&format!("-----{ten}?x?+?"), &["0 probe", "0 probe", "0"]);
    // What was under way before tells nothing more; an answer does.
    check_breaker(&format!("----------{ten}?"), &["0 probe"]);
    check_breaker("-----+?", &["0"]);
    // Doubling has an end: 10, 20, 40, 80, then 160 seconds.
    check_breaker("-----m?-m?-m?-mm?-mmm?-mmm?", &["0 probe"; 6]);
}

#[test]
fn a_probe_that_says_nothing_of_the_server_leaves_it_to_the_next() {
    let now = Instant::now();
    let mut health = Health::default();
    let two = spots(&health, &["a k m", "b k m"]);
    (0..5).for_each(|_| health.fail(&two[0], false, &fault(Kind::Network, None), now));
    let later = now + OPEN_MIN;
    assert_eq!(picked(&mut health, &two, None, later), "0 probe");
    assert_eq!(health.rest(&two[0], false, later).unwrap().wait, PROBE_WAIT);
    health.fail(&two[0], true, &fault(Kind::ContextTooLong, None), later);
    assert_eq!(picked(&mut health, &two, None, later), "0 probe");
    assert!(OPEN_MAX < COOL_MAX);
}

#[test]
fn conversations_stay_where_they_were_answered() {
    let now = Instant::now();
    let mut health = Health::default();
    let two = spots(&health, &["a k m", "b k m"]);
    health.succeed(&two[1], Some(7), now);
    assert_eq!(picked(&mut health, &two, Some(7), now), "1");
    assert_eq!(picked(&mut health, &two, Some(8), now), "0");
    assert_eq!(picked(&mut health, &two, None, now), "0");
    // Used, it is kept for as long again.
    let later = now + PIN_TIME - SECOND;
    health.succeed(&two[1], Some(7), later);
    assert_eq!(picked(&mut health, &two, Some(7), later + PIN_TIME - SECOND), "1");
    assert_eq!(picked(&mut health, &two, Some(7), later + PIN_TIME), "0");
    // A target that rests loses the conversation to the one that answers.
    health.fail(&two[1], false, &fault(Kind::RateLimited, Some(1_000)), later);
    assert_eq!(picked(&mut health, &two, Some(7), later), "0 last");
    health.succeed(&two[0], Some(7), later);
    assert_eq!(picked(&mut health, &two, Some(7), later + SECOND), "0");
}

#[test]
fn books_have_an_end() {
    let now = Instant::now();
    let mut health = Health::default();
    let asked = fault(Kind::RateLimited, Some(1_000));
    for at in 0..3 * PINS_MAX as u64 {
        let spot = Spot { account: at, server: at, place: at };
        health.succeed(&spot, Some(at), now);
        health.fail(&spot, false, &asked, now + Duration::from_millis(at));
        if at < 2 * BREAKERS_MAX as u64 {
            health.stumble(&spot, false, &fault(Kind::Network, None), now);
        }
    }
    assert!(health.pins.len() <= PINS_MAX);
    assert!(health.cooling.len() <= COOLING_MAX);
    assert!(health.breakers.len() <= BREAKERS_MAX);
    let last = 3 * PINS_MAX as u64 - 1;
    assert_eq!(health.pins.get(last, now), Some(last), "the newest are kept");
    assert!(health.cooling.contains_key(&last));
    // Servers that are well again make room.
    let spot = Spot { account: 0, server: u64::MAX, place: 0 };
    health.stumble(&spot, false, &fault(Kind::Network, None), now + WINDOW);
    assert_eq!(health.breakers.len(), 1);
}
