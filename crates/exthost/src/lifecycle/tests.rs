use super::*;

const RESTART: Restart = Restart { times_max: 2, window_s: 60, first_ms: 500, wait_ms_max: 800 };

/// Plays inputs at their times, in milliseconds, and gives what was done when, a tick being given
/// whenever it is due; then where it ended.
fn play(restart: Option<Restart>, inputs: &[(u64, Input)]) -> (Vec<(u64, Action)>, Phase) {
    let start = Instant::now();
    let mut life = Lifecycle::new(restart);
    let mut done = vec![];
    let mut inputs = inputs.iter().cloned().peekable();
    for _ in 0..1000 {
        let wake = life.wake().map(|at| at.duration_since(start).as_millis() as u64);
        let given = inputs.peek().map(|(at, _)| *at);
        let (at, input) = match (wake, given) {
            (Some(wake), Some(given)) if wake <= given => (wake, Input::Tick),
            (Some(wake), None) => (wake, Input::Tick),
            (_, Some(_)) => inputs.next().unwrap(),
            (None, None) => break,
        };
        done.extend(life.on(input, start + Duration::from_millis(at)).map(|action| (at, action)));
    }
    (done, life.phase)
}

#[track_caller]
fn check(inputs: &[(u64, Input)], actions: &[(u64, Action)], phase: Phase) {
    let started = [(0, Input::Start), (0, Input::Spawned)];
    let done = [(0, Action::Spawn), (0, Action::Initialize)];
    let found = play(None, &[&started, inputs].concat());
    assert_eq!(found, ([&done, actions].concat(), phase));
}

fn failed(reason: &str) -> Phase {
    Phase::Failed { reason: reason.into() }
}

#[test]
fn initialize_has_ten_seconds() {
    check(&[(9_999, Input::Initialized)], &[], Phase::Running);
    let reason = failed("it did not answer initialize within 10s");
    check(&[(10_001, Input::Initialized)], &[(10_000, Action::Kill)], reason.clone());
    check(&[(5, Input::Gone("exit code 3".into()))], &[(5, Action::Kill)], failed("exit code 3"));
    let ladder =
        [(5, Action::Shutdown(Reason::Error)), (9, Action::CloseStdin), (10, Action::Kill)];
    let refused = (5, Input::Refused("no name".into()));
    check(
        &[refused, (9, Input::Answered), (10, Input::Gone("x".into()))],
        &ladder,
        failed("no name"),
    );
}

#[test]
fn an_ending_goes_step_by_step() {
    use Action::{CloseStdin, Kill, Shutdown, Terminate};
    let up = (1, Input::Initialized);
    let stop = (100, Input::Stop(Reason::Closing));
    let asked = (100, Shutdown(Reason::Closing));
    let gone = |at| (at, Input::Gone("exit code 0".into()));
    // It never answers.
    let all = [asked, (3100, CloseStdin), (4100, Terminate), (5100, Kill), (6100, Kill)];
    check(&[up.clone(), stop.clone()], &all, Phase::Stopped);
    let killed = [asked, (3100, CloseStdin), (4100, Terminate), (5100, Kill), (5101, Kill)];
    check(&[up.clone(), stop.clone(), gone(5101)], &killed, Phase::Stopped);
    // It answers and lingers.
    let answered = [asked, (200, CloseStdin), (4100, Terminate), (4200, Kill)];
    check(
        &[up.clone(), stop.clone(), (200, Input::Answered), gone(4200)],
        &answered,
        Phase::Stopped,
    );
    // It answers and ends.
    let quick = [asked, (200, CloseStdin), (210, Kill)];
    check(&[up.clone(), stop.clone(), (200, Input::Answered), gone(210)], &quick, Phase::Stopped);
    // An answer that comes late, and an end of the connection, change nothing.
    let late = [(3500, Input::Answered), (3600, Input::Lost("x".into()))];
    check(&[&[up, stop], &late[..]].concat(), &all, Phase::Stopped);
}

#[test]
fn a_reload_starts_again_unless_it_is_to_end() {
    use Action::{Initialize, Kill, Shutdown, Spawn};
    let reload = (5, Input::Stop(Reason::Reload));
    let gone = (7, Input::Gone("x".into()));
    let again = [(5, Shutdown(Reason::Reload)), (7, Spawn), (8, Initialize)];
    let up = [(8, Input::Spawned), (9, Input::Initialized)];
    check(&[&[reload.clone(), gone.clone()], &up[..]].concat(), &again, Phase::Running);
    let ended = [(5, Shutdown(Reason::Reload)), (7, Kill)];
    check(&[reload, (6, Input::Stop(Reason::Closing)), gone.clone()], &ended, Phase::Stopped);
    let enabled = [(5, Input::Stop(Reason::Disabled)), (6, Input::Start), gone];
    let again = [(5, Shutdown(Reason::Disabled)), (7, Spawn), (8, Initialize)];
    check(&[&enabled, &up[..]].concat(), &again, Phase::Running);
}

#[test]
fn a_crash_is_forgiven_as_often_as_told() {
    use Action::{Initialize, Kill, Spawn};
    let gone = |at| (at, Input::Gone("exit code 1".into()));
    let inputs = [
        (0, Input::Start),
        (0, Input::Spawned),
        gone(10),
        (600, Input::Spawned),
        gone(700),
        (1600, Input::Spawned),
        gone(2000),
    ];
    let (done, phase) = play(Some(RESTART), &inputs);
    let want = [
        (0, Spawn),
        (0, Initialize),
        (10, Kill),
        (510, Spawn),
        (600, Initialize),
        (700, Kill),
        (1500, Spawn),
        (1600, Initialize),
        (2000, Kill),
    ];
    assert_eq!((done, phase), (want.to_vec(), failed("exit code 1")));
    let late = [
        (0, Input::Start),
        (0, Input::Spawned),
        gone(10),
        (600, Input::Spawned),
        gone(700),
        (1600, Input::Spawned),
        (1700, Input::Initialized),
        gone(61_000),
        (62_000, Input::Spawned),
        (62_001, Input::Initialized),
    ];
    assert_eq!(play(Some(RESTART), &late).1, Phase::Running);
    let stopped =
        [(0, Input::Start), (0, Input::Spawned), gone(10), (20, Input::Stop(Reason::Disabled))];
    assert_eq!(play(Some(RESTART), &stopped).1, Phase::Stopped);
}

#[test]
fn what_cannot_start_has_failed_and_may_be_tried_again() {
    let inputs = [(0, Input::Start), (0, Input::NotSpawned("no such file".into()))];
    assert_eq!(play(None, &inputs), (vec![(0, Action::Spawn)], failed("no such file")));
    let again =
        [&inputs[..], &[(5, Input::Start), (6, Input::Spawned), (7, Input::Initialized)]].concat();
    assert_eq!(play(None, &again).1, Phase::Running);
}
