use super::*;
use std::os::unix::fs::PermissionsExt;

const BODY: &[u8] = b"GGUF and a long rest";

fn source() -> Source {
    let digest = ring::digest::digest(&SHA256, BODY);
    let sha256 = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let url = "https://models.test/a.gguf".into();
    Source { url, bytes: BODY.len() as u64, sha256: Some(sha256), ..Source::default() }
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
    assert_eq!(part.finish().unwrap(), path);
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
        part.restart(known.version.clone()).unwrap();
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
    let fault = part.finish().unwrap_err();
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

#[test]
fn a_part_keeps_the_checksum_that_a_person_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    let mut part = PartFile::open(&path, &source()).unwrap();
    part.append(&BODY[..7]).unwrap();
    drop(part);
    let unnamed = Source { sha256: None, ..source() };
    let part = PartFile::open(&path, &unnamed).unwrap();
    assert_eq!((part.length(), part.source()), (7, &source()));
    drop(part);
    let other = Source { version: Some("\"b\"".into()), ..unnamed };
    assert_eq!(PartFile::open(&path, &other).unwrap().length(), 0);
}

#[test]
fn a_record_that_is_true_is_not_written_again() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    let record = beside(&path, "part.json");
    let number = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&record).unwrap());
    drop(PartFile::open(&path, &source()).unwrap());
    let before = number();
    drop(PartFile::open(&path, &source()).unwrap());
    assert_eq!(number(), before);
    let mirror = Source { url: "https://mirror.test/a.gguf".into(), ..source() };
    drop(PartFile::open(&path, &mirror).unwrap());
    assert_eq!(super::record(&record), Some(mirror));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 3);
}

#[test]
fn a_file_of_something_else_is_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.gguf");
    let of = |model: &str, url: &str, sha: &str| Source {
        model: model.into(),
        url: url.into(),
        sha256: Some(sha.repeat(64)),
        ..source()
    };
    let check = |now: &Source, want: &str| {
        let told = check_place(&path, now).err().map(|fault| fault.message).unwrap_or_default();
        assert!(told.contains(want) && told.is_empty() == want.is_empty(), "{told}");
    };
    check(&of("tiny:1b", "https://a.test/1", "a"), "");
    fs::write(&path, "mine").unwrap();
    check(&of("tiny:1b", "https://a.test/1", "a"), "no download of `althing pull` brought it");
    let known = serde_json::to_vec(&of("tiny:1b", "https://a.test/1", "a")).unwrap();
    fs::write(beside(&path, "json"), known).unwrap();
    check(&of("tiny:1b", "https://a.test/2", "b"), "");
    check(&of("", "https://a.test/1", "b"), "");
    check(&of("x", "https://mirror.test/1", "a"), "");
    check(&of("tiny-1:b", "https://a.test/2", "b"), "was downloaded from https://a.test/1; move");
}
