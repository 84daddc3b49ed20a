//! What servers say about their models, in their own JSON. Pure; what cannot be read is not known.

use super::ModelFacts;
use crate::dialect::read_window;
use serde_json::Value;

/// Reads Ollama's `/api/show`.
pub(super) fn read_ollama_show(show: &Value) -> ModelFacts {
    let info = show["model_info"].as_object().into_iter().flatten();
    let trained = info.filter(|(key, _)| key.ends_with(".context_length"));
    let parameters = show["parameters"].as_str().unwrap_or_default();
    let num_ctx = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "num_ctx")?;
        read_window(&words.next()?.into())
    };
    ModelFacts {
        trained: trained.filter_map(|(_, tokens)| read_window(tokens)).min(),
        preset: parameters.lines().find_map(num_ctx),
        is_remote: show["remote_host"].as_str().is_some_and(|host| !host.is_empty()),
        ..ModelFacts::default()
    }
}

/// Reads what `model` is loaded with from Ollama's `/api/ps`.
pub(super) fn read_ollama_loaded(ps: &Value, model: &str) -> Option<u64> {
    let latest = format!("{model}:latest");
    let is_it = |entry: &&Value| {
        let names = [&entry["model"], &entry["name"]];
        names.into_iter().filter_map(Value::as_str).any(|name| name == model || name == latest)
    };
    read_window(&ps["models"].as_array()?.iter().find(is_it)?["context_length"])
}

/// Reads llama-server's `/props`. Its `n_ctx` is that of one slot.
pub(super) fn read_llama_props(props: &Value) -> ModelFacts {
    let slot = read_window(&props["default_generation_settings"]["n_ctx"]);
    let slots = props["total_slots"].as_u64().and_then(|slots| u32::try_from(slots).ok());
    ModelFacts {
        loaded: slot.or_else(|| read_window(&props["n_ctx"])),
        slots: slots.filter(|slots| *slots > 0),
        ..ModelFacts::default()
    }
}

/// Tells whether llama-swap has `model` running, so that asking its server loads nothing.
pub(super) fn is_running(running: &Value, model: &str) -> bool {
    let entries = running["running"].as_array().into_iter().flatten();
    entries.into_iter().any(|entry| entry["model"] == model && entry["state"] == "ready")
}

/// Reads `model` in LM Studio's own list: `/api/v0/models`, or `/api/v1/models` of newer ones.
pub(super) fn read_lm_studio(list: &Value, model: &str) -> ModelFacts {
    let entries = [&list["data"], &list["models"]].into_iter().filter_map(Value::as_array);
    let is_it = |entry: &&Value| entry["id"] == model || entry["key"] == model;
    let Some(entry) = entries.flatten().find(is_it) else { return ModelFacts::default() };
    let instances = entry["loaded_instances"].as_array().into_iter().flatten();
    let instances = instances.filter_map(|it| read_window(&it["config"]["context_length"]));
    ModelFacts {
        trained: read_window(&entry["max_context_length"]),
        loaded: read_window(&entry["loaded_context_length"]).or(instances.min()),
        ..ModelFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn ollama_shows_what_a_model_was_trained_on() {
        let show = json(
            r#"{"license":"…","modelfile":"…","parameters":"num_ctx                        4096\nstop                           \"<|im_end|>\"",
            "template":"…","details":{"format":"gguf","family":"qwen3"},
            "model_info":{"general.architecture":"qwen3","qwen3.block_count":36,
            "qwen3.context_length":40960,"qwen3.embedding_length":4096},
            "capabilities":["completion","tools"]}"#,
        );
        let want = ModelFacts { trained: Some(40_960), preset: Some(4_096), ..Default::default() };
        assert_eq!(read_ollama_show(&show), want);
        let cloud = json(
            r#"{"model_info":{"gptoss.context_length":131072},"remote_host":"https://ollama.com:443"}"#,
        );
        let want = ModelFacts { trained: Some(131_072), is_remote: true, ..Default::default() };
        assert_eq!(read_ollama_show(&cloud), want);
        for odd in ["{}", "null", "[]", r#"{"model_info":[],"parameters":"num_ctx x\nnum_ctx"}"#] {
            assert_eq!(read_ollama_show(&json(odd)), ModelFacts::default(), "{odd}");
        }
    }

    #[test]
    fn ollama_says_what_is_loaded() {
        let ps = json(
            r#"{"models":[{"name":"qwen3:latest","model":"qwen3:latest","size":5137025024,
            "expires_at":"2026-11-15T14:38:31Z","size_vram":5137025024,"context_length":16384}]}"#,
        );
        assert_eq!(read_ollama_loaded(&ps, "qwen3"), Some(16_384));
        assert_eq!(read_ollama_loaded(&ps, "qwen3:latest"), Some(16_384));
        assert_eq!(read_ollama_loaded(&ps, "qwen3:8b"), None);
        assert_eq!(read_ollama_loaded(&json(r#"{"models":null}"#), "qwen3"), None);
    }

    #[test]
    fn llama_server_tells_its_slots() {
        let props = json(
            r#"{"default_generation_settings":{"id":0,"id_task":-1,"n_ctx":4096,"params":{}},
            "total_slots":4,"model_path":"/models/m.gguf","chat_template":"…"}"#,
        );
        let want = ModelFacts { loaded: Some(4_096), slots: Some(4), ..Default::default() };
        assert_eq!(read_llama_props(&props), want);
        assert_eq!(read_llama_props(&json(r#"{"total_slots":0}"#)), ModelFacts::default());
    }

    #[test]
    fn llama_swap_tells_what_runs() {
        let running =
            json(r#"{"running":[{"model":"m","state":"ready"},{"model":"n","state":"starting"}]}"#);
        assert!(is_running(&running, "m"));
        assert!(!is_running(&running, "n"));
        assert!(!is_running(&json("{}"), "m"));
    }

    #[test]
    fn lm_studio_tells_what_is_loaded_and_what_could_be() {
        let old = json(
            r#"{"object":"list","data":[
            {"id":"qwen3-8b","object":"model","type":"llm","state":"loaded",
             "max_context_length":40960,"loaded_context_length":8000},
            {"id":"gemma-3","type":"vlm","state":"not-loaded","max_context_length":131072}]}"#,
        );
        let facts = |trained, loaded| ModelFacts { trained, loaded, ..Default::default() };
        assert_eq!(read_lm_studio(&old, "qwen3-8b"), facts(Some(40_960), Some(8_000)));
        assert_eq!(read_lm_studio(&old, "gemma-3"), facts(Some(131_072), None));
        assert_eq!(read_lm_studio(&old, "other"), facts(None, None));
        let new = json(
            r#"{"models":[{"type":"llm","key":"qwen3-8b","max_context_length":40960,
            "loaded_instances":[{"id":"qwen3-8b","config":{"context_length":4096}}]}]}"#,
        );
        assert_eq!(read_lm_studio(&new, "qwen3-8b"), facts(Some(40_960), Some(4_096)));
    }

    #[test]
    fn numbers_may_be_texts_and_sizes_that_no_model_has_say_nothing() {
        #[track_caller]
        fn check(number: &str, want: Option<u64>) {
            let loaded = ModelFacts { loaded: want, ..Default::default() };
            let props = format!(r#"{{"default_generation_settings":{{"n_ctx":{number}}}}}"#);
            assert_eq!(read_llama_props(&json(&props)), loaded, "{number}");
            let list = format!(r#"{{"data":[{{"id":"m","loaded_context_length":{number}}}]}}"#);
            assert_eq!(read_lm_studio(&json(&list), "m"), loaded, "{number}");
            let ps = format!(r#"{{"models":[{{"name":"m","context_length":{number}}}]}}"#);
            assert_eq!(read_ollama_loaded(&json(&ps), "m"), want, "{number}");
            let show = format!(r#"{{"model_info":{{"x.context_length":{number}}}}}"#);
            assert_eq!(read_ollama_show(&json(&show)).trained, want, "{number}");
        }
        check("4096", Some(4_096));
        check("4096.0", Some(4_096));
        check(r#"" 4096 ""#, Some(4_096));
        for odd in ["0", "1", "511", "-1", "null", "[]", r#""many""#, r#""0""#] {
            check(odd, None);
        }
        let show = json(r#"{"parameters":"num_ctx 0"}"#);
        assert_eq!(read_ollama_show(&show), ModelFacts::default());
    }
}
