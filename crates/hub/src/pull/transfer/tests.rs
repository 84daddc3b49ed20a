use super::*;
use althing_gateway::Limits;
use althing_testkit::downloads::tiny_gguf;
use althing_testkit::{Downloads, Mishap, StockFile};

fn file() -> StockFile {
    StockFile::new("", "a.gguf", tiny_gguf("tiny", 50_000))
}

fn wanted(server: &Downloads, file: &StockFile, folder: &Path) -> Download {
    let url = format!("{}/plain/{}", server.url(), file.path);
    let sha256 = Some(file.sha256.clone());
    Download {
        source: Source { url, bytes: file.size, sha256, version: None },
        token: None,
        allow_plain: false,
        path: folder.join("a.gguf"),
        part: (1, 1),
        explain: |_, _, _| None,
    }
}

/// Downloads `file` and compares the way it went.
async fn check(file: StockFile, want: Result<(), &str>, requests: usize) {
    let home = tempfile::tempdir().unwrap();
    let server = Downloads::start(vec![file.clone()]);
    let wanted = wanted(&server, &file, home.path());
    let gateway = Gateway::new(Limits::default());
    let done = download(&gateway, &wanted, &mut |_| {}).await;
    match (done, want) {
        (Ok(path), Ok(())) => assert_eq!(std::fs::read(path).unwrap(), file.bytes),
        (Err(fault), Err(want)) => assert!(fault.message.contains(want), "{}", fault.message),
        (done, want) => panic!("{done:?} instead of {want:?}"),
    }
    assert_eq!(server.downloads().len(), requests, "{:#?}", server.asked());
}

#[tokio::test]
async fn broken_connections_are_taken_up() {
    check(file(), Ok(()), 1).await;
    check(file().failing(&[Mishap::Cut(50_000), Mishap::Cut(0), Mishap::Cut(9_000)]), Ok(()), 4)
        .await;
    check(file().failing(&[Mishap::Status(503), Mishap::Status(429)]), Ok(()), 3).await;
    check(file().failing(&[Mishap::Cut(50_000), Mishap::Whole]), Ok(()), 2).await;
    check(file().failing(&[Mishap::Cut(50_000), Mishap::WrongRange]), Ok(()), 3).await;
}

#[tokio::test]
async fn what_cannot_end_well_ends() {
    check(file().failing(&[Mishap::Status(503); 20]), Err("answered 503"), 6).await;
    check(file().failing(&[Mishap::Status(404)]), Err("has no such file"), 1).await;
    check(file().failing(&[Mishap::Status(401)]), Err("does not give the file"), 1).await;
    check(file().failing(&[Mishap::Html]), Err("bytes of the file, and"), 1).await;
    check(StockFile { sha256: "0".repeat(64), ..file() }, Err("is damaged and was deleted"), 1)
        .await;
    let short = file().bytes.len() as u64 - 1;
    check(StockFile { size: short, ..file() }, Err("were announced"), 1).await;
}

#[tokio::test]
async fn a_stopped_download_goes_on_with_the_rest_only() {
    let home = tempfile::tempdir().unwrap();
    let file = file().failing(&[Mishap::Stall(60_000)]);
    let server = Downloads::start(vec![file.clone()]);
    let wanted = wanted(&server, &file, home.path());
    let gateway = Gateway::new(Limits::default());
    let (far, mut is_far) = tokio::sync::mpsc::unbounded_channel();
    let mut watch = |event: PullEvent| {
        if matches!(event, PullEvent::Loading { done: 60_000.., .. }) {
            far.send(()).unwrap();
        }
    };
    tokio::select! {
        done = download(&gateway, &wanted, &mut watch) => panic!("{done:?}"),
        _ = is_far.recv() => {}
    }
    let path = download(&gateway, &wanted, &mut |_| {}).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), file.bytes);
    let ranges: Vec<String> = server.downloads().into_iter().map(|it| it.range).collect();
    assert_eq!(ranges, ["", "bytes=60000-"]);
}

#[test]
fn no_name_leads_out_of_its_folder() {
    let folder = Path::new("/models");
    let at = |name: &str| safe_path(folder, name).map(|it| it.display().to_string());
    assert_eq!(at("a/b c.gguf").as_deref(), Some("/models/a/b_c.gguf"));
    assert_eq!(at("a\\..\\b").as_deref(), Some("/models/a_.._b"));
    for name in ["..", "../a", "a/../b", "", "/a", "a//b", ".hidden"] {
        assert_eq!(at(name), None, "{name}");
    }
    assert_eq!(at(&"x".repeat(151)), None);
}
