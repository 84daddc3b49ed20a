use super::super::name::parse_name;
use super::*;
use althing_testkit::downloads::ollama_manifest;
use std::os::unix::fs::symlink;

/// A home in which every program holds something.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let manifest = |digest: &str, size: u64| ollama_manifest(digest, size).to_string();
    let (a, b) = ("a".repeat(64), "b".repeat(64));
    let ollama = ".ollama/models";
    let manifests = format!("{ollama}/manifests");
    write(&format!("{ollama}/blobs/sha256-{a}"), b"GGUFaaaa");
    let at = |place: &str| format!("{manifests}/{place}");
    write(&at("registry.ollama.ai/library/tiny/1b"), manifest(&a, 8).as_bytes());
    write(&at("registry.ollama.ai/ada/own/latest"), manifest(&a, 8).as_bytes());
    write(&at("hf.co/ada/tiny-GGUF/Q4_K_M"), manifest(&a, 8).as_bytes());
    write(&at("registry.ollama.ai/library/loading/latest"), manifest(&a, 9).as_bytes());
    write(&at("registry.ollama.ai/library/gone/latest"), manifest(&b, 8).as_bytes());
    write(&at("registry.ollama.ai/library/odd/latest"), b"<html>");
    write(".lmstudio/models/ada/studio-GGUF/studio-Q8_0.gguf", b"GGUFstudio");
    write(".lmstudio/models/ada/studio-GGUF/mmproj-studio.gguf", b"GGUFeyes");
    write(".lmstudio/models/ada/half/half-Q8_0-00001-of-00002.gguf", b"GGUF");
    write(".lmstudio/models/my own/x/y.gguf", b"GGUF");
    let hub = ".cache/huggingface/hub/models--ada--cached";
    write(&format!("{hub}/blobs/{b}"), b"GGUFcached");
    let snapshot = home.path().join(format!("{hub}/snapshots/abc"));
    fs::create_dir_all(&snapshot).unwrap();
    symlink(format!("../../blobs/{b}"), snapshot.join("cached-Q4_K_M.gguf")).unwrap();
    symlink("../../blobs/nowhere", snapshot.join("gone-Q8_0.gguf")).unwrap();
    home
}

fn held_in(home: &Path) -> Vec<HeldModel> {
    let world = World { env: Default::default(), cwd: home.into(), home: home.into() };
    let ours = |it: &HeldModel| it.path.starts_with(home);
    find_held(&world).into_iter().filter(ours).collect()
}

#[test]
fn what_every_program_holds_is_found() {
    let home = home();
    let shown: Vec<String> = held_in(home.path())
        .iter()
        .map(|it| {
            let name = it.name.as_deref().unwrap_or("-");
            let sum = it.sha256.as_ref().map_or("-", |sum| &sum[..2]);
            format!("{} {name} {} {sum}", it.holder.title(), it.bytes)
        })
        .collect();
    let want = [
        "Ollama ada/tiny-GGUF:Q4_K_M 8 aa",
        "Ollama ollama.com/ada/own 8 aa",
        "Ollama tiny:1b 8 aa",
        "LM Studio ada/studio-GGUF/studio-Q8_0.gguf 10 -",
        "LM Studio - 4 -",
        "the Hugging Face cache ada/cached/cached-Q4_K_M.gguf 10 bb",
    ];
    assert_eq!(shown, want);
}

/// A pipe where a manifest should be is no manifest; whoever reads it waits for ever.
#[test]
fn only_regular_files_are_manifests() {
    let home = home();
    let tags = home.path().join(".ollama/models/manifests/registry.ollama.ai/library/pipe");
    fs::create_dir_all(&tags).unwrap();
    let made = std::process::Command::new("mkfifo").arg(tags.join("1b")).status().unwrap();
    assert!(made.success());
    fs::write(tags.join("2b"), vec![b' '; MANIFEST_BYTES_MAX as usize + 1]).unwrap();
    let (sent, came) = std::sync::mpsc::channel();
    let path = home.path().to_path_buf();
    std::thread::spawn(move || sent.send(held_in(&path).len()));
    assert_eq!(came.recv_timeout(std::time::Duration::from_secs(20)), Ok(6));
}

#[test]
fn a_held_model_answers_to_its_names() {
    let home = home();
    let held = held_in(home.path());
    #[track_caller]
    fn check(held: &[HeldModel], name: &str, want: usize) {
        let name = parse_name(name).unwrap();
        let found = held.iter().filter(|it| it.answers_to(&name)).count();
        assert_eq!(found, want, "{name:?}");
    }
    check(&held, "tiny:1b", 1);
    check(&held, "tiny", 0);
    check(&held, "ollama.com/ada/own", 1);
    check(&held, "ada/tiny-gguf:q4_k_m", 1);
    check(&held, "ada/tiny-GGUF:Q8_0", 0);
    check(&held, "ada/studio-GGUF", 1);
    check(&held, "ada/cached:Q4_K_M", 1);
    check(&held, "ada/cached/cached-Q4_K_M.gguf", 1);
    check(&held, "ada/cached/other.gguf", 0);
    check(&held, "https://huggingface.co/ada/cached/tree/v2", 0);
    for it in held.iter().filter_map(|it| it.name.as_deref()) {
        check(&held, it, 1);
    }
}
