//! No key in anything that can be printed, however wrongly it was written.

use super::*;

const SECRET: &str = "QzHq7T4nVb2Lw9Xk3Rf8Yd5Gs1Jm6Pc0";

#[track_caller]
fn check(home: &Home) {
    let (config, world) = (home.load(), &home.world);
    hides(&format!("{config:?} {config:#?} {world:?} {world:#?} {}", shown(&config)));
}

/// What a person is shown.
fn shown(config: &Config) -> String {
    let warnings = config.warnings.iter().map(|warning| format!("{warning} {warning:?}"));
    format!("{:?} {}", config.rows(), warnings.collect::<String>())
}

#[track_caller]
fn hides(out: &str) {
    // The hint shows the last four characters; no longer piece may be found.
    for piece in [&SECRET[..8], &SECRET[12..20], &SECRET[SECRET.len() - 5..]] {
        assert!(!out.contains(piece), "{piece} in {out}");
    }
}

#[test]
fn keys_are_never_shown() {
    let odd = [
        SECRET.to_string(),
        format!("{SECRET} {SECRET}"),
        format!("\"{SECRET}\""),
        format!("{SECRET}..."),
        format!("{SECRET}\u{7}"),
        format!("${{{SECRET}}}"),
        SECRET.repeat(200),
        SECRET[..19].to_string(),
    ];
    for key in &odd {
        check(&Home::new(&[("OPENAI_API_KEY", key), ("OLLAMA_API_KEY", key)]));
        check(&Home::new(&[]).with(LOCAL, format!("OPENAI_API_KEY={key}")));
        check(&Home::new(&[]).with(QUORUM, format!("{key}\nOPENAI_API_KEY '{key}\n='{key}")));
        let line = format!("api_key = '{key}'");
        check(&Home::new(&[]).with(TOML, format!("[providers.openai]\n{line}")));
        check(&Home::new(&[]).with(TOML, format!("[providers.openai]\n{line} oops")));
        check(&Home::new(&[]).with(TOML, format!("[providers.openai]\napi_key = {key}")));
        check(&Home::new(&[]).with(TOML, format!("[providers.openai]\n{line}\n{line}")));
        check(&Home::new(&[]).with(TOML, format!("[providers.openai]\napi_key = ['{key}', 1]")));
        let env = format!("[providers.openai]\napi_key_env = '{key}'");
        check(&Home::new(&[]).with(TOML, env));
    }
}

#[test]
fn nor_passwords_in_addresses() {
    for url in ["https://me:SECRET@a.example", "https://a.example/?k=SECRET", "SECRET@a"] {
        let url = url.replace("SECRET", SECRET);
        check(&Home::new(&[("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", KEY)]));
    }
}

#[test]
fn nor_keys_in_the_wrong_variable() {
    let key = format!("sk-proj-{SECRET}");
    for setting in settings::SETTINGS {
        hides(&shown(&Home::new(&[(setting.env, &key)]).load()));
    }
}
