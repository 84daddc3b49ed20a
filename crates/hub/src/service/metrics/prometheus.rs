//! The metrics as Prometheus reads them: the text exposition format, version 0.0.4.

use super::ModelUse;
use crate::service::Service;
use crate::service::words::Snapshot;
use althing_stdx::Result;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What to call the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A counter, what it is about, and its value for one model; none where nobody knows it.
type Counter = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

/// Every counter. They begin with the first request that was ever counted, so they only grow.
#[rustfmt::skip]
const COUNTERS: &[Counter] = &[
    ("althing_requests_total", "Requests to models.",
     |used| Some(used.requests_total as f64)),
    ("althing_requests_failed_total", "Requests that failed.",
     |used| Some(used.requests_failed as f64)),
    ("althing_prompt_tokens_total", "Tokens of prompts, as providers count them.",
     |used| Some(used.prompt_tokens_total as f64)),
    ("althing_cached_tokens_total", "Of the tokens of prompts, those read from providers' caches.",
     |used| Some(used.cached_tokens_total as f64)),
    ("althing_completion_tokens_total", "Tokens of answers, as providers count them.",
     |used| Some(used.completion_tokens_total as f64)),
    ("althing_cost_usd_total", "Cost of the requests whose price is known, in US dollars.",
     |used| used.cost_total),
    ("althing_requests_unpriced_total", "Requests whose price nobody knows.",
     |used| Some(used.requests_unpriced as f64)),
];

impl Service {
    /// Everything counted and everybody connected, as text.
    pub async fn prometheus(&self) -> Result<String> {
        let models = self.metrics.by_model(0, i64::MAX).await?;
        let mut faces = BTreeMap::new();
        for connection in self.connections.list() {
            *faces.entry(connection.face).or_insert(0) += 1;
        }
        Ok(text(&models, &faces, self.streams.len()))
    }
}

fn text(models: &[ModelUse], faces: &BTreeMap<&str, usize>, streams: usize) -> String {
    let mut out = String::new();
    for (name, help, value) in COUNTERS {
        head(&mut out, name, help, "counter");
        for of in models {
            if let Some(value) = value(&of.used) {
                let labels = [("provider", of.provider.as_str()), ("model", of.model.as_str())];
                sample(&mut out, name, &labels, value);
            }
        }
    }
    head(&mut out, "althing_connections", "Clients that are connected.", "gauge");
    for (face, count) in faces {
        sample(&mut out, "althing_connections", &[("face", face)], *count as f64);
    }
    head(&mut out, "althing_streams", "Pull streams that are open.", "gauge");
    sample(&mut out, "althing_streams", &[], streams as f64);
    out
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a string takes every line");
}

fn sample(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let label = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escaped(value));
    let labels = labels.iter().map(label).collect::<Vec<_>>().join(",");
    let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
    writeln!(out, "{name}{labels} {value}").expect("a string takes every line");
}

/// A label's value: backslash, quote and line feed are escaped, all else is as it is.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_prometheus_reads() {
        let used = Snapshot {
            requests_total: 3,
            requests_failed: 1,
            prompt_tokens_total: 1_000_000_000_000,
            cached_tokens_total: 900,
            completion_tokens_total: 20,
            cost_total: Some(0.125),
            requests_unpriced: 1,
            ..Snapshot::default()
        };
        let unpriced = Snapshot { requests_total: 1, requests_unpriced: 1, ..Snapshot::default() };
        let of = |provider: &str, model: &str, used| ModelUse {
            provider: provider.into(),
            model: model.into(),
            used,
        };
        let models = [of("openai", "gpt-5.1", used), of("mine", "a\"b\\c\nd é", unpriced)];
        let text = text(&models, &BTreeMap::from([("dbus", 2), ("http", 1)]), 4);
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        expect![[r#"
            althing_requests_total{provider="openai",model="gpt-5.1"} 3
            althing_requests_total{provider="mine",model="a\"b\\c\nd é"} 1
            althing_requests_failed_total{provider="openai",model="gpt-5.1"} 1
            althing_requests_failed_total{provider="mine",model="a\"b\\c\nd é"} 0
            althing_prompt_tokens_total{provider="openai",model="gpt-5.1"} 1000000000000
            althing_prompt_tokens_total{provider="mine",model="a\"b\\c\nd é"} 0
            althing_cached_tokens_total{provider="openai",model="gpt-5.1"} 900
            althing_cached_tokens_total{provider="mine",model="a\"b\\c\nd é"} 0
            althing_completion_tokens_total{provider="openai",model="gpt-5.1"} 20
            althing_completion_tokens_total{provider="mine",model="a\"b\\c\nd é"} 0
            althing_cost_usd_total{provider="openai",model="gpt-5.1"} 0.125
            althing_requests_unpriced_total{provider="openai",model="gpt-5.1"} 1
            althing_requests_unpriced_total{provider="mine",model="a\"b\\c\nd é"} 1
            althing_connections{face="dbus"} 2
            althing_connections{face="http"} 1
            althing_streams 4"#]]
        .assert_eq(&samples.join("\n"));
        assert!(text.ends_with('\n'));
        for line in text.lines().filter(|line| line.starts_with("# TYPE")) {
            let counter = line.ends_with(" counter");
            assert_eq!(line.contains("_total "), counter, "{line}");
        }
    }
}
