use super::*;
use althing_chat::{Stop, Usage};
use bytes::Bytes;
use expect_test::{Expect, expect};
use futures_util::future::{join, ready};
use futures_util::stream;
use std::sync::Mutex;
use tokio::time::sleep;

/// What happens in one attempt, in order. `Refuse` stands for an answer with an error status.
#[derive(Clone, Copy)]
enum Step {
    /// Seconds.
    Wait(u64),
    Say(&'static str),
    Refuse(Kind, Option<u64>),
    Break,
    Hang,
}
use Step::{Break, Hang, Refuse, Say, Wait};

/// A dialect of words, mostly one per chunk: `.` ends, `!` is an error event, `~` a ping, `#` a
/// count.
struct Words;

impl Reader for Words {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Result<Delta>> {
        match std::str::from_utf8(bytes).unwrap() {
            "." => vec![Ok(Delta::Stop(Stop::End))],
            "!" => vec![Err(Fault::new(Kind::Overloaded, "overloaded in mid-stream"))],
            "~" => vec![],
            "#" => vec![Ok(Delta::Usage(Usage::default()))],
            words => words.split_inclusive(' ').map(|word| Ok(Delta::Text(word.into()))).collect(),
        }
    }

    fn end(&mut self) -> Vec<Result<Delta>> {
        vec![]
    }
}

fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        first_token: Duration::from_secs(30),
        idle: Duration::from_secs(10),
        total: Duration::from_secs(100),
        attempts_max: 3,
        answer_bytes_max: 20,
        ..Limits::default()
    }
}

fn lane() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1))
}

fn call(streamed: bool, lane: Arc<Semaphore>, attempts: &[&[Step]]) -> Speaking {
    call_within(limits(), streamed, lane, attempts)
}

fn call_within(
    limits: Limits,
    streamed: bool,
    lane: Arc<Semaphore>,
    attempts: &[&[Step]],
) -> Speaking {
    let attempts: VecDeque<Vec<Step>> = attempts.iter().map(|steps| steps.to_vec()).collect();
    let attempts = Mutex::new(attempts);
    let attempt: Attempt = Box::new(move || {
        let steps = attempts.lock().unwrap().pop_front().expect("one attempt too many");
        Box::pin(open(steps))
    });
    Call::new("Ada".into(), limits, streamed, Entry::Line(lane), attempt).speaking()
}

/// The head of the answer comes after the leading waits.
async fn open(steps: Vec<Step>) -> Result<Opened> {
    let mut steps = VecDeque::from(steps);
    while let Some(Wait(seconds)) = steps.front() {
        sleep(Duration::from_secs(*seconds)).await;
        steps.pop_front();
    }
    if let Some(Refuse(kind, asked)) = steps.front() {
        let asked = asked.map(Duration::from_secs);
        return Err(Fault::new(*kind, "refused").retry_after(asked));
    }
    Ok(Opened { body: stream::unfold(steps, body).boxed(), reader: Box::new(Words) })
}

async fn body(mut steps: VecDeque<Step>) -> Option<(Result<Bytes>, VecDeque<Step>)> {
    loop {
        match steps.pop_front()? {
            Wait(seconds) => sleep(Duration::from_secs(seconds)).await,
            Say(word) => return Some((Ok(Bytes::from(word)), steps)),
            Break => return Some((Err(Fault::new(Kind::Network, "connection reset")), steps)),
            Hang => std::future::pending().await,
            Refuse(..) => unreachable!("an answer that has begun is not refused"),
        }
    }
}

fn show(delta: Result<Delta>) -> String {
    match delta {
        Ok(Delta::Retrying(retry)) => format!("retrying {}: {}", retry.attempt, retry.kind),
        Ok(Delta::Text(text)) => text,
        Ok(delta) => format!("{delta:?}"),
        Err(fault) => {
            let asked = fault.retry_after.map(|wait| format!(", asked {wait:?}"));
            format!("{}: {}{}", fault.kind, fault.message, asked.unwrap_or_default())
        }
    }
}

/// The call's story: whole seconds of the paused clock, and what came then.
async fn story(begun: Instant, speaking: Speaking) -> String {
    let line = |item| ready(format!("{} {}\n", begun.elapsed().as_secs(), show(item)));
    speaking.then(line).collect().await
}

async fn check(attempts: &[&[Step]], want: Expect) {
    fastrand::seed(7);
    want.assert_eq(&story(Instant::now(), call(true, lane(), attempts)).await);
}

async fn check_whole(attempts: &[&[Step]], want: Expect) {
    want.assert_eq(&story(Instant::now(), call(false, lane(), attempts)).await);
}

#[tokio::test(start_paused = true)]
async fn an_answer() {
    let steps =
        [Wait(3), Say("~"), Wait(20), Say("#"), Say("yes"), Wait(9), Say("indeed"), Say(".")];
    check(
        &[&steps],
        expect![[r#"
        0 Started
        23 Usage(Usage { input: None, output: None, cached: None, cache_written: None, reasoning: None, cost_nano_usd: None })
        23 yes
        32 indeed
        32 Stop(End)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn words_of_one_read_are_one_piece() {
    check(
        &[&[Say("one two "), Say("three four"), Say(".")]],
        expect![[r#"
        0 Started
        0 one two 
        0 three four
        0 Stop(End)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_one_piece_has_to_begin_where_another_can_be_asked() {
    let next = Limits { has_next: true, ..limits() };
    let late: &[Step] = &[Wait(90), Say("late")];
    let slow: &[Step] = &[Wait(29), Say("so "), Wait(9), Say("far"), Wait(9), Say(".")];
    let mut stories = String::new();
    for (limits, steps) in [(next, late), (next, slow), (limits(), late)] {
        stories += &story(Instant::now(), call_within(limits, false, lane(), &[steps])).await;
    }
    expect![[r#"
        0 Started
        30 timed_out: Ada gave no token within 30s (model_timeout_seconds)
        0 Started
        29 so 
        38 far
        47 Stop(End)
        0 Started
        90 late
        90 network: the answer broke off
    "#]]
    .assert_eq(&stories);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_for_the_caller_is_told_at_once() {
    let hasty = Limits { retry_after_max: Duration::from_secs(5), ..limits() };
    let mut stories = String::new();
    for seconds in [5, 6] {
        fastrand::seed(7);
        let limited: &[Step] = &[Refuse(Kind::RateLimited, Some(seconds))];
        let attempts: &[&[Step]] = &[limited, &[Say("yes"), Say(".")]];
        stories += &story(Instant::now(), call_within(hasty, true, lane(), attempts)).await;
    }
    expect![[r#"
        0 Started
        0 retrying 1: rate_limited
        5 yes
        5 Stop(End)
        0 Started
        0 rate_limited: refused, asked 6s
    "#]]
    .assert_eq(&stories);
}

#[tokio::test(start_paused = true)]
async fn each_deadline_has_its_own_words_and_no_second_attempt() {
    check(
        &[&[Wait(90), Say("late")]],
        expect![[r#"
        0 Started
        30 timed_out: Ada gave no token within 30s (model_timeout_seconds)
    "#]],
    )
    .await;
    // Signs of life are no tokens.
    check(
        &[&[Say("~"), Wait(20), Say("~"), Wait(20), Say("late")]],
        expect![[r#"
        0 Started
        30 timed_out: Ada gave no token within 30s (model_timeout_seconds)
    "#]],
    )
    .await;
    check(
        &[&[Say("yes"), Wait(9), Say("~"), Wait(9), Say("~"), Hang]],
        expect![[r#"
        0 Started
        0 yes
        28 timed_out: Ada fell silent for 10s (model_timeout_seconds)
    "#]],
    )
    .await;
    let drip: Vec<Step> = std::iter::repeat_n([Wait(9), Say("a")], 12).flatten().collect();
    let mut story = story(Instant::now(), call(true, lane(), &[&drip])).await;
    story.replace_range(..story.find("99 ").unwrap(), "");
    expect![[r#"
        99 a
        100 timed_out: Ada was not done within 100s (turn_seconds_max)
    "#]]
    .assert_eq(&story);
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_may_take_its_time() {
    check_whole(
        &[&[Wait(80), Say("yes"), Say(".")]],
        expect![[r#"
        0 Started
        80 yes
        80 Stop(End)
    "#]],
    )
    .await;
    check_whole(
        &[&[Hang]],
        expect![[r#"
        0 Started
        100 timed_out: Ada was not done within 100s (turn_seconds_max)
    "#]],
    )
    .await;
    check_whole(
        &[&[Say("~"), Hang]],
        expect![[r#"
        0 Started
        10 timed_out: Ada fell silent for 10s (model_timeout_seconds)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_attempt_where_it_may_help() {
    check(
        &[&[Refuse(Kind::RateLimited, Some(7))], &[Say("yes"), Say(".")]],
        expect![[r#"
          0 Started
          0 retrying 1: rate_limited
          7 yes
          7 Stop(End)
    "#]],
    )
    .await;
    let flaky: [&[Step]; 3] = [
        &[Refuse(Kind::Overloaded, None)],
        &[Refuse(Kind::Network, None)],
        &[Say("yes"), Say(".")],
    ];
    check(
        &flaky,
        expect![[r#"
          0 Started
          0 retrying 1: overloaded
          0 retrying 2: network
          1 yes
          1 Stop(End)
    "#]],
    )
    .await;
    // An error event, a cut and an empty body before the first token are no better than a status.
    check(
        &[&[Say("#"), Say("!")], &[Say("~"), Break], &[Say("yes"), Say(".")]],
        expect![[r#"
          0 Started
          0 Usage(Usage { input: None, output: None, cached: None, cache_written: None, reasoning: None, cost_nano_usd: None })
          0 retrying 1: overloaded
          0 retrying 2: network
          1 yes
          1 Stop(End)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_other_attempt_where_it_may_not() {
    let refuse: &[Step] = &[Refuse(Kind::Overloaded, None)];
    check(
        &[refuse, refuse, refuse],
        expect![[r#"
          0 Started
          0 retrying 1: overloaded
          0 retrying 2: overloaded
          1 overloaded: refused
    "#]],
    )
    .await;
    check(
        &[&[Refuse(Kind::RateLimited, Some(90))]],
        expect![[r#"
          0 Started
          0 rate_limited: refused, asked 90s
    "#]],
    )
    .await;
    check(
        &[&[Refuse(Kind::BadKey, None)]],
        expect![[r#"
          0 Started
          0 bad_key: refused
    "#]],
    )
    .await;
    for cut in [Break, Say("!")] {
        let story = story(Instant::now(), call(true, lane(), &[&[Say("yes"), cut]])).await;
        assert!(story.contains("yes\n") && !story.contains("retrying"), "{story}");
    }
    check(
        &[&[Say("yes")]],
        expect![[r#"
          0 Started
          0 yes
          0 network: the answer broke off
    "#]],
    )
    .await;
    // 60 s more would end after the total of 100 s: better to know now.
    let patient = |wait| [Wait(wait), Refuse(Kind::Network, Some(60))];
    check(
        &[&patient(29), &patient(5)],
        expect![[r#"
        0 Started
        29 retrying 1: network
        94 network: refused, asked 60s
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_a_length() {
    check(
        &[&[Say("twelve bytes"), Say("and 8 more"), Say("never heard")]],
        expect![[r#"
          0 Started
          0 twelve bytes
          0 and 8 more
          0 upstream: the answer of Ada is longer than 20 bytes
    "#]],
    )
    .await;
    let pings = [Say("~"); 20 * WIRE_BYTES_FACTOR + WIRE_BYTES_FACTOR];
    check(
        &[&pings],
        expect![[r#"
          0 Started
          0 upstream: the answer of Ada is longer than 20 bytes
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_at_a_time_and_the_wait_costs_nothing() {
    let (lane, begun) = (lane(), Instant::now());
    let long: Vec<Step> = std::iter::repeat_n([Say("a"), Wait(9)], 10).flatten().collect();
    let first = call(true, lane.clone(), &[&long]);
    // 25 s to the first token after 90 s in line: neither deadline is touched.
    let second = call(true, lane.clone(), &[&[Wait(25), Say("b"), Say(".")]]);
    let (_, second) = join(story(begun, first), story(begun, second)).await;
    expect![[r#"
        0 Queued
        90 Started
        115 b
        115 Stop(End)
    "#]]
    .assert_eq(&second);
    assert_eq!(lane.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_frees_its_place() {
    let lane = lane();
    let mut first = call(true, lane.clone(), &[&[Say("a"), Hang]]);
    assert_eq!(first.next().await, Some(Ok(Delta::Started)));
    let mut second = call(true, lane.clone(), &[&[Say("b"), Say(".")]]);
    assert_eq!(second.next().await, Some(Ok(Delta::Queued)));
    drop(first);
    assert_eq!(second.next().await, Some(Ok(Delta::Started)));
    assert_eq!(lane.available_permits(), 0);
    while second.next().await.is_some() {}
    // The place is free at the end of the answer, not of the stream's life.
    assert_eq!(lane.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_left() {
    check(
        &[&[Say("yes"), Say("."), Hang]],
        expect![[r#"
          0 Started
          0 yes
          0 Stop(End)
    "#]],
    )
    .await;
}
