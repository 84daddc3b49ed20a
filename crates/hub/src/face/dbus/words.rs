//! The protocol's messages as `a{sv}`: every field under its own name, optional ones absent when
//! absent, enums as a number with the name beside.

use super::fields::{Field, Fields, Malformed, Sent, Word, wants, whole};
use crate::service::words::{
    Challenge, ConnectionInfo, Credentials, ModelInfo, ProviderInfo, ProviderKind, RouteTarget,
    Snapshot, TargetState,
};
use althing_chat::{Message, Role, Tool, ToolCall, Usage};
use althing_stdx::redact::Secret;
use zbus::Variant;

/// The roles with their numbers and names on the wire.
const ROLES: [(Role, u32, &str); 4] = [
    (Role::System, 1, "MESSAGE_ROLE_SYSTEM"),
    (Role::User, 2, "MESSAGE_ROLE_USER"),
    (Role::Assistant, 3, "MESSAGE_ROLE_ASSISTANT"),
    (Role::Tool, 4, "MESSAGE_ROLE_TOOL"),
];
const ROLE_PREFIX: &str = "MESSAGE_ROLE_";
const KIND_PREFIX: &str = "PROVIDER_TYPE_";

/// The faces a connection can be on.
const FACES: [&str; 3] = ["dbus", "http", "mcp"];

/// Adds a field where there is one.
pub(super) fn put<T: Into<Variant<'static>>>(sent: &mut Sent, name: &'static str, it: Option<T>) {
    if let Some(value) = it {
        sent.insert(name, value.into());
    }
}

/// A repeated message.
pub(super) fn all<T: Word>(words: Vec<T>) -> Variant<'static> {
    words.into_iter().map(T::write).collect::<Vec<Sent>>().into()
}

/// Which row of an enum a value means: its number, `NAME`, `name` or `PREFIX_NAME`.
fn row<T: Copy>(
    rows: impl Iterator<Item = (T, u32, &'static str)>,
    prefix: &str,
    at: &str,
    value: &Variant<'_>,
) -> Result<T, Malformed> {
    let mut names = vec![];
    for (row, number, name) in rows {
        let short = name.strip_prefix(prefix).unwrap_or(name);
        let is_it = match value {
            Variant::Str(text) => {
                let text = text.as_str();
                text == name || text == short || text == short.to_lowercase()
            }
            other => whole(other) == Some(number.into()),
        };
        if is_it {
            return Ok(row);
        }
        names.push(format!("{} ({number})", short.to_lowercase()));
    }
    let given = match value {
        Variant::Str(text) => format!("'{}'", text.as_str().escape_debug()),
        other => whole(other).map_or_else(|| wants("a name or number", other), |it| it.to_string()),
    };
    Err(Malformed(format!("{at}: one of {}, not {given}", names.join(", "))))
}

impl Field for Role {
    fn read(at: &str, value: &Variant<'static>) -> Result<Role, Malformed> {
        row(ROLES.into_iter(), ROLE_PREFIX, at, value)
    }
}

impl Field for ProviderKind {
    fn read(at: &str, value: &Variant<'static>) -> Result<ProviderKind, Malformed> {
        let rows = ProviderKind::ALL.into_iter().map(|(kind, name)| (kind, kind as u32, name));
        row(rows, KIND_PREFIX, at, value)
    }
}

impl Field for Secret {
    fn read(at: &str, value: &Variant<'static>) -> Result<Secret, Malformed> {
        String::read(at, value).map(Secret::new)
    }
}

fn exposed(secret: &Secret) -> Variant<'static> {
    secret.expose().to_owned().into()
}

impl Word for Message {
    fn read(fields: &Fields<'_>) -> Result<Message, Malformed> {
        Ok(Message {
            role: fields.required("role")?,
            text: fields.optional("content")?.unwrap_or_default(),
            tool_calls: fields.repeated("tool_calls")?,
            tool_call_id: fields.text("tool_call_id")?,
            attachments: vec![],
            cache_ends: vec![],
        })
    }

    fn write(self) -> Sent {
        let (_, number, name) =
            ROLES.into_iter().find(|row| row.0 == self.role).unwrap_or(ROLES[1]);
        let mut sent = Sent::from([("role", number.into()), ("role_name", name.into())]);
        put(&mut sent, "content", Some(self.text).filter(|text| !text.is_empty()));
        let calls = Some(self.tool_calls).filter(|calls| !calls.is_empty());
        put(&mut sent, "tool_calls", calls.map(all));
        put(&mut sent, "tool_call_id", self.tool_call_id);
        sent
    }
}

impl Word for Tool {
    fn read(fields: &Fields<'_>) -> Result<Tool, Malformed> {
        let schema: String = fields.required("json_schema")?;
        let wrong = |error| fields.wrong("json_schema", &format!("not JSON: {error}"));
        Ok(Tool {
            name: fields.required("name")?,
            description: fields.optional("description")?.unwrap_or_default(),
            parameters: serde_json::from_str(&schema).map_err(wrong)?,
        })
    }

    fn write(self) -> Sent {
        let schema = self.parameters.to_string();
        let mut sent = Sent::from([("name", self.name.into()), ("json_schema", schema.into())]);
        put(&mut sent, "description", Some(self.description).filter(|text| !text.is_empty()));
        sent
    }
}

impl Word for ToolCall {
    fn read(fields: &Fields<'_>) -> Result<ToolCall, Malformed> {
        Ok(ToolCall {
            id: fields.required("id")?,
            name: fields.required("name")?,
            arguments: fields.required("arguments_json")?,
            signature: None,
        })
    }

    fn write(self) -> Sent {
        Sent::from([
            ("id", self.id.into()),
            ("name", self.name.into()),
            ("arguments_json", self.arguments.into()),
        ])
    }
}

impl Word for Usage {
    fn read(fields: &Fields<'_>) -> Result<Usage, Malformed> {
        let tokens = |name| -> Result<Option<u64>, Malformed> {
            Ok(fields.optional::<i64>(name)?.and_then(|count| count.try_into().ok()))
        };
        let (input, output) = (tokens("prompt_tokens")?, tokens("completion_tokens")?);
        Ok(Usage { input, output, ..Usage::default() })
    }

    fn write(self) -> Sent {
        let tokens = |count: u64| i32::try_from(count).unwrap_or(i32::MAX);
        let total = self.input.zip(self.output).map(|(input, output)| input + output);
        let mut sent = Sent::new();
        put(&mut sent, "prompt_tokens", self.input.map(tokens));
        put(&mut sent, "completion_tokens", self.output.map(tokens));
        put(&mut sent, "total_tokens", total.map(tokens));
        sent
    }
}

impl Word for ProviderInfo {
    fn read(fields: &Fields<'_>) -> Result<ProviderInfo, Malformed> {
        Ok(ProviderInfo {
            provider_id: fields.required("provider_id")?,
            name: fields.required("name")?,
            kind: fields.required("type")?,
            provider_type: fields.required("provider_type")?,
            base_url: fields.optional("base_url")?,
            local_path: fields.optional("local_path")?,
            enabled: fields.required("enabled")?,
            source: fields.required("source")?,
            key_hint: fields.optional("key_hint")?,
            note: fields.optional("note")?,
        })
    }

    fn write(self) -> Sent {
        let name = ProviderKind::ALL.iter().find(|(kind, _)| *kind == self.kind);
        let mut sent = Sent::from([
            ("provider_id", self.provider_id.into()),
            ("name", self.name.into()),
            ("type", (self.kind as u32).into()),
            ("provider_type", self.provider_type.into()),
            ("enabled", self.enabled.into()),
            ("source", self.source.into()),
        ]);
        put(&mut sent, "type_name", name.map(|(_, name)| *name));
        put(&mut sent, "base_url", self.base_url);
        put(&mut sent, "local_path", self.local_path);
        put(&mut sent, "key_hint", self.key_hint);
        put(&mut sent, "note", self.note);
        sent
    }
}

impl Word for Challenge {
    fn read(fields: &Fields<'_>) -> Result<Challenge, Malformed> {
        Ok(Challenge {
            device_code: fields.required("device_code")?,
            user_code: fields.required("user_code")?,
            verification_uri: fields.required("verification_uri")?,
            verification_uri_complete: fields.optional("verification_uri_complete")?,
            expires_in: fields.required("expires_in")?,
            interval: fields.required("interval")?,
        })
    }

    fn write(self) -> Sent {
        let mut sent = Sent::from([
            ("device_code", exposed(&self.device_code)),
            ("user_code", self.user_code.into()),
            ("verification_uri", self.verification_uri.into()),
            ("expires_in", self.expires_in.into()),
            ("interval", self.interval.into()),
        ]);
        put(&mut sent, "verification_uri_complete", self.verification_uri_complete);
        sent
    }
}

impl Word for Credentials {
    fn read(fields: &Fields<'_>) -> Result<Credentials, Malformed> {
        Ok(Credentials {
            access_token: fields.required("access_token")?,
            refresh_token: fields.optional("refresh_token")?,
            expiry_date_ms: fields.required("expiry_date_ms")?,
            resource_url: fields.optional("resource_url")?,
        })
    }

    fn write(self) -> Sent {
        let mut sent = Sent::from([
            ("access_token", exposed(&self.access_token)),
            ("expiry_date_ms", self.expiry_date_ms.into()),
        ]);
        put(&mut sent, "refresh_token", self.refresh_token.as_ref().map(exposed));
        put(&mut sent, "resource_url", self.resource_url);
        sent
    }
}

impl Word for ModelInfo {
    fn read(fields: &Fields<'_>) -> Result<ModelInfo, Malformed> {
        Ok(ModelInfo {
            model_id: fields.required("model_id")?,
            provider_id: fields.required("provider_id")?,
            display: fields.required("display")?,
            enabled: fields.required("enabled")?,
            capability_chat: fields.optional("capability_chat")?,
            capability_streaming: fields.optional("capability_streaming")?,
        })
    }

    fn write(self) -> Sent {
        let mut sent = Sent::from([
            ("model_id", self.model_id.into()),
            ("provider_id", self.provider_id.into()),
            ("display", self.display.into()),
            ("enabled", self.enabled.into()),
        ]);
        put(&mut sent, "capability_chat", self.capability_chat);
        put(&mut sent, "capability_streaming", self.capability_streaming);
        sent
    }
}

impl Word for RouteTarget {
    fn read(fields: &Fields<'_>) -> Result<RouteTarget, Malformed> {
        let (provider_id, model_id) =
            (fields.required("provider_id")?, fields.required("model_id")?);
        Ok(RouteTarget { provider_id, model_id })
    }

    fn write(self) -> Sent {
        Sent::from([("provider_id", self.provider_id.into()), ("model_id", self.model_id.into())])
    }
}

impl Word for TargetState {
    fn read(fields: &Fields<'_>) -> Result<TargetState, Malformed> {
        Ok(TargetState { target: Word::read(fields)?, dead: fields.optional("dead")? })
    }

    fn write(self) -> Sent {
        let mut sent = self.target.write();
        put(&mut sent, "dead", self.dead);
        sent
    }
}

impl Word for Snapshot {
    fn read(fields: &Fields<'_>) -> Result<Snapshot, Malformed> {
        Ok(Snapshot {
            window_start_ms: fields.required("window_start_ms")?,
            window_end_ms: fields.required("window_end_ms")?,
            requests_total: fields.required("requests_total")?,
            requests_failed: fields.required("requests_failed")?,
            prompt_tokens_total: fields.required("prompt_tokens_total")?,
            completion_tokens_total: fields.required("completion_tokens_total")?,
            cost_total: fields.optional("cost_total")?,
            requests_unpriced: fields.required("requests_unpriced")?,
            // An older service does not count them.
            cached_tokens_total: fields.optional("cached_tokens_total")?.unwrap_or(0),
        })
    }

    fn write(self) -> Sent {
        let mut sent = Sent::from([
            ("window_start_ms", self.window_start_ms.into()),
            ("window_end_ms", self.window_end_ms.into()),
            ("requests_total", self.requests_total.into()),
            ("requests_failed", self.requests_failed.into()),
            ("prompt_tokens_total", self.prompt_tokens_total.into()),
            ("completion_tokens_total", self.completion_tokens_total.into()),
            ("requests_unpriced", self.requests_unpriced.into()),
            ("cached_tokens_total", self.cached_tokens_total.into()),
        ]);
        put(&mut sent, "cost_total", self.cost_total);
        sent
    }
}

impl Word for ConnectionInfo {
    fn read(fields: &Fields<'_>) -> Result<ConnectionInfo, Malformed> {
        let face: String = fields.required("face")?;
        let known = FACES.into_iter().find(|known| *known == face);
        Ok(ConnectionInfo {
            connection_id: fields.required("connection_id")?,
            client_name: fields.required("client_name")?,
            requests_count: fields.required("requests_count")?,
            face: known.ok_or_else(|| fields.wrong("face", "one that nobody knows"))?,
        })
    }

    fn write(self) -> Sent {
        Sent::from([
            ("connection_id", self.connection_id.into()),
            ("client_name", self.client_name.into()),
            ("requests_count", self.requests_count.into()),
            ("face", self.face.into()),
        ])
    }
}
