//! Everything that can go wrong, by the name of the model that asks for it.

/// What befalls a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mishap {
    /// An error status with the provider's own body and headers.
    Error(Trouble),
    /// Status 200, some text, then an error event.
    Midstream,
    /// Status 200, then an error event before any content.
    Early,
    /// The request is taken and never answered.
    Hang,
    /// Some text, then silence.
    Stall,
    /// Some text, then the connection closes inside an event.
    Cut,
    /// Status 200 and a web page, as captive portals and proxies send.
    Html,
    /// Status 307 to `/redirected` on the same server.
    Redirect,
    /// A whole answer without text.
    Empty,
    /// The model declines.
    Refuse,
    /// The provider's filter declines.
    Filter,
    /// 400 to every request that has this field, then a normal answer.
    Without(&'static str),
    /// 429 to the first so many requests for this model, then a normal answer.
    Flaky(usize),
}

/// An error status, or a trouble to which each provider gives its own status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Status(u16),
    /// A wrong key.
    Key,
    /// A good key of an empty account.
    Quota,
    /// A prompt longer than the model takes.
    Context,
}

const NAMES: &[(&str, Mishap)] = &[
    ("err-key", Mishap::Error(Trouble::Key)),
    ("err-quota", Mishap::Error(Trouble::Quota)),
    ("err-context", Mishap::Error(Trouble::Context)),
    ("err-midstream", Mishap::Midstream),
    ("err-early", Mishap::Early),
    ("hang", Mishap::Hang),
    ("stall", Mishap::Stall),
    ("cut", Mishap::Cut),
    ("html", Mishap::Html),
    ("redirect", Mishap::Redirect),
    ("empty", Mishap::Empty),
    ("refuse", Mishap::Refuse),
    ("refuse-filter", Mishap::Filter),
    ("no-stream-options", Mishap::Without("stream_options")),
    ("no-stream", Mishap::Without("stream")),
];

impl Mishap {
    /// By a model's name, however a gateway prefixed or tagged it: `openai/err-429:latest`.
    pub(super) fn of_model(model: &str) -> Option<Mishap> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.split(':').next().unwrap_or(name);
        let status = name.strip_prefix("err-").and_then(|status| status.parse().ok());
        if let Some(status) = status.filter(|status| (400..600).contains(status)) {
            return Some(Mishap::Error(Trouble::Status(status)));
        }
        if let Some(times) = name.strip_prefix("flaky-").and_then(|times| times.parse().ok()) {
            return Some(Mishap::Flaky(times));
        }
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, mishap)| *mishap)
    }

    /// By the value of `x-fake-error`: a mishap's name, with or without `err-`.
    pub(super) fn of_header(value: &str) -> Option<Mishap> {
        Mishap::of_model(value).or_else(|| Mishap::of_model(&format!("err-{value}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, want: Option<Mishap>) {
        assert_eq!(Mishap::of_model(model), want, "{model}");
    }

    #[test]
    fn a_models_name_says_what_goes_wrong() {
        check("err-429", Some(Mishap::Error(Trouble::Status(429))));
        check("openai/err-429:latest", Some(Mishap::Error(Trouble::Status(429))));
        check("err-key", Some(Mishap::Error(Trouble::Key)));
        check("flaky-3", Some(Mishap::Flaky(3)));
        check("refuse-filter", Some(Mishap::Filter));
        check("gpt-5.1", None);
        check("err-unheard-of", None);
        check("err-1000", None);
        check("", None);
    }

    #[test]
    fn the_header_takes_bare_statuses_too() {
        assert_eq!(Mishap::of_header("503"), Mishap::of_model("err-503"));
        assert_eq!(Mishap::of_header("midstream"), Some(Mishap::Midstream));
        assert_eq!(Mishap::of_header("cut"), Some(Mishap::Cut));
        assert_eq!(Mishap::of_header("nonsense"), None);
    }
}
