//! Model files that other programs on this machine hold already: Ollama, LM Studio and the cache of
//! Hugging Face's tools. They are read where they lie and never changed.

pub(super) mod walk;

use super::choose::quantisation;
use super::machine::hub_home;
use super::memory::{memory_need, memory_with_cache};
use super::name::{MAIN, ModelName, RegistryName, WantedFile, is_gguf, is_part};
use super::{choose, ollama};
use crate::config::World;
use crate::local::ModelFile;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use walk::{entries, files_below};

/// Files that are looked at of each program; the rest stays unseen.
const HELD_MAX: usize = 500;
/// Bytes of a manifest; a longer file is none.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;
/// Where Ollama keeps manifests: the folder of all versions so far, and that of newer ones.
const MANIFESTS: [&str; 2] = ["manifests", "manifest-v2"];
/// Where Ollama keeps models as a service of the system.
const SYSTEM_OLLAMA: &str = "/usr/share/ollama/.ollama/models";

/// Who holds a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    Ollama,
    LmStudio,
    HuggingFace,
}

impl Holder {
    pub fn title(self) -> &'static str {
        match self {
            Holder::Ollama => "Ollama",
            Holder::LmStudio => "LM Studio",
            Holder::HuggingFace => "the Hugging Face cache",
        }
    }
}

/// A model that is on this machine already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldModel {
    pub holder: Holder,
    /// As `althing pull` takes it; none where only its path tells it.
    pub name: Option<String>,
    /// Its file, or the first of its parts.
    pub path: PathBuf,
    /// Of all parts together.
    pub bytes: u64,
    /// The checksum its holder knows it by.
    pub sha256: Option<String>,
    key: Key,
}

/// What a held model answers to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Registry(RegistryName),
    Hub { repository: String, path: String, label: Option<String> },
    None,
}

impl HeldModel {
    /// Returns the memory it takes; none where its file is broken, so that it is not offered.
    pub fn memory(&self) -> Option<u64> {
        let cache = ModelFile::read(&self.path).ok()?.cache_bytes;
        Some(cache.map_or(memory_need(self.bytes), |cache| memory_with_cache(self.bytes, cache)))
    }

    /// Tells whether `name` asks for this model.
    pub fn answers_to(&self, name: &ModelName) -> bool {
        match (&self.key, name) {
            (Key::Registry(own), ModelName::Ollama(name)) => own == name,
            (Key::Hub { repository, path, label }, ModelName::HuggingFace(name)) => {
                let same_model = repository.eq_ignore_ascii_case(&name.repository());
                same_model && name.revision == MAIN && fits(&name.wanted, path, label.as_deref())
            }
            _ => false,
        }
    }
}

fn fits(wanted: &WantedFile, path: &str, label: Option<&str>) -> bool {
    match wanted {
        WantedFile::Any => true,
        WantedFile::Path(wanted) => wanted == path,
        WantedFile::Quantisation(wanted) => {
            label.is_some_and(|label| label.eq_ignore_ascii_case(wanted))
        }
    }
}

/// Finds what the other programs hold. What cannot be read is not there.
pub fn find_held(world: &World) -> Vec<HeldModel> {
    let folder = |name: &str| world.var(name).map(PathBuf::from);
    let own = folder("OLLAMA_MODELS").unwrap_or_else(|| world.home.join(".ollama/models"));
    let mut held = of_ollama(&own);
    held.extend(of_ollama(Path::new(SYSTEM_OLLAMA)));
    for studio in [".lmstudio/models", ".cache/lm-studio/models"] {
        held.extend(of_studio(&world.home.join(studio)));
    }
    let cache = folder("HF_HUB_CACHE").unwrap_or_else(|| hub_home(world).join("hub"));
    held.extend(of_hub(&cache));
    held
}

/// Reads `manifests/HOST/NAMESPACE/NAME/TAG`, each of which names a blob.
fn of_ollama(models: &Path) -> Vec<HeldModel> {
    let mut held: Vec<HeldModel> = Vec::new();
    for manifest in MANIFESTS.iter().flat_map(|it| files_below(&models.join(it), 4)) {
        let found = registered(models, &manifest);
        let is_new = |it: &HeldModel| !held.iter().any(|known| known.key == it.key);
        if let Some(found) = found.filter(is_new) {
            held.push(found);
        }
        if held.len() >= HELD_MAX {
            break;
        }
    }
    held
}

fn registered(models: &Path, manifest: &Path) -> Option<HeldModel> {
    let mut parts = manifest.iter().rev().map(|part| part.to_str());
    let (tag, name, namespace, host) =
        (parts.next()??, parts.next()??, parts.next()??, parts.next()??);
    if ![tag, name, namespace].iter().all(|part| is_part(part)) {
        return None;
    }
    let file = ollama::read_manifest(&read_small(manifest)?, name).ok()?.file;
    let path = models.join("blobs").join(format!("sha256-{}", file.sha256.as_ref()?));
    // A blob that Ollama is still downloading has another name, or another size.
    if fs::metadata(&path).ok().filter(|it| it.is_file())?.len() != file.bytes {
        return None;
    }
    let (name, key) = match host {
        "registry.ollama.ai" | "ollama.com" => {
            let name =
                RegistryName { namespace: namespace.into(), name: name.into(), tag: tag.into() };
            (name.display_name(), Key::Registry(name))
        }
        "hf.co" | "huggingface.co" => {
            let (repository, label) = (format!("{namespace}/{name}"), Some(tag.to_string()));
            let shown = format!("{repository}:{tag}");
            (shown, Key::Hub { repository, path: String::new(), label })
        }
        _ => return None,
    };
    let (bytes, sha256) = (file.bytes, file.sha256);
    Some(HeldModel { holder: Holder::Ollama, name: Some(name), path, bytes, sha256, key })
}

/// Reads a manifest, and never more than one has. A pipe, say, would never come to an end.
fn read_small(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(|it| it.is_file() && it.len() <= MANIFEST_BYTES_MAX)?;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MANIFEST_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MANIFEST_BYTES_MAX).then_some(bytes)
}

/// Reads `OWNER/REPO/FILE.gguf`, as LM Studio keeps them.
fn of_studio(models: &Path) -> Vec<HeldModel> {
    let mut held = Vec::new();
    for owner in entries(models) {
        for repo in entries(&owner) {
            let repository = format!("{}/{}", last(&owner), last(&repo));
            held.extend(in_folder(Holder::LmStudio, &repository, &repo));
        }
        if held.len() >= HELD_MAX {
            break;
        }
    }
    held
}

/// Reads `models--OWNER--REPO/snapshots/COMMIT/FILE.gguf`, the newest snapshot first.
fn of_hub(cache: &Path) -> Vec<HeldModel> {
    let mut held: Vec<HeldModel> = Vec::new();
    for folder in entries(cache) {
        let name = last(&folder);
        let parts = name.strip_prefix("models--").and_then(|it| it.split_once("--"));
        let Some((owner, repo)) = parts else { continue };
        let repository = format!("{owner}/{repo}");
        let mut snapshots = entries(&folder.join("snapshots"));
        snapshots.sort_by_key(|it| fs::metadata(it).and_then(|it| it.modified()).ok());
        for snapshot in snapshots.iter().rev() {
            let found = in_folder(Holder::HuggingFace, &repository, snapshot);
            let is_new = |it: &HeldModel| !held.iter().any(|known| known.key == it.key);
            let found: Vec<HeldModel> = found.into_iter().filter(is_new).collect();
            held.extend(found);
        }
        if held.len() >= HELD_MAX {
            break;
        }
    }
    held
}

/// Finds the whole models below the folder of a repository.
fn in_folder(holder: Holder, repository: &str, folder: &Path) -> Vec<HeldModel> {
    let file = |path: PathBuf| {
        let below = path.strip_prefix(folder).ok()?.to_str()?.to_string();
        let bytes = fs::metadata(&path).ok().filter(|it| it.is_file())?.len();
        let is_model = is_gguf(&below);
        is_model.then_some((choose::RemoteFile { path: below, bytes, sha256: None }, path))
    };
    let files: Vec<_> = files_below(folder, 3).into_iter().filter_map(file).collect();
    let listed: Vec<choose::RemoteFile> = files.iter().map(|(file, _)| file.clone()).collect();
    let whole = choose::list_variants(&listed).into_iter().filter(choose::Variant::is_whole);
    let is_named = repository.split('/').all(is_part);
    let model = |variant: choose::Variant| {
        let first = variant.files.first()?.path.clone();
        let (_, path) = files.iter().find(|(file, _)| file.path == first)?;
        let key = match is_named {
            true => Key::Hub {
                repository: repository.into(),
                path: first.clone(),
                label: quantisation(&variant.label),
            },
            false => Key::None,
        };
        Some(HeldModel {
            holder,
            name: is_named.then(|| format!("{repository}/{first}")),
            path: path.clone(),
            bytes: variant.bytes(),
            sha256: Some(variant.files.len()).filter(|it| *it == 1).and_then(|_| blob_name(path)),
            key,
        })
    };
    whole.filter_map(model).collect()
}

/// The cache links to files that are called after their checksum.
fn blob_name(path: &Path) -> Option<String> {
    super::huggingface::checksum(fs::read_link(path).ok()?.file_name()?.to_str()?)
}

fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
