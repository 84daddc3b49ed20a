//! The command line: a handful of options, so no library for it.

use crate::cores::count_logical;
use std::ffi::OsString;
use std::path::PathBuf;

pub const USAGE: &str = "\
Usage: althing-llama --model FILE --socket PATH [options]

Serves a GGUF model in OpenAI's dialect on a Unix socket until its standard input closes:
GET /health, GET /v1/models, POST /v1/chat/completions, POST /v1/embeddings.

  --context TOKENS   the longest conversation [the model's own, at most 8192]
  --threads N        threads that compute, 0 for as many as may [LLAMA_ARG_THREADS, or the
                     physical cores]
  --pooling KIND     how embeddings are made: mean, cls or last [as the model's file says]
  --cache-mib N      memory for conversations that wait for their next turn, 0 for none
                     [2048, at most a quarter of what is free]";

/// Has the number of threads too, as with llama-server.
pub const THREADS_VARIABLE: &str = "LLAMA_ARG_THREADS";
/// Tokens of a context where nobody says otherwise, if the model was trained on as many.
pub const CONTEXT_DEFAULT: u32 = 8_192;
const CONTEXT_MAX: u32 = 1 << 20;
/// Memory for saved conversations where nobody says otherwise; the oldest are dropped beyond it.
const CACHE_MIB_DEFAULT: usize = 2_048;
const CACHE_MIB_MAX: usize = 1 << 20;

/// How the vectors of tokens become the vector of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    Mean,
    Cls,
    Last,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Args {
    pub model: PathBuf,
    pub socket: PathBuf,
    pub context: Option<u32>,
    pub threads: Option<usize>,
    pub pooling: Option<Pooling>,
    pub cache_mib: usize,
}

/// Reads the options; none: the person asked for help. `threads_variable` is what the environment
/// says about threads, where no option does.
pub fn parse(
    given: impl Iterator<Item = OsString>,
    threads_variable: Option<OsString>,
) -> Result<Option<Args>, String> {
    let (mut model, mut socket, mut context, mut threads) = (None, None, None, None);
    let (mut pooling, mut cache_mib) = (None, CACHE_MIB_DEFAULT);
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
            "--context" => {
                context = Some(parse_number(&option, &value()?, 1, CONTEXT_MAX as usize)? as u32);
            }
            "--threads" => {
                threads = Some(parse_threads(&option, &value()?)?);
            }
            "--pooling" => pooling = Some(parse_pooling(&value()?)?),
            "--cache-mib" => cache_mib = parse_number(&option, &value()?, 0, CACHE_MIB_MAX)?,
            _ => return Err(format!("{option}: no such option")),
        }
    }
    // An empty variable is none.
    let variable = threads_variable.filter(|text| threads.is_none() && !text.is_empty());
    if let Some(text) = variable {
        threads = Some(parse_threads(THREADS_VARIABLE, &text)?);
    }
    let model = model.ok_or("--model is missing")?;
    let socket = socket.ok_or("--socket is missing")?;
    Ok(Some(Args { model, socket, context, threads, pooling, cache_mib }))
}

fn parse_number(option: &str, text: &OsString, least: usize, most: usize) -> Result<usize, String> {
    let text = text.to_string_lossy();
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or(format!("{option}: must be a whole number from {least} to {most}, not {text}"))
}

/// As llama-server has it: zero and less means all that there are, and more are not taken.
fn parse_threads(option: &str, text: &OsString) -> Result<usize, String> {
    let text = text.to_string_lossy();
    let number: i64 =
        text.trim().parse().map_err(|_| format!("{option}: must be a whole number, not {text}"))?;
    let all = count_logical();
    Ok(usize::try_from(number).ok().filter(|number| *number > 0).map_or(all, |it| it.min(all)))
}

fn parse_pooling(text: &OsString) -> Result<Pooling, String> {
    match text.to_string_lossy().as_ref() {
        "mean" => Ok(Pooling::Mean),
        "cls" => Ok(Pooling::Cls),
        "last" => Ok(Pooling::Last),
        other => Err(format!("--pooling: must be mean, cls or last, not {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Args>, String> {
        parse(line.split_whitespace().map(OsString::from), None)
    }

    #[test]
    fn a_wrong_line_names_the_option() {
        let wrong = |line: &str| parsed(line).expect_err(line);
        assert_eq!(wrong("--socket s"), "--model is missing");
        assert_eq!(wrong("--model m"), "--socket is missing");
        assert_eq!(wrong("--model"), "--model: a value is missing");
        assert_eq!(wrong("--modle m"), "--modle: no such option");
        assert_eq!(wrong("--pooling sum"), "--pooling: must be mean, cls or last, not sum");
        let least = wrong("--context 0");
        assert_eq!(least, "--context: must be a whole number from 1 to 1048576, not 0");
        assert_eq!(wrong("--threads many"), "--threads: must be a whole number, not many");
    }

    #[test]
    fn an_option_goes_before_the_environment() {
        let read = |line: &str, variable: &str| {
            let line = line.split_whitespace().map(OsString::from);
            parse(line, Some(variable.into()))
        };
        let threads = |line| read(line, "1").unwrap().unwrap().threads;
        assert_eq!(threads("--model m --socket s"), Some(1));
        let wrong = read("--model m --socket s", "many").unwrap_err();
        assert!(wrong.starts_with("LLAMA_ARG_THREADS: must be a whole number"), "{wrong}");
        assert!(read("--model m --socket s --threads 1", "many").is_ok());
    }

    #[test]
    fn threads_are_clamped_to_what_there_is() {
        let all = count_logical();
        for (given, threads) in [("-1", all), ("0", all), ("1", 1), ("100000", all), (" 1 ", 1)] {
            assert_eq!(parse_threads("x", &given.into()), Ok(threads), "{given}");
        }
        let line = || "--model m --socket s".split(' ').map(OsString::from);
        let threads =
            |variable: &str| parse(line(), Some(variable.into())).unwrap().unwrap().threads;
        assert_eq!((threads(""), threads("-1")), (None, Some(all)));
    }

    #[test]
    fn a_right_line_is_read() {
        assert_eq!(parsed("--model m --help"), Ok(None));
        let args = parsed("--threads 1 --socket s --context 64 --model m --pooling last");
        let expected = Args {
            model: "m".into(),
            socket: "s".into(),
            context: Some(64),
            threads: Some(1),
            pooling: Some(Pooling::Last),
            cache_mib: CACHE_MIB_DEFAULT,
        };
        assert_eq!(args, Ok(Some(expected)));
    }
}
