//! What has to be downloaded for a name: asks the hub or the registry, and chooses.

use super::choose::{Variant, list_variants, pick_fitting, pick_label, pick_path};
use super::huggingface::{self, Listing};
use super::name::{HubName, MAIN, ModelName, RegistryName, WantedFile};
use super::ollama::{self, Named};
use super::part::{Source, finished};
use super::retry::{RetryState, status_fault};
use super::transfer::{Download, pause_or_give_up, probe, safe_path, url_place};
use super::{HubToken, PullEvent, PullRequest, Puller, Watch};
use althing_gateway::FetchRequest;
use althing_stdx::{Fault, Kind, Result};

/// What is downloaded, and what the person should know of it.
pub(super) struct Plan {
    pub downloads: Vec<Download>,
    /// Which of several files was chosen, and why.
    pub chosen: Option<String>,
}

impl Plan {
    /// Returns the size of all files together.
    pub fn bytes(&self) -> u64 {
        self.downloads.iter().fold(0, |sum, it| sum.saturating_add(it.source.bytes))
    }
}

impl Puller {
    /// Finds out what `name` is made of.
    pub(super) async fn plan(
        &self,
        name: &ModelName,
        request: &PullRequest,
        free: Option<u64>,
        watch: Watch<'_>,
    ) -> Result<Plan> {
        let mut plan = match name {
            ModelName::HuggingFace(name) => self.plan_hub(name, free, watch).await?,
            ModelName::Ollama(name) => self.plan_registry(name, watch).await?,
            ModelName::Url(url) => self.plan_url(url, request, watch).await?,
        };
        if let Some(wanted) = &request.sha256 {
            check_wanted(&mut plan, wanted)?;
        }
        Ok(plan)
    }

    async fn plan_hub(&self, name: &HubName, free: Option<u64>, watch: Watch<'_>) -> Result<Plan> {
        check_mirror("HF_ENDPOINT", &self.hub)?;
        let (body, token) = self.list_hub(name, watch).await?;
        let listing = huggingface::read_listing(&body, name)?;
        let variants = list_variants(&listing.files);
        let found = match &name.wanted {
            WantedFile::Any => match self.known_variant(name, &listing, &variants) {
                Some(known) => Ok(known),
                None => pick_fitting(&variants, free),
            }
            .map(|(it, why)| (it, Some(why))),
            WantedFile::Quantisation(label) => pick_label(&variants, label).map(|it| (it, None)),
            WantedFile::Path(path) => pick_path(&variants, path).map(|it| (it, None)),
        };
        let (variant, chosen) = found.map_err(|fault| {
            Fault::new(fault.kind, format!("{}: {}", name.repository(), fault.message))
        })?;
        let downloads = self.hub_downloads(name, &listing, &variant, token)?;
        Ok(Plan { downloads, chosen })
    }

    /// Lists a repository; returns the token, too, that opens it. A token that the hub does not take
    /// closes even what is open to everybody, so without one it is asked once more.
    async fn list_hub(
        &self,
        name: &HubName,
        watch: Watch<'_>,
    ) -> Result<(Vec<u8>, Option<&HubToken>)> {
        let source = self.token.as_ref().map(|(_, source)| source.as_str());
        let refuse = |status, code: &str| huggingface::refusal(name, status, code, source);
        let list = |token: Option<&HubToken>| FetchRequest {
            token: token.map(|(token, _)| token.clone()),
            accept: Some("application/json"),
            ..FetchRequest::new(huggingface::list_url(&self.hub, name))
        };
        let token = self.token.as_ref();
        let most = huggingface::LIST_BYTES_MAX;
        match self.read(&list(token), most, &refuse, watch).await {
            Err(fault) if fault.status == Some(401) && token.is_some() => {
                let body = self.read(&list(None), most, &refuse, watch).await?;
                let text = format!(
                    "Hugging Face does not take the token ({}); it goes on without it.",
                    source.unwrap_or_default()
                );
                watch(PullEvent::Note(text));
                Ok((body, None))
            }
            done => done.map(|body| (body, token)),
        }
    }

    /// Finds what an earlier pull brought or began, so that the same command goes on with it whatever
    /// memory is free now.
    fn known_variant(
        &self,
        name: &HubName,
        listing: &Listing,
        variants: &[Variant],
    ) -> Option<(Variant, String)> {
        let state = |it: &Variant| {
            let downloads = self.hub_downloads(name, listing, it, None).ok()?;
            let is_here = downloads.iter().all(|it| finished(&it.path).is_some());
            let is_begun = downloads.iter().any(Download::is_begun);
            is_begun.then_some((is_here, it.bytes()))
        };
        let whole = variants.iter().filter(|it| it.is_whole());
        let known = whole.filter_map(|it| Some((state(it)?, it)));
        let ((is_here, _), variant) = known.max_by_key(|(state, _)| *state)?;
        let why = if is_here { "which is here already" } else { "which has begun to come" };
        Some((variant.clone(), format!("{}, {why}", variant.label)))
    }

    fn hub_downloads(
        &self,
        name: &HubName,
        listing: &Listing,
        variant: &Variant,
        token: Option<&HubToken>,
    ) -> Result<Vec<Download>> {
        let mut folder = self.folder.join("huggingface").join(&name.owner).join(&name.repo);
        if name.revision != MAIN {
            folder.push(format!("revision-{}", name.revision));
        }
        let count = variant.files.len();
        let one = |(at, file): (usize, &super::choose::RemoteFile)| {
            let path = safe_path(&folder, &file.path).ok_or_else(|| odd_name(&file.path))?;
            let url = huggingface::file_url(&self.hub, name, &listing.commit, &file.path);
            let sha256 = file.sha256.clone();
            let model = huggingface::display_file(name, &file.path);
            Ok(Download {
                source: Source { model, url, bytes: file.bytes, sha256, version: None },
                token: token.map(|(token, _)| token.clone()),
                token_source: self.token.as_ref().map(|(_, source)| source.clone()),
                allow_plain: false,
                path,
                part: (at + 1, count),
                explain: explain_hub,
            })
        };
        variant.files.iter().enumerate().map(one).collect()
    }

    async fn plan_registry(&self, name: &RegistryName, watch: Watch<'_>) -> Result<Plan> {
        check_mirror("OLLAMA_REGISTRY", &self.registry)?;
        let url = ollama::manifest_url(&self.registry, name);
        let accept = Some(ollama::MANIFEST_TYPE);
        let manifest = FetchRequest { accept, ..FetchRequest::new(url) };
        let refuse = |status, _: &str| ollama::refusal(name, status);
        let body = self.read(&manifest, ollama::MANIFEST_BYTES_MAX, &refuse, watch).await?;
        let Named { file, has_projector } = ollama::read_manifest(&body, &name.display_name())?;
        if has_projector {
            let text = "This model reads pictures as well; here it is fetched for text only.";
            watch(PullEvent::Note(text.into()));
        }
        let sha256 = file.sha256.unwrap_or_default();
        let folder = self.folder.join("ollama").join(&name.namespace);
        let called = format!("{}-{}.gguf", name.name, name.tag);
        let path = safe_path(&folder, &called).ok_or_else(|| odd_name(&called))?;
        let url = ollama::blob_url(&self.registry, name, &sha256);
        let model = name.display_name();
        let download = Download {
            source: Source { model, url, bytes: file.bytes, sha256: Some(sha256), version: None },
            token: None,
            token_source: None,
            allow_plain: false,
            path,
            part: (1, 1),
            explain: |_, _, _| None,
        };
        Ok(Plan { downloads: vec![download], chosen: None })
    }

    async fn plan_url(&self, url: &str, request: &PullRequest, watch: Watch<'_>) -> Result<Plan> {
        // With a checksum nobody on the way can change the file unseen.
        let allow_plain = request.sha256.is_some();
        let asked = FetchRequest { allow_plain, ..FetchRequest::new(url) };
        let source = probe(&self.gateway, &asked, watch).await?;
        let place = url_place(url);
        let path = safe_path(&self.folder.join("url"), &place).ok_or_else(|| odd_name(&place))?;
        let (token, part) = (None, (1, 1));
        let explain: super::transfer::Explain = |_, _, _| None;
        let token_source = None;
        let download = Download { source, token, token_source, allow_plain, path, part, explain };
        Ok(Plan { downloads: vec![download], chosen: None })
    }

    /// Reads a list or a manifest; a server that is busy is asked again.
    async fn read(
        &self,
        request: &FetchRequest,
        bytes_max: usize,
        refuse: &(dyn Fn(u16, &str) -> Fault + Sync),
        watch: Watch<'_>,
    ) -> Result<Vec<u8>> {
        let mut retries = RetryState::default();
        loop {
            let fault = match self.gateway.fetch_file(request).await {
                Ok(answer) if answer.status == 200 => match answer.text(bytes_max).await {
                    Ok(body) => return Ok(body),
                    Err(fault) => fault,
                },
                Ok(answer) => {
                    let code = answer.header("x-error-code").unwrap_or_default();
                    let asked = answer.header("retry-after");
                    let wait = status_fault(&answer.origin, answer.status, asked).retry_after;
                    refuse(answer.status, code).retry_after(wait)
                }
                Err(fault) => fault,
            };
            pause_or_give_up(&mut retries, false, fault, watch).await?;
        }
    }
}

/// The hub refuses files as it refuses lists; the repository is in the address.
fn explain_hub(download: &Download, status: u16, code: &str) -> Option<Fault> {
    if !matches!(status, 401 | 403) {
        return None;
    }
    let path = download.source.url.split_once("://")?.1.split_once('/')?.1;
    let (repository, _) = path.split_once("/resolve/")?;
    let ModelName::HuggingFace(name) = super::name::parse_name(repository).ok()? else {
        return None;
    };
    Some(huggingface::refusal(&name, status, code, download.token_source.as_deref()))
}

/// Refuses a mirror on plain HTTP beyond this machine: no checksum helps where it comes over the same
/// wire.
fn check_mirror(variable: &str, url: &str) -> Result<()> {
    let Some(rest) = url.strip_prefix("http://") else { return Ok(()) };
    let server = rest.split('/').next().unwrap_or_default();
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let host = host.trim_matches(['[', ']']);
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    if is_here {
        return Ok(());
    }
    let shown = althing_stdx::text::one_line(server, 80);
    Err(Fault::invalid(format!(
        "{variable}: {shown} is plain HTTP, where anybody on the way can change names, checksums and \
         files: name an https:// address, or a server on this machine"
    )))
}

/// The person's own checksum wins where there is none, and must be the server's where there is.
fn check_wanted(plan: &mut Plan, wanted: &str) -> Result<()> {
    let [download] = plan.downloads.as_mut_slice() else {
        return Err(Fault::invalid("--sha256: goes with a single file, and this model has parts"));
    };
    match &download.source.sha256 {
        Some(known) if known != wanted => {
            let text = format!("the server announces another file: its SHA-256 is {known}");
            Err(Fault::new(Kind::Upstream, text))
        }
        _ => {
            download.source.sha256 = Some(wanted.into());
            Ok(())
        }
    }
}

fn odd_name(name: &str) -> Fault {
    let shown = althing_stdx::text::one_line(name, 80);
    Fault::new(Kind::Upstream, format!("the server calls the file '{shown}', which is refused"))
}
