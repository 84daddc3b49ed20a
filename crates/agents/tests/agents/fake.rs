//! Every way in which an agent can behave badly. After each nothing runs any more.

use crate::harness::{Home, PATIENT, answer, limits};
use althing_agents::{Adapter, Agent, Custom, Format, Options, PromptMode};
use althing_chat::{Ask, Delta, Model, Stop};
use althing_stdx::{Kind, Result};
use futures_util::StreamExt;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const PLAN: &str = r#"{"summary": "Start small.", "phases": []}"#;
/// Bytes of a flood, and of one in full.
const FLOOD: usize = 3 << 20;
const FLOOD_SOAK: usize = 100 << 20;

fn flood() -> usize {
    if std::env::var_os("ALTHING_SOAK").is_some() { FLOOD_SOAK } else { FLOOD }
}

/// What a behaviour comes to: the text and the end, or the kind and the message.
async fn check(behaviour: &str, expected: Result<(&str, Stop), (Kind, &str)>) {
    let home = Home::new();
    let answer = home.ask(home.fake(behaviour), home.options(PATIENT)).await;
    match (answer, expected) {
        (Ok(answer), Ok((text, stop))) => {
            assert_eq!((answer.text.as_str(), answer.stop), (text, Some(stop)), "{behaviour}");
        }
        (Err(fault), Err((kind, message))) => {
            assert_eq!((fault.kind, fault.message.as_str()), (kind, message), "{behaviour}");
        }
        (answer, expected) => panic!("{behaviour}: {answer:?} and not {expected:?}"),
    }
    home.is_left().await;
}

#[tokio::test]
async fn the_prompt_comes_on_standard_input_and_its_end_too() {
    check("echo", Ok(("Plan it.\n", Stop::End))).await;
}

#[tokio::test]
async fn noise_around_the_answer_is_kept_apart_from_errors() {
    let text = format!("Thinking...\n```json\n{PLAN}\n```\nDone. {{\n");
    check("noise", Ok((&text, Stop::End))).await;
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    let text = format!("caf\u{fffd} \u{fffd}\u{fffd}\n{PLAN}\n");
    check("bytes", Ok((&text, Stop::End))).await;
}

#[tokio::test]
async fn a_child_that_holds_the_pipe_holds_nobody_up() {
    let plan = format!("{PLAN}\n");
    for behaviour in ["held", "held-outside", "left-behind"] {
        check(behaviour, Ok((&plan, Stop::End))).await;
    }
}

#[tokio::test]
async fn refusals_silence_and_failures_are_told_for_what_they_are() {
    let no = "the model declined to answer: I'm sorry, but I can't help with that.";
    check("refuse", Err((Kind::Refused, no))).await;
    check("empty", Err((Kind::Refused, "it ended without an answer"))).await;
    let broke = "exit status 1: Error: something broke";
    check("fail", Err((Kind::Upstream, broke))).await;
    let login = "exit status 1: Error: Not logged in";
    check("fail-login", Err((Kind::BadKey, login))).await;
    check("killed", Err((Kind::Upstream, "ended by signal 9"))).await;
}

#[tokio::test]
async fn a_good_plan_is_taken_whatever_comes_after_it() {
    let (plan, noted) = (format!("{PLAN}\n"), Stop::Other("exit status 1".into()));
    check("good-then-fail", Ok((&plan, noted))).await;
    check("dots", Ok((&format!("........{PLAN}\n"), Stop::End))).await;
}

#[tokio::test]
async fn who_hangs_is_ended_with_its_children() {
    for behaviour in ["hang", "hang-with-children", "stubborn"] {
        let home = Home::new();
        let options = home.options(limits(700, 60_000));
        let fault = home.ask(home.fake(behaviour), options).await.unwrap_err();
        let expected = (Kind::TimedOut, "said nothing for 700ms");
        assert_eq!((fault.kind, fault.message.as_str()), expected, "{behaviour}");
        home.is_left().await;
    }
}

#[tokio::test]
async fn who_goes_on_for_ever_is_ended_too() {
    let home = Home::new();
    let fault = home.ask(home.fake("for-ever"), home.options(limits(60_000, 700))).await;
    let fault = fault.unwrap_err();
    assert_eq!(fault.kind, Kind::TimedOut);
    assert_eq!(fault.message, "was not done within 700ms");
    home.is_left().await;
}

/// With the output of a program that is known.
fn as_events(home: &Home, behaviour: &str, format: Format) -> Custom {
    Custom { format, ..home.fake(behaviour) }
}

#[tokio::test]
async fn trying_again_is_no_progress() {
    let home = Home::new();
    let fake = as_events(&home, "tries-again", Format::Codex);
    let fault = home.ask(fake, home.options(limits(700, 60_000))).await.unwrap_err();
    assert_eq!(fault.kind, Kind::Network);
    assert_eq!(fault.message, "said nothing for 700ms; refused");
    home.is_left().await;
}

#[tokio::test]
async fn who_tries_a_wrong_key_again_is_not_waited_for() {
    let home = Home::new();
    let fake = as_events(&home, "bad-key", Format::Claude);
    let fault = home.ask(fake, home.options(PATIENT)).await.unwrap_err();
    assert_eq!(fault.kind, Kind::BadKey);
    home.is_left().await;
}

#[tokio::test]
async fn who_has_said_all_and_stays_is_not_waited_for() {
    let home = Home::new();
    let fake = as_events(&home, "said-all", Format::Claude);
    let mut speaking =
        Agent::new(Adapter::Custom(fake), home.options(PATIENT)).speak(Ask::new("", "x"));
    let mut heard = Vec::new();
    while let Some(delta) = speaking.next().await {
        let delta = delta.unwrap();
        // The seconds it has to leave need not be waited for.
        if matches!(delta, Delta::Usage(_)) {
            tokio::time::pause();
        }
        heard.push(delta);
    }
    tokio::time::resume();
    let (text, stop) = (Delta::Text("Yes.".into()), Delta::Stop(Stop::End));
    assert_eq!(heard[..2], [Delta::Started, text]);
    assert_eq!(heard.last(), Some(&stop));
    home.is_left().await;
}

#[tokio::test]
async fn soak_a_flood_is_kept_in_its_head_and_its_tail() {
    let size = flood();
    for behaviour in ["plan-and-flood", "flood-errors", "flood", "flood-one-line"] {
        let home = Home::new();
        let mut options = home.options(PATIENT);
        options.raw = Some(home.path("raw"));
        let answer = home.ask(home.fake(&format!("{behaviour} {size}")), options).await.unwrap();
        assert!(answer.text.len() < 256 << 10, "{} bytes", answer.text.len());
        if behaviour == "plan-and-flood" {
            assert!(answer.text.starts_with(&format!("{PLAN}\nxxx")));
            assert!(answer.text.contains(" bytes left out …]\n"));
            assert!(answer.text.ends_with(&format!("{PLAN}\n")));
        }
        for name in ["raw/1/stdout.txt", "raw/1/stderr.txt"] {
            assert!(fs::metadata(home.path(name)).unwrap().len() <= 17 << 20, "{behaviour}");
        }
        if behaviour == "plan-and-flood" {
            let kept = fs::read_to_string(home.path("raw/1/stdout.txt")).unwrap();
            assert!(kept.starts_with(PLAN) && kept.ends_with(&format!("{PLAN}\n")));
        }
        home.is_left().await;
    }
}

#[tokio::test]
async fn raw_output_is_kept_for_the_person_only_and_without_keys() {
    let home = Home::new();
    let mut options = home.options(PATIENT);
    options.raw = Some(home.path("run/raw"));
    for start in ["1", "2"] {
        home.ask(home.fake("secret"), options.clone()).await.unwrap();
        let read =
            |name: &str| fs::read_to_string(home.path("run/raw").join(start).join(name)).unwrap();
        assert_eq!(read("stdout.txt"), format!("{PLAN}\n"));
        assert_eq!(read("stderr.txt"), "key [secret]\n");
    }
    let mode = |name: &str| fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run/raw/2"), mode("run/raw/2/stderr.txt")), (0o700, 0o600));
    althing_agents::settle().await;
    home.is_left().await;
}

#[tokio::test]
async fn a_long_prompt_goes_through_standard_input() {
    let home = Home::new();
    let prompt = "Why? ".repeat(28_000);
    let agent = Agent::new(Adapter::Custom(home.fake("echo")), home.options(PATIENT));
    assert_eq!(answer(&agent, &prompt).await.unwrap().text.trim_end(), prompt.trim_end());
    // Nor does it matter if nobody reads it.
    let agent = Agent::new(Adapter::Custom(home.fake("deaf")), home.options(PATIENT));
    assert_eq!(answer(&agent, &prompt).await.unwrap().text, format!("{PLAN}\n"));
    let as_argument = Custom { prompt: PromptMode::Argument, ..home.fake("argument") };
    let agent = Agent::new(Adapter::Custom(as_argument), home.options(PATIENT));
    let fault = answer(&agent, &prompt).await.unwrap_err();
    assert_eq!(fault.kind, Kind::InvalidParams);
    assert!(fault.message.starts_with("prompt: has 140000 bytes"), "{fault}");
    let short = "a 'b' $HOME; `c`";
    assert_eq!(answer(&agent, short).await.unwrap().text, format!("{short}|\n"));
    home.is_left().await;
}

#[tokio::test]
async fn a_command_that_is_missing_names_what_installs_it() {
    let home = Home::new().set("PATH", "/nowhere:relative");
    let (adapter, _) = Adapter::find("claude").unwrap();
    let agent = Agent::new(adapter, home.options(PATIENT));
    let fault = answer(&agent, "x").await.unwrap_err();
    let expected = "claude: is not installed (npm install -g @anthropic-ai/claude-code)";
    assert_eq!((fault.kind, fault.message.as_str()), (Kind::NotFound, expected));
    assert_eq!(agent.probe().await.unwrap_err().kind, Kind::NotFound);
    let (adapter, _) = Adapter::find("claude").unwrap();
    let options = Options { program: Some("/x/claude".into()), ..home.options(PATIENT) };
    let fault = answer(&Agent::new(adapter, options), "x").await.unwrap_err();
    assert!(fault.message.starts_with("claude: /x/claude is not installed ("), "{fault}");
    let fault = home.ask(Custom::new("mine", "./no-such").unwrap(), home.options(PATIENT)).await;
    assert_eq!(fault.unwrap_err().message, "./no-such is not installed");
    assert_eq!(home.noted(), 0);
}

#[tokio::test]
async fn an_agent_works_in_an_empty_folder_that_goes_with_it() {
    let home = Home::new();
    let text = home.ask(home.fake("folder"), home.options(PATIENT)).await.unwrap().text;
    let folder = text.trim_end();
    assert!(folder.contains("althing-agent-") && text.lines().count() == 1, "{text}");
    home.is_left().await;
    assert!(!fs::exists(folder).unwrap());
}

#[tokio::test]
async fn with_a_repository_it_works_there() {
    let home = Home::new();
    let repo = home.path("repo");
    fs::create_dir(&repo).unwrap();
    fs::write(repo.join("main.rs"), "").unwrap();
    let mut options = home.options(PATIENT);
    options.repo = Some(repo.clone());
    let text = home.ask(home.fake("folder"), options.clone()).await.unwrap().text;
    assert_eq!(text, format!("{}\nmain.rs\n", repo.display()));
    options.repo = Some(repo.join("none"));
    let fault = home.ask(home.fake("folder"), options).await.unwrap_err();
    assert!(fault.message.starts_with("repo: "), "{fault}");
    home.is_left().await;
    assert!(repo.is_dir());
}

#[tokio::test]
async fn an_agent_gets_what_is_listed_and_the_mark() {
    let home = Home::new().set("OPENAI_API_KEY", "sk-secret").set("MINE", "yes");
    let mut options = home.options(PATIENT);
    options.variables = vec!["MINE".into()];
    let text = home.ask(home.fake("variables"), options.clone()).await.unwrap().text;
    let names: Vec<&str> = text.lines().filter_map(|it| Some(it.split_once('=')?.0)).collect();
    let expected = ["ALTHING_AGENT", "HOME", "MINE", "NO_COLOR", "PATH", "TERM"];
    let names: Vec<_> =
        names.into_iter().filter(|it| !["PWD", "OLDPWD", "SHLVL", "_"].contains(it)).collect();
    assert_eq!(names, expected);
    options.environment.insert("ALTHING_AGENT".into(), "1-2".into());
    let fault = home.ask(home.fake("echo"), options).await.unwrap_err();
    assert!(fault.message.contains("may not start agents"), "{fault}");
    home.is_left().await;
}

#[tokio::test]
async fn a_stream_that_is_dropped_ends_the_agent() {
    let home = Home::new();
    let agent = Agent::new(Adapter::Custom(home.fake("hang-with-children")), home.options(PATIENT));
    let mut speaking = agent.speak(Ask::new("", "x"));
    assert_eq!(home.noted(), 0, "nothing happens before it is polled");
    assert_eq!(speaking.next().await, Some(Ok(Delta::Started)));
    home.has_asleep(4).await;
    assert_eq!(home.noted(), 1);
    drop(speaking);
    home.is_left().await;
}
