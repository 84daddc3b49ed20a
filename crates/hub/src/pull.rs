//! Models from elsewhere: a name becomes a GGUF file on this machine. Names, choices and answers are
//! pure; `part.rs`, `held.rs` and `machine.rs` touch files, and the gateway the network.

mod choose;
mod held;
mod huggingface;
mod kept;
mod machine;
mod memory;
mod name;
mod ollama;
mod part;
mod plan;
mod recommended;
mod retry;
#[cfg(test)]
mod tests;
mod transfer;

pub use held::{HeldModel, Holder, find_held};
pub use kept::{KeptModel, find_kept};
pub use machine::free_memory;
use memory::memory_with_cache;
pub use memory::{format_bytes, memory_need, parse_bytes};
pub use name::{HubName, ModelName, RegistryName, WantedFile, parse_name};
pub use recommended::{AS_OF, RECOMMENDED, Recommended, recommend};

use crate::config::{Config, World};
use crate::local::{ModelFile, runner_trouble};
use crate::service::providers::checked_name;
use althing_gateway::{Gateway, Limits};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use plan::Plan;
use std::path::{Path, PathBuf};
use std::time::Duration;
use transfer::Download;

/// The largest model that is downloaded, unless the person allows more.
pub const BYTES_MAX: u64 = 200_000_000_000;
/// Room that stays free on the disk.
const DISK_RESERVE: u64 = 512 * 1024 * 1024;
/// Characters of a short name; the rest is cut off.
const SHORT_NAME_CHARS_MAX: usize = 60;
/// Words of a model's name that say nothing in a short one.
const FILLERS: &[&str] = &["gguf", "instruct", "it", "chat", "hf"];

/// What a person wants.
#[derive(Debug, Clone)]
pub struct PullRequest {
    pub name: String,
    /// What its provider is to be called; none: a short form of its name.
    pub provider_name: Option<String>,
    /// Take it even where its memory is not free.
    pub force: bool,
    /// Download it even where another program holds it.
    pub download: bool,
    /// What the file's SHA-256 must be.
    pub sha256: Option<String>,
    pub bytes_max: u64,
}

/// What happens on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullEvent {
    /// Something the person should know.
    Note(String),
    /// A part of an earlier attempt is there.
    Resuming { done: u64, total: u64 },
    /// Bytes of one file, which is one of several parts.
    Loading { part: usize, parts: usize, done: u64, total: u64 },
    /// The connection broke; it is tried again.
    Retrying { why: String, pause: Duration },
    /// All bytes are there.
    Verifying,
}

/// Who is told what happens.
pub type Watch<'a> = &'a mut (dyn FnMut(PullEvent) + Send);

/// How a model came to be here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    Downloaded,
    /// An earlier pull brought it.
    Present,
    /// Another program holds it.
    Held(Holder),
}

/// A model that is on this machine now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledModel {
    pub path: PathBuf,
    /// What the file says it is called; what its provider lists.
    pub model: String,
    /// A short name for its provider.
    pub short_name: String,
    pub bytes: u64,
    pub arrival: Arrival,
    /// Why nobody here can run it.
    pub trouble: Option<String>,
}

/// A token for Hugging Face, and where it is from.
type HubToken = (Secret, String);

/// Gets models.
pub struct Puller {
    gateway: Gateway,
    /// Where models are kept.
    folder: PathBuf,
    hub: String,
    registry: String,
    token: Option<HubToken>,
    held: Vec<HeldModel>,
    /// Why no model can be run here.
    trouble: Option<String>,
}

impl Puller {
    /// Prepares downloads into the person's data folder; nothing is asked yet.
    pub fn new(world: &World, config: &Config) -> Result<Puller> {
        let server = |name: &str, usual: &str| -> Result<String> {
            let url = world.var(name).unwrap_or(usual).trim_end_matches('/').to_string();
            let is_address = url.starts_with("https://") || url.starts_with("http://");
            let wrong = || Fault::invalid(format!("{name}: must begin with https://"));
            is_address.then_some(url).ok_or_else(wrong)
        };
        Ok(Puller {
            gateway: Gateway::new(Limits::default()),
            folder: config.data_dir.join("models"),
            hub: server("HF_ENDPOINT", huggingface::HUB)?,
            registry: server("OLLAMA_REGISTRY", ollama::REGISTRY)?,
            token: machine::hub_token(world, config),
            held: find_held(world),
            trouble: runner_trouble(world, config),
        })
    }

    /// Gets the model that is asked for. Dropping this keeps what has come so far.
    pub async fn pull(&self, request: &PullRequest, watch: Watch<'_>) -> Result<PulledModel> {
        let name = parse_name(&request.name)?;
        let short_name = provider_name(&name, request)?;
        if let Some(trouble) = &self.trouble {
            watch(PullEvent::Note(format!("The model can be fetched and not asked: {trouble}.")));
        }
        let free = free_memory();
        if let Some(held) = self.held_by_name(&name, free).filter(|_| !request.download) {
            return self.take_held(held, short_name, request, free).await;
        }
        let plan = self.plan(&name, request, free, watch).await?;
        if let Some(chosen) = &plan.chosen {
            watch(PullEvent::Note(format!("{}: {chosen}.", request.name)));
        }
        let missing: Vec<&Download> =
            plan.downloads.iter().filter(|it| !is_present(it, request)).collect();
        let held = self.held_by_checksum(&plan).filter(|_| !request.download);
        if let Some(held) = held.filter(|_| !missing.is_empty()) {
            return self.take_held(held, short_name, request, free).await;
        }
        self.check(&plan, &missing, request, free, watch)?;
        let arrival = if missing.is_empty() { Arrival::Present } else { Arrival::Downloaded };
        for download in missing {
            transfer::download(&self.gateway, download, watch).await?;
        }
        let first = plan.downloads.first().map(|it| it.path.clone()).unwrap_or_default();
        let mut model = String::new();
        for download in plan.downloads.iter().rev() {
            model = inspect_download(download).await?;
        }
        let (bytes, trouble) = (plan.bytes(), self.trouble.clone());
        Ok(PulledModel { path: first, model, short_name, bytes, arrival, trouble })
    }

    /// Refuses what is too large, and says what the person should know before it begins.
    fn check(
        &self,
        plan: &Plan,
        missing: &[&Download],
        request: &PullRequest,
        free: Option<u64>,
        watch: Watch<'_>,
    ) -> Result<()> {
        let is_begun = plan.downloads.iter().any(Download::is_begun);
        if !missing.is_empty() {
            check_size(plan.bytes(), request)?;
        }
        if let Err(fault) = check_memory(plan.bytes(), need(plan, request), free, request) {
            // What the person has is theirs, and memory may be free by the time it is asked.
            match is_begun {
                true => watch(PullEvent::Note(format!("{}.", fault.message))),
                false => return Err(fault),
            }
        }
        if free.is_none() {
            watch(PullEvent::Note("How much memory is free is not known here.".into()));
        }
        for download in missing {
            part::check_place(&download.path, &download.source)?;
        }
        self.check_disk(missing)?;
        if !missing.iter().all(|it| it.has_checksum()) {
            let text = "There is no checksum for this file; --sha256 names one.";
            watch(PullEvent::Note(text.into()));
        }
        Ok(())
    }

    /// Finds a held model that is asked for; of several sizes the best that fits.
    fn held_by_name(&self, name: &ModelName, free: Option<u64>) -> Option<&HeldModel> {
        let named = self.held.iter().filter(|it| it.answers_to(name));
        let mut fitting: Vec<(u64, &HeldModel)> =
            named.filter_map(|it| Some((it.memory()?, it))).collect();
        fitting.sort_by_key(|(_, it)| std::cmp::Reverse(it.bytes));
        let fits = |(needed, _): &&(u64, &HeldModel)| free.is_none_or(|free| *needed <= free);
        fitting.iter().find(fits).or(fitting.last()).map(|(_, it)| *it)
    }

    fn held_by_checksum(&self, plan: &Plan) -> Option<&HeldModel> {
        let [download] = plan.downloads.as_slice() else { return None };
        let wanted = download.source.sha256.as_ref()?;
        let same = |it: &&HeldModel| {
            it.sha256.as_ref() == Some(wanted) && it.bytes == download.source.bytes
        };
        self.held.iter().filter(same).find(|it| it.memory().is_some())
    }

    async fn take_held(
        &self,
        held: &HeldModel,
        short_name: String,
        request: &PullRequest,
        free: Option<u64>,
    ) -> Result<PulledModel> {
        if let Some(wanted) = &request.sha256
            && held.sha256.as_ref() != Some(wanted)
        {
            let text = format!(
                "{} holds {} already, and its checksum is not known to be that of --sha256; \
                 --download gets it anew",
                held.holder.title(),
                request.name
            );
            return Err(Fault::invalid(text));
        }
        let needed = held.memory().unwrap_or_else(|| memory_need(held.bytes));
        check_memory(held.bytes, needed, free, request)?;
        let model = inspect(&held.path).await?;
        let (path, arrival) = (held.path.clone(), Arrival::Held(held.holder));
        let (bytes, trouble) = (held.bytes, self.trouble.clone());
        Ok(PulledModel { path, model, short_name, bytes, arrival, trouble })
    }

    fn check_disk(&self, missing: &[&Download]) -> Result<()> {
        let left = |it: &&&Download| it.source.bytes.saturating_sub(part::part_length(&it.path));
        let needed = missing.iter().fold(0u64, |sum, it| sum.saturating_add(left(&it)));
        if needed == 0 {
            return Ok(());
        }
        let free = machine::free_disk(&self.folder)?;
        if needed.saturating_add(DISK_RESERVE) <= free {
            return Ok(());
        }
        let text = format!(
            "the disk of {} has {} free, and {} are still to come, with {} left for others: make \
             room, or move the folder with ALTHING_DATA",
            self.folder.display(),
            format_bytes(free),
            format_bytes(needed),
            format_bytes(DISK_RESERVE)
        );
        Err(Fault::new(Kind::Busy, text))
    }
}

/// Names a model to begin with, as the command takes it: the largest that another program holds and
/// that fits, else the largest of those recommended.
pub fn suggest(world: &World) -> Option<String> {
    let free = free_memory();
    let fits = |it: &HeldModel| it.memory().is_some_and(|it| free.is_none_or(|free| it <= free));
    let mut held = find_held(world);
    held.sort_by_key(|it| std::cmp::Reverse(it.bytes));
    let held = held.into_iter().filter(|it| it.name.is_some()).find(fits);
    held.and_then(|it| it.name).or_else(|| recommend(free).map(|row| row.name.into()))
}

/// Tells whether an earlier pull brought this file.
fn is_present(download: &Download, request: &PullRequest) -> bool {
    let same = |known: part::Source| {
        let wanted = &download.source;
        let is_known = wanted.sha256.is_some() && known.sha256 == wanted.sha256;
        let is_named = wanted.sha256.is_none() && known.url == wanted.url;
        known.bytes == wanted.bytes && (is_known || (is_named && known.version == wanted.version))
    };
    !request.download && part::finished(&download.path).is_some_and(same)
}

fn check_size(bytes: u64, request: &PullRequest) -> Result<()> {
    if bytes <= request.bytes_max {
        return Ok(());
    }
    let (bytes, most) = (format_bytes(bytes), format_bytes(request.bytes_max));
    let text = format!(
        "{} has {bytes}, and at most {most} are taken; --max-size allows more",
        request.name
    );
    Err(Fault::invalid(text))
}

/// Returns the memory of what is planned: as the list has it, as its head tells where the file is
/// here, else by its size.
fn need(plan: &Plan, request: &PullRequest) -> u64 {
    if let Some(row) = RECOMMENDED.iter().find(|row| row.name == request.name.trim()) {
        return memory_with_cache(plan.bytes(), row.cache);
    }
    let head = plan.downloads.first().and_then(|it| ModelFile::read(&it.path).ok());
    let cache = head.and_then(|head| head.cache_bytes);
    cache.map_or(memory_need(plan.bytes()), |cache| memory_with_cache(plan.bytes(), cache))
}

fn check_memory(bytes: u64, needed: u64, free: Option<u64>, request: &PullRequest) -> Result<()> {
    match free.filter(|free| needed > *free && !request.force) {
        None => Ok(()),
        Some(free) => {
            let text = format!(
                "{} needs about {} of memory ({} of them its file), and {} are free: choose a \
                 smaller one (`althing pull` lists some), or take it all the same with --force",
                request.name,
                format_bytes(needed),
                format_bytes(bytes),
                format_bytes(free)
            );
            Err(Fault::new(Kind::Busy, text))
        }
    }
}

/// What is said of a file that no download can mend.
const BROKEN: [&str; 3] = ["is broken", "is incomplete", "is not a GGUF file"];

/// Looks at what was downloaded; returns the model's name. A file that is broken although its
/// checksum is right is of no use, and getting it again would bring the same.
async fn inspect_download(download: &Download) -> Result<String> {
    let done = inspect(&download.path).await;
    let Err(fault) = &done else { return done };
    let is_broken = BROKEN.iter().any(|words| fault.message.contains(words));
    if download.source.sha256.is_none() || !is_broken {
        return done;
    }
    part::remove(&download.path);
    let (why, _) = fault.message.rsplit_once("; ").unwrap_or((&fault.message, ""));
    let text = format!(
        "{why}. Its checksum is right, so it is broken where it comes from; it was deleted. Choose \
         another file, and tell whoever offers it"
    );
    Err(Fault::new(Kind::Upstream, text))
}

/// Looks at a file's head; returns the model's name.
async fn inspect(path: &Path) -> Result<String> {
    let told = |fault: Fault| {
        let why = fault.message.trim_start_matches("model_path: ").to_string();
        Fault::new(
            Kind::Upstream,
            format!("the file cannot be used: {why}; --download gets it anew"),
        )
    };
    ModelFile::inspect(path).await.map(|file| file.name).map_err(told)
}

/// Returns what the provider will be called: as the person says, else in short. A name that could
/// not be added is refused before anything is downloaded.
fn provider_name(name: &ModelName, request: &PullRequest) -> Result<String> {
    let Some(wanted) = &request.provider_name else { return checked_name(&short_name(name)) };
    checked_name(wanted).map_err(|fault| Fault::invalid(format!("--as: {}", fault.message)))
}

/// Returns what a provider of the model is called: short, and without what every name has.
fn short_name(name: &ModelName) -> String {
    let (name, tag) = match name {
        ModelName::HuggingFace(name) => (name.repo.clone(), String::new()),
        ModelName::Ollama(name) => {
            let tag = Some(&name.tag).filter(|tag| *tag != "latest").cloned();
            (name.name.clone(), tag.unwrap_or_default())
        }
        ModelName::Url(url) => {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            let file = path.rsplit('/').next().and_then(name::decode).unwrap_or_default();
            let stem = if name::is_gguf(&file) { &file[..file.len() - 5] } else { &file };
            (stem.to_string(), String::new())
        }
    };
    let is_told = |word: &&str| {
        let word = word.to_ascii_lowercase();
        !word.is_empty()
            && !FILLERS.contains(&word.as_str())
            && choose::quantisation(&word).is_none()
    };
    let words = name.split('-').filter(is_told).chain([tag.as_str()].into_iter().filter(is_told));
    let short = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let short: String =
        short.chars().filter(|c| !c.is_control()).take(SHORT_NAME_CHARS_MAX).collect();
    let short = short.trim();
    if short.is_empty() { "model".into() } else { short.into() }
}
