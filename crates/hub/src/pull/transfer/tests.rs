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
        source: Source { url, bytes: file.size, sha256, ..Source::default() },
        token: None,
        token_source: None,
        allow_plain: false,
        path: folder.join("a.gguf"),
        part: (1, 1),
        explain: |_, _, _| None,
    }
}

/// Downloads `file` and compares the way it went.
async fn check(file: StockFile, want: Result<(), &str>, requests: usize) {
    check_version(file, None, want, requests).await;
}

/// The same where no checksum is known, and the server's mark `version` instead.
async fn check_version(
    file: StockFile,
    version: Option<Option<&str>>,
    want: Result<(), &str>,
    requests: usize,
) {
    let home = tempfile::tempdir().unwrap();
    let server = Downloads::start(vec![file.clone()]);
    let mut wanted = wanted(&server, &file, home.path());
    if let Some(version) = version {
        (wanted.source.sha256, wanted.source.version) = (None, version.map(String::from));
    }
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

/// Without a checksum only the server's mark tells whether two pieces are of one file.
#[tokio::test]
async fn two_versions_are_never_joined() {
    let own = format!("\"{}\"", &althing_testkit::downloads::sha256(&file().bytes)[..16]);
    let own = Some(own.as_str());
    check_version(file().failing(&[Mishap::Cut(50_000)]), Some(own), Ok(()), 2).await;
    let replaced = file().failing(&[Mishap::Cut(50_000), Mishap::Replaced]);
    check_version(replaced, Some(own), Ok(()), 3).await;
    let unmarked = file().failing(&[Mishap::Cut(50_000), Mishap::Unmarked(60_000)]);
    check_version(unmarked, Some(own), Ok(()), 3).await;
    // The mark of the beginning counts, whatever was known before.
    check_version(file().failing(&[Mishap::Cut(50_000)]), Some(None), Ok(()), 2).await;
    let unmarked = file().failing(&[Mishap::Unmarked(50_000)]);
    check_version(unmarked, Some(None), Ok(()), 2).await;
}

#[tokio::test]
async fn beginning_anew_in_vain_ends() {
    let vain = file().failing(&[Mishap::WholeCut(50_000); 9]);
    check(vain, Err("does not continue a download where it broke off"), 3).await;
    let further = [50_000, 50_000, 60_000, 70_000].map(Mishap::WholeCut);
    check(file().failing(&further), Ok(()), 5).await;
}

/// A login page in the middle costs nothing of what is there.
#[tokio::test]
async fn what_is_no_model_does_not_cost_the_part() {
    let home = tempfile::tempdir().unwrap();
    let file = file().failing(&[Mishap::Cut(50_000), Mishap::Portal]);
    let server = Downloads::start(vec![file.clone()]);
    let wanted = wanted(&server, &file, home.path());
    let gateway = Gateway::new(Limits::default());
    let fault = download(&gateway, &wanted, &mut |_| {}).await.unwrap_err();
    assert!(fault.message.contains("not a GGUF file"), "{}", fault.message);
    let there = super::super::part::part_length(&wanted.path);
    assert!((1..=50_000).contains(&there), "{there}");
    download(&gateway, &wanted, &mut |_| {}).await.unwrap();
    let last = server.downloads().pop().unwrap();
    assert_eq!(last.range, format!("bytes={there}-"));
}

#[tokio::test]
async fn one_wrong_range_does_not_cost_the_part() {
    let home = tempfile::tempdir().unwrap();
    let file = file().failing(&[Mishap::Cut(50_000), Mishap::WrongRange]);
    let server = Downloads::start(vec![file.clone()]);
    let wanted = wanted(&server, &file, home.path());
    let gateway = Gateway::new(Limits::default());
    download(&gateway, &wanted, &mut |_| {}).await.unwrap();
    let ranges: Vec<String> = server.downloads().into_iter().map(|it| it.range).collect();
    assert!(ranges.len() == 3 && ranges[1] == ranges[2], "{ranges:?}");
}

#[test]
fn no_two_addresses_share_a_file() {
    let at = url_place;
    assert_eq!(at("https://a.test:8/x/b.gguf"), "a.test:8/x/b.gguf");
    assert_eq!(at("https://a.test/y/b.gguf"), "a.test/y/b.gguf");
    assert_eq!(at("https://a.test/y/b.gguf?v=1"), "a.test/y/query-a798de8e/b.gguf");
    assert_eq!(at("https://a.test/a%20b%2Fc/../.x//"), "a.test/a b_c/_../_.x.gguf");
    assert_eq!(at("https://a.test/download"), "a.test/download.gguf");
    let long = at(&format!("https://a.test/{}/b.gguf", "x".repeat(200)));
    assert!(long.len() < 140 && safe_path(Path::new("/m"), &long).is_some(), "{long}");
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
