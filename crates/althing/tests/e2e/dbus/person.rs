//! The person's commands, with a service on the bus and without one.

use super::bus::{Bus, KEY, Serving, until};
use super::logins;
use super::streams::with_provider;
use crate::harness::{Home, signal, upstream};
use althing_testkit::upstream::Logins;
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};
use std::fs::{self, File};

#[test]
fn a_person_keeps_providers_with_and_without_the_service() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let url = format!("{}/v1", upstream.url());
    let walk = |home: &Home, name: &str| {
        let add = ["providers", "add", "openai", "--name", name, "--base-url", &url];
        home.run_with_input(&add, &format!("{KEY}\n")).ends(0).says("is added");
        let id = name.to_lowercase();
        home.run(&["providers", "list"]).ends(0).says(&id).says("…0123").says("added");
        home.run(&["providers", "test", &id]).ends(0).says("2 chat models");
        let model = format!("{id}:fake-small");
        home.run(&["models", "disable", &model]).ends(0).says("is disabled");
        let refused = home.run(&["ask", "--models", &model, "Hello?"]);
        let help = quoted_command(&refused.ends(12).warns("disabled").err);
        assert_eq!(listed_enabled(home, &model), Some(false));
        let listed = home.run(&["models", "list"]);
        listed.ends(0).says(", disabled\n").says(": 1 disabled; ");
        assert_eq!(quoted_command(&listed.out), help);
        let other = format!("{id}:fake-large");
        home.run(&["models", "disable", &other]).ends(0);
        let all = home.run(&["models", "list"]);
        all.ends(0).says(&model).says(&other).says(": 2 disabled; ");
        assert!(!all.out.contains("no chat model"), "{all:?}");
        home.run(&["doctor"]).ends(0).says("0 models and 2 disabled at ");
        home.run(&help).ends(0).says("is enabled");
        assert_eq!(listed_enabled(home, &model), Some(true));
        home.run(&quoted_command(&home.run(&["models"]).out)).ends(0);
        assert_eq!(listed_enabled(home, &other), Some(true));
        let targets = [format!("{id}:err-503"), model.clone()];
        home.run(&["routes", "set", "fast", &targets[0], &targets[1]]).ends(3).warns("err-503");
        home.run(&["routes", "set", "fast", &model]).ends(0).says("1 target");
        home.run(&["routes", "show"]).ends(0).says("fast").says("ok");
        home.run(&["routes", "test", "fast"]).ends(0).says(&format!("{model} answered: "));
        home.run(&["routes", "set", "bare", "fake-small", "fast"]).ends(0).says("2 targets");
        home.run(&["routes", "show", "bare"]).ends(0).says(&model).says("alias:fast");
        home.run(&["routes", "set", "bare"]).ends(0);
        home.run(&["routes", "set", "none", "no-such"]).ends(12).warns("'no-such': no such model");
        home.run(&["routes", "set", "loop", "alias:loop"]).ends(2).warns("loop");
        home.run(&["metrics", "--since", "1h"]).ends(0).says("Requests in the last 1 h: ");
        home.run(&["providers", "remove", &id]).ends(0);
        home.run(&["routes", "show", "fast"]).ends(0).says("skipped: ");
        home.run(&["routes", "set", "fast"]).ends(0).says("deleted");
        home.run(&["providers", "remove", &id]).ends(3);
    };
    walk(&bus.home, "Alone");
    let _serving = bus.serve();
    walk(&bus.home, "Served");
    // A key that is refused keeps nothing, and never stands on a command line.
    let refused = ["providers", "add", "openai", "--name", "Bad", "--key-env", "NO_SUCH"];
    bus.home.run(&refused).ends(2).warns("NO_SUCH is not set");
    bus.home.run(&["providers", "add", "nonsense", "--no-key"]).ends(2).warns("provider_type");
}

/// The words of the command that the person is told to run, without the program's name.
#[track_caller]
fn quoted_command(said: &str) -> Vec<&str> {
    let (_, rest) = said.split_once("`althing ").expect("it names a command");
    rest.split_once('`').expect("the command ends").0.split(' ').collect()
}

/// Whether `models list --json` says that a model may be used; none where it is not listed.
fn listed_enabled(home: &Home, model: &str) -> Option<bool> {
    let listed = home.run(&["models", "list", "--json"]).ends(0).out.clone();
    let mut lines = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.find(|it| it["id"] == model)?["enabled"].as_bool()
}

#[test]
fn a_person_logs_in_with_and_without_the_service() {
    let upstream = Upstream::start(Options::default());
    let Some(bus) = logins::bus(&upstream) else { return };
    let walk = |home: &Home, name: &str| {
        let no_key = home.run(&["providers", "add", "copilot"]);
        let help = quoted_command(&no_key.ends(2).warns("GitHub Copilot has no keys").err);
        assert_eq!(help, ["providers", "add-oauth", "copilot"]);
        for kind in ["copilot", "dashscope"] {
            let id = format!("{name}-{kind}");
            let done = home.run(&["providers", "add-oauth", kind, "--name", &id]);
            let place =
                format!("Open {}/login/device and enter the code WDJB-MJHT", upstream.url());
            done.ends(0).says(&place).says(&format!("{id} is added"));
            home.run(&["providers", "list"]).ends(0).says(&id);
            let model = format!("{id}:fake-small");
            home.run(&["ask", "--models", &model, "Hello?"]).ends(0).says("answer");
        }
    };
    walk(&bus.home, "alone");
    let _serving = bus.serve();
    walk(&bus.home, "served");
}

/// Rests are known to the process that met a refusal, so it takes a service that runs.
#[test]
fn a_person_sees_which_target_rests() {
    let upstream = Upstream::start(Options::default().models(["err-404", "fake-small"]));
    let Some(bus) = Bus::start() else { return };
    let _serving = bus.serve();
    let url = format!("{}/v1", upstream.url());
    let add = ["providers", "add", "openai", "--name", "box", "--base-url", &url];
    bus.home.run_with_input(&add, &format!("{KEY}\n")).ends(0);
    bus.home.run(&["routes", "set", "fast", "box:err-404", "box:fake-small"]).ends(0);
    bus.home.run(&["routes", "test", "fast"]).ends(0).says("box:fake-small answered: ");
    let shown = bus.home.run(&["routes", "show", "fast"]);
    shown.ends(0).says("rests for ").says(" s: unknown_model").says("ok");
}

/// A login whose renewal was refused is marked, whoever asks.
#[test]
fn a_person_sees_which_login_is_over() {
    // The token expires at once and cannot be renewed.
    let script = Logins { token_life: 1, over: true, ..Logins::default() };
    let upstream = Upstream::start(Options::default().logins(script));
    let Some(bus) = logins::bus(&upstream) else { return };
    let home = &bus.home;
    home.run(&["providers", "add-oauth", "dashscope", "--name", "qwen"]).ends(0);
    let over = "the login at DashScope (Qwen) is over";
    home.run(&["providers", "test", "qwen"]).ends(10).warns(over);
    home.run(&["providers", "list"]).ends(0).says("qwen (off)").says(&upstream.url()).says(over);
    home.run(&["doctor"]).ends(0).says(over);
    let _serving = bus.serve();
    home.run(&["providers", "list", "--json"]).ends(0).says(over).says("\"enabled\":false");
}

#[test]
fn a_person_who_is_not_let_in_is_told() {
    let upstream = Upstream::start(Options::default().logins(logins::denied()));
    let Some(bus) = logins::bus(&upstream) else { return };
    let walk = |home: &Home| {
        let done = home.run(&["providers", "add-oauth", "copilot"]);
        assert_ne!(done.says("WDJB-MJHT").code, Some(0), "{done:?}");
        done.warns("the login at GitHub Copilot was declined");
        let listed = home.run(&["providers", "list"]);
        assert!(!listed.ends(0).out.contains("copilot"), "{listed:?}");
    };
    walk(&bus.home);
    let _serving = bus.serve();
    walk(&bus.home);
}

#[test]
fn a_person_sees_who_is_connected_and_puts_them_out() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    bus.home.run(&["connections", "list"]).ends(3).warns("no service is running");
    let _serving = bus.serve();
    let Some((mut python, _)) = with_provider(&bus, &upstream) else { return };
    bus.home.run(&["connections", "list"]).ends(0).says("python").says("dbus");
    let listed = bus.home.run(&["connections", "list", "--json"]).ends(0).out.clone();
    let lines = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_python = |it: &Value| it["client_name"].as_str().unwrap().starts_with("python");
    let found = lines.into_iter().find(is_python).unwrap();
    let id = found["connection_id"].as_str().unwrap();
    bus.home.run(&["connections", "close", id]).ends(0).says(&format!("{id} is closed."));
    let refused = python.call("Providers", "ListProviders", &json!([])).unwrap_err();
    assert_eq!(refused.0, "org.althing.Capability1.Error.AccessDenied");
    bus.home.run(&["connections", "close", "conn_99999"]).ends(3);
}

#[test]
fn a_person_watches_the_metrics() {
    let (upstream, Some(bus)) = (upstream(), Bus::start()) else { return };
    let _serving = bus.serve();
    let Some((mut python, provider)) = with_provider(&bus, &upstream) else { return };
    let page = bus.home.path().join("page");
    let mut watch = bus.home.command(&["metrics", "--watch", "--since", "30m"]);
    let mut watch = watch.stdout(File::create(&page).unwrap()).spawn().unwrap();
    let shows = |words: &str| until(words, || fs::read_to_string(&page).unwrap().contains(words));
    shows("No requests in the last 30 min.");
    let model = format!("{provider}:fake-small");
    let asked = json!({"model_id": model, "messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(python.ask("Complete", asked)["success"], true);
    shows("Requests in the last 30 min: 1 (0 failed)");
    shows("█");
    shows("▏ at most 1 per column");
    signal(&watch, "INT");
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

#[test]
fn the_service_says_what_it_found() {
    let upstream = upstream();
    let Some(bus) = Bus::start_in(Home::with(&upstream)) else { return };
    let url = format!("{}/v1", upstream.url());
    let add = ["providers", "add", "openai", "--name", "Added", "--base-url", &url];
    bus.home.run_with_input(&add, &format!("{KEY}\n")).ends(0);
    let said = bus.serve().said();
    assert!(said.contains(&format!("  openai at {url}, environment variable OPENAI_")), "{said}");
    assert!(said.contains(&format!("  added at {url}, added\n")), "{said}");
    assert!(!said.contains("no provider yet"), "{said}");
    let home = Home::new();
    let mut alone = home.command(&["serve", "--no-dbus", "--http", "127.0.0.1:0"]);
    for server in ["OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMASWAP_BASE_URL"] {
        alone.env_remove(server);
    }
    let said = Serving::start(&home, alone).said();
    assert!(said.contains("no provider yet: `althing providers add openai` adds one"), "{said}");
}

#[test]
fn the_environment_wins_over_what_was_added_and_models_says_so() {
    let (added, configured) = (upstream(), upstream());
    let home = Home::new();
    let url = format!("{}/v1", added.url());
    let add = ["providers", "add", "openai", "--base-url", &url];
    home.run_with_input(&add, &format!("{KEY}\n")).ends(0).says("openai is added");
    let before = added.requests().len();
    let home = home
        .set("OPENAI_API_KEY", "sk-test-of-the-environment")
        .set("OPENAI_BASE_URL", &format!("{}/v1", configured.url()));
    let hidden = "(openai, added): not used: 'openai' is also configured, and that wins \
        (environment variable OPENAI_";
    home.run(&["models"]).ends(0).says("openai:fake-small").says(hidden);
    home.run(&["providers", "list"]).ends(0).says("wins over 'openai', which was added");
    home.run(&["ask", "--models", "openai:fake-small", "Hello?"]).ends(0);
    assert_eq!(added.requests().len(), before, "nobody asks the one that was added");
    assert!(configured.count("fake-small") > 0);
}
