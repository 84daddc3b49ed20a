//! A shell whose variables point every program at Althing, Althing itself included.

use crate::harness::{Done, Home, upstream};
use crate::sdk::Served;

/// As the README has them, and one more that needs no key.
fn in_that_shell(home: &Home, served: &Served, args: &[&str]) -> Done {
    let mut command = home.command(args);
    let openai = format!("{}/v1", served.url);
    command.env("OPENAI_BASE_URL", &openai).env("OPENAI_API_KEY", &served.token);
    command.env("ANTHROPIC_BASE_URL", &served.url).env("ANTHROPIC_AUTH_TOKEN", &served.token);
    command.env("CUSTOM_BASE_URL", &openai);
    Done::of(command.output().unwrap())
}

const OWN: [&str; 3] = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "CUSTOM_BASE_URL"];

#[test]
fn the_exports_of_the_readme_make_it_no_provider_of_its_own() {
    let upstream = upstream();
    let home = Home::with(&upstream).set("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef");
    let served = Served::start(&home);
    let models = in_that_shell(&home, &served, &["models"]);
    let doctor = in_that_shell(&home, &served, &["doctor"]);
    for name in OWN {
        let words = format!("environment variable {name}: leads to Althing itself");
        // Notes are wrapped.
        let told = models.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&words), "{models:#?}");
        doctor.ends(0).says(&words);
    }
    assert!(!models.ends(0).out.contains("fake-large"), "{models:#?}");
    for model in ["openai:fake-large", "anthropic:fake-large", "custom:openai:fake-large"] {
        let asked = in_that_shell(&home, &served, &["ask", "--models", model, "Hello?"]);
        assert_ne!(asked.code, Some(0), "{asked:#?}");
    }
    assert_eq!(upstream.count("fake-large"), 0, "it asked itself");
    // By hand it is as little a provider as by variables.
    let own = format!("{}/v1", served.url);
    let add = ["providers", "add", "custom", "--name", "me", "--base-url", &own];
    home.run(&add).ends(2).warns("Althing itself listens");
    let elsewhere = ["providers", "add", "custom", "--base-url", "http://127.0.0.1:9/v1"];
    let with_token = home.run_with_input(&elsewhere, &format!("{}\n", served.token));
    with_token.ends(2).warns("token of Althing itself");
}
