//! What a person may call a model that is to be downloaded. Pure.

use althing_stdx::text::one_line;
use althing_stdx::{Fault, Result};

/// Characters of a whole name or address.
const NAME_CHARS_MAX: usize = 2_048;
/// Characters of an owner, a repository, a model or a tag.
const PART_CHARS_MAX: usize = 96;
/// Characters of a wrong name that are repeated.
const SHOWN_CHARS_MAX: usize = 80;
/// Where the hub's pages are, whatever server is asked.
const HUB_HOSTS: [&str; 3] = ["huggingface.co", "www.huggingface.co", "hf.co"];
const REGISTRY_HOSTS: [&str; 3] = ["ollama.com", "www.ollama.com", "registry.ollama.ai"];

/// Where Ollama's own models are in its registry; nobody writes it.
const LIBRARY: &str = "library/";

/// The revision that is meant where none is named.
pub(super) const MAIN: &str = "main";

/// A model somewhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    HuggingFace(HubName),
    Ollama(RegistryName),
    Url(String),
}

/// A repository of Hugging Face, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    pub owner: String,
    pub repo: String,
    pub revision: String,
    pub wanted: WantedFile,
}

/// Which file of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedFile {
    /// Whichever suits the machine.
    Any,
    /// The file of this quantisation, such as `Q4_K_M`.
    Quantisation(String),
    /// The file at this path.
    Path(String),
}

/// A model of Ollama's registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryName {
    pub namespace: String,
    pub name: String,
    pub tag: String,
}

impl HubName {
    /// Returns `owner/repo`.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.repo)
    }
}

impl RegistryName {
    /// Returns the name as people write it: `llama3.2`, `qwen3:4b`.
    pub fn display_name(&self) -> String {
        let tag = if self.tag == "latest" { String::new() } else { format!(":{}", self.tag) };
        match self.namespace.as_str() {
            "library" => format!("{}{tag}", self.name),
            namespace => format!("ollama.com/{namespace}/{}{tag}", self.name),
        }
    }
}

/// Reads a name: `owner/repo[:QUANTISATION]`, `owner/repo/file.gguf`, `name[:tag]`, or an address.
pub fn parse_name(text: &str) -> Result<ModelName> {
    let text = text.trim();
    let is_clean = !text.chars().any(|c| c.is_control() || c.is_whitespace());
    if text.is_empty() || text.chars().count() > NAME_CHARS_MAX || !is_clean {
        return Err(wrong(text));
    }
    let lower = text.to_ascii_lowercase();
    if let Some((_, rest)) = text.split_once("://") {
        return match lower.split_once("://") {
            Some(("https" | "http", _)) => parse_address(text, rest),
            _ => Err(wrong(text)),
        };
    }
    if let Some((host, path)) = text.split_once('/') {
        let host = host.to_ascii_lowercase();
        if HUB_HOSTS.contains(&host.as_str()) {
            return parse_hub(path).ok_or_else(|| wrong(text));
        }
        if REGISTRY_HOSTS.contains(&host.as_str()) {
            return parse_registry(path).ok_or_else(|| wrong(text));
        }
        return parse_hub(text).filter(|_| !text.starts_with(LIBRARY)).ok_or_else(|| wrong(text));
    }
    parse_registry(text).filter(|_| !is_gguf(text)).ok_or_else(|| wrong(text))
}

/// Pages of the hub and of the registry stand for what they show; other addresses for themselves.
fn parse_address(text: &str, rest: &str) -> Result<ModelName> {
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let host = host.to_ascii_lowercase();
    if HUB_HOSTS.contains(&host.as_str()) {
        return decode(path).and_then(|path| parse_hub(&path)).ok_or_else(|| wrong(text));
    }
    if REGISTRY_HOSTS.contains(&host.as_str()) {
        return parse_registry(path).ok_or_else(|| wrong(text));
    }
    if host.is_empty() || path.is_empty() {
        return Err(wrong(text));
    }
    Ok(ModelName::Url(text.into()))
}

fn parse_hub(path: &str) -> Option<ModelName> {
    let parts: Vec<&str> = path.split('/').collect();
    let (owner, repo, rest) = match parts.as_slice() {
        [owner, repo, rest @ ..] => (*owner, *repo, rest),
        _ => return None,
    };
    let (repo, quantisation) = match repo.split_once(':') {
        Some((repo, label)) => (repo, Some(label)),
        None => (repo, None),
    };
    let is_file = |rest: &[&str]| {
        let safe = rest.iter().all(|part| !part.is_empty() && !part.starts_with('.'));
        safe && rest.last().is_some_and(|name| is_gguf(name))
    };
    let (revision, wanted) = match (quantisation, rest) {
        (Some(label), []) if label.eq_ignore_ascii_case("latest") => (MAIN, WantedFile::Any),
        (Some(label), []) if is_part(label) && !is_gguf(label) => {
            (MAIN, WantedFile::Quantisation(label.into()))
        }
        (Some(_), _) => return None,
        (None, []) => (MAIN, WantedFile::Any),
        (None, ["tree", revision]) => (*revision, WantedFile::Any),
        (None, ["blob" | "resolve", revision, file @ ..]) if is_file(file) => {
            (*revision, WantedFile::Path(file.join("/")))
        }
        (None, file) if is_file(file) => (MAIN, WantedFile::Path(file.join("/"))),
        _ => return None,
    };
    if ![owner, repo, revision].iter().all(|part| is_part(part)) {
        return None;
    }
    let (owner, repo, revision) = (owner.into(), repo.into(), revision.into());
    Some(ModelName::HuggingFace(HubName { owner, repo, revision, wanted }))
}

fn parse_registry(path: &str) -> Option<ModelName> {
    let (namespace, model) = path.split_once('/').unwrap_or(("library", path));
    let (name, tag) = model.split_once(':').unwrap_or((model, "latest"));
    if ![namespace, name, tag].iter().all(|part| is_part(part)) {
        return None;
    }
    let (namespace, name, tag) = (namespace.into(), name.into(), tag.into());
    Some(ModelName::Ollama(RegistryName { namespace, name, tag }))
}

/// Tells whether a file's name ends as those of models do.
pub(super) fn is_gguf(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".gguf")
}

/// Tells whether a text can be a part of a name, of an address and of a path at once.
pub(super) fn is_part(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_long = text.is_empty() || text.len() > PART_CHARS_MAX;
    !is_long && text.chars().all(fits) && !text.starts_with(['.', '-']) && !text.contains("..")
}

/// Resolves `%20` and the like; none where the result is not text.
pub(super) fn decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let hex = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Writes a path of a repository as a part of an address.
pub(super) fn encode_path(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte as char)
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Guesses what was meant by what is no name.
fn hint(text: &str) -> Option<String> {
    let shown = |text: &str| one_line(text, SHOWN_CHARS_MAX);
    if text.starts_with(['/', '.', '~']) || (is_gguf(text) && !text.contains('/')) {
        let text = "a file of this machine is added with `althing providers add-local FILE`";
        return Some(text.into());
    }
    if let Some(name) = text.strip_prefix(LIBRARY) {
        return Some(format!("Ollama's own models are named alone: {}", shown(name)));
    }
    let (repo, file) = text.rsplit_once(':').filter(|(_, file)| is_gguf(file))?;
    Some(format!("a file is named behind a slash: {}", shown(&format!("{repo}/{file}"))))
}

fn wrong(text: &str) -> Fault {
    let shown = one_line(text, SHOWN_CHARS_MAX);
    if let Some(hint) = hint(text) {
        return Fault::invalid(format!("'{shown}' is not the name of a model: {hint}"));
    }
    Fault::invalid(format!(
        "'{shown}' is not the name of a model: want owner/repo or owner/repo:Q4_K_M (Hugging Face), \
         llama3.2 or qwen3:4b (Ollama), or the https:// address of a .gguf file"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let shown = match parse_name(text) {
            Ok(ModelName::HuggingFace(it)) => {
                format!("hub {} {} {:?}", it.repository(), it.revision, it.wanted)
            }
            Ok(ModelName::Ollama(it)) => {
                format!("registry {} {} {}", it.namespace, it.name, it.tag)
            }
            Ok(ModelName::Url(url)) => format!("url {url}"),
            Err(_) => "wrong".into(),
        };
        assert_eq!(shown, want, "{text}");
    }

    #[test]
    fn names_of_hugging_face() {
        check("ada/tiny-GGUF", "hub ada/tiny-GGUF main Any");
        check("ada/tiny:q4_k_m", "hub ada/tiny main Quantisation(\"q4_k_m\")");
        check("ada/tiny:latest", "hub ada/tiny main Any");
        check("hf.co/ada/tiny:Q8_0", "hub ada/tiny main Quantisation(\"Q8_0\")");
        check("ada/tiny/x/a.gguf", "hub ada/tiny main Path(\"x/a.gguf\")");
        check("https://huggingface.co/ada/tiny/", "hub ada/tiny main Any");
        check("https://huggingface.co/ada/tiny/tree/v2", "hub ada/tiny v2 Any");
        let file = "https://huggingface.co/ada/tiny/blob/main/a%20b.gguf?download=true";
        check(file, "hub ada/tiny main Path(\"a b.gguf\")");
    }

    #[test]
    fn names_of_ollama_and_addresses() {
        check("llama3.2", "registry library llama3.2 latest");
        check("qwen3:4b", "registry library qwen3 4b");
        check("ollama.com/ada/tiny:1b", "registry ada tiny 1b");
        check("https://ollama.com/library/qwen3:4b", "registry library qwen3 4b");
        check("https://models.test/a.gguf?x=1", "url https://models.test/a.gguf?x=1");
    }

    #[test]
    fn what_could_leave_the_folder_is_no_name() {
        for text in [
            "",
            "../x",
            "ada/..",
            "ada/../x",
            "/etc/passwd",
            "ada/tiny/../a.gguf",
            "a b",
            "ada/tiny/.x/a.gguf",
            "https://huggingface.co/ada/tiny/resolve/main/%2e%2e/a.gguf",
            "ada/tiny/README.md",
            "ftp://a/b.gguf",
            "https://models.test",
            "x:y:z",
            "-rf",
            "a\u{1b}",
            "ada/tiny:Q4/x",
            "./model.gguf",
        ] {
            check(text, "wrong");
        }
    }

    #[test]
    fn what_is_nearly_a_name_gets_a_hint() {
        #[track_caller]
        fn check(text: &str, want: &str) {
            let message = parse_name(text).unwrap_err().message;
            assert!(message.contains(want), "{message}");
        }
        check("hf.co/ada/tiny:a.gguf", "behind a slash: hf.co/ada/tiny/a.gguf");
        check("library/qwen3:4b", "named alone: qwen3:4b");
        check("./a.gguf", "`althing providers add-local FILE`");
        check("~/a.gguf", "`althing providers add-local FILE`");
        check("/models/a", "`althing providers add-local FILE`");
        check("a.gguf", "`althing providers add-local FILE`");
    }

    #[test]
    fn paths_are_written_as_addresses_have_them() {
        assert_eq!(encode_path("x/a b+ü.gguf"), "x/a%20b%2B%C3%BC.gguf");
        assert_eq!(decode("a%20b%C3%BC").as_deref(), Some("a bü"));
        assert_eq!((decode("%2"), decode("%ff")), (None, None));
    }
}
