//! `althing pull` through the real binary, against a loopback server that speaks the protocols of
//! Hugging Face's hub and of Ollama's registry and fails as they do.

mod failures;

use crate::harness::{Done, Home};
use althing_testkit::downloads::{ollama_manifest, tiny_gguf};
use althing_testkit::{Downloads, StockFile};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A home whose hub and registry are one loopback server.
struct Machine {
    home: Home,
    server: Downloads,
}

impl Machine {
    fn new(files: Vec<StockFile>) -> Machine {
        let server = Downloads::start(files);
        let home = Home::new().set("HF_ENDPOINT", &server.url());
        Machine { home: home.set("OLLAMA_REGISTRY", &server.url()), server }
    }

    fn pull(&self, args: &[&str]) -> Done {
        self.home.run(&[&["pull"], args].concat())
    }

    /// Runs a copy of the program that has no runner of models beside it.
    fn alone(&self, args: &[&str]) -> Done {
        let folder = self.home.path().join("alone");
        let (own, copy) = (Path::new(env!("CARGO_BIN_EXE_althing")), folder.join("althing"));
        if !copy.exists() {
            std::fs::create_dir_all(&folder).unwrap();
            let linked = std::fs::hard_link(own, &copy);
            linked.or_else(|_| std::fs::copy(own, &copy).map(drop)).unwrap();
        }
        let usual = self.home.command(args);
        let mut command = Command::new(copy);
        command.args(usual.get_args()).env_clear().current_dir(self.home.path());
        command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Done::of(command.output().unwrap())
    }

    /// Where the model `tiny:1b` of the registry ends up.
    fn tiny(&self) -> PathBuf {
        self.home.data().join("models/ollama/library/tiny-1b.gguf")
    }

    /// The ranges that were asked for, one per download.
    fn ranges(&self) -> Vec<String> {
        self.server.downloads().into_iter().map(|it| it.range).collect()
    }
}

/// The model `tiny:1b` of the registry: 240 KB that differ everywhere.
fn tiny() -> StockFile {
    StockFile::new("library/tiny:1b", "blob", tiny_gguf("Tiny 1B", 60_000))
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_model_of_the_hub_is_one_command_away() {
    let repo = "ada/Tiny-1B-Instruct-GGUF";
    let file = |label: &str, values| {
        let bytes = tiny_gguf("Tiny 1B", values);
        StockFile::new(repo, &format!("Tiny-1B-{label}.gguf"), bytes)
    };
    let machine = Machine::new(vec![file("Q4_K_M", 40_000), file("Q8_0", 80_000)]);
    let done = machine.pull(&[repo]);
    done.ends(0)
        .says("is downloaded: 320 KB")
        .says("tiny-1b is added; its model is tiny-1b:Tiny-1B");
    done.says("althing ask --models tiny-1b").warns("Q8_0, the best that fits").warns("100 %");
    let listed = machine.pull(&[]);
    listed.ends(0).says("Pulled:").says("althing pull ada/Tiny-1B-Instruct-GGUF/Tiny-1B-Q8_0.gguf");
    let path = machine.home.data().join("models/huggingface").join(repo).join("Tiny-1B-Q8_0.gguf");
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    // Nobody runs files here, but its short name is understood.
    let asked = machine.home.run(&["ask", "--models", "tiny-1b", "Who are you?"]);
    assert!(asked.code != Some(0) && !asked.err.contains("no such model"), "{asked:?}");

    let again = machine.pull(&[repo]);
    again.ends(0).says("is here already").says("tiny-1b is its provider already");
    let named = machine.pull(&[repo, "--as", "other"]);
    named.ends(0).says("tiny-1b is its provider already").warns("--as is left out");
    let named = machine.pull(&["hf.co/ada/Tiny-1B-Instruct-GGUF:q4_k_m", "--as", "small"]);
    named.ends(0).says("is downloaded: 160 KB").says("small is added");
    assert_eq!(machine.server.downloads().len(), 2);
    machine.pull(&[&format!("{repo}:Q5_K_M")]).ends(3).warns("there are Q4_K_M, Q8_0");
}

/// A model that nobody here can run is fetched, told of, and never seated.
#[test]
fn where_no_program_runs_models_that_is_said() {
    let machine = Machine::new(vec![tiny()]);
    const WHY: &str = "no program to run local models: put llama.cpp's llama-server on the PATH";
    let done = machine.alone(&["pull", "tiny:1b"]);
    done.ends(0).warns("The model can be fetched and not asked: no program").warns(WHY);
    done.says("Once a program runs it, ask it: althing ask --models tiny-1b");
    machine.alone(&["pull", "tiny:1b"]).ends(0).warns(WHY).says("Once a program runs it");
    let asked = machine.alone(&["ask", "Why?"]);
    asked.ends(0).warns("is left out: no program to run local models").warns("demo voices");
    machine.alone(&["doctor"]).ends(0).says("no program to run local models");
    machine.alone(&["models"]).ends(0).says("no program to run local models");
    machine.alone(&["providers", "list"]).ends(0).says("no program to run local models");

    // Whatever program is there is asked as before.
    let bin = machine.home.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("llama-server"), "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(bin.join("llama-server"), PermissionsExt::from_mode(0o755)).unwrap();
    let machine = Machine { home: machine.home.set("PATH", bin.to_str().unwrap()), ..machine };
    machine.alone(&["models"]).ends(0).says("tiny-1b:Tiny-1B");
    let done = machine.alone(&["pull", "tiny:1b"]);
    assert!(!done.ends(0).err.contains("no program"), "{done:?}");
}

#[test]
fn a_model_of_the_registry_and_one_of_an_address() {
    let plain = StockFile::new("", "My-Model.gguf", tiny_gguf("Mine", 9_000));
    let machine = Machine::new(vec![tiny(), plain.clone()]);
    machine.pull(&["tiny:1b"]).ends(0).says("tiny-1b is added; its model is tiny-1b:Tiny-1B");
    assert!(machine.tiny().is_file());

    let url = format!("{}/plain/My-Model.gguf", machine.server.url());
    let done = machine.pull(&[&url, "--sha256", &plain.sha256, "--no-add"]);
    done.ends(0).says("is downloaded: 36 KB");
    assert!(!done.out.contains("is added"), "{done:?}");
    machine.pull(&[&url]).ends(0).says("is here already").says("my-model is added");
    machine.pull(&[&url, "--sha256", "abc"]).ends(2).warns("64 hexadecimal digits");
    machine.pull(&["../etc/passwd"]).ends(2).warns("is not the name of a model");
    machine.pull(&["http://models.example/a.gguf"]).ends(2).warns("is plain HTTP");
}

#[test]
fn the_list_names_what_to_get_and_what_is_here() {
    let file = tiny();
    let machine = Machine::new(vec![]);
    let store = machine.home.path().join(".ollama/models");
    let tags = store.join("manifests/registry.ollama.ai/library/tiny");
    std::fs::create_dir_all(store.join("blobs")).unwrap();
    std::fs::create_dir_all(&tags).unwrap();
    let blob = store.join(format!("blobs/sha256-{}", file.sha256));
    std::fs::write(&blob, &file.bytes).unwrap();
    let manifest = ollama_manifest(&file.sha256, file.size).to_string();
    std::fs::write(tags.join("1b"), manifest).unwrap();
    let studio = machine.home.path().join(".lmstudio/models/ada/studio-GGUF");
    std::fs::create_dir_all(&studio).unwrap();
    std::fs::write(studio.join("studio-Q8_0.gguf"), &file.bytes).unwrap();

    let listed = machine.pull(&[]);
    listed.ends(0).says("Recommended models as of 20").says("\nllama3.2  ");
    listed.says("althing pull tiny:1b").says("LM Studio");
    let lines = machine.pull(&["--json"]);
    let lines: Vec<serde_json::Value> =
        lines.ends(0).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let held = lines.iter().filter(|line| line["kind"] == "held");
    assert!(held.count() >= 2 && lines.len() >= 7);

    let done = machine.pull(&["tiny:1b"]);
    done.ends(0).says("Ollama has tiny:1b already").says("tiny-1b is added");
    let done = machine.pull(&["ada/studio-GGUF:Q8_0"]);
    done.ends(0).says("LM Studio has ada/studio-GGUF:Q8_0 already").says("studio is added");
    assert_eq!(machine.server.asked(), []);
    let studio = studio.join("studio-Q8_0.gguf");
    machine.home.run(&["providers", "list"]).ends(0).says(studio.to_str().unwrap());
    std::fs::write(&studio, &file.bytes[..9_000]).unwrap();
    assert!(!machine.pull(&[]).ends(0).out.contains("LM Studio"), "a broken file is offered");
    machine.home.run(&["providers", "list"]).ends(0).says(blob.to_str().unwrap());
}

#[test]
fn demo_voices_name_the_command() {
    let home = Home::new();
    // Which one is a question of the memory that is free.
    home.run(&["ask", "Why?"]).ends(0).warns("For real models, `althing pull");
    home.run(&["pull", "--help"]).ends(0).says("owner/repo[:QUANTISATION]").says("--max-size");
}
