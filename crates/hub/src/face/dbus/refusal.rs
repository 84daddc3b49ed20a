//! What goes wrong with a call: refused as a D-Bus error, or answered with `success=false`.

use super::fields::{Malformed, Sent};
use super::outgoing::Outgoing;
use super::words::put;
use althing_stdx::Fault;
use std::fmt;
use zbus::message::{Header, Message};
use zbus::names::ErrorName;
use zbus::{DBusError, Variant};

/// Before the names of our D-Bus errors.
pub(super) const PREFIX: &str = "org.althing.Capability1.Error.";

/// A call that was not carried out, as a D-Bus error.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    name: String,
    message: String,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The caller's mistake: a D-Bus error.
    Malformed(Malformed),
    /// What the request was for did not work: `success=false`.
    Failed(Fault),
    /// As `Failed`; the response has a repeated field, which is there all the same, and empty.
    FailedList(&'static str, Fault),
}

impl From<Malformed> for Trouble {
    fn from(malformed: Malformed) -> Trouble {
        Trouble::Malformed(malformed)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Failed(fault)
    }
}

/// The reply to a request: what it gave, with `result` as the messages say and `success` and
/// `message` beside it as the examples show.
pub(super) fn reply(outcome: Result<Sent, Trouble>) -> Result<Sent, Refusal> {
    let (mut sent, success, message) = match outcome {
        Ok(mut sent) => {
            let message = sent.remove("message");
            (sent, true, message)
        }
        Err(Trouble::Malformed(malformed)) => return Err(malformed.into()),
        Err(Trouble::Failed(fault)) => (failed(&fault), false, Some(fault.message.into())),
        Err(Trouble::FailedList(field, fault)) => {
            let mut sent = failed(&fault);
            sent.insert(field, Vec::<Sent>::new().into());
            (sent, false, Some(fault.message.into()))
        }
    };
    let mut result = Sent::from([("success", success.into())]);
    if let Some(Variant::Str(text)) = &message {
        result.insert("message", text.as_str().to_owned().into());
    }
    sent.insert("result", result.into());
    sent.insert("success", success.into());
    put(&mut sent, "message", message);
    Ok(sent)
}

fn failed(fault: &Fault) -> Sent {
    let mut sent = Sent::from([("error_code", fault.kind.name().into())]);
    let wait = fault.retry_after.map(|wait| wait.as_millis());
    put(&mut sent, "retry_after_ms", wait.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)));
    sent
}

impl Refusal {
    fn new(name: &str, message: impl fmt::Display) -> Refusal {
        Refusal { name: format!("{PREFIX}{name}"), message: message.to_string().carried() }
    }

    pub(super) fn denied(message: impl fmt::Display) -> Refusal {
        Refusal::new("AccessDenied", message)
    }

    pub(super) fn limits(message: impl fmt::Display) -> Refusal {
        Refusal::new("LimitsExceeded", message)
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Refusal {
        Refusal::new("InvalidArgument", malformed.0)
    }
}

/// For methods whose reply has no room for `success=false`.
impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::new(fault.kind.codes().dbus, fault.message)
    }
}

impl DBusError for Refusal {
    fn create_reply(&self, call: &Header<'_>) -> zbus::Result<Message> {
        Message::error(call, self.name()).build(&(self.message.as_str(),))
    }

    fn name(&self) -> ErrorName<'_> {
        ErrorName::from_str_unchecked(&self.name)
    }

    fn description(&self) -> Option<&str> {
        Some(&self.message)
    }
}
