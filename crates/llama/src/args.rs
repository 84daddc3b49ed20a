//! The command line: four options, so no library for it.

use std::ffi::OsString;
use std::path::PathBuf;

pub const USAGE: &str = "\
Usage: althing-llama --model FILE --socket PATH [--context TOKENS] [--threads N]

Serves a GGUF model in OpenAI's dialect on a Unix socket until its standard input closes:
GET /health, GET /v1/models, POST /v1/chat/completions.";

/// Tokens of a context where nobody says otherwise, if the model was trained on as many.
pub const CONTEXT_DEFAULT: u32 = 8_192;
const CONTEXT_MAX: u32 = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub struct Args {
    pub model: PathBuf,
    pub socket: PathBuf,
    pub context: Option<u32>,
    pub threads: Option<usize>,
}

/// None: the person asked for help.
pub fn parse(given: impl Iterator<Item = OsString>) -> Result<Option<Args>, String> {
    let (mut model, mut socket, mut context, mut threads) = (None, None, None, None);
    let mut given = given;
    while let Some(option) = given.next() {
        let option = option.to_string_lossy().into_owned();
        if matches!(option.as_str(), "--help" | "-h") {
            return Ok(None);
        }
        let mut value = || given.next().ok_or(format!("{option}: a value is missing"));
        match option.as_str() {
            "--model" => model = Some(PathBuf::from(value()?)),
            "--socket" => socket = Some(PathBuf::from(value()?)),
            "--context" => context = Some(number(&option, &value()?, CONTEXT_MAX as usize)? as u32),
            "--threads" => threads = Some(number(&option, &value()?, cores())?),
            _ => return Err(format!("{option}: no such option")),
        }
    }
    let model = model.ok_or("--model is missing")?;
    let socket = socket.ok_or("--socket is missing")?;
    Ok(Some(Args { model, socket, context, threads }))
}

/// What the machine has. More threads than that would wait for each other in busy loops.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn number(option: &str, text: &OsString, most: usize) -> Result<usize, String> {
    let text = text.to_string_lossy();
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or(format!("{option}: must be a whole number from 1 to {most}, not {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Args>, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_wrong_line_names_the_option() {
        let wrong = |line: &str| parsed(line).expect_err(line);
        assert_eq!(wrong("--socket s"), "--model is missing");
        assert_eq!(wrong("--model m"), "--socket is missing");
        assert_eq!(wrong("--model"), "--model: a value is missing");
        assert_eq!(wrong("--modle m"), "--modle: no such option");
        let least = wrong("--context 0");
        assert_eq!(least, "--context: must be a whole number from 1 to 1048576, not 0");
        assert!(wrong("--threads 100000").starts_with("--threads: must be a whole number"));
    }

    #[test]
    fn a_right_line_is_read() {
        assert_eq!(parsed("--model m --help"), Ok(None));
        let args = parsed("--threads 1 --socket s --context 64 --model m");
        let (model, socket) = ("m".into(), "s".into());
        assert_eq!(args, Ok(Some(Args { model, socket, context: Some(64), threads: Some(1) })));
    }
}
