//! What a file may be and say.

use super::{File, Finding, RUST_LINES_GOOD, RUST_LINES_MAX};
use crate::TASKS;

/// Where people's own files begin, and the names that stand for anybody.
const HOMES: &[&str] = &["/home/", "/Users/"];
const ANYBODY: &[&str] = &["user", "you"];
/// Folders that exist on one machine only.
const ONE_MACHINE: &[&str] = &["/root/"];

/// The one place that Cargo.lock may say a crate comes from: its own default.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// No Rust file grows beyond what one can keep in mind.
pub(super) fn length(file: &File) -> Vec<Finding> {
    let lines = file.lines().count();
    if !file.path.ends_with(".rs") || lines <= RUST_LINES_GOOD {
        return Vec::new();
    }
    let what = format!("{lines} lines, and {RUST_LINES_GOOD} are many: split it by its jobs");
    vec![Finding { only_told: lines <= RUST_LINES_MAX, ..file.finding(lines, what) }]
}

/// `foo.rs` and `foo/`: a file has the name of its module.
pub(super) fn mod_rs(file: &File) -> Vec<Finding> {
    let Some(folder) = file.path.strip_suffix("/mod.rs") else { return Vec::new() };
    vec![file.finding(1, format!("rename it to {folder}.rs"))]
}

/// Nothing works only where it was written. Tests may make up homes.
pub(super) fn machine_paths(file: &File) -> Vec<Finding> {
    if file.path.starts_with("xtask/src/tidy") {
        return Vec::new();
    }
    let is_home =
        |line| HOMES.iter().any(|home| starts(line, home).any(|it| !ANYBODY.contains(&name(it))));
    let is_here = |line| ONE_MACHINE.iter().any(|folder| starts(line, folder).next().is_some());
    let found =
        file.lines().filter(|(_, line)| is_here(line) || (!file.is_test() && is_home(line)));
    found.map(|(line, _)| file.finding(line, "a path of one machine: make it relative")).collect()
}

/// What follows `path` wherever it begins one, and is not the middle of another.
fn starts<'a>(line: &'a str, path: &str) -> impl Iterator<Item = &'a str> {
    let in_path = |c: char| c.is_alphanumeric() || "~._-/}*".contains(c);
    let begins = line.match_indices(path).filter(move |(at, _)| !line[..*at].ends_with(in_path));
    begins.map(|(at, found)| &line[at + found.len()..])
}

fn name(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or(text)
}

/// Where packages come from is a matter of the machine, not of the project.
pub(super) fn registries(file: &File) -> Vec<Finding> {
    let wrong: fn(&str) -> bool = match file.path.rsplit('/').next().unwrap_or(&file.path) {
        "Cargo.lock" => |line| line.starts_with("source = ") && !line.contains(CRATES_IO),
        "config.toml" if file.path.contains(".cargo/") => {
            |line| ["[source", "[registr", "registry"].iter().any(|key| line.starts_with(key))
        }
        "package-lock.json" | "yarn.lock" | "pnpm-lock.yaml" => has_address,
        ".npmrc" | "pip.conf" | "pyproject.toml" | "uv.lock" | "poetry.lock" => has_address,
        name if name.starts_with("requirements") => {
            |line| line.starts_with("--") || (!line.starts_with('#') && has_address(line))
        }
        _ => return Vec::new(),
    };
    let found = file.lines().filter(|(_, line)| wrong(line.trim()));
    found.map(|(line, _)| file.finding(line, "names a registry: leave the address out")).collect()
}

fn has_address(line: &str) -> bool {
    line.contains("\"resolved\"") || line.contains("://")
}

/// A command that a text tells people to type exists.
pub(super) fn commands(file: &File) -> Vec<Finding> {
    if !file.path.ends_with(".md") && !file.path.starts_with(".ci/") {
        return Vec::new();
    }
    let unknown = |text: &&str| {
        let command = name(text);
        !command.is_empty() && command != "help" && !TASKS.iter().any(|it| it.name == command)
    };
    let found = file.lines().flat_map(|(line, text)| {
        let typed = text.match_indices("cargo xtask ").map(|(at, it)| &text[at + it.len()..]);
        typed.filter(unknown).map(move |it| (line, name(it)))
    });
    found.map(|(line, it)| file.finding(line, format!("there is no `cargo xtask {it}`"))).collect()
}
