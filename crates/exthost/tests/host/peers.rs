//! Foreign libraries in both roles, and foreign readers of our views.

use crate::kit::Bench;
use althing_exthost::Entry;
use althing_exthost::document::{Document, Form, Format};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The scripts of the peer, beside its packages, and its Python.
struct Peer {
    home: tempfile::TempDir,
    python: PathBuf,
}

impl Peer {
    /// None where the peers are not installed and need not be.
    fn find() -> Option<Peer> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let peers = std::env::var_os("ALTHING_PEERS_DIR");
        let peers = peers.map_or(root.join("target/peers"), PathBuf::from).join("hermes");
        let python = peers.join("bin/python");
        if !python.is_file() || !peers.join("node_modules").is_dir() {
            let is_required = std::env::var_os("ALTHING_PEERS").is_some_and(|it| it == "required");
            assert!(!is_required, "the peer hermes is missing; cargo xtask peers installs it");
            println!("skipped: no peer hermes; cargo xtask peers installs it");
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        for file in ["extension.mjs", "extension.py", "host.mjs", "host.py", "views.py"] {
            std::fs::copy(root.join("peers/hermes").join(file), home.path().join(file)).unwrap();
        }
        // Node looks for packages beside the script.
        std::os::unix::fs::symlink(peers.join("node_modules"), home.path().join("node_modules"))
            .unwrap();
        Some(Peer { home, python })
    }

    fn words(&self, script: &str) -> (PathBuf, PathBuf) {
        let program =
            if script.ends_with(".py") { self.python.clone() } else { PathBuf::from("node") };
        (program, self.home.path().join(script))
    }

    fn entry(&self, script: &str) -> Entry {
        let (program, script) = self.words(script);
        let args = vec![script.to_string_lossy().into_owned()];
        Entry { args, ..Entry::new(program.to_string_lossy()) }
    }

    /// What a script prints that gets `input`.
    async fn run(&self, script: &str, argument: &str, input: &str) -> String {
        let (program, path) = self.words(script);
        let mut command = Command::new(program);
        command.arg(path).arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{script} of {input}");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[tokio::test]
async fn our_host_runs_foreign_extensions() {
    let Some(peer) = Peer::find() else { return };
    let bench = Bench::new(vec![peer.entry("extension.mjs"), peer.entry("extension.py")]);
    bench.settled().await;
    let count = bench.text().chars().count();
    for command in ["node/run", "python/run"] {
        bench.host().edit(crate::kit::MESSAGE);
        bench.host().command(command).unwrap();
        bench.until_text(&format!("PID|1|{count} -32601 🙂|123")).await;
    }
    bench.stop().await;
}

#[tokio::test]
async fn foreign_hosts_run_our_extension() {
    let Some(peer) = Peer::find() else { return };
    for script in ["host.mjs", "host.py"] {
        let said = peer.run(script, env!("CARGO_BIN_EXE_exthost-extension"), "").await;
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let want = serde_json::json!(
            { "name": "exthost-extension", "same": true, "answers": 3, "refused": -32601 });
        assert_eq!(said, want, "{script}");
    }
}

#[tokio::test]
async fn foreign_readers_see_one_tree() {
    let Some(peer) = Peer::find() else { return };
    let messages = [
        crate::kit::MESSAGE,
        "MSH|^~\\&|00123|2024-01-01|1.10|true|null|~|yes|0x1f|12:30:45\r\
         PID|1_000|\"|'|a: b|# c|\\.br\\\r",
        "MSH#*!?%#\u{7f}\u{85}\u{2028}#Ä 🙂#\u{feff}\rPID#a!!b*c%d#*%x\r",
    ];
    for message in messages {
        let document = Document::new(Form::Hl7, message);
        let view = |format| document.view(format).unwrap();
        let views = serde_json::json!({
            "json": view(Format::Json), "yaml": view(Format::Yaml), "toml": view(Format::Toml),
        });
        let said = peer.run("views.py", "", &views.to_string()).await;
        assert_eq!(said.trim(), "the same");
    }
}
