//! What leaves over the bus, whoever made its texts. A message that breaks the bus's rules makes the
//! bus hang up, and with that on every client, so this is the one place that knows those rules.

use super::fields::Sent;
use super::refusal::Refusal;
use crate::service::words::Change;
use std::mem;
use std::os::fd::OwnedFd;
use zbus::{Array, Variant};

/// What a NUL is shown as: texts on the bus cannot hold one.
const NUL_SHOWN: &str = "\u{2400}";
/// Bytes of one message, generously counted; a larger reply is refused with `LimitsExceeded`. The
/// bus hangs up on arrays of 64 MiB, and some are set to carry half of that.
pub const REPLY_BYTES_MAX: usize = 32 << 20;
/// What a value takes besides its text, at most: type, length, padding.
const VALUE_BYTES: usize = 16;

/// What can leave over the bus.
pub(super) trait Outgoing: Sized {
    /// Shows what the bus cannot carry by what it can.
    fn carried(self) -> Self;

    /// Bytes on the bus, rather too many than too few.
    fn bytes(&self) -> usize;
}

/// A reply as the bus carries it, or why it cannot.
pub(super) fn fit<T: Outgoing>(reply: T) -> Result<T, Refusal> {
    let reply = reply.carried();
    match reply.bytes() {
        bytes if bytes > REPLY_BYTES_MAX => Err(Refusal::limits(format!(
            "reply: {bytes} bytes, and at most {REPLY_BYTES_MAX} go over the bus; ask for less at \
             once, or over HTTP"
        ))),
        _ => Ok(reply),
    }
}

impl Outgoing for String {
    fn carried(self) -> String {
        if self.contains('\0') { self.replace('\0', NUL_SHOWN) } else { self }
    }

    fn bytes(&self) -> usize {
        VALUE_BYTES + self.len()
    }
}

impl Outgoing for Vec<String> {
    fn carried(self) -> Vec<String> {
        self.into_iter().map(String::carried).collect()
    }

    fn bytes(&self) -> usize {
        self.iter().map(String::bytes).sum()
    }
}

impl Outgoing for OwnedFd {
    fn carried(self) -> OwnedFd {
        self
    }

    fn bytes(&self) -> usize {
        VALUE_BYTES
    }
}

/// The names of its fields are ours.
impl Outgoing for Sent {
    fn carried(mut self) -> Sent {
        self.values_mut().for_each(carry);
        self
    }

    fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| VALUE_BYTES + name.len() + value.bytes()).sum()
    }
}

impl Outgoing for Variant<'static> {
    fn carried(self) -> Variant<'static> {
        match self {
            Variant::Str(text) if text.contains('\0') => text.replace('\0', NUL_SHOWN).into(),
            Variant::Variant(inner) => Variant::Variant(Box::new(inner.carried())),
            Variant::Array(array) if !array.iter().all(is_carried) => carried_array(&array),
            Variant::Dict(mut dict) => {
                dict.iter_mut().for_each(|(_, value)| carry(value));
                Variant::Dict(dict)
            }
            other => other,
        }
    }

    fn bytes(&self) -> usize {
        let of_pair = |(name, value): (&Variant<'_>, &Variant<'static>)| {
            text_bytes(name) + VALUE_BYTES + value.bytes()
        };
        VALUE_BYTES
            + match self {
                Variant::Variant(inner) => inner.bytes(),
                Variant::Array(array) => array.iter().map(Variant::bytes).sum(),
                Variant::Dict(dict) => dict.iter().map(of_pair).sum(),
                other => text_bytes(other),
            }
    }
}

impl Outgoing for Change {
    fn carried(self) -> Change {
        match self {
            Change::ProviderAdded(id) => Change::ProviderAdded(id.carried()),
            Change::ProviderRemoved(id) => Change::ProviderRemoved(id.carried()),
            Change::ProviderChanged(id) => Change::ProviderChanged(id.carried()),
            Change::ModelsChanged(id) => Change::ModelsChanged(id.carried()),
            Change::RouteChanged(alias) => Change::RouteChanged(alias.carried()),
            Change::ConnectionOpened(id) => Change::ConnectionOpened(id.carried()),
            Change::ConnectionClosed(id) => Change::ConnectionClosed(id.carried()),
        }
    }

    /// Its ids are short.
    fn bytes(&self) -> usize {
        VALUE_BYTES
    }
}

fn carry(value: &mut Variant<'static>) {
    let taken = mem::replace(value, Variant::U8(0));
    *value = taken.carried();
}

/// Whether the bus takes a value as it is. Most are, and are not rebuilt.
fn is_carried(value: &Variant<'static>) -> bool {
    match value {
        Variant::Str(text) => !text.contains('\0'),
        Variant::Variant(inner) => is_carried(inner),
        Variant::Array(array) => array.iter().all(is_carried),
        Variant::Dict(dict) => dict.iter().all(|(_, value)| is_carried(value)),
        _ => true,
    }
}

fn carried_array(array: &Array<'static>) -> Variant<'static> {
    let mut carried = Array::new(array.element_signature());
    for element in array.iter() {
        // Neither fails: what is sent within arrays has no descriptors, and keeps its type.
        if let Ok(element) = element.try_clone() {
            let _ = carried.append(element.carried());
        }
    }
    Variant::Array(carried)
}

fn text_bytes(value: &Variant<'_>) -> usize {
    match value {
        Variant::Str(text) => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::DBusError;

    fn text(value: &str) -> Variant<'static> {
        value.to_string().into()
    }

    #[test]
    fn a_nul_is_shown_wherever_it_stands() {
        let build = |nul: &str| {
            let call = || Sent::from([("arguments_json", text(&format!("{{{nul}}}")))]);
            let content = text(&format!("a{nul}b"));
            let message = Sent::from([("content", content), ("role", 3_u32.into())]);
            let wrapped = Variant::Variant(Box::new(text(nul)));
            Sent::from([
                ("completion", message.into()),
                ("tool_calls", vec![call(), call()].into()),
                ("names", vec![nul.to_string(), "plain".into()].into()),
                ("wrapped", wrapped),
                ("done", true.into()),
            ])
        };
        assert_eq!(build("\0").carried(), build("\u{2400}"));
        assert_eq!(build("\u{2400}").carried(), build("\u{2400}"));
        assert_eq!(vec!["\0\0".to_string()].carried(), ["\u{2400}\u{2400}"]);
        let change = Change::RouteChanged("\0".into());
        assert_eq!(change.carried(), Change::RouteChanged("\u{2400}".into()));
        assert_eq!(Refusal::denied("a\0b").description(), Some("a\u{2400}b"));
    }

    #[test]
    fn a_reply_that_no_bus_carries_is_refused() {
        let reply = |bytes| Sent::from([("completion", Sent::from([("content", bytes)]).into())]);
        let huge = text(&"x".repeat(REPLY_BYTES_MAX));
        let refusal = fit(reply(huge)).unwrap_err();
        assert_eq!(refusal.name(), "org.althing.Capability1.Error.LimitsExceeded");
        assert!(refusal.description().unwrap().starts_with("reply: 335"));
        assert!(fit(reply(text(&"x".repeat(REPLY_BYTES_MAX / 2)))).is_ok());
        let many: Vec<String> = vec![String::new(); REPLY_BYTES_MAX / VALUE_BYTES + 1];
        assert!(fit(many).is_err(), "small ones count too");
    }

    /// What is counted is never less than what goes out.
    #[test]
    fn bytes_are_not_counted_too_low() {
        use zbus::wire::{LE, serialized::Context, serialized_size};
        let message = || Sent::from([("content", text("hello")), ("role", 3_u32.into())]);
        let sent = Sent::from([
            ("one", message().into()),
            ("many", vec![message(), message(), Sent::new()].into()),
            ("number", i64::MAX.into()),
            ("texts", vec!["a".to_string(), "bc".into()].into()),
        ]);
        let real = serialized_size(Context::new(LE, 0), &sent).unwrap();
        assert!(sent.bytes() >= real.size(), "{} < {}", sent.bytes(), real.size());
    }
}
