//! The program of a worker, and the little of our environment that it gets.

use crate::config::WorkerConfig;
use multifrost::Program;
use std::collections::BTreeMap;
use std::path::Path;

/// What every worker gets of our environment, besides what begins with `LC_`. Keys are not in it.
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NODE_PATH",
];

/// The part of an environment that workers get.
pub(super) fn environment(all: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let is_kept = |name: &str| ENVIRONMENT.contains(&name) || name.starts_with("LC_");
    let kept = all.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The program that `words` start in `folder`.
pub(super) fn program(
    words: &[String],
    folder: &Path,
    env: &[(String, String)],
    config: &WorkerConfig,
) -> Program {
    let (executable, arguments) = words.split_first().map_or(("", words), |(a, b)| (a, b));
    let mut program = Program::new(executable).folder(folder).bare();
    for argument in arguments {
        program = program.argument(argument);
    }
    program = program.worker_flag();
    let own = config.env.iter().map(|(name, value)| (name.as_str(), value.expose()));
    let all = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(own);
    all.fold(program, |program, (name, value)| program.variable(name, value))
}

#[cfg(test)]
#[test]
fn a_worker_gets_no_keys() {
    let all = ["PATH", "OPENAI_API_KEY", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "HOME", "LC"];
    let all = all.map(|name| (name.to_string(), "x".to_string())).into();
    let names: Vec<String> = environment(&all).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["HOME", "LC_ALL", "PATH"]);
}

#[cfg(test)]
#[test]
fn python_is_told_once_that_it_is_a_worker() {
    let config = WorkerConfig::of_service("calc");
    for (words, flags) in [
        (&["python3", "calc.py", "--fast"][..], 1),
        (&["/opt/venv/bin/python", "calc.py", "--worker"], 1),
        (&["node", "calc.mjs"], 0),
        (&["./calc"], 0),
    ] {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let program = program(&words, Path::new("/"), &[], &config);
        assert_eq!(format!("{program:?}").matches("--worker").count(), flags, "{words:?}");
    }
}
