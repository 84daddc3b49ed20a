//! What the paths mean, as the hub and the registry have them. Pure.

use super::{COMMIT, REFUSED_TOKEN, StockFile, TOKEN};
use serde_json::{Value, json};

/// What to answer.
pub(super) enum Routed<'a> {
    Json(Value),
    /// Status, the header `x-error-code`, and words.
    Refused(u16, &'static str, &'static str),
    /// The file is elsewhere: the path on the CDN, and whether the hub tells of the file.
    Elsewhere(String, &'a StockFile, bool),
    /// The bytes of the file at this index.
    Bytes(usize),
}

const NOT_FOUND: Routed = Routed::Refused(404, "EntryNotFound", "Entry not found");

/// Finds what `path` means; `token` is what the request brought.
pub(super) fn route<'a>(files: &'a [StockFile], path: &str, token: &str) -> Routed<'a> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let is_open = |file: &StockFile| !file.gated || token == format!("Bearer {TOKEN}");
    match parts.as_slice() {
        _ if token.ends_with(REFUSED_TOKEN) => Routed::Refused(401, "", "Invalid credentials"),
        ["api", "models", owner, repo, "revision", _] => {
            list(files, &format!("{owner}/{repo}")).unwrap_or(Routed::Refused(
                // The hub does not say whether a repository is private or not there.
                401,
                "RepoNotFound",
                "Repository not found",
            ))
        }
        ["v2", owner, name, "manifests", tag] => {
            let file = find(files, &format!("{owner}/{name}:{tag}"), None);
            file.map_or(Routed::Refused(404, "", "manifest unknown"), manifest)
        }
        ["v2", owner, name, "blobs", digest] => {
            let is_wanted = |file: &&StockFile| {
                file.repo.starts_with(&format!("{owner}/{name}:"))
                    && *digest == format!("sha256:{}", file.sha256)
            };
            files.iter().find(is_wanted).map_or(NOT_FOUND, |file| {
                Routed::Elsewhere(format!("/cdn/{}/{}", file.repo, file.path), file, false)
            })
        }
        ["plain", name] => bytes(files, |file| file.repo.is_empty() && file.path == *name),
        ["cdn", owner, repo, rest @ ..] => {
            let (repo, path) = (format!("{owner}/{repo}"), rest.join("/"));
            bytes(files, |file| file.repo == repo && file.path == path)
        }
        [owner, repo, "resolve", _, rest @ ..] => {
            let repo = format!("{owner}/{repo}");
            match find(files, &repo, Some(&rest.join("/"))) {
                None => NOT_FOUND,
                Some(file) if !is_open(file) => Routed::Refused(
                    if token.is_empty() { 401 } else { 403 },
                    "GatedRepo",
                    "Access to this model is restricted",
                ),
                Some(file) => {
                    let place = format!("/cdn/{}/{}?signature=abc", file.repo, file.path);
                    Routed::Elsewhere(place, file, true)
                }
            }
        }
        _ => NOT_FOUND,
    }
}

fn find<'a>(files: &'a [StockFile], repo: &str, path: Option<&str>) -> Option<&'a StockFile> {
    files.iter().find(|file| file.repo == repo && path.is_none_or(|path| file.path == path))
}

fn bytes<'a>(files: &'a [StockFile], is_wanted: impl Fn(&StockFile) -> bool) -> Routed<'a> {
    files.iter().position(is_wanted).map_or(NOT_FOUND, Routed::Bytes)
}

/// The files of a repository as the hub lists them, among others that are no models.
fn list<'a>(files: &'a [StockFile], repo: &str) -> Option<Routed<'a>> {
    let own = || files.iter().filter(|file| file.repo == repo);
    own().next()?;
    let sibling = |file: &StockFile| {
        let lfs = json!({ "sha256": file.sha256, "size": file.size, "pointerSize": 135 });
        json!({ "rfilename": file.path, "size": file.size, "blobId": "b1", "lfs": lfs })
    };
    let mut siblings = vec![
        json!({ "rfilename": ".gitattributes", "size": 1519, "blobId": "a1" }),
        json!({ "rfilename": "README.md", "size": 4200, "blobId": "a2" }),
    ];
    siblings.extend(own().map(sibling));
    let gated: Value = if own().any(|file| file.gated) { "manual".into() } else { false.into() };
    Some(Routed::Json(json!({
        "id": repo, "modelId": repo, "sha": COMMIT, "private": false, "gated": gated,
        "siblings": siblings,
    })))
}

fn manifest(file: &StockFile) -> Routed<'_> {
    Routed::Json(ollama_manifest(&file.sha256, file.size))
}

/// A manifest as Ollama's registry sends it and as Ollama keeps it.
pub fn ollama_manifest(sha256: &str, size: u64) -> Value {
    let layer = |kind: &str, digest: &str, size: u64| {
        json!({ "mediaType": format!("application/vnd.ollama.image.{kind}"),
                "digest": format!("sha256:{digest}"), "size": size })
    };
    let other = "e".repeat(64);
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": { "mediaType": "application/vnd.docker.container.image.v1+json",
                    "digest": format!("sha256:{other}"), "size": 485 },
        "layers": [
            layer("model", sha256, size),
            layer("template", &other, 1429),
            layer("license", &other, 7711),
        ],
    })
}
