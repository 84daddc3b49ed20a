//! The table: requests in their forms, and what must come of them.

use super::super::bus::KEY;
use serde_json::{Value, json};

/// A request's typed form: interface, method, signature, and which fields stand in place. What is
/// left goes into the last argument where the signature ends in one.
pub const FORMS: &[(&str, &str, &str, &[&str])] = &[
    ("Providers", "AddApiKeyProvider", "ssa{sv}", &["name", "provider_type"]),
    ("Providers", "AddOAuthProvider", "ss", &["name", "provider_type"]),
    ("Providers", "CompleteOAuth", "s", &["provider_id"]),
    ("Providers", "AddLocalProvider", "ss", &["name", "model_path"]),
    ("Providers", "ListProviders", "", &[]),
    ("Providers", "DeleteProvider", "s", &["provider_id"]),
    ("Models", "GetModels", "a{sv}", &[]),
    ("Models", "SetModelEnabled", "ssb", &["provider_id", "model_id", "enabled"]),
    ("Routing", "SetRouteRules", "saa{sv}", &["alias", "targets"]),
    ("Routing", "GetRouteRules", "s", &["alias"]),
    ("Chat", "Complete", "saa{sv}a{sv}", &["model_id", "messages"]),
    ("Streams", "CreateStream", "s", &["model_id"]),
    ("Streams", "SendMessage", "sa{sv}a{sv}", &["stream_id", "message"]),
    ("Streams", "ReceiveStream", "sa{sv}", &["stream_id"]),
    ("Streams", "CloseStream", "s", &["stream_id"]),
    ("Metrics", "GetMetricsSnapshot", "", &[]),
    ("Metrics", "GetMetricsRange", "xx", &["start_ms", "end_ms"]),
    ("Connections", "ListConnections", "", &[]),
    ("Connections", "CloseConnection", "s", &["connection_id"]),
];

/// What a request must come to. In a wanted value `null` means absent, `~text` a text with this in
/// it, `*` anything; fields that are not named may be there.
pub enum Want {
    Reply(Value),
    /// The last part of the error's name, and a part of its text.
    Refusal(&'static str, &'static str),
}

/// Names for what answers call what they made: the request, the field, and the names.
pub const MADE: &[(&str, &str, &[&str])] = &[
    ("AddApiKeyProvider", "provider_id", &["$provider"]),
    ("AddOAuthProvider", "provider_id", &["$login", "$own-login"]),
    ("AddLocalProvider", "provider_id", &["$local"]),
    ("CreateStream", "stream_id", &["$own-stream"]),
];

/// Names of what belongs to the connection that made it. A client that is gone after each call has
/// no such rows.
pub const OWN: &str = "$own-";

/// `$url` is the upstream, `$file` a model, `$guest` the connection of another client, `$start` and
/// `$end` the last hour; the rest is in [`MADE`].
pub fn rows() -> Vec<(&'static str, Value, Want)> {
    let ok = |more: Value| reply(true, more);
    let failed = |code: &str| reply(false, json!({"error_code": code, "message": "*"}));
    let failed_list =
        |field: &str| reply(false, json!({"error_code": "not_found", "message": "*", field: []}));
    let wrong = |text| Want::Refusal("InvalidArgument", text);
    let provider = json!({"provider_id": "$provider"});
    let nobody = json!({"provider_id": "nobody"});
    let added = json!({"name": "Upstream", "provider_type": "openai", "api_key": KEY,
        "base_url": "$url/v1"});
    let said =
        |role: Value| json!({"model_id": "fast", "messages": [{"role": role, "content": "hello"}]});
    let answered = || {
        ok(json!({"completion": {"role": 3, "role_name": "MESSAGE_ROLE_ASSISTANT", "content": "*",
            "tool_calls": null}, "usage": {"prompt_tokens": "*", "completion_tokens": "*",
            "total_tokens": "*"}}))
    };
    let tool = json!({"name": "look_up", "description": "Looks up a word",
        "json_schema": r#"{"type":"object","properties":{"word":{"type":"string"}}}"#});
    let target = |model: &str| json!([{"provider_id": "$provider", "model_id": model}]);
    vec![
        ("AddApiKeyProvider", added, ok(json!({"provider_id": "*"}))),
        ("AddApiKeyProvider", json!({"name": "X", "provider_type": "x"}), failed("invalid_params")),
        ("AddApiKeyProvider", json!({"provider_type": "openai"}), wrong("name: missing")),
        (
            "AddApiKeyProvider",
            json!({"name": "X", "provider_type": "openai", "api_key": 5}),
            wrong("api_key: a text (s), not i"),
        ),
        (
            "AddOAuthProvider",
            json!({"name": "Login", "provider_type": "dashscope"}),
            ok(json!({"provider_id": "*", "challenge": {"device_code": "~device-",
                "user_code": "WDJB-MJHT", "verification_uri": "$url/login/device",
                "expires_in": 900, "interval": "*"}})),
        ),
        ("AddOAuthProvider", json!({"name": "X", "provider_type": "x"}), failed("invalid_params")),
        ("AddOAuthProvider", json!({"name": "X"}), wrong("provider_type: missing")),
        (
            "CompleteOAuth",
            json!({"provider_id": "$own-login"}),
            ok(json!({"credentials": {"access_token": "~qwen-first-", "refresh_token": "~qwen-",
                "expiry_date_ms": "*", "resource_url": "~$url"}})),
        ),
        ("CompleteOAuth", json!({"provider_id": "$login"}), ok(json!({"credentials": null}))),
        ("CompleteOAuth", nobody.clone(), failed("not_found")),
        ("CompleteOAuth", json!({}), wrong("provider_id: missing")),
        (
            "AddLocalProvider",
            json!({"name": "File", "model_path": "$file"}),
            ok(json!({"provider_id": "*"})),
        ),
        ("AddLocalProvider", json!({"name": "X", "model_path": "/no/such/file.gguf"}), failed("*")),
        ("AddLocalProvider", json!({"name": "X"}), wrong("model_path: missing")),
        (
            "ListProviders",
            json!({}),
            ok(json!({"providers": [
                {"provider_id": "$provider", "name": "Upstream", "type": 1,
                    "type_name": "PROVIDER_TYPE_API_KEY", "base_url": "$url/v1", "enabled": true,
                    "local_path": null},
                {"provider_id": "$login", "name": "Login", "type": 2,
                    "type_name": "PROVIDER_TYPE_OAUTH", "enabled": true, "local_path": null},
                {"provider_id": "$local", "name": "File", "type": 3, "base_url": null,
                    "type_name": "PROVIDER_TYPE_LOCAL", "enabled": true,
                    "local_path": "$file"}]})),
        ),
        ("ListProviders", json!({"later": "keys"}), ok(json!({}))),
        (
            "GetModels",
            provider.clone(),
            ok(json!({"models": [{"provider_id": "$provider", "model_id": "fake-large",
                "enabled": true, "capability_chat": true, "capability_streaming": true}]})),
        ),
        (
            "GetModels",
            json!({"provider_id": "$local"}),
            ok(json!({"models": [{"provider_id": "$local", "model_id": "tiny", "enabled": true,
                "capability_chat": true, "capability_streaming": true}]})),
        ),
        ("GetModels", json!({}), ok(json!({"models": [{"provider_id": "*"}]}))),
        ("GetModels", nobody.clone(), failed_list("models")),
        (
            "SetModelEnabled",
            json!({"provider_id": "$provider", "model_id": "fake-large", "enabled": true}),
            ok(json!({})),
        ),
        (
            "SetModelEnabled",
            json!({"provider_id": "nobody", "model_id": "m", "enabled": true}),
            failed("not_found"),
        ),
        (
            "SetModelEnabled",
            json!({"provider_id": "nobody", "model_id": "m", "enabled": "yes"}),
            wrong("enabled: true or false (b), not s"),
        ),
        ("SetRouteRules", json!({"alias": "fast", "targets": target("fake-small")}), ok(json!({}))),
        (
            "SetRouteRules",
            json!({"alias": "bare", "targets": [{"provider_id": "", "model_id": "fast"},
                {"provider_id": "", "model_id": "$local"}]}),
            ok(json!({})),
        ),
        (
            "GetRouteRules",
            json!({"alias": "bare"}),
            ok(json!({"targets": [{"provider_id": "alias", "model_id": "fast", "dead": null,
                "resting": null, "rest_ms": null}, {"provider_id": "$local", "model_id": "tiny"}]})),
        ),
        ("SetRouteRules", json!({"alias": "bare", "targets": []}), ok(json!({}))),
        (
            "SetRouteRules",
            json!({"alias": "odd", "targets": [{"provider_id": "nobody", "model_id": "m"}]}),
            failed("*"),
        ),
        (
            "SetRouteRules",
            json!({"alias": "odd", "targets": [{"provider_id": "alias", "model_id": "odd"}]}),
            failed("*"),
        ),
        (
            "SetRouteRules",
            json!({"alias": "odd", "targets": [{"provider_id": "nobody"}]}),
            wrong("targets[0].model_id: missing"),
        ),
        ("SetRouteRules", json!({"alias": "odd", "targets": "x"}), wrong("targets: an array")),
        (
            "GetRouteRules",
            json!({"alias": "fast"}),
            ok(json!({"targets": [{"provider_id": "$provider", "model_id": "fake-small",
                "dead": null}]})),
        ),
        ("GetRouteRules", json!({"alias": "nobody"}), failed_list("targets")),
        ("Complete", said(json!("user")), answered()),
        ("Complete", said(json!("USER")), answered()),
        ("Complete", said(json!("MESSAGE_ROLE_USER")), answered()),
        ("Complete", said(json!(2)), answered()),
        ("Complete", said(json!({"$": ["u", 2]})), answered()),
        ("Complete", said(json!("User")), wrong("messages[0].role: one of system (1), user (2)")),
        ("Complete", said(json!(9)), wrong("messages[0].role: one of")),
        (
            "Complete",
            json!({"model_id": "fast", "messages": [{"content": "x"}]}),
            wrong("messages[0].role: missing"),
        ),
        (
            "Complete",
            json!({"model_id": "fast", "messages": [{"role": "user", "content": 5}]}),
            wrong("messages[0].content: a text (s), not i"),
        ),
        (
            "Complete",
            json!({"model_id": "fast", "messages": [{"role": "user", "content": "x"}],
                "tools": [tool.clone()], "temperature": 0.5, "max_tokens": 50}),
            ok(json!({"completion": {"role": 3, "tool_calls": [{"id": "*", "name": "look_up",
                "arguments_json": "*"}]}})),
        ),
        (
            "Complete",
            json!({"model_id": "fast", "tools": [tool.clone()], "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "tool_calls": [
                    {"id": "call_1", "name": "look_up", "arguments_json": "{}"}]},
                {"role": "tool", "content": "found", "tool_call_id": "call_1"}]}),
            ok(json!({"completion": {"role": 3, "content": "*", "tool_calls": null}})),
        ),
        (
            "Complete",
            json!({"model_id": "fast", "messages": [], "tools": [{"name": "t",
                "json_schema": "{"}]}),
            wrong("tools[0].json_schema: not JSON"),
        ),
        (
            "Complete",
            json!({"model_id": "fast", "messages": [], "max_tokens": 0}),
            wrong("max_tokens: 1 or more, not 0"),
        ),
        (
            "Complete",
            json!({"model_id": "no-such-model", "messages": [{"role": 2, "content": "x"}]}),
            failed("*"),
        ),
        (
            "Complete",
            json!({"model_id": "$provider:err-429", "messages": [{"role": 2, "content": "x"}]}),
            reply(false, json!({"error_code": "rate_limited", "retry_after_ms": "*"})),
        ),
        ("CreateStream", json!({"model_id": "fast"}), ok(json!({"stream_id": "~stream_"}))),
        ("CreateStream", json!({"model_id": "no-such-model"}), failed("*")),
        (
            "SendMessage",
            json!({"stream_id": "$own-stream", "message": {"role": "user", "content": "hello"},
                "tools": []}),
            ok(json!({})),
        ),
        (
            "ReceiveStream",
            json!({"stream_id": "$own-stream", "timeout_ms": 20000}),
            ok(json!({"chunk": {"role": 3, "role_name": "MESSAGE_ROLE_ASSISTANT", "content": "*"},
                "chunks": null, "tool_call": null, "done": null, "usage": null})),
        ),
        ("CloseStream", json!({"stream_id": "$own-stream"}), ok(json!({}))),
        (
            "SendMessage",
            json!({"stream_id": "none", "message": {"role": "user", "content": "x"}}),
            failed("not_found"),
        ),
        (
            "SendMessage",
            json!({"stream_id": "none", "message": {"role": "nobody"}}),
            wrong("message.role: one of"),
        ),
        (
            "ReceiveStream",
            json!({"stream_id": "none", "timeout_ms": 1, "max_chunks": 4}),
            failed("not_found"),
        ),
        (
            "ReceiveStream",
            json!({"stream_id": "none", "timeout_ms": -1}),
            wrong("timeout_ms: 0 or more, not -1"),
        ),
        ("ReceiveStream", json!({"stream_id": "none", "timeout_ms": "x"}), wrong("timeout_ms: a")),
        ("CloseStream", json!({"stream_id": "none"}), failed("not_found")),
        (
            "GetMetricsSnapshot",
            json!({}),
            ok(json!({"snapshot": {"window_start_ms": "*", "window_end_ms": "*",
                "requests_total": "*", "requests_failed": "*", "prompt_tokens_total": "*",
                "completion_tokens_total": "*", "cost_total": "*"}})),
        ),
        (
            "GetMetricsRange",
            json!({"start_ms": "$start", "end_ms": "$end"}),
            ok(json!({"snapshots": [{"requests_total": "*"}]})),
        ),
        ("GetMetricsRange", json!({"start_ms": 2, "end_ms": 1}), failed("invalid_params")),
        ("GetMetricsRange", json!({"start_ms": 5}), wrong("end_ms: missing")),
        (
            "ListConnections",
            json!({}),
            ok(json!({"connections": [{"connection_id": "~conn_", "client_name": "*",
                "requests_count": "*", "face": "dbus"}]})),
        ),
        ("CloseConnection", json!({"connection_id": "$guest"}), ok(json!({}))),
        ("CloseConnection", json!({"connection_id": "conn_0"}), failed("not_found")),
        ("CloseConnection", json!({}), wrong("connection_id: missing")),
        ("SetRouteRules", json!({"alias": "fast", "targets": []}), ok(json!({}))),
        ("DeleteProvider", json!({"provider_id": "$login"}), ok(json!({}))),
        ("DeleteProvider", json!({"provider_id": "$local"}), ok(json!({}))),
        ("DeleteProvider", provider.clone(), ok(json!({}))),
        ("DeleteProvider", provider, failed("not_found")),
    ]
}

/// A reply that says both ways how it went.
fn reply(success: bool, mut more: Value) -> Want {
    more["success"] = success.into();
    more["result"] = json!({"success": success});
    if !success {
        more["result"]["message"] = json!("*");
    }
    Want::Reply(more)
}

/// A request in one of its forms; none where its fields do not have the types of the other.
pub fn shaped(
    typed: bool,
    request: &str,
    fields: &Value,
) -> Option<(&'static str, &'static str, Value)> {
    let (interface, _, signature, placed) = FORMS.iter().find(|row| row.1 == request).unwrap();
    if !typed {
        return Some(("Messages", "a{sv}", json!([fields])));
    }
    let mut rest = fields.as_object().unwrap().clone();
    let mut body = vec![];
    for name in *placed {
        body.push(rest.remove(*name)?);
    }
    let has_options = body.len() < kinds_count(signature);
    if has_options {
        body.push(rest.into());
    } else if !rest.is_empty() {
        return None;
    }
    let is_odd = signature.starts_with("saa{sv}") && !body[1].is_array()
        || *signature == "ssb" && !body[2].is_boolean();
    (!is_odd).then(|| (*interface, *signature, body.into()))
}

fn kinds_count(signature: &str) -> usize {
    signature.replace("aa{sv}", "d").replace("a{sv}", "d").len()
}
