//! Which program runs a model, and how it is started.

use super::Options;
use althing_stdx::{Fault, Kind, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

/// llama.cpp's own server, and ours.
const SERVER: &str = "llama-server";
const OWN: &str = "althing-llama";

/// What of the environment a runner gets: where things are, and which graphics card to use. Keys
/// are not among it.
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "GGML_VK_VISIBLE_DEVICES",
    "LLAMA_ARG_N_GPU_LAYERS",
    "LLAMA_ARG_THREADS",
];

/// Settings of the library that runs llama.cpp's threads.
const PREFIXES: &[&str] = &["OMP_", "GOMP_"];
/// Threads that wait for each other sleep instead of spinning, unless the person says otherwise:
/// spinning takes the processor from the one that is waited for.
const WAIT_POLICY: &str = "OMP_WAIT_POLICY";
/// The longest text that is embedded.
const EMBEDDED_TOKENS_MAX: u32 = 2_048;

/// llama-server does not notice that its parent died. This shell does, and ends the group then; it
/// also ends it when the server is gone, so that nobody waits for a shell.
const GUARD: &str = r#"("$@" </dev/null; kill -9 0) & read -r _; kill -9 0"#;

/// What a runner shall serve.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub model: &'a Path,
    pub context_tokens: u32,
    /// Whether the model makes vectors of texts, instead of answers.
    pub makes_embeddings: bool,
}

/// The program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Program {
    Server(PathBuf),
    Own(PathBuf),
}

impl Program {
    /// `llama-server` on the path, else `althing-llama` beside this program or on the path.
    pub(super) fn find(options: &Options) -> Result<Program> {
        let path = options.env.get("PATH").map(String::as_str).unwrap_or_default();
        let on_path = |name: &str| {
            let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
            folders.map(|folder| folder.join(name)).find(|file| is_program(file))
        };
        let beside = || std::env::current_exe().ok()?.parent().map(|folder| folder.join(OWN));
        let own = || beside().filter(|file| is_program(file)).or_else(|| on_path(OWN));
        let found = on_path(SERVER).map(Program::Server).or_else(|| own().map(Program::Own));
        found.ok_or_else(missing)
    }

    /// Whose name is shown.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Program::Server(_) => SERVER,
            Program::Own(_) => OWN,
        }
    }

    /// The command that serves the model at `socket`, in a group of its own. It ends when its
    /// standard input closes.
    pub(super) fn command(&self, options: &Options, wanted: &Wanted<'_>, socket: &Path) -> Command {
        let mut command = match self {
            Program::Own(program) => Command::new(program),
            Program::Server(program) => {
                let mut guarded = Command::new("/bin/sh");
                guarded.args(["-c", GUARD, SERVER]).arg(program);
                guarded
            }
        };
        command.arg("--model").arg(wanted.model);
        match self {
            // A host that ends in `.sock` is a Unix socket.
            Program::Server(_) => command.arg("--host").arg(socket).args(["--parallel", "1"]),
            Program::Own(_) => command.arg("--socket").arg(socket),
        };
        let context = if let Program::Server(_) = self { "--ctx-size" } else { "--context" };
        command.args([context, &wanted.context_tokens.to_string()]);
        if let Program::Server(_) = self
            && wanted.makes_embeddings
        {
            // A text must be read at once; our own runner knows both by itself.
            let tokens = wanted.context_tokens.min(EMBEDDED_TOKENS_MAX).to_string();
            command.args(["--embeddings", "--batch-size", &tokens, "--ubatch-size", &tokens]);
        }
        command.env_clear().env(WAIT_POLICY, "passive").envs(keep_environment(&options.env));
        command.current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

/// Returns what of the environment a runner gets.
fn keep_environment(env: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    let is_kept = |name: &str| {
        ENVIRONMENT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    env.iter().filter(move |(name, _)| is_kept(name))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn missing() -> Fault {
    let text = format!(
        "no program to run local models: put llama.cpp's {SERVER} on the PATH, or run \
         `cargo build --release -p {OWN}` and put {OWN} beside althing"
    );
    Fault::new(Kind::NotFound, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn options(path: &str) -> Options {
        let env = [("PATH".to_string(), path.to_string())].into();
        Options {
            env,
            data_dir: "/data".into(),
            idle: Duration::from_secs(1),
            context_tokens: None,
        }
    }

    fn put(folder: &Path, name: &str, mode: u32) -> PathBuf {
        let file = folder.join(name);
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn the_server_of_llama_cpp_comes_first() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = format!("relative:{}:{}", a.path().display(), b.path().display());
        let find = || Program::find(&options(&path));
        let none = find().expect_err("nothing is there");
        assert_eq!(none.kind, Kind::NotFound);
        assert!(none.message.contains("cargo build --release -p althing-llama"), "{none}");
        put(a.path(), SERVER, 0o644);
        let own = put(a.path(), OWN, 0o755);
        assert_eq!(find(), Ok(Program::Own(own)), "what cannot be run is no program");
        let server = put(b.path(), SERVER, 0o755);
        assert_eq!(find(), Ok(Program::Server(server)));
    }

    #[test]
    fn a_runner_gets_no_keys() {
        let mut options = options("/bin");
        options.env.insert("OPENAI_API_KEY".into(), "sk-secret".into());
        let own = Program::Own("/own".into());
        let given = |options: &Options| {
            let command = own.command(options, &wanted(false), "/s".as_ref());
            let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_string();
            let envs = command.as_std().get_envs();
            envs.map(|(name, value)| [text(name), text(value.unwrap())]).collect::<Vec<_>>()
        };
        assert_eq!(given(&options), [["OMP_WAIT_POLICY", "passive"], ["PATH", "/bin"]]);
        // What the person says goes before.
        for (name, value) in [("GOMP_SPINCOUNT", "5"), ("OMP_WAIT_POLICY", "active")] {
            options.env.insert(name.into(), value.into());
        }
        let expected = [["GOMP_SPINCOUNT", "5"], ["OMP_WAIT_POLICY", "active"], ["PATH", "/bin"]];
        assert_eq!(given(&options), expected);
    }

    fn wanted(makes_embeddings: bool) -> Wanted<'static> {
        Wanted { model: Path::new("/m"), context_tokens: 64, makes_embeddings }
    }

    #[test]
    fn a_model_of_embeddings_is_served_as_such() {
        let options = options("/bin");
        let has = |program: Program, makes_embeddings: bool| {
            let command = program.command(&options, &wanted(makes_embeddings), "/s".as_ref());
            command.as_std().get_args().any(|it| it == "--embeddings")
        };
        assert!(has(Program::Server("/server".into()), true));
        assert!(!has(Program::Server("/server".into()), false));
        assert!(!has(Program::Own("/own".into()), true));
    }

    #[test]
    fn the_context_reaches_either_program() {
        for (program, option) in [
            (Program::Own("/own".into()), "--context"),
            (Program::Server("/server".into()), "--ctx-size"),
        ] {
            let command = program.command(&options("/bin"), &wanted(false), "/s".as_ref());
            let words: Vec<_> = command.as_std().get_args().collect();
            assert!(words.windows(2).any(|it| it == [option, "64"]), "{words:?}");
        }
    }
}
