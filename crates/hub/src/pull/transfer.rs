//! One file from a server to the disk: goes on where an earlier attempt stopped, tries again when the
//! connection breaks, and ends with the checksum.

use super::huggingface::checksum;
use super::name::{decode, is_gguf};
use super::part::{
    HEAD_BYTES, PartFile, Source, begins_as_model, begun, finished, no_model, part_length,
};
use super::retry::{Opening, RetryState, judge, status_fault};
use super::{PullEvent, Watch};
use althing_gateway::{FetchRequest, FetchResponse, Gateway};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use std::path::{Path, PathBuf};
use tokio::time::sleep;

/// Wrong ranges in a row; then the whole file is asked for.
const WRONG_RANGES_MAX: u32 = 2;

/// A file to download, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Download {
    pub source: Source,
    pub token: Option<Secret>,
    /// Where the person's token is from, even where it is not sent.
    pub token_source: Option<String>,
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
    /// Tells whether a file, of whatever version, or a part of one is there.
    pub fn is_begun(&self) -> bool {
        finished(&self.path).is_some() || part_length(&self.path) > 0
    }

    /// Tells whether its checksum is known, if only because an earlier attempt was told it.
    pub fn has_checksum(&self) -> bool {
        let named = begun(&self.path).filter(|known| known.url == self.source.url);
        self.source.sha256.is_some() || named.is_some_and(|known| known.sha256.is_some())
    }

    fn request(&self, from: u64, source: &Source) -> FetchRequest {
        let version = source.version.clone();
        FetchRequest {
            token: self.token.clone(),
            from,
            // A checksum tells more than a server's mark, which its CDN may not know.
            if_range: version.filter(|_| source.sha256.is_none()),
            allow_plain: self.allow_plain,
            ..FetchRequest::new(self.source.url.clone())
        }
    }
}

/// How a download goes: what was tried, and where the next attempt begins.
#[derive(Debug, Default)]
struct Course {
    retries: RetryState,
    /// Ranges in a row that were not those wanted.
    wrong_ranges: u32,
    /// The next attempt asks for the whole file.
    is_anew: bool,
}

impl Course {
    /// Returns the byte to go on from. Without checksum and mark nobody knows whether it fits.
    fn from(&self, part: &PartFile) -> u64 {
        let source = part.source();
        let is_known = source.sha256.is_some() || source.version.is_some();
        if is_known && !self.is_anew { part.length() } else { 0 }
    }

    /// Remembers a range that does not fit what is there; the next answer may. Not so often.
    fn refuse_range(&mut self, is_other_version: bool) {
        self.wrong_ranges += 1;
        self.is_anew = is_other_version || self.wrong_ranges >= WRONG_RANGES_MAX;
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
    let sha256 = answer.header("x-linked-etag").and_then(checksum);
    let (model, url) = (request.url.clone(), request.url.clone());
    Ok(Source { model, url, bytes, sha256, version: version(&answer) })
}

/// Returns the server's mark of these bytes. A weak one stands for the same meaning only.
fn version(answer: &FetchResponse) -> Option<String> {
    let etag = answer.header("etag").filter(|etag| !etag.starts_with("W/"));
    etag.or_else(|| answer.header("last-modified")).map(String::from)
}

/// Downloads a file and returns where it is.
pub(super) async fn download(
    gateway: &Gateway,
    wanted: &Download,
    watch: Watch<'_>,
) -> Result<PathBuf> {
    let mut part = PartFile::open(&wanted.path, &wanted.source)?;
    hash_existing(&mut part, wanted, watch).await?;
    let mut course = Course::default();
    course.retries.reaches(part.length());
    while part.length() < wanted.source.bytes {
        let done = attempt(gateway, wanted, &mut part, &mut course, watch).await;
        let has_progressed = course.retries.reaches(part.length());
        let Err(fault) = done else { continue };
        if course.retries.is_in_vain() {
            return Err(no_rest(&fault));
        }
        pause_or_give_up(&mut course.retries, has_progressed, fault, watch).await?;
    }
    watch(PullEvent::Verifying);
    part.finish()
}

fn no_rest(fault: &Fault) -> Fault {
    let text = format!(
        "{}; its server does not continue a download where it broke off, and began anew in vain: \
         try another network, or another address of the file",
        fault.message
    );
    Fault::new(fault.kind, text)
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
    course: &mut Course,
    watch: Watch<'_>,
) -> Result<()> {
    let (from, bytes) = (course.from(part), wanted.source.bytes);
    let mut answer = gateway.fetch_file(&wanted.request(from, part.source())).await?;
    let length = answer.header("content-length").and_then(|text| text.parse().ok());
    let range = answer.header("content-range");
    match judge(answer.status, range, length, from, bytes) {
        Opening::Append => {
            check_version(part, &answer, course)?;
            course.wrong_ranges = 0;
        }
        Opening::Complete => {}
        Opening::Anew => begin_anew(part, &mut answer, course).await?,
        Opening::OtherRange => {
            course.refuse_range(false);
            let text = format!("{} sent another part than was wanted", answer.origin);
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
        check_room(part, piece.len(), bytes, &answer)?;
        part.append(&piece)?;
        let (part_number, parts) = wanted.part;
        watch(PullEvent::Loading { part: part_number, parts, done: part.length(), total: bytes });
    }
    match part.length() == bytes {
        true => Ok(()),
        false => Err(Fault::new(Kind::Network, format!("{} ended too early", answer.origin))),
    }
}

/// Where no checksum tells in the end, the rest must be of the same version as what is there.
fn check_version(part: &PartFile, answer: &FetchResponse, course: &mut Course) -> Result<()> {
    let known = part.source();
    let is_same = known.version.is_some() && known.version == version(answer);
    if known.sha256.is_some() || part.length() == 0 || is_same {
        return Ok(());
    }
    course.refuse_range(true);
    let text = format!("{} has another version of the file by now", answer.origin);
    Err(Fault::new(Kind::Network, text))
}

/// Takes the file from its beginning. What is there is dropped only for what begins as a model.
async fn begin_anew(
    part: &mut PartFile,
    answer: &mut FetchResponse,
    course: &mut Course,
) -> Result<()> {
    let mut head = Vec::new();
    while head.len() < HEAD_BYTES {
        let Some(piece) = answer.chunk().await? else { break };
        head.extend_from_slice(&piece);
    }
    if !begins_as_model(&head) {
        return Err(no_model());
    }
    if part.length() > 0 {
        course.retries.begin_anew();
    }
    course.is_anew = false;
    let known = part.source();
    // With a checksum the mark decides nothing, and the record stays as it is.
    let mark = if known.sha256.is_some() { known.version.clone() } else { version(answer) };
    part.restart(mark)?;
    check_room(part, head.len(), part.source().bytes, answer)?;
    part.append(&head)
}

fn check_room(part: &PartFile, more: usize, bytes: u64, answer: &FetchResponse) -> Result<()> {
    if part.length() + more as u64 <= bytes {
        return Ok(());
    }
    let text = format!("{} sends more than the {bytes} bytes announced", answer.origin);
    Err(Fault::new(Kind::Upstream, text))
}

fn failed(answer: &FetchResponse) -> Fault {
    status_fault(&answer.origin, answer.status, answer.header("retry-after"))
}

/// Returns where the file of an address lies below a folder: by server and path, so that no two share
/// one file, and by a mark of the query where there is one.
pub(super) fn url_place(url: &str) -> String {
    /// Characters of a part of an address that stay; a longer one gets a mark.
    const KEPT_CHARS_MAX: usize = 100;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let tidy = |part: &str| {
        let part = decode(part).unwrap_or_else(|| part.into()).replace('/', "_");
        let part = if part.starts_with('.') { format!("_{part}") } else { part };
        let kept: String = part.chars().take(KEPT_CHARS_MAX).collect();
        if kept == part { kept } else { format!("{kept}-{}", short_mark(&part)) }
    };
    let mut parts: Vec<String> =
        place.split('/').filter(|part| !part.is_empty()).map(tidy).collect();
    let name = if parts.len() > 1 { parts.pop() } else { None };
    let name = name.unwrap_or_else(|| "model".into());
    parts.extend((!query.is_empty()).then(|| format!("query-{}", short_mark(query))));
    parts.push(if is_gguf(&name) { name } else { format!("{name}.gguf") });
    parts.join("/")
}

/// Returns eight digits that stand for a text.
fn short_mark(text: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    hash.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
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
