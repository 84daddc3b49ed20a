use super::*;

fn put(
    ledger: &Path,
    name: &str,
    owner: Process,
    agent: Option<Process>,
    folder: &Path,
) -> PathBuf {
    let path = ledger.join(name);
    let mut file = write(&path, &Note { owner, folder: folder.to_path_buf() }).unwrap();
    agent.iter().for_each(|agent| file.write_all(&line(agent).unwrap()).unwrap());
    path
}

#[test]
fn only_what_nobody_owns_is_swept() {
    let ledger = tempfile::tempdir().unwrap();
    let me = Process::of(std::process::id());
    assert!(me.lives() && me.began.is_some());
    let other = Process { began: Some(1), ..me };
    assert!(!other.lives(), "the number was given out again");
    let ours = tempfile::Builder::new().prefix(PREFIX).tempdir().unwrap();
    let foreign = tempfile::tempdir().unwrap();

    let live = put(ledger.path(), "1-a.json", me, Some(me), ours.path());
    assert_eq!(sweep(ledger.path()), 0);
    assert!(live.is_file() && ours.path().is_dir());

    // Its agent has our number but began at another time: this test must survive it.
    let dead = put(ledger.path(), "1-b.json", other, Some(other), ours.path());
    let strange = put(ledger.path(), "1-c.json", other, None, foreign.path());
    fs::write(ledger.path().join("1-d.json"), "{").unwrap();
    fs::write(ledger.path().join("notes.txt"), "x").unwrap();
    // Half a line is no leader, and who was killed before a whole one left only this.
    let half = put(ledger.path(), "1-e.json", other, None, Path::new("/x"));
    fs::write(&half, fs::read_to_string(&half).unwrap() + "{\"pid\":1,\"beg").unwrap();
    let part = ledger.path().join(format!("{}-f.new", u32::MAX));
    fs::write(&part, "").unwrap();
    let ours_now = ledger.path().join(format!("{}-g.new", me.pid));
    fs::write(&ours_now, "").unwrap();
    assert_eq!(sweep(ledger.path()), 3);
    assert!(!half.exists() && !part.exists() && ours_now.exists());
    assert!(!dead.exists() && !strange.exists() && !ours.path().exists());
    assert!(foreign.path().is_dir(), "what we did not make is not removed");
    assert!(ledger.path().join("1-d.json").is_file() && ledger.path().join("notes.txt").is_file());
    assert_eq!(sweep(&ledger.path().join("none")), 0);
}

#[test]
fn a_note_is_private_and_goes_with_its_agent() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("agents");
    let mut entry = Entry::open(&ledger, Path::new("/x")).unwrap();
    entry.started(std::process::id()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&ledger), mode(&entry.path)), (0o700, 0o600));
    let (note, agent) = read(&entry.path).unwrap();
    assert_eq!(agent, Some(note.owner));
    drop(entry);
    assert_eq!(fs::read_dir(&ledger).unwrap().count(), 0);
}
