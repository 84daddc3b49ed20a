//! Models in files, for real: tiny ones that `peers/gguf/make.py` writes, loaded and streamed by
//! llama.cpp in our own runner, or in its own server where `ALTHING_LLAMA_SERVER` names the folder
//! that has one.

mod real;

use crate::dbus::bus::Bus;
use crate::harness::{Done, Home, is_soak, peers, really_wait, unless_missing};
use althing_chat::{Ask, Delta, Message};
use althing_hub::config::World;
use althing_hub::service::Service;
use althing_hub::service::words::{AddLocal, Caller, CompleteRequest, Completion, ProviderKind};
use althing_stdx::{Fault, Kind};
use althing_testkit::{Downloads, StockFile};
use futures_util::StreamExt;
use futures_util::future::join_all;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// What the models say; the dash takes three tokens.
const LINE: &str = "Hello from a tiny local model — it always says this one line.";
/// The folder of llama.cpp's own server, where it is to be tried.
const SERVER: &str = "ALTHING_LLAMA_SERVER";
/// How often a runner that comes or goes is looked for: a minute, to catch a hang.
const POLLS_MAX: u32 = 600;
const POLL: Duration = Duration::from_millis(100);

/// A home with the runner on its path, and a service in it.
struct Machine {
    home: Home,
    python: PathBuf,
    path: PathBuf,
    idle_seconds: u32,
}

impl Machine {
    fn new() -> Option<Machine> {
        let program = Path::new(env!("CARGO_BIN_EXE_althing")).with_file_name("althing-llama");
        let built = Some(program.clone()).filter(|file| file.is_file());
        unless_missing(built, "althing-llama (cargo build -p althing-llama)")?;
        let python = Some(peers().join("gguf/bin/python")).filter(|file| file.is_file());
        let python = unless_missing(python, "writer of GGUF files")?;
        let path = program.parent().unwrap().to_path_buf();
        Some(Machine { home: Home::new(), python, path, idle_seconds: 300 })
    }

    /// A model that the script writes.
    fn model(&self, name: &str, options: &[&str]) -> PathBuf {
        let file = self.home.path().join(format!("{name}.gguf"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/gguf/make.py");
        let mut make = Command::new(&self.python);
        make.arg(script).arg(&file).args(["--line", LINE, "--name", name]).args(options);
        assert!(make.status().unwrap().success());
        file
    }

    async fn service(&self) -> Arc<Service> {
        self.service_with(&[]).await
    }

    /// A service with more in its environment.
    async fn service_with(&self, more: &[(&str, &str)]) -> Arc<Service> {
        let text = |path: &Path| path.to_str().unwrap().to_string();
        let server = std::env::var(SERVER).map(|folder| format!("{folder}:/usr/bin:/bin:"));
        let env = [
            ("HOME", text(self.home.path())),
            ("PATH", server.unwrap_or_default() + &text(&self.path)),
            ("ALTHING_LOCAL_IDLE_SECONDS", self.idle_seconds.to_string()),
            // Threads that wait for each other on a busy machine wait long.
            ("LLAMA_ARG_THREADS", "1".into()),
            ("OPENAI_API_KEY", "sk-not-for-runners".into()),
        ];
        let env = env.into_iter().chain(more.iter().map(|(name, value)| (*name, (*value).into())));
        let env = env.map(|(name, value)| (name.to_string(), value)).collect();
        let home = self.home.path().to_path_buf();
        Service::open(World { env, cwd: home.clone(), home }).await.unwrap()
    }

    /// A service with the model in `file`, and the model's id.
    async fn with(&self, file: &Path) -> (Arc<Service>, String) {
        let service = self.service().await;
        let added = add(&service, file).await.unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        (service, format!("{}:{stem}", added))
    }

    /// The runners that are alive: ids and command lines.
    fn runners(&self) -> Vec<(String, String)> {
        let is_runner = |command: &str| {
            let program = command.split(' ').next().unwrap_or_default();
            program.ends_with("/althing-llama") || program.ends_with("/llama-server")
        };
        self.home.running().into_iter().filter(|(_, command)| is_runner(command)).collect()
    }

    /// Folders of sockets that are there.
    fn places(&self) -> usize {
        std::fs::read_dir(self.home.data().join("run")).map_or(0, Iterator::count)
    }

    /// Nothing is left of any runner, at the latest in a moment.
    async fn is_clean(&self) {
        for _ in 0..POLLS_MAX {
            if self.home.running().is_empty() && self.places() == 0 {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
        panic!("left: {} sockets and {:#?}", self.places(), self.runners());
    }
}

async fn add(service: &Service, file: &Path) -> Result<String, Fault> {
    let model_path = file.to_str().unwrap().to_string();
    let added = service.add_local(AddLocal { name: "On disk".into(), model_path }).await?;
    assert_eq!(added.note, None);
    Ok(added.provider_id)
}

fn caller() -> Caller {
    Caller { connection: "test".into(), name: "test".into() }
}

async fn complete(service: &Service, model: &str, question: &str) -> Result<Completion, Fault> {
    let request = CompleteRequest {
        model_id: model.into(),
        messages: vec![Message::system("Be brief."), Message::user(question)],
        tools: vec![],
        max_tokens: Some(64),
        temperature: None,
    };
    service.complete(&caller(), request).await
}

#[test]
fn a_pulled_model_speaks() {
    let Some(machine) = Machine::new() else { return };
    let bytes = std::fs::read(machine.model("tiny", &[])).unwrap();
    let server = Downloads::start(vec![StockFile::new("library/small:latest", "blob", bytes)]);
    let home = machine.home.set("OLLAMA_REGISTRY", &server.url());
    let run = |args: &[&str]| {
        let done = home.command(args).env("PATH", &machine.path).output().unwrap();
        Done::of(done)
    };
    run(&["pull", "small"]).ends(0).says("althing ask --models small \"…\"");
    run(&["ask", "--models", "small", "--quiet", "Who are you?"]).ends(0).says(LINE);
}

#[tokio::test]
async fn a_model_in_a_file_speaks() {
    let Some(machine) = Machine::new() else { return };
    let (service, model) = machine.with(&machine.model("tiny", &[])).await;

    let models = service.models(None).await.unwrap();
    assert!(models.iter().any(|it| it.model_id == "tiny"), "{models:?}");
    assert!(machine.runners().is_empty(), "nothing is loaded before it is asked");

    // Many at once load it once.
    let answers = join_all((0..4).map(|_| complete(&service, &model, "Who are you?"))).await;
    for answer in answers {
        let answer = answer.unwrap();
        assert_eq!(answer.message.text, LINE);
        assert_eq!(answer.answered_by, model);
        let usage = answer.usage.unwrap();
        assert!(usage.input > Some(20) && usage.output > Some(10), "{usage:?}");
    }
    let runners = machine.runners();
    assert_eq!(runners.len(), 1, "{runners:?}");
    let environment = std::fs::read(format!("/proc/{}/environ", runners[0].0)).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(!environment.contains("sk-not-for-runners"), "{environment}");

    let voice = service.find_voice(&model, None).await.unwrap();
    let ask = Ask { stream: true, ..Ask::new("Be brief.", "Who are you?") };
    let deltas: Vec<_> = voice.speak(ask).collect().await;
    let texts = deltas.into_iter().filter_map(|delta| match delta.unwrap() {
        Delta::Text(text) => Some(text),
        _ => None,
    });
    let pieces: Vec<String> = texts.collect();
    assert_eq!(pieces.concat(), LINE);
    assert!(pieces.len() > 5, "{pieces:?}");

    let long = complete(&service, &model, &"too long ".repeat(2_000)).await.unwrap_err();
    assert_eq!(long.kind, Kind::ContextTooLong, "{long:?}");
    assert_eq!(complete(&service, &model, "And now?").await.unwrap().message.text, LINE);

    service.close().await.unwrap();
    machine.is_clean().await;
    let closed = complete(&service, &model, "Still there?").await.unwrap_err();
    assert_eq!(closed.message, "the service is closing");
}

/// A runner is started again where a seat wants a larger window, when the calls under way are over.
#[tokio::test]
async fn a_larger_window_is_given_to_who_asks_for_it() {
    let Some(machine) = Machine::new() else { return };
    let file = machine.model("tiny", &[]);
    let service = machine.service_with(&[("ALTHING_CONTEXT_TOKENS", "512")]).await;
    let model = format!("{}:tiny", add(&service, &file).await.unwrap());
    let window = || {
        let runners = machine.runners();
        let [(_, command)] = runners.as_slice() else { panic!("{runners:?}") };
        command.split(' ').skip_while(|word| !word.starts_with("--c")).nth(1).unwrap().to_string()
    };
    complete(&service, &model, "Who are you?").await.unwrap();
    assert_eq!(window(), "512");
    let larger = format!("{model}@1k");
    let names = [&model, &larger, &model, &larger];
    for answer in join_all(names.map(|name| complete(&service, name, "And you?"))).await {
        assert_eq!(answer.unwrap().message.text, LINE);
    }
    assert_eq!(window(), "1024");
    complete(&service, &model, "And now?").await.unwrap();
    assert_eq!(window(), "1024", "what is large enough stays");
    complete(&service, &format!("{model}@1000k"), "And now?").await.unwrap();
    assert_eq!(window(), "32768", "no more than the model was made for");
    service.close().await.unwrap();
    machine.is_clean().await;
}

#[tokio::test]
async fn what_is_no_model_is_refused() {
    let Some(machine) = Machine::new() else { return };
    let service = machine.service().await;
    let home = machine.home.path();
    std::fs::write(home.join("note.gguf"), "dear diary").unwrap();
    std::fs::write(home.join("old.gguf"), b"GGUF\x01\0\0\0\0\0\0\0\0\0\0\0").unwrap();
    let cut = machine.model("cut", &["--cut", "1000"]);
    for (file, kind, message) in [
        ("/nowhere/x.gguf", Kind::NotFound, "model_path: /nowhere/x.gguf does not exist"),
        ("x.gguf", Kind::InvalidParams, "model_path: must begin with /, not 'x.gguf'"),
        ("note.gguf", Kind::InvalidParams, "is not a GGUF file"),
        ("old.gguf", Kind::InvalidParams, "is GGUF of version 1"),
        (".", Kind::InvalidParams, "is a folder"),
        (cut.to_str().unwrap(), Kind::InvalidParams, "is incomplete: it has"),
    ] {
        let path = if file == "x.gguf" { file.into() } else { home.join(file) };
        let fault = add(&service, &path).await.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.starts_with("model_path: ") && fault.message.contains(message));
    }
    let local = service.list_providers().await.unwrap();
    assert!(local.iter().all(|it| it.kind != ProviderKind::Local), "nothing is kept");

    // A file whose head is in order, and whose tensors are not what it says.
    let file = machine.model("broken", &[]);
    let mut bytes = std::fs::read(&file).unwrap();
    let key = b"llama.block_count";
    let at = bytes.windows(key.len()).position(|it| it == key).unwrap() + key.len() + 4;
    bytes[at] = 3;
    std::fs::write(&file, bytes).unwrap();
    let provider = add(&service, &file).await.unwrap();
    let fault = complete(&service, &format!("{provider}:broken"), "Hello?").await.unwrap_err();
    assert_eq!(fault.kind, Kind::Upstream, "{fault:?}");
    let told =
        ["llama-server", "althing-llama"].map(|it| format!("{it} cannot load broken.gguf: "));
    let told = [&told[usize::from(std::env::var(SERVER).is_err())], "'blk.2.attn_norm.weight'"];
    assert!(told.iter().all(|it| fault.message.contains(it)), "{fault}");
    machine.is_clean().await;
}

#[tokio::test]
async fn a_crash_is_an_error_of_one_request() {
    let Some(machine) = Machine::new() else { return };
    // It talks until its context is full, far more than the sockets between us hold.
    let (service, model) = machine.with(&machine.model("loop", &["--loop"])).await;
    let voice = service.find_voice(&model, None).await.unwrap();
    let mut speaking = voice.speak(Ask { stream: true, ..Ask::new("", "Go on.") });
    while !matches!(speaking.next().await.unwrap().unwrap(), Delta::Text(_)) {}

    let before = machine.runners();
    let killed = Command::new("kill").args(["-9", &before[0].0]).status().unwrap();
    assert!(killed.success());
    let fault = loop {
        if let Err(fault) = speaking.next().await.expect("it ends with an error") {
            break fault;
        }
    };
    assert_eq!(fault.kind, Kind::Network, "{fault:?}");
    drop(speaking);

    let answer = complete(&service, &model, "And now?").await.unwrap();
    assert!(answer.message.text.starts_with(LINE), "{answer:?}");
    let after = machine.runners();
    assert!(after.len() == 1 && after[0].0 != before[0].0, "{before:?} {after:?}");
    assert_eq!(machine.places(), 1);

    // A client that leaves ends the generation: the next one does not wait for it.
    let mut speaking = voice.speak(Ask { stream: true, ..Ask::new("", "Go on.") });
    while !matches!(speaking.next().await.unwrap().unwrap(), Delta::Text(_)) {}
    drop(speaking);
    complete(&service, &model, "My turn?").await.unwrap();
    drop((voice, service));
    machine.is_clean().await;
}

#[tokio::test]
async fn a_model_nobody_asks_is_put_away() {
    let Some(machine) = Machine::new().map(|it| Machine { idle_seconds: 1, ..it }) else { return };
    let (service, model) = machine.with(&machine.model("tiny", &[])).await;
    for _ in 0..2 {
        assert_eq!(complete(&service, &model, "Hello?").await.unwrap().message.text, LINE);
        machine.is_clean().await;
    }
    service.delete_provider(model.split(':').next().unwrap()).await.unwrap();
    assert_eq!(complete(&service, &model, "?").await.unwrap_err().kind, Kind::UnknownModel);
}

/// llama.cpp's own server is taken where it is, and does not outlive us either. Here it is ours
/// under that name: what is tested is who is chosen, how it is started and how it ends.
#[tokio::test]
async fn the_server_of_llama_cpp_comes_first() {
    let Some(mut machine) = Machine::new() else { return };
    let (own, bin) = (machine.path.join("althing-llama"), machine.home.path().join("bin"));
    let done = |command: &mut Command| assert!(command.status().unwrap().success());
    std::fs::create_dir(&bin).unwrap();
    // An input that never closes: the real one does not look at its own.
    done(Command::new("mkfifo").arg(bin.join("open")));
    let script = format!(
        "#!/bin/sh\n[ \"$1 $3 $5 $6 $7 $8\" = '--model --host --parallel 1 --ctx-size 8192' ] \
         || exit 9\nexec {} --model \"$2\" --socket \"$4\" <>\"${{0%/*}}/open\"\n",
        own.display()
    );
    std::fs::write(bin.join("llama-server"), script).unwrap();
    done(Command::new("chmod").arg("+x").arg(bin.join("llama-server")));
    machine.path = bin;
    let (service, model) = machine.with(&machine.model("tiny", &[])).await;
    assert_eq!(complete(&service, &model, "Hello?").await.unwrap().message.text, LINE);
    // The shell that guards it, and the program.
    assert!(machine.home.running().len() > 1, "{:?}", machine.home.running());

    // A crash is noticed through the guard as well.
    let of_program = |(_, command): &&(String, String)| command.starts_with(own.to_str().unwrap());
    let runners = machine.runners();
    let (program, _) = runners.iter().find(of_program).unwrap();
    done(Command::new("kill").args(["-9", program]));
    assert_eq!(complete(&service, &model, "Hello?").await.unwrap().message.text, LINE);
    service.close().await.unwrap();
    machine.is_clean().await;
}

/// By the person's own commands, in a process of their own and through the service on the bus.
#[test]
fn a_person_adds_a_file_and_asks_it() {
    let Some(machine) = Machine::new() else { return };
    let file = machine.model("tiny", &[]);
    let path = machine.path.to_str().unwrap().to_string();
    let Some(bus) = Bus::start_in(machine.home.set("PATH", &path)) else { return };
    let walk = |name: &str| {
        let add = ["providers", "add-local", file.to_str().unwrap(), "--name", name];
        bus.home.run(&add).ends(0).says(&format!("{name} is added"));
        bus.home.run(&["providers", "list"]).ends(0).says(file.to_str().unwrap());
        let model = format!("{name}:tiny");
        bus.home.run(&["models"]).ends(0).says(&model);
        bus.home.run(&["ask", "--models", &model, "Who are you?"]).ends(0).says(LINE);
        let alias = format!("fast-{name}");
        bus.home.run(&["routes", "set", &alias, &model]).ends(0);
        bus.home.run(&["routes", "test", &alias]).ends(0).says(&format!("{model} answered: "));
    };
    walk("alone");
    // What is no absolute path is one from here.
    let near = ["providers", "add-local", "tiny.gguf"];
    bus.home.run(&near).ends(0).says("tiny is added");
    bus.home.run(&["providers", "add-local", "none.gguf"]).ends(3).warns("none.gguf");
    let serving = bus.serve();
    walk("served");
    drop((serving, bus));
}

/// Whoever started it may be killed: the runner ends with its standard input.
#[test]
fn a_runner_does_not_outlive_who_started_it() {
    let Some(machine) = Machine::new() else { return };
    let (file, socket) = (machine.model("tiny", &[]), machine.home.path().join("s.sock"));
    let mut runner = Command::new(machine.path.join("althing-llama"));
    runner.arg("--model").arg(&file).arg("--socket").arg(&socket);
    let mut runner = runner.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..POLLS_MAX {
        if socket.exists() {
            break;
        }
        really_wait(POLL);
    }
    assert!(socket.exists());
    drop(runner.stdin.take());
    assert!(runner.wait().unwrap().success());
    assert!(!socket.exists());
}
