//! One file from a server to the disk: goes on where an earlier attempt stopped, tries again when the
//! connection breaks, and ends with the checksum.

use super::huggingface::checksum;
use super::part::{PartFile, Source};
use super::retry::{Opening, RetryState, judge, status_fault};
use super::{PullEvent, Watch};
use althing_gateway::{FetchRequest, FetchResponse, Gateway};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use std::path::{Path, PathBuf};
use tokio::time::sleep;

/// A file to download, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Download {
    pub source: Source,
    pub token: Option<Secret>,
    pub allow_plain: bool,
    pub path: PathBuf,
    /// Which part of the model it is, and of how many.
    pub part: (usize, usize),
    /// Turns a status into what a person can do about it, with the hub's code for it.
    pub explain: Explain,
}

/// Explains a refusal: status, and the server's code for it.
pub(super) type Explain = fn(&Download, u16, &str) -> Option<Fault>;

impl Download {
    fn request(&self, from: u64) -> FetchRequest {
        let version = self.source.version.clone();
        FetchRequest {
            token: self.token.clone(),
            from,
            // A checksum tells more than a server's mark, which its CDN may not know.
            if_range: version.filter(|_| self.source.sha256.is_none()),
            allow_plain: self.allow_plain,
            ..FetchRequest::new(self.source.url.clone())
        }
    }
}

/// Asks for a file whose size only its server knows; nothing of it is read.
pub(super) async fn probe(
    gateway: &Gateway,
    request: &FetchRequest,
    watch: Watch<'_>,
) -> Result<Source> {
    let mut retries = RetryState::default();
    let answer = loop {
        let fault = match gateway.fetch_file(request).await {
            Ok(answer) if answer.status == 200 => break answer,
            Ok(answer) => failed(&answer),
            Err(fault) => fault,
        };
        pause_or_give_up(&mut retries, false, fault, watch).await?;
    };
    let length = answer.header("x-linked-size").or_else(|| answer.header("content-length"));
    let bytes = length.and_then(|text| text.parse().ok()).filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or_else(|| {
        let text = format!("{} does not say how large the file is", answer.origin);
        Fault::new(Kind::Upstream, text)
    })?;
    // A weak mark stands for the same meaning, not for the same bytes.
    let etag = answer.header("etag").filter(|etag| !etag.starts_with("W/"));
    let version = etag.or_else(|| answer.header("last-modified")).map(String::from);
    let sha256 = answer.header("x-linked-etag").and_then(checksum);
    Ok(Source { url: request.url.clone(), bytes, sha256, version })
}

/// Downloads a file and returns where it is.
pub(super) async fn download(
    gateway: &Gateway,
    wanted: &Download,
    watch: Watch<'_>,
) -> Result<PathBuf> {
    let mut part = PartFile::open(&wanted.path, &wanted.source)?;
    hash_existing(&mut part, wanted, watch).await?;
    let mut retries = RetryState::default();
    while part.length() < wanted.source.bytes {
        let before = part.length();
        let Err(fault) = attempt(gateway, wanted, &mut part, watch).await else { continue };
        pause_or_give_up(&mut retries, part.length() > before, fault, watch).await?;
    }
    watch(PullEvent::Verifying);
    part.finish(&wanted.source)
}

/// Waits before the next attempt and tells of it; hands the fault back where there is none.
pub(super) async fn pause_or_give_up(
    retries: &mut RetryState,
    has_progressed: bool,
    fault: Fault,
    watch: Watch<'_>,
) -> Result<()> {
    let Some(pause) = retries.next_pause(has_progressed, &fault) else { return Err(fault) };
    watch(PullEvent::Retrying { why: fault.message, pause });
    sleep(pause).await;
    Ok(())
}

/// Hashes what an earlier attempt left. Piece by piece, so that Ctrl-C is heard.
async fn hash_existing(part: &mut PartFile, wanted: &Download, watch: Watch<'_>) -> Result<()> {
    let total = part.length();
    if total > 0 {
        watch(PullEvent::Resuming { done: total, total: wanted.source.bytes });
    }
    while part.hash_more()?.is_some() {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// One connection: appends what comes until the end or a failure.
async fn attempt(
    gateway: &Gateway,
    wanted: &Download,
    part: &mut PartFile,
    watch: Watch<'_>,
) -> Result<()> {
    let (from, bytes) = (part.length(), wanted.source.bytes);
    let mut answer = gateway.fetch_file(&wanted.request(from)).await?;
    let length = answer.header("content-length").and_then(|text| text.parse().ok());
    let range = answer.header("content-range");
    match judge(answer.status, range, length, from, bytes) {
        Opening::Append | Opening::Complete => {}
        Opening::Anew => part.restart()?,
        Opening::StartOver => {
            part.restart()?;
            let text = "the server sent another part than was wanted";
            return Err(Fault::new(Kind::Network, text));
        }
        Opening::OtherSize(found) => {
            let text = format!(
                "{} has {found} bytes of the file, and {bytes} were announced; pull it again",
                answer.origin
            );
            return Err(Fault::new(Kind::Upstream, text));
        }
        Opening::Failed(status) => {
            let code = answer.header("x-error-code").unwrap_or_default();
            let told = (wanted.explain)(wanted, status, code);
            return Err(told.unwrap_or_else(|| failed(&answer)));
        }
    }
    while let Some(piece) = answer.chunk().await? {
        if part.length() + piece.len() as u64 > bytes {
            let text = format!("{} sends more than the {bytes} bytes announced", answer.origin);
            return Err(Fault::new(Kind::Upstream, text));
        }
        part.append(&piece)?;
        let (part_number, parts) = wanted.part;
        watch(PullEvent::Loading { part: part_number, parts, done: part.length(), total: bytes });
    }
    match part.length() == bytes {
        true => Ok(()),
        false => Err(Fault::new(Kind::Network, format!("{} ended too early", answer.origin))),
    }
}

fn failed(answer: &FetchResponse) -> Fault {
    status_fault(&answer.origin, answer.status, answer.header("retry-after"))
}

/// Returns a path for `name` of a server below `folder`: no name leads out of it.
pub(super) fn safe_path(folder: &Path, name: &str) -> Option<PathBuf> {
    /// Characters of a part of a path.
    const PART_CHARS_MAX: usize = 150;
    let mut path = folder.to_path_buf();
    for part in name.split('/') {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
        let safe: String = part.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        if safe.is_empty() || safe.starts_with('.') || safe.len() > PART_CHARS_MAX {
            return None;
        }
        path.push(safe);
    }
    Some(path)
}

#[cfg(test)]
mod tests;
