//! `play`: a recording in the place of an extension.

use super::run::read_recording;
use crate::{printer, stdio};
use althing_hub::extensions::replay;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::path::Path;

/// What every line about a difference begins with.
pub const DIFFERS: &str = "differs at line ";
/// Characters of a message that are shown.
const SHOWN_CHARS_MAX: usize = 300;

pub async fn play(recording: &Path) -> Result<()> {
    let lines = read_recording(recording)?;
    let broke = |error| Fault::new(Kind::Upstream, format!("standard input or output: {error}"));
    let played = replay(&lines, stdio::input(), stdio::output()).await.map_err(broke)?;
    // Folders and versions are this machine's.
    let by_nature = |line: usize| lines[line].message["method"] == "initialize";
    for difference in played.iter().filter(|it| !by_nature(it.line)) {
        let then = one_line(&difference.recorded.to_string(), SHOWN_CHARS_MAX);
        let now = difference.found.as_ref().map_or("nothing".into(), |found| found.to_string());
        let now = one_line(&now, SHOWN_CHARS_MAX);
        let at = difference.line + 1;
        printer::tell(format!("[WARN] {DIFFERS}{at}: {now} instead of {then}\n"));
    }
    printer::finish_telling();
    // A host may still be reading what was said; the pipe holds it after we are gone.
    std::process::exit(0)
}
