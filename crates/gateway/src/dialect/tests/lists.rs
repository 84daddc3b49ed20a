//! Lists of models as each provider sends them.

use super::super::{Dialect, Listed, anthropic, gemini, ollama, openai};
use expect_test::{Expect, expect};

fn line(listed: &Listed) -> String {
    let Listed { id, display_name, owned_by, context_tokens } = listed;
    let (name, owner) = (display_name.as_deref(), owned_by.as_deref());
    let context = context_tokens.map(|tokens| tokens.to_string());
    let words = [name, owner, context.as_deref()].map(|word| word.unwrap_or("-"));
    format!("{id} | {}\n", words.join(" | "))
}

#[track_caller]
fn check(dialect: &Dialect, body: &str, want: Expect) {
    let shown = match (dialect.read_list)(body.as_bytes()) {
        Ok(list) => list.iter().map(line).collect(),
        Err(fault) => format!("{}: {fault}\n", fault.kind),
    };
    want.assert_eq(&shown);
}

#[test]
fn openai_and_its_many_copies() {
    check(
        &openai::OPENAI,
        r#"{"object":"list","data":[
            {"id":"gpt-5.1","object":"model","created":1762800353,"owned_by":"system"},
            {"id":"deepseek/deepseek-r1","name":"DeepSeek: R1","context_length":163840},
            {"id":"llama-3.1-8b-instant","owned_by":"Meta","context_window":131072,"active":true},
            {"id":"Qwen/Qwen3-8B","owned_by":"vllm","max_model_len":40960,"root":null},
            {"id":"mistral-large-latest","owned_by":"mistralai","max_context_length":131072.0},
            {"id":"z-ai/glm","name":"GLM","context_length":202752,
             "top_provider":{"context_length":131072,"max_completion_tokens":null}},
            {"id":"x/y","context_length":4096,"top_provider":{"context_length":null}},
            {"id":"m.gguf","object":"model","created":1764000000,"owned_by":"llamacpp",
             "meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":40960,"n_ctx":4096}},
            {"id":"old.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":40960}},
            {"id":"text","context_length":" 131072 ","max_model_len":"many"},
            {"id":"odd","context_length":0,"meta":null,"top_provider":null},
            {"id":"small","context_length":0,"max_model_len":8192,"meta":{"n_ctx":1},
             "top_provider":{"context_length":511}}]}"#,
        expect![[r#"
            gpt-5.1 | - | system | -
            deepseek/deepseek-r1 | DeepSeek: R1 | - | 163840
            llama-3.1-8b-instant | - | Meta | 131072
            Qwen/Qwen3-8B | - | vllm | 40960
            mistral-large-latest | - | mistralai | 131072
            z-ai/glm | GLM | - | 131072
            x/y | - | - | 4096
            m.gguf | - | llamacpp | 4096
            old.gguf | - | llamacpp | -
            text | - | - | 131072
            odd | - | - | -
            small | - | - | 8192
        "#]],
    );
    check(
        &openai::OPENAI,
        r#"[{"id":"a/b","display_name":"B","context_length":null}]"#,
        expect![[r#"
            a/b | B | - | -
        "#]],
    );
    check(
        &openai::OPENAI,
        "<html>",
        expect![[r#"
        upstream: the provider's answer cannot be understood
    "#]],
    );
}

#[test]
fn anthropic_names_its_models() {
    check(
        &anthropic::ANTHROPIC,
        r#"{"data":[{"type":"model","id":"claude-sonnet-4-5-20250929",
            "display_name":"Claude Sonnet 4.5","created_at":"2025-09-29T00:00:00Z"},
            {"type":"model","id":"claude-a","max_input_tokens":1000000},
            {"type":"model","id":"claude-b","max_input_tokens":"200000"},
            {"type":"model","id":"claude-c","max_input_tokens":0},
            {"type":"model","id":"claude-d","max_input_tokens":-1}],
            "has_more":false,"first_id":"claude-sonnet-4-5-20250929","last_id":null}"#,
        expect![[r#"
            claude-sonnet-4-5-20250929 | Claude Sonnet 4.5 | - | -
            claude-a | - | - | 1000000
            claude-b | - | - | 200000
            claude-c | - | - | -
            claude-d | - | - | -
        "#]],
    );
}

#[test]
fn gemini_lists_more_than_models_that_speak() {
    check(
        &gemini::GEMINI,
        r#"{"models":[
            {"name":"models/gemini-2.5-flash","version":"001","displayName":"Gemini 2.5 Flash",
             "inputTokenLimit":1048576,"outputTokenLimit":65536,
             "supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/gemini-odd","inputTokenLimit":0,
             "supportedGenerationMethods":["generateContent"]},
            {"name":"models/gemini-embedding-001","displayName":"Gemini Embedding 001",
             "inputTokenLimit":2048,"supportedGenerationMethods":["embedContent"]}]}"#,
        expect![[r#"
            gemini-2.5-flash | Gemini 2.5 Flash | - | 1048576
            gemini-odd | - | - | -
        "#]],
    );
}

#[test]
fn ollama_lists_what_is_on_the_machine() {
    check(
        &ollama::OLLAMA,
        r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b","modified_at":"2026-01-01T00:00:00Z",
            "size":5225388164,"digest":"500a1f067a9f","details":{"family":"qwen3"}}]}"#,
        expect![[r#"
            qwen3:8b | - | - | -
        "#]],
    );
    check(&ollama::OLLAMA, r#"{"models":null}"#, expect![""]);
}
