//! What servers turned out not to have, so that they are asked for it only once.

use super::{Declined, PassRequest};
use crate::Target;
use crate::dialect::openai::OPENAI;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Findings that are remembered; with one more all are forgotten and made again.
const FINDINGS_MAX: usize = 1_024;
/// Paths that many servers lack which speak the rest of the language. Requests for them can be
/// translated.
const RARE_PATHS: [&str; 2] = ["/responses", "/completions"];
/// Paths whose streams count tokens only where they are asked to.
const COUNTED_PATHS: [&str; 2] = ["/chat/completions", "/completions"];
/// Statuses with which a server says that it has no such path.
const NO_SUCH_PATH: [u16; 3] = [404, 405, 501];
/// What such a refusal says where it names a model: this one is asked on another path.
const WRONG_PATH_FOR_MODEL: [&str; 2] = ["v1/completions endpoint", "responses api"];
/// LM Studio says it with status 200.
const UNEXPECTED: &str = "unexpected endpoint";
/// Statuses with which a field is refused, and its names.
const REFUSED_FIELD: [u16; 2] = [400, 422];
const COUNT_FIELDS: [&str; 2] = ["stream_options", "include_usage"];

/// Findings about servers.
#[derive(Default)]
pub(crate) struct Quirks(Mutex<HashSet<String>>);

impl Quirks {
    /// Whether `target` is known to lack `path`.
    pub(crate) fn lacks(&self, target: &Target, path: &str) -> bool {
        RARE_PATHS.contains(&path) && self.has(|| path_key(target, path))
    }

    /// Whether the request asks nobody for a count and its server may be asked.
    pub(super) fn may_count(&self, request: &PassRequest, target: &Target) -> bool {
        let is_counted = request.dialect.name == OPENAI.name
            && COUNTED_PATHS.iter().any(|path| is_at(request, path));
        is_counted && request.head.wants_no_count() && !self.has(|| count_key(target))
    }

    /// Takes note of a server that refused to be asked for a count; tells whether it did.
    pub(super) fn note_uncounted(&self, declined: &Declined, target: &Target) -> bool {
        let refuses = declined.answer.as_ref().is_some_and(|answer| {
            let body = String::from_utf8_lossy(&answer.body);
            REFUSED_FIELD.contains(&answer.status)
                && COUNT_FIELDS.iter().any(|field| body.contains(field))
        });
        if refuses {
            self.note(count_key(target));
        }
        refuses
    }

    /// Takes note of a server that lacks the path; tells whether it does.
    pub(super) fn note_lacking(
        &self,
        declined: &Declined,
        request: &PassRequest,
        target: &Target,
    ) -> bool {
        let rare = RARE_PATHS.into_iter().find(|path| is_at(request, path));
        let Some(path) = rare.filter(|_| is_no_such_path(declined)) else { return false };
        self.note(path_key(target, path));
        true
    }

    /// Most servers have no quirks, so nothing is written down to look for one.
    fn has(&self, finding: impl FnOnce() -> String) -> bool {
        let findings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !findings.is_empty() && findings.contains(&finding())
    }

    fn note(&self, finding: String) {
        let mut findings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.len() >= FINDINGS_MAX {
            findings.clear();
        }
        findings.insert(finding);
    }
}

/// Whether the request is for `path`, which a query may follow.
fn is_at(request: &PassRequest, path: &str) -> bool {
    request.path.split('?').next() == Some(path)
}

/// The model too: a server has some paths for some of its models.
fn path_key(target: &Target, path: &str) -> String {
    format!("{} {} {} {path}", target.endpoint.id, target.endpoint.base_url, target.model)
}

fn count_key(target: &Target) -> String {
    format!("{} {} counts", target.endpoint.id, target.endpoint.base_url)
}

fn is_no_such_path(declined: &Declined) -> bool {
    let Some(answer) = &declined.answer else {
        return declined.fault.message.to_ascii_lowercase().contains(UNEXPECTED);
    };
    let body = String::from_utf8_lossy(&answer.body).to_ascii_lowercase();
    let is_about_model = body.replace("/models", "").contains("model");
    NO_SUCH_PATH.contains(&answer.status)
        && (!is_about_model || WRONG_PATH_FOR_MODEL.iter().any(|words| body.contains(words)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Answer;
    use althing_stdx::{Fault, Kind};
    use hyper::header::HeaderMap;

    fn declined(status: u16, body: &str) -> Declined {
        let answer = Answer { status, headers: HeaderMap::new(), body: body.to_string().into() };
        Declined { answer: Some(Box::new(answer)), ..Fault::new(Kind::Upstream, "x").into() }
    }

    #[test]
    fn a_missing_path_is_no_missing_model() {
        for (status, body, want) in [
            (404, r#"{"error":{"message":"Invalid URL (POST /v1/responses)"}}"#, true),
            (404, r#"{"detail":"Not Found"}"#, true),
            (404, "404 page not found", true),
            (405, r#"{"detail":"Method Not Allowed"}"#, true),
            (404, "there is nothing here but /v1/models", true),
            (
                404,
                r#"{"error":{"message":"This is a chat model and not supported in the v1/completions endpoint."}}"#,
                true,
            ),
            (
                404,
                r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
                false,
            ),
            (400, "bad", false),
            (500, "down", false),
        ] {
            assert_eq!(is_no_such_path(&declined(status, body)), want, "{body}");
        }
        let bare =
            Fault::new(Kind::Upstream, "Unexpected endpoint or method. (POST /v1/responses)");
        assert!(is_no_such_path(&bare.into()));
    }
}
