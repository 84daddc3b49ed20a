//! The methods of the protocol, one row each, and those that are a few lines.

use super::params::Params;
use super::{Backend, PROTOCOL_VERSION, advisor, discussion, models, roles, validate};
use crate::config::{Choice, Format};
use althing_jsonrpc::{Cx, Value};
use althing_stdx::Result;
use futures_util::future::BoxFuture;
use serde_json::json;

/// A method: its name and what serves it.
pub(super) struct Row {
    pub name: &'static str,
    pub run: for<'a> fn(&'a Backend, Cx, Params) -> BoxFuture<'a, Result<Value>>,
}

macro_rules! row {
    ($name:literal, $run:expr) => {
        Row { name: $name, run: |backend, cx, params| Box::pin($run(backend, cx, params)) }
    };
}

/// Every method.
pub(super) static METHODS: &[Row] = &[
    row!("initialize", initialize),
    row!("list_models", models::list),
    row!("validate_model", validate::validate),
    row!("get_config", get_config),
    row!("get_user_settings", get_user_settings),
    row!("save_user_settings", save_user_settings),
    row!("get_input_history", get_input_history),
    row!("add_to_input_history", add_to_input_history),
    row!("run_discussion", discussion::run),
    row!("cancel_discussion", discussion::cancel),
    row!("resume_discussion", discussion::resume),
    row!("get_role_assignments", roles::get),
    row!("swap_role_assignments", roles::swap),
    row!("analyze_question", advisor::analyze),
];

async fn initialize(backend: &Backend, _: Cx, params: Params) -> Result<Value> {
    let theirs = params.text_or_none("protocol_version")?.unwrap_or_default();
    Ok(json!({
        "name": "quorum-cli",
        "version": env!("CARGO_PKG_VERSION"),
        "protocol_version": PROTOCOL_VERSION,
        "providers": models::providers(backend),
        "version_warning": version_warning(theirs),
    }))
}

/// What to say where the frontend speaks another version; patches do not matter.
fn version_warning(theirs: &str) -> Option<String> {
    let ours = PROTOCOL_VERSION;
    if theirs.is_empty() {
        return None;
    }
    // `1` and `1.0` are `1.0.0`; what is behind the third number, such as `-beta`, says no more.
    let read = |version: &str| -> Option<Vec<u64>> {
        let version = version.trim().trim_start_matches(['v', 'V']);
        let version = version.split(['-', '+']).next().unwrap_or_default();
        let parts: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
        let mut parts = parts.filter(|parts| parts.len() <= 3)?;
        parts.resize(3, 0);
        Some(parts)
    };
    let (Some(there), Some(here)) = (read(theirs), read(ours)) else {
        let theirs = althing_stdx::text::one_line(theirs, 40);
        return Some(format!("Invalid protocol version format: {theirs}"));
    };
    if there[0] != here[0] {
        return Some(format!(
            "Protocol version mismatch: backend={ours}, frontend={theirs}. Major version differs - \
             this may cause compatibility issues."
        ));
    }
    match there[1].cmp(&here[1]) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Less => Some(format!(
            "Backend has newer protocol ({ours} vs {theirs}). Consider updating the frontend."
        )),
        std::cmp::Ordering::Greater => Some(format!(
            "Frontend expects newer protocol ({theirs} vs {ours}). Some features may not work \
             correctly. Consider updating the backend."
        )),
    }
}

async fn get_config(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    let config = &backend.book().config;
    Ok(json!({
        "rounds_per_agent": *config.rounds_per_agent,
        "synthesizer_mode": config.synthesizer.name(),
        "default_language": *config.language,
        "available_providers": models::providers(backend),
        "log_dir": config.data_dir.display().to_string(),
        "report_dir": config.report_dir.display().to_string(),
        "export_dir": config.export_dir.as_ref().map(|folder| folder.display().to_string()),
        "export_format": export_word(*config.export_format),
    }))
}

/// A format by the words that frontends know; they write each of them themselves.
fn export_word(format: Format) -> &'static str {
    match format {
        // They have no HTML.
        Format::Md | Format::Html => "md",
        Format::Txt => "text",
        Format::Json => "json",
        Format::Pdf => "pdf",
    }
}

async fn get_user_settings(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    let mut settings = backend.memory.settings();
    if let Some(Value::Array(selected)) = settings.get_mut("selected_models") {
        // What no provider could serve would only fail.
        selected.retain(|id| id.as_str().is_some_and(|id| models::seat(backend, id).is_ok()));
    }
    Ok(Value::Object(settings))
}

async fn save_user_settings(backend: &Backend, _: Cx, params: Params) -> Result<Value> {
    backend.memory.save_settings(params).await?;
    Ok(json!({"status": "saved"}))
}

async fn get_input_history(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    Ok(json!({"history": backend.memory.history()}))
}

async fn add_to_input_history(backend: &Backend, _: Cx, params: Params) -> Result<Value> {
    let input = params.text_or_none("input")?.unwrap_or_default();
    backend.memory.add_to_history(input).await;
    Ok(json!({"status": "added"}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_major_and_minor() {
        #[track_caller]
        fn check(theirs: &str, want: Option<&str>) {
            let warning = version_warning(theirs);
            assert_eq!(warning.is_some(), want.is_some(), "{warning:?}");
            assert!(warning.unwrap_or_default().contains(want.unwrap_or_default()));
        }
        check("", None);
        check("1.0.0", None);
        check("1.0.9", None);
        check("2.0.0", Some("Protocol version mismatch: backend=1.0.0, frontend=2.0.0."));
        check("1.1.0", Some("Frontend expects newer protocol (1.1.0 vs 1.0.0)."));
        check("0.9.0", Some("Major version differs"));
        check("one", Some("Invalid protocol version format: one"));
        check("1", None);
        check("1.0", None);
        check("v1.0.0-beta", None);
        check("0.9", Some("Protocol version mismatch: backend=1.0.0, frontend=0.9."));
        check("2", Some("Major version differs"));
        check("1.", Some("Invalid protocol version format: 1."));
        check("1.0.0.0", Some("Invalid protocol version format: 1.0.0.0"));
    }
}
