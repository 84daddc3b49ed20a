//! Values in and out of `a{sv}`, without a bus.

use super::fields::{Dict, Fields, Malformed, Sent, Word};
use super::gate::check_user;
use super::refusal::{Trouble, reply};
use super::words::all;
use crate::service::words::{
    Challenge, ConnectionInfo, Credentials, ModelInfo, ProviderInfo, ProviderKind, RouteTarget,
    Snapshot, TargetRest, TargetState,
};
use althing_chat::{Message, Role, Tool, ToolCall, Usage};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind};
use std::time::Duration;
use zbus::{DBusError, OwnedVariant, Variant};

fn dict<const N: usize>(fields: [(&str, Variant<'static>); N]) -> Dict {
    let owned = |value| OwnedVariant::try_from(value).unwrap();
    fields.into_iter().map(|(name, value)| (name.into(), owned(value))).collect()
}

/// What a field says that is read from a value.
#[track_caller]
fn complains<T: super::fields::Field + std::fmt::Debug>(value: Variant<'static>, text: &str) {
    let dict = dict([("field", value)]);
    let Malformed(got) = Fields::of(&dict).required::<T>("field").unwrap_err();
    assert_eq!(got, text);
}

#[test]
fn a_wrong_field_is_named_with_what_it_wants() {
    complains::<String>(5_i32.into(), "field: a text (s), not i");
    complains::<bool>("yes".into(), "field: true or false (b), not s");
    complains::<i32>("5".into(), "field: a whole number (i), not s");
    complains::<i32>(3_000_000_000_u32.into(), "field: -2147483648 to 2147483647, not 3000000000");
    complains::<i64>(5.5.into(), "field: a whole number (x), not d");
    complains::<i64>(u64::MAX.into(), "field: a whole number (x), not t");
    complains::<f64>("5".into(), "field: a number (d), not s");
    complains::<Message>("hi".into(), "field: a dictionary (a{sv}), not s");
    complains::<Message>(Sent::new().into(), "field.role: missing");
    let roles = "field: one of system (1), user (2), assistant (3), tool (4), not";
    complains::<Role>("User".into(), &format!("{roles} 'User'"));
    complains::<Role>(0_u32.into(), &format!("{roles} 0"));
    complains::<Role>(true.into(), &format!("{roles} a name or number, not b"));
    let Malformed(text) = Fields::of(&Dict::new()).required::<bool>("enabled").unwrap_err();
    assert_eq!(text, "enabled: missing");
}

#[test]
fn nested_fields_are_named_by_their_place() {
    let call = Sent::from([("id", "1".into()), ("name", "t".into())]);
    let message = Sent::from([("role", "tool".into()), ("tool_calls", vec![call].into())]);
    let dict = dict([("messages", vec![Sent::from([("role", 1_u32.into())]), message].into())]);
    let Malformed(text) = Fields::of(&dict).repeated::<Message>("messages").unwrap_err();
    assert_eq!(text, "messages[1].tool_calls[0].arguments_json: missing");
}

#[test]
fn enums_are_taken_as_number_or_as_any_of_their_names() {
    let values: [Variant<'static>; 7] = [
        2_u32.into(),
        2_i32.into(),
        2_u8.into(),
        2_i64.into(),
        "user".into(),
        "USER".into(),
        "MESSAGE_ROLE_USER".into(),
    ];
    for value in values {
        let dict = dict([("role", value)]);
        assert_eq!(Fields::of(&dict).required::<Role>("role"), Ok(Role::User));
    }
    let kinds: [Variant<'static>; 3] = ["oauth".into(), "PROVIDER_TYPE_OAUTH".into(), 2_u32.into()];
    for value in kinds {
        let dict = dict([("type", value)]);
        assert_eq!(Fields::of(&dict).required("type"), Ok(ProviderKind::OAuth));
    }
}

#[test]
fn a_variant_in_a_variant_is_looked_through() {
    let wrapped = Variant::Variant(Box::new(Variant::Variant(Box::new("hello".into()))));
    let dict = dict([("content", wrapped)]);
    assert_eq!(Fields::of(&dict).required("content"), Ok(String::from("hello")));
}

/// Written and read again, as itself.
#[track_caller]
fn returns<T: Word + Clone + PartialEq + std::fmt::Debug>(word: T) {
    let dict = dict([("all", all(vec![word.clone()]))]);
    assert_eq!(Fields::of(&dict).repeated("all"), Ok(vec![word]));
}

#[test]
fn words_come_back_as_they_went() {
    let call =
        ToolCall { id: "1".into(), name: "t".into(), arguments: "{}".into(), signature: None };
    returns(Message::calls("so", vec![call.clone()]));
    returns(Message::tool("1", "found"));
    returns(Message::system(""));
    returns(call);
    returns(Tool { name: "t".into(), description: String::new(), parameters: true.into() });
    returns(Usage { input: Some(3), output: Some(4), ..Usage::default() });
    returns(Usage::default());
    let target = RouteTarget { provider_id: "p".into(), model_id: "m".into() };
    returns(target.clone());
    returns(TargetState { target: target.clone(), dead: Some("removed".into()), rest: None });
    let rest = TargetRest { why: "rate_limited".into(), wait: Duration::from_secs(12) };
    returns(TargetState { target, dead: None, rest: Some(rest) });
}

/// Every optional field of these is there, or none is.
#[test]
fn what_the_service_tells_comes_back_as_it_went() {
    let text = |text: &str| Some(text.to_string());
    for all in [true, false] {
        for (kind, _) in ProviderKind::ALL {
            returns(ProviderInfo {
                provider_id: "p".into(),
                name: "P".into(),
                kind,
                provider_type: "openai".into(),
                base_url: text("http://h/v1").filter(|_| all),
                local_path: text("/m.gguf").filter(|_| all),
                enabled: all,
                source: "added".into(),
                key_hint: text("…abcd").filter(|_| all),
                note: text("not checked yet").filter(|_| all),
            });
        }
        returns(ModelInfo {
            model_id: "m".into(),
            provider_id: "p".into(),
            display: "M".into(),
            enabled: all,
            capability_chat: all.then_some(true),
            capability_streaming: all.then_some(false),
        });
        returns(Challenge {
            device_code: Secret::new("d"),
            user_code: "U-1".into(),
            verification_uri: "https://h/u".into(),
            verification_uri_complete: text("https://h/u?c").filter(|_| all),
            expires_in: 900,
            interval: 5,
        });
        returns(Credentials {
            access_token: Secret::new("a"),
            refresh_token: all.then(|| Secret::new("r")),
            expiry_date_ms: i64::MAX,
            resource_url: text("https://r").filter(|_| all),
        });
        returns(Snapshot {
            window_start_ms: 1,
            window_end_ms: 2,
            requests_total: 3,
            requests_failed: 4,
            prompt_tokens_total: 5,
            completion_tokens_total: 6,
            cost_total: all.then_some(0.25),
            requests_unpriced: 7,
            cached_tokens_total: 8,
        });
    }
    for face in ["dbus", "http", "mcp"] {
        let (connection_id, client_name) = ("conn_1".into(), "curl".into());
        returns(ConnectionInfo { connection_id, client_name, requests_count: 2, face });
    }
}

#[test]
fn programs_of_other_users_are_refused() {
    assert_eq!(check_user(Some(1000), 1000), Ok(()));
    for other in [Some(1001), Some(0), None] {
        let refusal = check_user(other, 1000).unwrap_err();
        assert_eq!(refusal.name(), "org.althing.Capability1.Error.AccessDenied", "{other:?}");
    }
}

#[test]
fn an_answer_says_both_ways_how_it_went() {
    let sent = reply(Ok(Sent::from([("provider_id", "p".into()), ("message", "note".into())])));
    let sent = sent.unwrap();
    let result = Sent::from([("success", true.into()), ("message", "note".into())]);
    assert_eq!(sent["result"], Variant::from(result));
    assert_eq!((&sent["success"], &sent["message"]), (&true.into(), &"note".into()));
    let fault = Fault::new(Kind::RateLimited, "slow down");
    let fault = fault.retry_after(Some(Duration::from_millis(1500)));
    let sent = reply(Err(Trouble::Failed(fault))).unwrap();
    assert_eq!(sent["success"], false.into());
    assert_eq!(sent["error_code"], "rate_limited".into());
    assert_eq!(sent["retry_after_ms"], 1500_i64.into());
    let result = Sent::from([("success", false.into()), ("message", "slow down".into())]);
    assert_eq!(sent["result"], Variant::from(result));
}

#[test]
fn a_repeated_field_is_there_without_success_too() {
    let fault = Fault::new(Kind::NotFound, "provider_id: no provider 'x'");
    let sent = reply(Err(Trouble::FailedList("models", fault))).unwrap();
    assert_eq!(sent["success"], false.into());
    assert_eq!(sent["models"], all(Vec::<ModelInfo>::new()));
    assert_eq!(sent["models"].value_signature(), "aa{sv}");
}
