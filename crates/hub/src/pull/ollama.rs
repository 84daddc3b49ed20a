//! Ollama's registry: where manifests and blobs are, and what a manifest says. Pure.

use super::choose::RemoteFile;
use super::huggingface::checksum;
use super::name::RegistryName;
use althing_stdx::{Fault, Kind, Result};
use serde::Deserialize;

/// Where the registry is, unless `OLLAMA_REGISTRY` says otherwise.
pub(super) const REGISTRY: &str = "https://registry.ollama.ai";
/// Bytes of a manifest; a longer one is refused.
pub(super) const MANIFEST_BYTES_MAX: usize = 1024 * 1024;
/// What the registry is told to answer with.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const MODEL_LAYER: &str = "application/vnd.ollama.image.model";
const ADAPTER_LAYER: &str = "application/vnd.ollama.image.adapter";
const PROJECTOR_LAYER: &str = "application/vnd.ollama.image.projector";

/// What a manifest names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub file: RemoteFile,
    /// Whether it sees as well; that part is another file, which is not taken.
    pub has_projector: bool,
}

/// Returns where a model's manifest is.
pub(super) fn manifest_url(registry: &str, name: &RegistryName) -> String {
    let RegistryName { namespace, name, tag } = name;
    format!("{registry}/v2/{namespace}/{name}/manifests/{tag}")
}

/// Returns where the bytes with a checksum are.
pub(super) fn blob_url(registry: &str, name: &RegistryName, sha256: &str) -> String {
    let RegistryName { namespace, name, .. } = name;
    format!("{registry}/v2/{namespace}/{name}/blobs/sha256:{sha256}")
}

/// Reads a manifest: the model's file, called after its checksum.
pub(super) fn read_manifest(body: &[u8], who: &str) -> Result<Named> {
    let odd = |why: &str| Fault::new(Kind::Upstream, format!("the manifest of {who} {why}"));
    let manifest: Manifest =
        serde_json::from_slice(body).map_err(|error| odd(&format!("cannot be read: {error}")))?;
    let is_of = |layer: &Layer, kind: &str| {
        layer.media_type.split(';').next().unwrap_or_default().trim() == kind
    };
    let has = |kind: &str| manifest.layers.iter().any(|layer| is_of(layer, kind));
    if has(ADAPTER_LAYER) {
        let why = "names an adapter (LoRA) that changes its model, and only Ollama puts the two \
                   together; choose a model without one, or run it in Ollama";
        return Err(odd(why));
    }
    let mut layers = manifest.layers.iter().filter(|layer| is_of(layer, MODEL_LAYER));
    let layer = match (layers.next(), layers.next()) {
        (Some(layer), None) => layer,
        (None, _) => {
            let why = "names no GGUF file: it may be a cloud model or in another format; choose \
                       another tag";
            return Err(odd(why));
        }
        (Some(_), Some(_)) => return Err(odd("names several files; choose another tag")),
    };
    let sha256 = checksum(&layer.digest).ok_or_else(|| odd("has a checksum of an unknown kind"))?;
    let file = RemoteFile { path: sha256.clone(), bytes: layer.size, sha256: Some(sha256) };
    Ok(Named { file, has_projector: has(PROJECTOR_LAYER) })
}

/// Says what to do about a refusal.
pub(super) fn refusal(name: &RegistryName, status: u16) -> Fault {
    let shown = name.display_name();
    let RegistryName { namespace, name, .. } = name;
    let page = format!("https://ollama.com/{namespace}/{name}/tags");
    let (kind, text) = match status {
        404 => (Kind::NotFound, format!("Ollama's registry has no {shown}: see {page}")),
        401 | 403 => (
            Kind::BadKey,
            format!("Ollama's registry does not give {shown} to everybody; see {page}"),
        ),
        status => {
            let kind = Kind::of_status(status).unwrap_or(Kind::Upstream);
            (kind, format!("Ollama's registry answered {status} for {shown}; try again later"))
        }
    };
    Fault::new(kind, text).status(status)
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
    #[serde(default)]
    size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(tag: &str) -> RegistryName {
        RegistryName { namespace: "library".into(), name: "tiny".into(), tag: tag.into() }
    }

    #[test]
    fn addresses_hold_what_they_must() {
        assert_eq!(
            manifest_url("https://r.test", &name("1b")),
            "https://r.test/v2/library/tiny/manifests/1b"
        );
        assert_eq!(
            blob_url("https://r.test", &name("1b"), "ab"),
            "https://r.test/v2/library/tiny/blobs/sha256:ab"
        );
        assert_eq!(name("latest").display_name(), "tiny");
        assert_eq!(name("1b").display_name(), "tiny:1b");
    }

    #[test]
    fn the_models_layer_is_found() {
        let layer = |kind: &str, digest: &str| {
            format!(
                r#"{{"mediaType": "application/vnd.ollama.image.{kind}", "digest": "{digest}", "size": 9}}"#
            )
        };
        let sum = format!("sha256:{}", "ab".repeat(32));
        let manifest = |layers: &[String]| format!(r#"{{"layers": [{}]}}"#, layers.join(","));
        let good = manifest(&[layer("template", &sum), layer("model", &sum)]);
        let Named { file, has_projector } = read_manifest(good.as_bytes(), "tiny").unwrap();
        assert!(!has_projector);
        let seeing = manifest(&[layer("model", &sum), layer("projector", &sum)]);
        assert!(read_manifest(seeing.as_bytes(), "tiny").unwrap().has_projector);
        assert_eq!((file.bytes, file.sha256.as_deref()), (9, Some("ab".repeat(32).as_str())));
        #[track_caller]
        fn check(body: &str, want: &str) {
            let fault = read_manifest(body.as_bytes(), "tiny").unwrap_err();
            assert!(fault.message.contains(want), "{}", fault.message);
        }
        check("<html>", "manifest of tiny cannot be read");
        check("{}", "names no GGUF file");
        let adapted = manifest(&[layer("model", &sum), layer("adapter", &sum)]);
        check(&adapted, "names an adapter (LoRA)");
        check(&manifest(&[layer("tensor", &sum)]), "names no GGUF file");
        check(&manifest(&[layer("model", &sum), layer("model", &sum)]), "several files");
        check(&manifest(&[layer("model", "md5:../../x")]), "of an unknown kind");
    }
}
