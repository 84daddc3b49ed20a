use std::fs;
use std::thread;
use std::time::{Duration, SystemTime};

use super::*;

/// A process id that nobody has: the greatest there can be on Linux is below it.
const NOBODY: u32 = 5_000_000;

struct Place {
    folder: tempfile::TempDir,
    registry: Registry,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(folder.path());
        Place { folder, registry }
    }

    fn with(text: &str) -> Place {
        let place = Place::new();
        fs::write(place.folder.path().join("services.json"), text).unwrap();
        place
    }

    fn json(&self) -> Value {
        let text = fs::read_to_string(self.folder.path().join("services.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            files.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn s11_3_s39_1_an_entry_has_port_pid_and_started() {
    let place = Place::new();
    let registration = place.registry.register("math-service", 5555).unwrap();
    let entry = &place.json()["math-service"];
    assert_eq!((&entry["port"], &entry["pid"]), (&json!(5555), &json!(std::process::id())));
    assert!(entry["started"].as_str().is_some_and(|it| it.len() == 20));
    let found = Found { port: 5555, pid: std::process::id() };
    assert_eq!(place.registry.find("math-service"), Some(found));
    drop(registration);
    assert_eq!(place.json(), json!({}));
    assert_eq!(place.registry.find("math-service"), None);
    assert_eq!(place.files(), ["services.json"], "no lock and no draft is left");
}

#[test]
fn s11_5_a_live_service_keeps_its_name() {
    let place = Place::new();
    let _first = place.registry.register("one", 1).unwrap();
    let error = place.registry.register("one", 2).unwrap_err();
    assert_eq!(error, Error::Taken { service: "one".into(), pid: std::process::id() });
    assert_eq!(place.json()["one"]["port"], 1);
}

#[test]
fn s11_6_a_dead_one_is_overwritten_and_others_stay_as_they_are() {
    let dead = json!({ "port": 9, "pid": NOBODY, "started": "2026-02-11T12:00:00", "x": [1] });
    let foreign = json!({ "one": dead.clone(), "two": dead.clone(), "odd": 7 });
    let place = Place::with(&foreign.to_string());
    assert_eq!(place.registry.find("one"), None);
    let _one = place.registry.register("one", 1).unwrap();
    let now = place.json();
    assert_eq!(now["one"]["port"], 1);
    assert_eq!((&now["two"], &now["odd"]), (&dead, &json!(7)));
}

#[test]
fn s11_7_only_the_own_entry_is_removed() {
    let place = Place::new();
    let registration = place.registry.register("one", 1).unwrap();
    let other = json!({ "one": { "port": 1, "pid": NOBODY } });
    fs::write(place.folder.path().join("services.json"), other.to_string()).unwrap();
    drop(registration);
    assert_eq!(place.json(), other);
}

#[test]
fn a_broken_file_is_repaired_and_kept() {
    for (text, kept) in [("{\"a\": {", 1), ("[]", 1), ("", 0)] {
        let place = Place::with(text);
        assert_eq!(place.registry.find("a"), None);
        let _one = place.registry.register("one", 1).unwrap();
        assert_eq!(place.json()["one"]["port"], 1);
        let files = place.files();
        let broken: Vec<_> = files.iter().filter(|it| it.contains(".broken-")).collect();
        assert_eq!(broken.len(), kept, "{files:?}");
        for name in broken {
            assert_eq!(fs::read_to_string(place.folder.path().join(name)).unwrap(), text);
        }
    }
}

#[test]
fn s11_8_s11_9_locks_of_the_dead_are_broken() {
    let place = Place::new();
    let long_ago = SystemTime::now() - Duration::from_secs(11);
    for name in ["registry.lock", "services.lock"] {
        let file = fs::File::create(place.folder.path().join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let folder = place.folder.path().join("services.json.lock");
    fs::create_dir(&folder).unwrap();
    fs::File::open(&folder).unwrap().set_modified(long_ago).unwrap();
    let _one = place.registry.register("one", 1).unwrap();
    assert_eq!(place.files(), ["services.json"]);
}

#[test]
fn s11_3_a_file_is_replaced_and_never_written_in_place() {
    let place = Place::new();
    let _one = place.registry.register("one", 1).unwrap();
    let mut before = fs::File::open(place.folder.path().join("services.json")).unwrap();
    let two = place.registry.register("two", 2).unwrap();
    drop(two);
    // Whoever has begun to read finds what was there then, whole.
    let text = std::io::read_to_string(&mut before).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), place.json());
    assert!(place.json().get("one").is_some());
}

#[test]
fn s11_3_who_reads_while_others_write_finds_it_whole() {
    let place = Place::new();
    let _one = place.registry.register("one", 1).unwrap();
    let registry = place.registry.clone();
    let writing = thread::spawn(move || {
        (0..50).for_each(|_| drop(registry.register("two", 2).unwrap()));
    });
    while !writing.is_finished() {
        assert_eq!(place.json()["one"]["port"], 1);
    }
    writing.join().unwrap();
}

#[test]
fn s11_8_a_fresh_lock_of_either_kind_is_waited_for() {
    for name in ["services.lock", "services.json.lock"] {
        let place = Place::new();
        let path = place.folder.path().join(name);
        fs::create_dir(&path).unwrap();
        let registry = place.registry.clone();
        let waiting = thread::spawn(move || registry.register("one", 1).map(|_one| ()));
        // The first lock shows that the other thread has come to the one that is held.
        while place.files().len() < 2 {
            thread::yield_now();
        }
        assert!(!place.files().contains(&"services.json".into()), "{name} is respected");
        fs::remove_dir(&path).unwrap();
        waiting.join().unwrap().unwrap();
    }
}

#[test]
fn the_services_that_run_are_listed() {
    let place = Place::new();
    assert_eq!(place.registry.services(), []);
    let (_b, _a) = (place.registry.register("b", 2), place.registry.register("a", 1));
    let pid = std::process::id();
    let found = [("a", 1), ("b", 2)].map(|(name, port)| (name.to_string(), Found { port, pid }));
    assert_eq!(place.registry.services(), found);
}

#[test]
fn s16_1_many_at_once_lose_nothing() {
    let place = Place::new();
    let register = |n: u16| {
        let registry = place.registry.clone();
        thread::spawn(move || registry.register(&format!("service-{n}"), n).unwrap())
    };
    let threads: Vec<_> = (1..=20).map(register).collect();
    let all: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
    assert_eq!(place.json().as_object().unwrap().len(), 20);
    let ending: Vec<_> = all.into_iter().map(|it| thread::spawn(move || drop(it))).collect();
    ending.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!(place.json(), json!({}));
}

#[test]
fn s11_1_the_registry_is_in_the_home() {
    let registry = Registry::of_home().unwrap();
    assert!(registry.folder.ends_with(".multifrost"));
    assert_eq!(registry.folder.parent(), env::home_dir().as_deref());
}

#[test]
fn s11_1_a_registry_that_is_a_link_stays_one() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let (link, file) =
        (place.folder.path().join("services.json"), elsewhere.path().join("real.json"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let _one = place.registry.register("one", 1).unwrap();
    assert!(link.is_symlink());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"one\"") && place.registry.find("one").is_some());
    fs::write(&file, "junk").unwrap();
    let _two = place.registry.register("two", 2).unwrap();
    assert!(link.is_symlink() && place.registry.find("two").is_some());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 2, "what was broken is kept there");
}
