//! One JSON object: the account, and the events it was read from.

use super::words::DEMO_NOTE;
use super::{Account, Format};
use althing_assembly::Event;
use althing_assembly::event::{Sureness, Synthesis};
use althing_stdx::text::printable;
use serde::Serialize;

pub(super) const FORMAT: Format =
    Format { name: "json", about: "one JSON object, with every event", write };

#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    demo_note: Option<&'static str>,
    #[serde(flatten)]
    account: &'a Account,
    synthesis: Option<&'a Synthesis>,
    confidences: &'a [Sureness],
    confidence_mean: Option<u8>,
    events: &'a [Event],
}

fn write(account: &Account, events: &[Event]) -> String {
    let document = Document {
        demo_note: account.has_demo().then_some(DEMO_NOTE),
        account,
        synthesis: account.synthesis().map(|(_, synthesis)| synthesis),
        confidences: account.confidences(),
        confidence_mean: account.confidence_mean(),
        events,
    };
    let json = serde_json::to_string_pretty(&document).expect("strings and numbers only");
    escape(&json) + "\n"
}

/// The same value, without anything that could drive a terminal. All of it is inside strings.
fn escape(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let is_safe = c.is_ascii_graphic() || matches!(c, ' ' | '\n');
        if is_safe || printable(c.encode_utf8(&mut [0; 4])).starts_with(c) {
            out.push(c);
        } else {
            out.push_str(&format!("\\u{:04x}", c as u32));
        }
    }
    out
}
