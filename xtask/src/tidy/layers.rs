//! Who depends on whom, read from the manifests as they are written.

use super::{File, Finding, LAYERS, RESTRICTED};

/// What our crates are called in manifests: `althing-` and the name of the folder.
const PREFIX: &str = "althing-";

/// One line of a manifest that names a dependency.
struct Dependency<'a> {
    line: usize,
    name: &'a str,
    is_dev: bool,
}

/// No crate knows one it may not know.
pub(super) fn edges(file: &File) -> Vec<Finding> {
    let Some(owner) = owner(&file.path) else { return Vec::new() };
    let refused = |it: &Dependency| complaint(owner, it).map(|what| file.finding(it.line, what));
    dependencies(file).iter().filter_map(refused).collect()
}

/// No dependency goes by another name: it would hide from the tables.
pub(super) fn renamed(file: &File) -> Vec<Finding> {
    let is_manifest = file.path == "Cargo.toml" || owner(&file.path).is_some();
    let found = file.lines().filter(|(_, line)| is_manifest && line.contains("package = \""));
    found.map(|(line, _)| file.finding(line, "a renamed dependency: use its own name")).collect()
}

/// Every crate has a row in the table, and every row a crate.
pub(super) fn rows(files: &[File]) -> Vec<Finding> {
    let manifests: Vec<_> =
        files.iter().filter_map(|file| Some((owner(&file.path)?, file))).collect();
    let table = File { path: "xtask/src/tidy.rs".into(), text: String::new() };
    let missing = manifests
        .iter()
        .filter(|(owner, _)| row(owner).is_none())
        .map(|(owner, file)| file.finding(1, format!("`{owner}` has no row in LAYERS: add one")));
    let stale = LAYERS
        .iter()
        .filter(|(name, _)| !manifests.iter().any(|(owner, _)| owner == name))
        .map(|(name, _)| table.finding(1, format!("LAYERS has `{name}`, which is gone")));
    missing.chain(stale).collect()
}

/// Every foreign dependency of the workspace says why it is here, beside it or on the line above.
pub(super) fn reasons(file: &File) -> Vec<Finding> {
    if file.path != "Cargo.toml" {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let explained = |line: usize| lines[line - 1].contains(" # ") || above(&lines, line);
    let is_ours = |it: &&Dependency| it.name.starts_with(PREFIX);
    let silent = dependencies(file);
    let silent = silent.iter().filter(|it| !is_ours(it) && !explained(it.line));
    silent.map(|it| file.finding(it.line, format!("say why `{}` is here", it.name))).collect()
}

fn above(lines: &[&str], line: usize) -> bool {
    line.checked_sub(2).is_some_and(|index| lines[index].starts_with('#'))
}

/// The crate whose manifest this is; `None` for all other files and the workspace's own.
fn owner(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    Some(folder.strip_prefix("crates/").unwrap_or(folder))
}

fn row(owner: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(name, _)| *name == owner).map(|(_, may)| *may)
}

fn complaint(owner: &str, dependency: &Dependency) -> Option<String> {
    let name = dependency.name;
    if let Some(ours) = name.strip_prefix(PREFIX) {
        let may = row(owner)?;
        let fine = may.contains(&ours) || (ours == "testkit" && dependency.is_dev);
        let may = may.join(", ");
        return (!fine).then(|| format!("`{owner}` may not know `{ours}`, only: {may}"));
    }
    let (_, may) = RESTRICTED.iter().find(|(pattern, _)| matches(pattern, name))?;
    let fine = may.iter().any(|who| match who.strip_suffix(":dev") {
        Some(who) => dependency.is_dev && matches(who, owner),
        None => *who == owner,
    });
    let may = may.join(", ");
    (!fine).then(|| format!("`{owner}` may not know `{name}`, which is only for: {may}"))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Every form Cargo knows: `name = …`, `name.workspace = true`, `[dependencies.name]`, and all of
/// these below a `[target.….]`.
fn dependencies(file: &File) -> Vec<Dependency<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for (line, text) in file.lines() {
        let text = text.trim();
        if let Some(header) = text.strip_prefix('[').filter(|_| text.ends_with(']')) {
            section = header.trim_end_matches(']');
            if let Some((table, name)) = section.rsplit_once('.').filter(|it| is_table(it.0)) {
                found.push(Dependency { line, name, is_dev: is_dev(table) });
                section = "";
            }
        } else if is_table(section)
            && let Some((name, _)) = text.split_once('=')
            && !text.starts_with('#')
        {
            let name = name.split('.').next().unwrap_or(name).trim();
            found.push(Dependency { line, name, is_dev: is_dev(section) });
        }
    }
    found
}

fn is_table(section: &str) -> bool {
    section.ends_with("dependencies")
}

fn is_dev(section: &str) -> bool {
    section.ends_with("dev-dependencies")
}
