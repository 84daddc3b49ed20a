//! Seats by name.

use super::*;

const VARS: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", KEY),
    ("OPENAI_MODELS", "gpt-5.1|Fast One,shared"),
    ("OPENROUTER_API_KEY", KEY),
    ("OPENROUTER_MODELS", "shared,x-ai/grok-4"),
    ("CUSTOM_BASE_URL", "http://localhost:9"),
];
const LISTS: &[&str] =
    &["ollama: llama3.2:latest, qwen3:8b, twin", "custom: twin", "lmstudio: Big Model"];

#[track_caller]
fn check(name: &str, want: &str) {
    let config = config(VARS);
    let found = finding(&config, LISTS);
    let lineup = resolve(&names(&[name]), &config, Some(&found)).unwrap();
    assert_eq!(seats(&lineup), [want], "{name}");
}

/// As `check`, and no list is needed for it.
#[track_caller]
fn check_known(name: &str, want: &str) {
    check(name, want);
    let config = config(VARS);
    assert!(!needs_discovery(&names(&[name]), &config), "{name}");
    assert_eq!(seats(&resolve(&names(&[name]), &config, None).unwrap()), [want], "{name}");
}

#[track_caller]
fn refused(name: &str, kind: Kind, parts: &[&str]) {
    let config = config(VARS);
    let found = finding(&config, LISTS);
    let fault = resolve(&names(&[name]), &config, Some(&found)).unwrap_err();
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(parts.iter().all(|part| fault.message.contains(part)), "{fault}");
    assert!(!fault.message.contains(&KEY[..12]), "{fault}");
}

#[test]
fn what_the_configuration_alone_tells() {
    check_known("openai:anything-new", "openai:anything-new = Anything New");
    check_known("openai:gpt-5.1", "openai:gpt-5.1 = Fast One");
    check_known("openai:gpt-5.1@high", "openai:gpt-5.1@high = Fast One (high)");
    check_known("ollama:llama3.2:1b", "ollama:llama3.2:1b = Llama3.2 1b");
    check_known("gpt-5.1", "openai:gpt-5.1 = Fast One");
    check_known("fast one", "openai:gpt-5.1 = Fast One");
    check_known("fast one@low", "openai:gpt-5.1@low = Fast One (low)");
    check_known("gpt-9", "openai:gpt-9 = GPT 9");
    check_known("o3-mini@high", "openai:o3-mini@high = o3 Mini (high)");
    check_known("shared", "openai:shared = Shared");
    check_known("x-ai/grok-4", "openrouter:x-ai/grok-4 = Grok 4");
    check_known("openai/gpt-5.1", "openrouter:openai/gpt-5.1 = GPT 5.1");
    check_known("claude-cli", "claude-cli = claude-cli");
    check_known("codex-cli:gpt-5.1@high", "codex-cli:gpt-5.1@high = codex-cli:gpt-5.1@high");
    check_known("demo:skeptic", "demo:skeptic = Skeptic (demo)");
    check_known("demo:anyone", "demo:anyone = Anyone (demo)");
    check_known(" gpt-9 ", "openai:gpt-9 = GPT 9");
}

#[test]
fn what_only_the_lists_tell() {
    assert!(needs_discovery(&names(&["gpt-5.1", "qwen3:8b"]), &config(VARS)));
    check("qwen3:8b", "ollama:qwen3:8b = Qwen3 8b");
    check("llama3.2", "ollama:llama3.2:latest = Llama3.2 Latest");
    check("llama3.2@low", "ollama:llama3.2:latest@low = Llama3.2 Latest (low)");
    check("big model", "lmstudio:Big Model = Big Model");
}

#[test]
fn what_nobody_can_seat() {
    refused("twin", Kind::InvalidParams, &["models: 'twin' can be ollama:twin or custom:twin"]);
    refused(
        "qwen3:9b",
        Kind::UnknownModel,
        &["'qwen3:9b'", "did you mean qwen3:8b", "althing models"],
    );
    refused("zzzzzzz", Kind::UnknownModel, &["no such model is found; `althing models` lists all"]);
    refused("grok-4", Kind::BadKey, &["xAI has no key: set XAI_API_KEY"]);
    refused("claude-sonnet-4-5", Kind::BadKey, &["set ANTHROPIC_API_KEY"]);
    refused("google:gemini-9", Kind::BadKey, &["set GOOGLE_API_KEY or GEMINI_API_KEY"]);
    refused("vllm:m", Kind::NotFound, &["vLLM is not configured: set VLLM_BASE_URL"]);
    refused("gpt-oss:20b", Kind::UnknownModel, &["gpt-oss:20b"]);
    refused("o3x", Kind::UnknownModel, &["o3x"]);
    refused("demo:no/voice", Kind::UnknownModel, &["demo:builder"]);
    refused("evil\u{1b}[31m", Kind::InvalidParams, &["\\u{1b}[31m"]);
    refused("", Kind::InvalidParams, &["models: '' is no name"]);
    refused(&"x".repeat(201), Kind::InvalidParams, &["xxx…"]);
}

#[test]
fn a_warning_explains_what_is_missing() {
    let config = config(&[("OPENAI_API_KEY", "sk-...")]);
    let fault = resolve(&names(&["gpt-5.1"]), &config, None).unwrap_err();
    let want = "'gpt-5.1': OpenAI cannot be used: environment variable OPENAI_API_KEY: looks like \
                a placeholder; it is treated as not set";
    assert_eq!(fault.message, want);
}

#[test]
fn names_at_the_table_differ() {
    let config = config(VARS);
    let wanted = names(&["gpt-9", "openai:gpt-9", "openrouter:openai/gpt-9", "demo:a", "demo:a"]);
    let lineup = resolve(&wanted, &config, None).unwrap();
    let shown: Vec<&str> = lineup.seats.iter().map(|seat| seat.name.as_str()).collect();
    assert_eq!(shown, ["GPT 9", "GPT 9 (2)", "GPT 9 (3)", "A (demo)", "A (demo) (2)"]);
    for count in [0, SEATS_MAX + 1] {
        let fault = resolve(&vec!["demo:a".to_string(); count], &config, None).unwrap_err();
        assert_eq!(fault.kind, Kind::InvalidParams, "{fault}");
    }
}

#[test]
fn an_earlier_seat_sits_again() {
    let config = config(VARS);
    let info = |model: &str| SeatInfo {
        model: model.into(),
        name: "As it was".into(),
        stance: Some("firm".into()),
        demo: model.starts_with("demo:"),
        context_tokens: None,
    };
    for model in ["openai:gpt-5.1@high", "demo:scout", "ollama:qwen3:8b"] {
        let seat = sit_again(&info(model), &config).unwrap();
        assert_eq!((seat.id.as_str(), seat.name.as_str()), (model, "As it was"));
        assert_eq!((seat.stance.as_deref(), seat.demo), (Some("firm"), model.starts_with("demo:")));
    }
    let gone = sit_again(&info("xai:grok-4"), &config).unwrap_err();
    assert_eq!(gone.kind, Kind::BadKey, "{gone}");
}
