//! What is read for a task, and what is left behind by a council.

use super::*;
use althing_stdx::Kind;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn repo() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::write(folder.path().join("secret.txt"), "outside").unwrap();
    fs::write(root.join("src/a.rs"), "fn a() {}").unwrap();
    fs::write(root.join("src/deep/b.rs"), "let key = \"sk-proj-abcdefghijklmnop1234\";").unwrap();
    fs::write(root.join("src/.hidden"), "hidden").unwrap();
    fs::write(root.join("logo.png"), [0, 1, 2]).unwrap();
    fs::write(root.join("latin.txt"), [0xe9, b'a', b'b']).unwrap();
    symlink(folder.path().join("secret.txt"), root.join("leak.txt")).unwrap();
    symlink(root.join("src/a.rs"), root.join("inside.rs")).unwrap();
    folder
}

/// Files as `name=text`, and what was left out; or the refusal.
#[track_caller]
fn check(paths: &[&str], want: &[&str], left_out: &[&str]) {
    let folder = repo();
    let paths: Vec<String> = paths.iter().map(|it| it.to_string()).collect();
    match context::read(&folder.path().join("root"), &paths) {
        Ok((files, out)) => {
            let files: Vec<String> =
                files.iter().map(|it| format!("{}={}", it.name, it.text)).collect();
            assert_eq!(files, want);
            assert_eq!(out, left_out);
        }
        Err(fault) => {
            assert_eq!(fault.kind, Kind::InvalidParams);
            assert_eq!([fault.message.as_str()], want);
        }
    }
}

#[test]
fn files_go_along_and_never_from_outside() {
    check(&["src/a.rs"], &["src/a.rs=fn a() {}"], &[]);
    check(&["src"], &["src/a.rs=fn a() {}", "src/deep/b.rs=let key = \"[secret]\";"], &[]);
    check(&["inside.rs", "src/a.rs"], &["src/a.rs=fn a() {}"], &[]);
    let outside = |path: &str| format!("repo_context.paths[0]: '{path}' leads outside the root");
    for path in ["../secret.txt", "leak.txt", "/etc/passwd", "src/../../secret.txt", "../nowhere"] {
        check(&[path], &[&outside(path)], &[]);
    }
    check(&["logo.png", "latin.txt"], &[], &["logo.png: not text", "latin.txt: not UTF-8"]);
    check(&["gone.rs"], &[], &["gone.rs: No such file or directory (os error 2)"]);
}

#[test]
fn what_is_too_much_is_cut_and_named() {
    let folder = repo();
    let root = folder.path().join("root");
    fs::write(root.join("big.txt"), "é".repeat(context::BYTES_MAX)).unwrap();
    let paths = ["src/a.rs", "big.txt", "src/deep/b.rs"].map(String::from);
    let (files, left_out) = context::read(&root, &paths).unwrap();
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    assert!(bytes <= context::BYTES_MAX && bytes > context::BYTES_MAX - 4, "{bytes}");
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(left_out[0].starts_with("big.txt: cut after "), "{left_out:?}");
    assert!(left_out[1].starts_with("src/deep/b.rs: "), "{left_out:?}");
}

#[test]
fn a_repository_without_paths_is_told_by_its_names() {
    let folder = repo();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("target/debug")).unwrap();
    fs::create_dir_all(root.join("logs")).unwrap();
    for (name, text) in [
        (".gitignore", "/logs/\n*.tmp\n"),
        ("target/debug/x", ""),
        ("logs/today", ""),
        ("src/note.tmp", ""),
        ("Cargo.toml", "[package]"),
        ("src/README.md", "not at the top"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    fs::write(root.join("README.md"), "é".repeat(20_000)).unwrap();
    let (files, left_out) = context::survey(&root).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["all files", "Cargo.toml", "README.md"]);
    let list = "Cargo.toml\nREADME.md\nlatin.txt\nlogo.png\nsrc/README.md\nsrc/a.rs\n\
                src/deep/b.rs\n";
    assert_eq!(files[0].text, list);
    assert_eq!(files[1].text, "[package]");
    assert_eq!(left_out, ["README.md: cut after 24576 of 40000 bytes"]);
}

#[test]
fn a_large_repository_is_cut_where_it_is_deep() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("a/deep")).unwrap();
    let long = "x".repeat(200);
    for at in 0..200 {
        fs::write(folder.path().join(format!("a/deep/{long}{at:03}")), "").unwrap();
    }
    fs::write(folder.path().join("z"), "").unwrap();
    let (files, left_out) = context::survey(folder.path()).unwrap();
    let lines: Vec<&str> = files[0].text.lines().collect();
    assert!(files[0].text.len() <= 32 * 1024 && lines.len() > 100, "{}", lines.len());
    assert_eq!(lines.last(), Some(&"z"), "what is near the root is there");
    assert!(lines.is_sorted());
    let left = 201 - lines.len();
    let want = format!("the list of files: {left} of 201, at most 32768 bytes");
    assert_eq!(left_out, [want]);
    let empty = tempfile::tempdir().unwrap();
    let (files, left_out) = context::survey(empty.path()).unwrap();
    assert!(files.is_empty() && left_out.is_empty());
}

#[test]
fn every_error_of_a_task_is_told() {
    let fault = super::check(&serde_json::json!({ "constraints": 1, "x": 2 })).unwrap_err();
    assert_eq!(fault.kind, Kind::InvalidParams);
    for words in ["\"task\" is a required property", "$.constraints: ", "'x' was unexpected"] {
        assert!(fault.message.contains(words), "no {words} in {}", fault.message);
    }
}

#[test]
fn what_is_recorded_means_the_same_from_every_folder() {
    use serde_json::json;
    let agents = |planner: &str, judge: &str| json!({ "planners": [{ "command": planner }, { "model": "m" }], "judge": { "command": judge } });
    let task = |agents: Value| json!({ "task": "x", "agents": agents });
    let wanted = Wanted { task: task(agents("./plan.py -v", "judge ./x")), ..Wanted::default() };
    let told = recorded(&wanted, None, Path::new("/a b"));
    assert_eq!(told, task(agents("'/a b/plan.py' '-v'", "judge ./x")));
    let wanted = Wanted { task: json!({ "task": "x" }), ..Wanted::default() };
    assert_eq!(recorded(&wanted, None, Path::new("/a b")), wanted.task);
}

fn problems(task: Value, repo: Option<&Path>) -> Vec<Problem> {
    let (cwd, home) = ("/".into(), "/nowhere".into());
    let config = Config::load(&crate::config::World { env: Default::default(), cwd, home });
    examine(&Wanted { task, repo: repo.map(Path::to_path_buf), ..Wanted::default() }, &config).0
}

/// Everything that `--check` tells of a task, as `path: words`.
#[track_caller]
fn check_whole(task: Value, repo: Option<&Path>, want: &[&str]) {
    let told: Vec<String> = problems(task, repo).iter().map(ToString::to_string).collect();
    let is_told = told.iter().zip(want).all(|(told, want)| told.starts_with(want));
    assert!(is_told && told.len() == want.len(), "{told:#?}");
}

#[test]
fn what_keeps_a_council_from_beginning_is_told_before() {
    use serde_json::json;
    let folder = repo();
    let root = folder.path().join("root");
    let task = |more: Value| {
        let mut task = json!({ "task": "x" });
        more.as_object().unwrap().iter().for_each(|(key, value)| task[key] = value.clone());
        task
    };
    let check = |more: Value, want: &[&str]| check_whole(task(more), None, want);
    check(json!({}), &[]);
    let language = |it: &str| json!({ "preferences": { "language": it } });
    check(language("de"), &[]);
    check(language("zh_CN"), &["$.preferences.language: must be a language"]);
    for seed in [json!(9_223_372_036_854_775_808_u64), json!(1e30)] {
        let seed = json!({ "preferences": { "random_seed": seed } });
        check(seed, &["$.preferences.random_seed: "]);
    }
    let repo =
        |root: &Path, paths: &[&str]| json!({ "repo_context": { "root": root, "paths": paths } });
    check(repo(&root, &["src", "gone.rs"]), &[]);
    check(repo(&root.join("gone"), &["src"]), &["$.repo_context.root: "]);
    check(repo(&root.join("src/a.rs"), &[]), &["$.repo_context.root: "]);
    check(
        repo(&root, &["leak.txt", "src", "../gone"]),
        &[
            "$.repo_context.paths[0]: 'leak.txt' leads outside",
            "$.repo_context.paths[2]: '../gone' leads outside",
        ],
    );
    let paths = json!({ "repo_context": { "paths": ["../x"] } });
    check(paths.clone(), &["$.repo_context.root: paths are given and no root"]);
    check_whole(task(paths), Some(&root), &["$.repo_context.paths[0]: '../x' leads outside"]);
    // One kind of error hides no other.
    let many = json!({
        "constraints": 1, "preferences": { "language": "zh_CN", "max_plans": "x" },
        "repo_context": { "root": "/nowhere/at/all", "notes": 1 },
        "agents": {
            "planners": [{ "kind": "custom" }, 5, { "kind": "custom", "colour": "red" }],
            "judge": { "kind": "claude", "agent": "x" }
        }
    });
    let problems = problems(task(many), None);
    let mut paths: Vec<&str> = problems.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "$.agents.judge.agent",
            "$.agents.planners[0].command",
            "$.agents.planners[1]",
            "$.agents.planners[2]",
            "$.agents.planners[2].command",
            "$.constraints",
            "$.preferences.language",
            "$.preferences.max_plans",
            "$.repo_context.notes",
            "$.repo_context.root",
        ]
    );
    // As many as there are, up to a limit.
    let constraints = |count: usize| json!({ "constraints": vec![1; count] });
    check(constraints(41), &["$.constraints["; 41]);
    check(constraints(EXAMINED_MAX + 1), &["$.constraints"; EXAMINED_MAX]);
}

#[tokio::test]
async fn a_folder_is_private_and_whole() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder_of(place.path(), "../../x");
    assert_eq!(folder, place.path().join("councils/______x"));
    keep(folder.clone(), |_| vec![]).await.unwrap();
    keep(folder.clone(), |_| vec![]).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("events.jsonl")), 0o600);
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing half is left: {names:?}");
}
