//! Which servers can be asked, with which key and at which address.

use super::*;
use althing_gateway::Endpoint;

/// The endpoints that were set, one line each.
#[track_caller]
fn check(home: &Home, want: &[&str]) {
    let config = home.load();
    let lines = config.endpoints.iter().filter(|it| it.explicit).map(|it| {
        let endpoint = &it.endpoint;
        let key = endpoint.key.as_ref().map_or("-".into(), |key| key.hint());
        let models = it.models.iter().map(|entry| match &entry.display {
            Some(display) => format!("{}|{display}", entry.id),
            None => entry.id.clone(),
        });
        let models = models.collect::<Vec<_>>().join(",");
        let Endpoint { id, base_url, parallel, .. } = &**endpoint;
        format!("{id} {base_url} {key} x{parallel} [{models}]")
    });
    assert_eq!(lines.collect::<Vec<_>>(), want, "{:#?}", home.warnings());
}

#[test]
fn nothing_set_means_the_local_servers_are_looked_for() {
    let config = Home::new(&[]).load();
    let ids: Vec<&str> = config.endpoints.iter().map(|it| it.endpoint.id.as_str()).collect();
    assert_eq!(ids, ["ollama", "lmstudio", "llamaswap"]);
    assert!(config.endpoints.iter().all(|it| !it.explicit && it.url_source == Source::Default));
    assert!(config.endpoint("ollama").is_some() && config.endpoint("openai").is_none());
}

#[test]
fn every_row_reads_its_variables() {
    for row in althing_gateway::PROVIDERS {
        let name = |end: &str| format!("{}_{end}", row.env_prefix);
        let (url, models) = (name("BASE_URL"), name("MODELS"));
        for key in row.key_env {
            let home = Home::new(&[(*key, KEY), (&url, "https://a.example/x"), (&models, "m")]);
            let parallel = row.parallel;
            let line = format!("{} https://a.example/x …1234 x{parallel} [m]", row.name);
            check(&home, &[&line]);
            home.check(
                &format!("providers.{}.models", row.name),
                "m",
                &format!("environment variable {models}"),
            );
        }
    }
}

#[test]
fn model_lists() {
    let list = " a , b|Bee ,, c| ,a|again,d|x\u{7}y ";
    let home = Home::new(&[("OPENAI_API_KEY", KEY), ("OPENAI_MODELS", list)]);
    check(&home, &["openai https://api.openai.com/v1 …1234 x8 [a,b|Bee,c]"]);
    home.warns(&["environment variable OPENAI_MODELS: 'd' cannot be the name of a model"]);
    let many: String = (0..502).map(|n| format!("m{n},")).collect();
    let home = Home::new(&[("OPENAI_API_KEY", KEY), ("OPENAI_MODELS", &many)]);
    home.warns(&["more than 500 models; 'm500' and more are left out"]);
    let home = Home::new(&[("OPENAI_API_KEY", KEY)])
        .with(TOML, "[providers.openai]\nmodels = ['a', 'b|B, really']");
    check(&home, &["openai https://api.openai.com/v1 …1234 x8 [a,b|B,really]"]);
}

#[test]
fn keys_by_layer() {
    let toml = format!("[providers.google]\napi_key = '{OTHER_KEY}'");
    let url = "google https://generativelanguage.googleapis.com";
    let home = Home::new(&[]).with(TOML, &toml);
    check(&home, &[&format!("{url} …9876 x8 []")]);
    let home = home.with(LOCAL, format!("GOOGLE_API_KEY=sk-...\nGEMINI_API_KEY='{KEY}'"));
    check(&home, &[&format!("{url} …1234 x8 []")]);
    home.check("providers.google.api_key", "…1234", "GEMINI_API_KEY in ./.env");
    home.warns(&["GOOGLE_API_KEY in ./.env: looks like a placeholder; it is treated as not set"]);
    let named = "[providers.openai]\napi_key_env = 'MY_KEY'";
    let home = Home::new(&[("MY_KEY", OTHER_KEY), ("OPENAI_API_KEY", KEY)]).with(TOML, named);
    check(&home, &["openai https://api.openai.com/v1 …9876 x8 []"]);
    let home = Home::new(&[("OPENAI_API_KEY", KEY)]).with(TOML, named);
    check(&home, &[]);
    home.warns(&[
        "providers.openai.api_key_env in /home/.config/althing/config.toml: names a variable",
    ]);
}

#[test]
fn sections_of_ones_own() {
    let home = Home::new(&[("WORK_KEY", KEY)]).with(
        TOML,
        "[providers.work]\nbase_url = 'https://llm.example.com/v1'\napi_key_env = 'WORK_KEY'\n\
         models = ['big|The big one']\nparallel = 2\n\
         [providers.eu]\nprovider = 'anthropic'\nbase_url = 'https://eu.example.com'\n\
         [providers.gpu]\nprovider = 'ollama'\nbase_url = 'gpu-box:11434'\n\
         [providers.lost]\n[providers.odd]\nprovider = 'nobody'\n[providers.Demo]\n",
    );
    check(
        &home,
        &[
            "work https://llm.example.com/v1 …1234 x2 [big|The big one]",
            "gpu http://gpu-box:11434 - x1 []",
        ],
    );
    home.warns(&[
        "providers.odd.provider in /home/.config/althing/config.toml: must be one of openai, ",
        "providers.Demo.provider in /home/.config/althing/config.toml: cannot be a provider's name",
        "providers.eu.api_key in /home/.config/althing/config.toml: Anthropic wants a key",
        "providers.lost.base_url: is not set, so this server is not used",
    ]);
}

#[test]
fn custom_and_vllm_only_when_set() {
    check(&Home::new(&[("VLLM_MODELS", "m")]), &["vllm http://localhost:8000/v1 - x8 [m]"]);
    check(&Home::new(&[("CUSTOM_BASE_URL", "http://gpu:1")]), &["custom http://gpu:1/v1 - x8 []"]);
    let home = Home::new(&[("CUSTOM_MODELS", "m")]);
    check(&home, &[]);
    home.warns(&["providers.custom.base_url: is not set"]);
}

#[test]
fn a_server_that_was_named_is_not_looked_for_again() {
    let home = Home::new(&[("CUSTOM_BASE_URL", "http://127.0.0.1:1234/v1")]);
    let config = home.load();
    let ids: Vec<&str> = config.endpoints.iter().map(|it| it.endpoint.id.as_str()).collect();
    assert_eq!(ids, ["ollama", "llamaswap", "custom"]);
}

#[test]
fn how_many_calls_at_once() {
    let parallel = |mode: &str, toml: &str| -> Vec<usize> {
        let home = Home::new(&[("QUORUM_EXECUTION_MODE", mode), ("OPENAI_API_KEY", KEY)]);
        let config = home.with(TOML, toml).load();
        config.endpoints.iter().take(2).map(|it| it.endpoint.parallel).collect()
    };
    assert_eq!(parallel("auto", ""), [8, 1]);
    assert_eq!(parallel("parallel", ""), [8, 8]);
    assert_eq!(parallel("sequential", ""), [1, 1]);
    assert_eq!(parallel("sequential", "[providers.ollama]\nparallel = 4"), [1, 4]);
    assert_eq!(parallel("auto", "[providers.ollama]\nparallel = 65"), [8, 1]);
}

#[test]
fn ollama_host_is_the_last_word_on_ollama() {
    let home = Home::new(&[("OLLAMA_HOST", "0.0.0.0:5")]);
    check(&home, &["ollama http://127.0.0.1:5 - x1 []"]);
    home.check(
        "providers.ollama.base_url",
        "http://127.0.0.1:5",
        "environment variable OLLAMA_HOST",
    );
    let home = home.with(QUORUM, "OLLAMA_BASE_URL=http://10.0.0.1:6/v1");
    check(&home, &["ollama http://10.0.0.1:6 - x1 []"]);
}

#[test]
fn a_wrong_address_is_not_replaced_by_another() {
    let home =
        Home::new(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "https://me:pw@a.example")]);
    check(&home, &[]);
    home.warns(&["environment variable OPENAI_BASE_URL: holds a user name or password"]);
    let home = Home::new(&[("OLLAMA_BASE_URL", "http://example.com")]);
    home.warns(&[
        "plain http is only for this machine and private networks; use https; Ollama is not",
    ]);
    assert!(home.load().endpoint("ollama").is_none());
}

#[test]
fn a_folder_collects_no_keys() {
    let redirect = "OPENAI_BASE_URL=https://evil.example/v1\n";
    let refused = "OPENAI_BASE_URL in ./.env: OpenAI is not used: its address comes from a file in \
                   the current folder but its key does not (";
    let home = Home::new(&[("OPENAI_API_KEY", KEY)]).with(LOCAL, redirect);
    check(&home, &[]);
    home.warns(&[&format!("{refused}environment variable OPENAI_API_KEY)")]);

    let toml = format!("[providers.openai]\napi_key = '{KEY}'");
    let home = Home::new(&[]).with(LOCAL, redirect).with(TOML, &toml);
    check(&home, &[]);
    home.warns(&[refused]);

    let both = format!("{redirect}OPENAI_API_KEY={KEY}");
    let home = Home::new(&[]).with(LOCAL, &both);
    check(&home, &["openai https://evil.example/v1 …1234 x8 []"]);
    let home = Home::new(&[("OPENAI_API_KEY", OTHER_KEY)]).with(LOCAL, &both);
    check(&home, &[]);

    let home = Home::new(&[("OPENAI_API_KEY", KEY)]).with(QUORUM, redirect);
    check(&home, &["openai https://evil.example/v1 …1234 x8 []"]);

    let home = Home::new(&[("OLLAMA_API_KEY", KEY)]).with(LOCAL, "OLLAMA_HOST=127.0.0.1:9");
    check(&home, &[]);
    let home = Home::new(&[]).with(LOCAL, "OLLAMA_BASE_URL=https://evil.example");
    check(&home, &[]);
    home.warns(&["a file in the current folder may send Ollama only to this machine"]);
}
