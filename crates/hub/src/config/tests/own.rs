//! What leads back to Althing itself is no provider.

use super::*;

const TOKEN: &str = "the-token-of-this-very-althing-0123456789";
const HERE: &str = "http://127.0.0.1:11535/v1";
const TOKEN_FILE: &str = "home/.local/share/althing/token";

/// A home whose Althing has a token.
fn home(vars: &[(&str, &str)]) -> Home {
    Home::new(vars).with(TOKEN_FILE, format!("{TOKEN}\n"))
}

/// The endpoints that were set, with address and key.
#[track_caller]
fn check(home: &Home, want: &[&str]) {
    let config = home.load();
    let set = config.endpoints.iter().filter(|it| it.explicit).map(|it| {
        let key = it.endpoint.key.as_ref().map_or("-".into(), |key| key.hint());
        format!("{} {} {key}", it.endpoint.id, it.endpoint.base_url)
    });
    assert_eq!(set.collect::<Vec<_>>(), want, "{:#?}", home.warnings());
}

const PASSED: &str = "leads to Althing itself";

#[test]
fn the_exports_for_other_programs_make_no_provider() {
    let home = home(&[
        ("OPENAI_BASE_URL", HERE),
        ("OPENAI_API_KEY", TOKEN),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:11535"),
        ("ANTHROPIC_AUTH_TOKEN", TOKEN),
    ]);
    check(&home, &[]);
    home.warns(&[
        "environment variable OPENAI_BASE_URL: leads to Althing itself",
        "environment variable ANTHROPIC_BASE_URL: leads to Althing itself",
    ]);
}

#[test]
fn the_token_tells_where_no_address_does() {
    let elsewhere = "http://127.0.0.1:4711/v1";
    for (name, url) in [("OPENAI", elsewhere), ("CUSTOM", elsewhere), ("VLLM", elsewhere)] {
        let (base, key) = (format!("{name}_BASE_URL"), format!("{name}_API_KEY"));
        let home = home(&[(&base, url), (&key, TOKEN)]);
        check(&home, &[]);
        home.warns(&[PASSED]);
    }
    // The address is another one's, and would have got the token.
    check(&home(&[("OPENAI_API_KEY", TOKEN)]), &[]);
    let urls = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:4711"), ("ANTHROPIC_AUTH_TOKEN", TOKEN)];
    let [url, token] = urls;
    check(&home(&[url, token, ("ANTHROPIC_API_KEY", KEY)]), &[]);
}

#[test]
fn what_stands_below_is_used() {
    let vars = [("OPENAI_BASE_URL", HERE), ("OPENAI_API_KEY", TOKEN)];
    let file = format!("[providers.openai]\napi_key = '{KEY}'\n");
    check(&home(&vars).with(TOML, file), &["openai https://api.openai.com/v1 …1234"]);
    let quorum = format!("OPENAI_BASE_URL=https://a.example/v1\nOPENAI_API_KEY={KEY}\n");
    check(&home(&vars).with(QUORUM, quorum), &["openai https://a.example/v1 …1234"]);
}

#[test]
fn a_key_that_was_meant_for_an_address_goes_to_no_other() {
    let beside = home(&[("OPENAI_BASE_URL", HERE), ("OPENAI_API_KEY", KEY)]);
    check(&beside, &[]);
    beside.warns(&[PASSED]);
    let file = format!("[providers.openai]\nbase_url = '{HERE}'\n");
    check(&home(&[("OPENAI_API_KEY", KEY)]).with(TOML, file), &[]);
    let section = format!("[providers.own]\nbase_url = '{HERE}'\napi_key_env = 'OWN_KEY'\n");
    let section = home(&[("OWN_KEY", KEY)]).with(TOML, section);
    check(&section, &[]);
    section.warns(&[PASSED]);
}

#[test]
fn another_althing_is_a_provider_like_any_other() {
    let vars = [("CUSTOM_BASE_URL", "http://127.0.0.1:4711/v1"), ("CUSTOM_API_KEY", OTHER_KEY)];
    check(&home(&vars), &["custom http://127.0.0.1:4711/v1 …9876"]);
}

#[test]
fn nobody_is_looked_for_where_althing_listens() {
    let home = home(&[]);
    let here = "127.0.0.1:1234".parse().unwrap();
    let _listening = Announced::announce(&home.world.data_dir(), here).unwrap();
    let ids: Vec<String> = home.load().endpoints.iter().map(|it| it.endpoint.id.clone()).collect();
    assert_eq!(ids, ["ollama", "llamaswap"]);
    home.warns(&[]);
}
