use super::*;
use althing_testkit::downloads::{REFUSED_TOKEN, TOKEN, ollama_manifest, tiny_gguf};
use althing_testkit::{Downloads, Mishap, StockFile};

/// An empty home whose hub and registry are `server`.
struct Machine {
    home: tempfile::TempDir,
    server: Downloads,
    env: Vec<(&'static str, String)>,
}

impl Machine {
    fn new(files: Vec<StockFile>) -> Machine {
        let (home, server) = (tempfile::tempdir().unwrap(), Downloads::start(files));
        let env = vec![("HF_ENDPOINT", server.url()), ("OLLAMA_REGISTRY", server.url())];
        Machine { home, server, env }
    }

    fn world(&self) -> World {
        let env = self.env.iter().map(|(name, value)| (name.to_string(), value.clone()));
        let home = self.home.path().to_path_buf();
        World { env: env.collect(), cwd: home.clone(), home }
    }

    fn puller(&self) -> Puller {
        let world = self.world();
        Puller::new(&world, &Config::load(&world)).unwrap()
    }

    async fn pull(&self, name: &str) -> Result<PulledModel> {
        self.pull_as(request(name)).await
    }

    async fn pull_as(&self, request: PullRequest) -> Result<PulledModel> {
        self.puller().pull(&request, &mut |_| {}).await
    }

    #[track_caller]
    fn fails(&self, done: Result<PulledModel>, kind: Kind, want: &str) {
        let fault = done.unwrap_err();
        assert!(fault.message.contains(want), "{}", fault.message);
        assert_eq!(fault.kind, kind, "{}", fault.message);
    }
}

fn request(name: &str) -> PullRequest {
    let name = name.into();
    PullRequest {
        name,
        provider_name: None,
        force: false,
        download: false,
        sha256: None,
        bytes_max: BYTES_MAX,
    }
}

fn gguf(repo: &str, path: &str) -> StockFile {
    StockFile::new(repo, path, tiny_gguf("Tiny 1B", 10_000))
}

#[tokio::test]
async fn a_model_comes_from_the_hub_and_is_not_fetched_twice() {
    let files = vec![
        gguf("ada/Tiny-1B-Instruct-GGUF", "Tiny-1B-Q4_K_M.gguf"),
        gguf("ada/Tiny-1B-Instruct-GGUF", "Tiny-1B-Q8_0.gguf"),
    ];
    let machine = Machine::new(files);
    let mut events = Vec::new();
    let wanted = request("ada/Tiny-1B-Instruct-GGUF");
    let puller = machine.puller();
    let pulled = puller.pull(&wanted, &mut |event| events.push(event)).await.unwrap();
    assert!(
        pulled.path.ends_with("models/huggingface/ada/Tiny-1B-Instruct-GGUF/Tiny-1B-Q8_0.gguf")
    );
    assert_eq!((pulled.model.as_str(), pulled.short_name.as_str()), ("Tiny-1B", "tiny-1b"));
    assert_eq!(pulled.arrival, Arrival::Downloaded);
    let tells = |words: &str| {
        events.iter().any(|it| matches!(it, PullEvent::Note(text) if text.contains(words)))
    };
    assert!(tells("Q8_0, the best"), "{events:?}");
    // Nobody runs files in this empty home, and that is said before anything is downloaded.
    assert!(matches!(&events[0], PullEvent::Note(text) if text.contains("llama-server")));
    assert!(pulled.trouble.is_some());
    assert_eq!(events.last(), Some(&PullEvent::Verifying));

    let again = machine.pull("hf.co/ada/Tiny-1B-Instruct-GGUF:q8_0").await.unwrap();
    assert_eq!((again.arrival, &again.path), (Arrival::Present, &pulled.path));
    assert_eq!(machine.server.downloads().len(), 1);
    let anew = PullRequest { download: true, ..wanted };
    assert_eq!(machine.pull_as(anew).await.unwrap().arrival, Arrival::Downloaded);
}

#[tokio::test]
async fn a_model_comes_from_the_registry_and_from_an_address() {
    let machine = Machine::new(vec![gguf("library/tiny:1b", "x"), gguf("", "a b.gguf")]);
    let pulled = machine.pull("tiny:1b").await.unwrap();
    assert!(pulled.path.ends_with("models/ollama/library/tiny-1b.gguf"));
    assert_eq!(pulled.short_name, "tiny-1b");
    let missing = machine.pull("tiny:7b").await;
    machine.fails(missing, Kind::NotFound, "has no tiny:7b: see https://ollama.com/library/tiny");

    let machine = Machine::new(vec![gguf("", "tiny-Q4_0.gguf")]);
    let url = format!("{}/plain/tiny-Q4_0.gguf", machine.server.url());
    let pulled = machine.pull(&url).await.unwrap();
    assert!(pulled.path.ends_with("tiny-Q4_0.gguf") && pulled.short_name == "tiny", "{pulled:?}");
    let wrong = PullRequest { sha256: Some("0".repeat(64)), download: true, ..request(&url) };
    machine.fails(machine.pull_as(wrong).await, Kind::Upstream, "is damaged and was deleted");
}

/// Whatever memory is free now, the same command means the same file.
#[tokio::test]
async fn the_same_command_goes_on_with_what_is_here() {
    let file = |label: &str| gguf("ada/x", &format!("x-{label}.gguf"));
    let cut = file("Q4_K_M").failing(&[Mishap::Cut(9_000), Mishap::Status(404)]);
    let machine = Machine::new(vec![file("Q8_0"), cut]);
    assert!(machine.pull("ada/x:Q4_K_M").await.is_err());
    let begun = machine.pull("ada/x").await.unwrap();
    assert!(begun.path.ends_with("x-Q4_K_M.gguf"), "{begun:?}");
    let again = machine.pull("ada/x").await.unwrap();
    assert_eq!((again.arrival, &again.path), (Arrival::Present, &begun.path));
    assert_eq!(machine.server.downloads().len(), 3);
}

#[tokio::test]
async fn what_has_begun_is_not_refused_for_memory() {
    let huge = StockFile { size: 150_000_000_000_000, ..gguf("ada/huge", "huge-Q8_0.gguf") };
    let machine = Machine::new(vec![huge]);
    let wanted = PullRequest { bytes_max: u64::MAX, ..request("ada/huge") };
    machine.fails(machine.pull_as(wanted.clone()).await, Kind::Busy, "needs about 150 TB");
    let folder = machine.puller().folder.join("huggingface/ada/huge");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("huge-Q8_0.gguf.part"), "GGUF").unwrap();
    machine.fails(machine.pull_as(wanted).await, Kind::Busy, "are still to come");
}

#[tokio::test]
async fn what_would_not_do_is_refused_before_the_first_byte() {
    let machine = Machine::new(vec![gguf("ada/x", "x-Q8_0.gguf"), gguf("", "a.gguf")]);
    let named = |name: &str| PullRequest { provider_name: Some(name.into()), ..request("ada/x") };
    for name in ["", "a\u{1b}b", &"x".repeat(101)] {
        machine.fails(machine.pull_as(named(name)).await, Kind::InvalidParams, "--as: name: ");
    }
    let url = format!("{}/plain/{}%0a.gguf", machine.server.url(), "x".repeat(140));
    assert_eq!(short_name(&parse_name(&url).unwrap()), "x".repeat(60));

    let folder = machine.puller().folder.join("huggingface/ada/x");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("x-Q8_0.gguf"), "mine").unwrap();
    let done = machine.pull("ada/x").await;
    machine.fails(done, Kind::InvalidParams, "no download of `althing pull` brought it");
    assert_eq!(std::fs::read(folder.join("x-Q8_0.gguf")).unwrap(), b"mine");
    assert_eq!(machine.server.downloads(), []);
}

#[tokio::test]
async fn another_revision_lies_in_a_folder_of_its_own() {
    let machine = Machine::new(vec![gguf("ada/x", "x-Q8_0.gguf")]);
    let usual = machine.pull("ada/x").await.unwrap().path;
    let other = machine.pull("https://huggingface.co/ada/x/tree/v2").await.unwrap();
    assert_eq!(other.arrival, Arrival::Downloaded);
    assert_eq!(other.path, usual.with_file_name("revision-v2").join("x-Q8_0.gguf"));
}

/// A token that expired closes even what is open to everybody.
#[tokio::test]
async fn a_token_that_is_not_taken_is_left_out() {
    let mut machine = Machine::new(vec![gguf("ada/open", "a-Q8_0.gguf")]);
    machine.env.push(("HF_TOKEN", REFUSED_TOKEN.into()));
    let mut events = Vec::new();
    let puller = machine.puller();
    puller.pull(&request("ada/open"), &mut |event| events.push(event)).await.unwrap();
    let text = "does not take the token (environment variable HF_TOKEN); it goes on without";
    assert!(format!("{events:?}").contains(text), "{events:?}");
    machine.fails(machine.pull("ada/no").await, Kind::BadKey, "environment variable HF_TOKEN");
}

#[tokio::test]
async fn a_mirror_on_plain_http_is_told_of_in_its_own_words() {
    let mut machine = Machine::new(vec![]);
    machine.env.retain(|(name, _)| *name != "HF_ENDPOINT");
    machine.env.push(("HF_ENDPOINT", "http://mirror.example:8080".into()));
    let fault = machine.pull("ada/x").await.unwrap_err();
    assert!(fault.message.starts_with("HF_ENDPOINT: mirror.example:8080 is plain HTTP"));
    assert!(!fault.message.contains("--sha256"), "{}", fault.message);
}

#[tokio::test]
async fn what_was_pulled_and_what_has_begun_is_listed() {
    // The first request only looks.
    let fate = [Mishap::None, Mishap::Cut(9_000), Mishap::Status(404)];
    let cut = gguf("", "b.gguf").failing(&fate);
    let machine = Machine::new(vec![gguf("library/tiny:1b", "x"), cut]);
    machine.pull("tiny:1b").await.unwrap();
    let url = format!("{}/plain/b.gguf", machine.server.url());
    assert!(machine.pull(&url).await.is_err());
    let world = machine.world();
    let kept = find_kept(&Config::load(&world));
    let shown: Vec<_> = kept.iter().map(|it| (it.name.as_str(), it.is_whole)).collect();
    assert_eq!(shown, [("tiny:1b", true), (url.as_str(), false)]);
    assert!(kept[0].here == kept[0].bytes && kept[1].here < kept[1].bytes, "{kept:?}");
}

#[tokio::test]
async fn parts_come_together() {
    let part = |number: usize| gguf("ada/big", &format!("big-Q4_K_M-0000{number}-of-00002.gguf"));
    let machine = Machine::new(vec![part(2), part(1).failing(&[Mishap::Cut(9_000)])]);
    let pulled = machine.pull("ada/big").await.unwrap();
    assert!(pulled.path.ends_with("big-Q4_K_M-00001-of-00002.gguf"));
    assert!(pulled.path.with_file_name("big-Q4_K_M-00002-of-00002.gguf").is_file());
    assert_eq!(machine.server.downloads().len(), 3);
}

#[tokio::test]
async fn a_gated_model_says_where_its_licence_is() {
    let file = StockFile { gated: true, ..gguf("ada/gated", "a-Q8_0.gguf") };
    let mut machine = Machine::new(vec![file]);
    let done = machine.pull("ada/gated").await;
    machine.fails(done, Kind::BadKey, "accept its licence at https://huggingface.co/ada/gated");
    machine.env.push(("HF_TOKEN", "hf_wrong".into()));
    machine.fails(
        machine.pull("ada/gated").await,
        Kind::BadKey,
        "(environment variable HF_TOKEN) may",
    );
    machine.env.pop();
    machine.env.push(("HF_TOKEN", TOKEN.into()));
    machine.pull("ada/gated").await.unwrap();
    let cdn = machine.server.downloads();
    assert!(cdn.iter().all(|it| it.authorization.is_empty()) && !cdn.is_empty());
    let missing = machine.pull("ada/nobody").await;
    machine.fails(missing, Kind::BadKey, "does not exist on Hugging Face, or is private");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_the_figures() {
    let huge = |bytes: u64| StockFile { size: bytes, ..gguf("ada/huge", "huge-Q8_0.gguf") };
    let machine = Machine::new(vec![huge(150_000_000_000_000)]);
    let done = machine.pull("ada/huge").await;
    machine.fails(done, Kind::InvalidParams, "has 150 TB, and at most 200 GB are taken");
    let large = PullRequest { bytes_max: u64::MAX, ..request("ada/huge") };
    let done = machine.pull_as(large.clone()).await;
    machine.fails(done, Kind::Busy, "of memory (150 TB of them its file), and ");
    let forced = PullRequest { force: true, ..large };
    machine.fails(machine.pull_as(forced).await, Kind::Busy, "free, and 150 TB are still to come");
    assert_eq!(machine.server.downloads().len(), 0);
}

#[tokio::test]
async fn what_is_no_model_is_not_kept_as_one() {
    let mut broken = tiny_gguf("Tiny", 1_000);
    broken.truncate(200);
    let machine = Machine::new(vec![
        StockFile::new("ada/broken", "a-Q8_0.gguf", broken),
        StockFile::new("ada/page", "a-Q8_0.gguf", vec![b'<'; 500]),
    ]);
    let done = machine.pull("ada/broken").await;
    machine.fails(done, Kind::Upstream, "so it is broken where it comes from; it was deleted");
    let folder = machine.puller().folder.join("huggingface/ada/broken");
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    machine.fails(machine.pull("ada/page").await, Kind::Upstream, "not a GGUF file");
}

#[tokio::test]
async fn what_another_program_holds_is_used_where_it_lies() {
    let file = gguf("ada/Held-GGUF", "Held-Q8_0.gguf");
    let machine = Machine::new(vec![file.clone()]);
    let blobs = machine.home.path().join(".ollama/models/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    let blob = blobs.join(format!("sha256-{}", file.sha256));
    std::fs::write(&blob, &file.bytes).unwrap();
    let tags = machine.home.path().join(".ollama/models/manifests/registry.ollama.ai/library/held");
    std::fs::create_dir_all(&tags).unwrap();
    let manifest = ollama_manifest(&file.sha256, file.size).to_string();
    std::fs::write(tags.join("latest"), manifest).unwrap();

    let pulled = machine.pull("held").await.unwrap();
    assert_eq!((pulled.arrival, &pulled.path), (Arrival::Held(Holder::Ollama), &blob));
    assert_eq!(machine.server.asked(), []);
    // By its checksum, under another name.
    let pulled = machine.pull("ada/Held-GGUF").await.unwrap();
    assert_eq!(pulled.arrival, Arrival::Held(Holder::Ollama));
    assert_eq!(machine.server.downloads(), []);
    let anew = PullRequest { download: true, ..request("ada/Held-GGUF") };
    assert_eq!(machine.pull_as(anew).await.unwrap().arrival, Arrival::Downloaded);
}

#[test]
fn names_of_providers_are_short() {
    #[track_caller]
    fn check(name: &str, want: &str) {
        assert_eq!(short_name(&parse_name(name).unwrap()), want);
    }
    check("llama3.2", "llama3.2");
    check("qwen3:4b", "qwen3-4b");
    check("bartowski/SmolLM2-135M-Instruct-GGUF", "smollm2-135m");
    check("https://models.test/x/Tiny-Chat-Q4_K_M.gguf?a=b", "tiny");
    check("ada/GGUF", "model");
}
