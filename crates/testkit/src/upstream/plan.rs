//! What will happen to one request: its headers over the hooks, the hooks over the options.

use super::{
    mishap::{Mishap, Trouble},
    options::Options,
    seen::Seen,
};
use std::time::Duration;

pub(super) struct Plan {
    pub(super) latency: Duration,
    pub(super) chunks: usize,
    pub(super) delay: Duration,
    pub(super) mishap: Option<Mishap>,
}

/// Deltas one request may ask for; more are cut down to this.
const CHUNKS_MAX: usize = 100_000;

impl Plan {
    pub(super) fn new(options: &Options, seen: &Seen) -> Plan {
        let number = |name: &str| seen.header(name).parse::<u64>().ok();
        let chunks = number("x-fake-chunks").or_else(|| asked_chunks(options, seen));
        let chunks = chunks.map_or(options.chunks, |chunks| chunks as usize);
        Plan {
            latency: number("x-fake-latency-ms").map_or(options.latency, Duration::from_millis),
            chunks: chunks.min(CHUNKS_MAX),
            delay: number("x-fake-delay-us").map_or(options.delay, Duration::from_micros),
            mishap: mishap(options, seen),
        }
    }
}

/// `max_tokens` of the OpenAI dialect, so that a bench can ask for long streams through a gateway
/// that drops unknown headers. With a text hook the text is what the test says.
fn asked_chunks(options: &Options, seen: &Seen) -> Option<u64> {
    let tokens =
        ["max_tokens", "max_completion_tokens"].iter().find_map(|key| seen.body[key].as_u64());
    let openai = seen.route == super::Route::Chat(super::Dialect::OpenAi);
    tokens.filter(|_| openai && options.chunks_by_limit && options.text.is_none())
}

fn mishap(options: &Options, seen: &Seen) -> Option<Mishap> {
    let hooked = || options.mishap.as_ref().and_then(|mishap| mishap(seen));
    let named = |name: &str| {
        Some(Mishap::of_header(name).unwrap_or_else(|| panic!("no mishap is called {name:?}")))
    };
    let mishap = match seen.header("x-fake-error") {
        "" => hooked().map_or_else(|| Mishap::of_model(&seen.model), named),
        name => named(name),
    };
    match mishap {
        Some(Mishap::Flaky(times)) if seen.nth > times => None,
        None if seen.asks() && !seen.body.is_object() => Some(Mishap::Error(Trouble::Status(400))),
        mishap => mishap,
    }
}
