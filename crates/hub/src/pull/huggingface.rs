//! Hugging Face's hub: where its files are listed and lie, and what it says. Pure.

use super::choose::{RemoteFile, quantisation};
use super::name::{HubName, MAIN, WantedFile, encode_path};
use althing_stdx::{Fault, Kind, Result};
use serde::Deserialize;

/// Where the hub is, unless `HF_ENDPOINT` says otherwise.
pub(super) const HUB: &str = "https://huggingface.co";
/// Bytes of a list of files; a longer one is refused.
pub(super) const LIST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a repository has, at one commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing {
    /// The commit, so that all files are of one moment.
    pub commit: String,
    pub files: Vec<RemoteFile>,
}

/// Returns where the files of a repository are listed, with sizes and checksums.
pub(super) fn list_url(hub: &str, name: &HubName) -> String {
    format!("{hub}/api/models/{}/revision/{}?blobs=true", name.repository(), name.revision)
}

/// Returns where a file of a repository is.
pub(super) fn file_url(hub: &str, name: &HubName, commit: &str, path: &str) -> String {
    format!("{hub}/{}/resolve/{commit}/{}", name.repository(), encode_path(path))
}

/// Writes which file of a repository is meant, as `althing pull` takes it.
pub(super) fn display_file(name: &HubName, path: &str) -> String {
    let (repository, path) = (name.repository(), encode_path(path));
    match name.revision.as_str() {
        MAIN if !path.contains('%') => format!("{repository}/{path}"),
        revision => format!("https://huggingface.co/{repository}/blob/{revision}/{path}"),
    }
}

/// Reads a list of files.
pub(super) fn read_listing(body: &[u8], name: &HubName) -> Result<Listing> {
    let odd = |why: String| {
        let text = format!("Hugging Face's list of {} cannot be read: {why}", name.repository());
        Fault::new(Kind::Upstream, text)
    };
    let model: Model = serde_json::from_slice(body).map_err(|error| odd(error.to_string()))?;
    let is_commit = |sha: &String| sha.len() <= 64 && sha.bytes().all(|b| b.is_ascii_hexdigit());
    let commit = model.sha.filter(|sha| !sha.is_empty() && is_commit(sha));
    let file = |it: Sibling| {
        let lfs = it.lfs.unwrap_or_default();
        let sha256 = lfs.sha256.or(lfs.oid).as_deref().and_then(checksum);
        let bytes = lfs.size.or(it.size)?;
        Some(RemoteFile { path: it.rfilename, bytes, sha256 })
    };
    Ok(Listing {
        commit: commit.unwrap_or_else(|| name.revision.clone()),
        files: model.siblings.into_iter().filter_map(file).collect(),
    })
}

/// Reads a checksum as headers, manifests and people write it.
pub(super) fn checksum(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("W/").trim_matches('"');
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    let fits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| text.to_ascii_lowercase())
}

/// Says what to do about a refusal. The hub answers 401 for what does not exist, too.
pub(super) fn refusal(name: &HubName, status: u16, code: &str, token: Option<&str>) -> Fault {
    let repository = name.repository();
    let page = format!("https://huggingface.co/{repository}");
    let token = match token {
        Some(source) => format!("check that the token ({source}) may read it"),
        None => "set HF_TOKEN to a token of https://huggingface.co/settings/tokens".into(),
    };
    let other = match &name.wanted {
        WantedFile::Quantisation(tag) if quantisation(tag).is_none() => {
            format!(
                "; if it is one of Ollama's registry, its name is ollama.com/{repository}:{tag}"
            )
        }
        _ => String::new(),
    };
    let (kind, text) = match (status, code) {
        (401 | 403, "GatedRepo") => (
            Kind::BadKey,
            format!("{repository} is gated: accept its licence at {page}, then {token}"),
        ),
        (401 | 403, _) => (
            Kind::BadKey,
            format!(
                "{repository} does not exist on Hugging Face, or is private: check the name at \
                 {page}; if it is private, {token}{other}"
            ),
        ),
        (404, _) => (
            Kind::NotFound,
            format!("Hugging Face has no such model or file in {repository}: see {page}"),
        ),
        (status, _) => {
            let kind = Kind::of_status(status).unwrap_or(Kind::Upstream);
            (kind, format!("Hugging Face answered {status} for {repository}; try again later"))
        }
    };
    Fault::new(kind, text).status(status)
}

#[derive(Deserialize)]
struct Model {
    sha: Option<String>,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    lfs: Option<Lfs>,
}

#[derive(Default, Deserialize)]
struct Lfs {
    sha256: Option<String>,
    oid: Option<String>,
    size: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::super::name::{ModelName, parse_name};
    use super::*;

    fn name(text: &str) -> HubName {
        match parse_name(text).unwrap() {
            ModelName::HuggingFace(name) => name,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn addresses_hold_what_they_must() {
        let name = name("ada/tiny-GGUF");
        let list = list_url("https://hub.test", &name);
        assert_eq!(list, "https://hub.test/api/models/ada/tiny-GGUF/revision/main?blobs=true");
        let file = file_url("https://hub.test", &name, "abc", "x y/a.gguf");
        assert_eq!(file, "https://hub.test/ada/tiny-GGUF/resolve/abc/x%20y/a.gguf");
        for (path, revision) in [("a.gguf", "main"), ("x y/a.gguf", "main"), ("a.gguf", "v2")] {
            let wanted = HubName { revision: revision.into(), ..name.clone() };
            let ModelName::HuggingFace(read) = parse_name(&display_file(&wanted, path)).unwrap()
            else {
                panic!("another name")
            };
            assert_eq!(read.wanted, WantedFile::Path(path.into()));
            assert_eq!(read.revision, revision);
        }
    }

    #[test]
    fn a_list_is_read_and_a_page_is_not() {
        let body = br#"{"sha": "abc123", "siblings": [
            {"rfilename": "README.md", "size": 10},
            {"rfilename": "a.gguf", "size": 135, "lfs":
              {"sha256": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "size": 99}},
            {"rfilename": "no-size.gguf"}]}"#;
        let listing = read_listing(body, &name("ada/tiny")).unwrap();
        assert_eq!((listing.commit.as_str(), listing.files.len()), ("abc123", 2));
        assert_eq!(listing.files[1].bytes, 99);
        assert_eq!(listing.files[1].sha256.as_deref(), Some("a".repeat(64).as_str()));
        let bare = read_listing(br#"{"sha": "../x"}"#, &name("ada/tiny")).unwrap();
        assert_eq!((bare.commit.as_str(), bare.files.len()), ("main", 0));
        let fault = read_listing(b"<html>", &name("ada/tiny")).unwrap_err();
        assert_eq!(fault.kind, Kind::Upstream);
    }

    #[test]
    fn refusals_say_what_to_do() {
        #[track_caller]
        fn check(status: u16, code: &str, has_token: bool, kind: Kind, want: &str) {
            let token = has_token.then_some("environment variable HF_TOKEN");
            let fault = refusal(&name("ada/tiny:7b"), status, code, token);
            assert_eq!(fault.kind, kind);
            assert!(fault.message.contains(want), "{}", fault.message);
        }
        check(401, "GatedRepo", false, Kind::BadKey, "accept its licence at https://huggingface");
        check(
            403,
            "GatedRepo",
            true,
            Kind::BadKey,
            "the token (environment variable HF_TOKEN) may read it",
        );
        check(401, "RepoNotFound", false, Kind::BadKey, "does not exist on Hugging Face");
        check(401, "RepoNotFound", false, Kind::BadKey, "its name is ollama.com/ada/tiny:7b");
        check(404, "EntryNotFound", false, Kind::NotFound, "no such model");
        check(503, "", false, Kind::Overloaded, "answered 503");
    }

    #[test]
    fn checksums_are_told_from_other_tags() {
        let sum = "AB".repeat(32);
        assert_eq!(checksum(&format!("\"{sum}\"")), Some("ab".repeat(32)));
        assert_eq!(checksum(&format!("sha256:{sum}")), Some("ab".repeat(32)));
        assert_eq!(checksum("\"abc-12\""), None);
    }
}
