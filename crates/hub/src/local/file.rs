//! A file that a person says is a model.

use super::CONTEXT_TOKENS_DEFAULT;
use super::gguf::{self, Facts};
use althing_gateway::Listed;
use althing_stdx::text::printable;
use althing_stdx::{Fault, Kind, Result};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// Characters of a model's name; the rest of a longer one is cut off.
const NAME_CHARS_MAX: usize = 100;

/// A model that llama.cpp can be expected to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelFile {
    /// Without detours, so that the same file is known as such. A link stays: it carries the name by
    /// which the parts of a split model find each other.
    pub path: PathBuf,
    /// What it is called: by itself, or as the file is.
    pub name: String,
    context: Option<u32>,
    /// Memory of a conversation of the usual length, where its head tells.
    pub cache_bytes: Option<u64>,
    /// Whether it makes vectors of texts, instead of answers.
    pub makes_embeddings: bool,
}

/// Kinds of pooling with which a model makes embeddings: mean, first token, last token.
const POOLINGS: std::ops::RangeInclusive<u32> = 1..=3;

impl ModelFile {
    /// Looks at the file's head; a message begins with `model_path`.
    pub(crate) async fn inspect(path: &Path) -> Result<ModelFile> {
        let path = path.to_path_buf();
        tokio::task::spawn_blocking(move || inspect(&path)).await.map_err(Fault::internal)?
    }

    /// Looks at the file's head, here and now.
    pub(crate) fn read(path: &Path) -> Result<ModelFile> {
        inspect(path)
    }

    /// Its path as it is kept; one that is no text cannot be.
    pub(crate) fn text(&self) -> Result<String> {
        let text = self.path.to_str().map(str::to_string);
        text.ok_or_else(|| Fault::invalid("model_path: must be UTF-8"))
    }

    /// Returns how many tokens a conversation may have: what is wanted, or else the default, and
    /// never more than the model was trained on.
    pub(super) fn context_tokens(&self, wanted: Option<u32>) -> u32 {
        let trained = self.context.filter(|tokens| *tokens > 0).unwrap_or(u32::MAX);
        wanted.unwrap_or(CONTEXT_TOKENS_DEFAULT).min(trained)
    }

    /// It as a list of models has it.
    pub(crate) fn listed(&self, wanted: Option<u32>) -> Listed {
        let context_tokens = self.context.map(|_| self.context_tokens(wanted).into());
        Listed { id: self.name.clone(), display_name: None, owned_by: None, context_tokens }
    }
}

fn inspect(path: &Path) -> Result<ModelFile> {
    let shown = printable(&path.to_string_lossy());
    let fault = |kind, why: &str| Fault::new(kind, format!("model_path: {shown} {why}"));
    let invalid = |why: &str| fault(Kind::InvalidParams, why);
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => fault(Kind::NotFound, "does not exist"),
        ErrorKind::PermissionDenied => invalid("may not be read: check its permissions"),
        _ => invalid(&format!("cannot be read: {error}")),
    };
    let path = straighten(path).map_err(unreadable)?;
    let meta = path.metadata().map_err(unreadable)?;
    if meta.is_dir() {
        return Err(invalid("is a folder: name the .gguf file in it"));
    }
    if !meta.is_file() {
        return Err(invalid("is not a file"));
    }
    let file = File::open(&path).map_err(unreadable)?;
    let facts = gguf::read(BufReader::new(file), meta.len()).map_err(|why| invalid(&why))?;
    let tokens = facts.context.unwrap_or(u32::MAX).min(CONTEXT_TOKENS_DEFAULT);
    let cache_bytes = facts.shape.cache_bytes(tokens);
    let makes_embeddings = facts.pooling.is_some_and(|kind| POOLINGS.contains(&kind));
    let (name, context) = (name(&facts, &path), facts.context);
    Ok(ModelFile { path, name, context, cache_bytes, makes_embeddings })
}

/// Resolves the folder of a file and keeps the file's own name.
fn straighten(path: &Path) -> std::io::Result<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.canonicalize();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Ok(folder.canonicalize()?.join(name))
}

/// A model's name is part of ids, addresses and lists of routes.
fn name(facts: &Facts, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let own = facts.name.as_deref().map(tidy).filter(|name| !name.is_empty());
    own.unwrap_or_else(|| tidy(&stem))
}

fn tidy(name: &str) -> String {
    let name: String = name.trim().chars().take(NAME_CHARS_MAX).collect();
    printable(&name).replace([' ', ',', '@'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cache of Hugging Face names blobs by checksum and links to them by name.
    #[test]
    fn a_link_keeps_its_name_and_its_folder_is_resolved() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("snapshots")).unwrap();
        std::fs::write(root.join("abc"), "").unwrap();
        let link = root.join("snapshots/m-00001-of-00002.gguf");
        std::os::unix::fs::symlink("../abc", &link).unwrap();
        let detour = root.join("snapshots/../snapshots/m-00001-of-00002.gguf");
        assert_eq!(straighten(&detour).unwrap(), link);
    }

    #[test]
    fn a_model_reads_what_is_wanted_and_what_it_was_trained_on() {
        let (path, name) = (PathBuf::from("/m"), String::from("m"));
        let (context, cache_bytes) = (None, None);
        let whole = ModelFile { path, name, context, cache_bytes, makes_embeddings: false };
        let file = |context| ModelFile { context, ..whole.clone() };
        for (trained, wanted, tokens) in [
            (Some(32_768), None, 8_192),
            (Some(4_096), None, 4_096),
            (Some(32_768), Some(16_384), 16_384),
            (Some(8_192), Some(16_384), 8_192),
            (None, Some(16_384), 16_384),
            (None, None, 8_192),
        ] {
            assert_eq!(file(trained).context_tokens(wanted), tokens);
            let listed = file(trained).listed(wanted).context_tokens;
            assert_eq!(listed, trained.map(|_| u64::from(tokens)));
        }
    }
}
