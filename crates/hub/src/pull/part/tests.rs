use super::*;
use std::os::unix::fs::PermissionsExt;

const BODY: &[u8] = b"GGUF and a long rest";

fn source() -> Source {
    let digest = ring::digest::digest(&SHA256, BODY);
    let sha256 = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let url = "https://models.test/a.gguf".into();
    Source { url, bytes: BODY.len() as u64, sha256: Some(sha256), version: None }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_part_goes_on_where_it_stopped_and_ends_in_its_place() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("models/ada/a.gguf");
    let mut part = PartFile::open(&path, &source()).unwrap();
    part.append(&BODY[..2]).unwrap();
    part.append(&BODY[2..7]).unwrap();
    drop(part);
    assert_eq!((part_length(&path), finished(&path)), (7, None));

    let mut part = PartFile::open(&path, &source()).unwrap();
    assert_eq!(part.length(), 7);
    assert_eq!((part.hash_more().unwrap(), part.hash_more().unwrap()), (Some(7), None));
    part.append(&BODY[7..]).unwrap();
    assert_eq!(part.finish(&source()).unwrap(), path);
    assert_eq!(fs::read(&path).unwrap(), BODY);
    assert_eq!(finished(&path), Some(source()));
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let mut left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().flatten().collect();
    left.sort_by_key(fs::DirEntry::file_name);
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(left, ["a.gguf", "a.gguf.json", "a.gguf.lock"]);
    fs::write(&path, "short").unwrap();
    assert_eq!(finished(&path), None);
}

#[test]
fn two_do_not_write_one_file() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    let first = PartFile::open(&path, &source()).unwrap();
    let fault = PartFile::open(&path, &source()).unwrap_err();
    assert_eq!(fault.kind, Kind::Busy);
    drop(first);
    PartFile::open(&path, &source()).unwrap();
}

#[test]
fn a_part_of_something_else_is_dropped() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    let other = |sha256: Option<String>, version: Option<&str>| Source {
        sha256,
        version: version.map(String::from),
        ..source()
    };
    let check = |known: Source, now: Source, want: u64| {
        let mut part = PartFile::open(&path, &known).unwrap();
        part.restart().unwrap();
        part.append(&BODY[..7]).unwrap();
        drop(part);
        let part = PartFile::open(&path, &now).unwrap();
        assert_eq!((part.length(), part_length(&path)), (want, want), "{known:?} {now:?}");
    };
    check(source(), Source { url: "https://mirror.test/b.gguf".into(), ..source() }, 7);
    check(source(), other(Some("0".repeat(64)), None), 0);
    check(source(), Source { bytes: 3, ..source() }, 0);
    check(other(None, Some("\"a\"")), other(None, Some("\"a\"")), 7);
    check(other(None, Some("\"a\"")), other(None, Some("\"b\"")), 0);
    check(other(None, None), other(None, None), 0);
}

#[test]
fn damage_and_web_pages_are_told_and_deleted() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    let mut part = PartFile::open(&path, &source()).unwrap();
    part.append(b"GGUF and a wrong res").unwrap();
    let fault = part.finish(&source()).unwrap_err();
    assert!(fault.message.contains("is damaged and was deleted"), "{}", fault.message);
    assert_eq!((part_length(&path), path.exists()), (0, false));

    let mut part = PartFile::open(&path, &source()).unwrap();
    part.append(b"GG").unwrap();
    let fault = part.append(b"<html>").unwrap_err();
    assert!(fault.message.contains("not a GGUF file"), "{}", fault.message);
    assert_eq!(part_length(&path), 0);
}

/// A device that is always full stands for the disk: no right of root is needed for it.
#[test]
fn a_full_disk_is_told() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    std::os::unix::fs::symlink("/dev/full", beside(&path, "part")).unwrap();
    let mut part = PartFile::open(&path, &source()).unwrap();
    let fault = part.append(BODY).unwrap_err();
    assert_eq!(fault.kind, Kind::Busy);
    assert!(fault.message.contains("is full; what is there is kept"), "{}", fault.message);
    assert_eq!(part.length(), 0);
}
