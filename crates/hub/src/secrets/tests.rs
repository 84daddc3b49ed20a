use super::*;
use althing_stdx::Kind;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// A data folder, and a world with these variables.
struct Desk {
    folder: TempDir,
    world: World,
}

impl Desk {
    fn new(env: &[(&str, &str)]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let (cwd, home) = (folder.path().into(), folder.path().into());
        Desk { folder, world: World { env, cwd, home } }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn open(&self) -> Secrets {
        Secrets::open(&self.data(), &self.world)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file("secrets.json")).unwrap()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.file(name)).unwrap().permissions().mode() & 0o777
    }
}

async fn value(secrets: &Secrets, id: &str) -> Option<String> {
    secrets.get(id).await.unwrap().map(|secret| secret.expose().to_string())
}

const KEY: &str = "sk-live-0123456789abcdef";

#[tokio::test]
async fn kept_found_changed_forgotten() {
    let desk = Desk::new(&[]);
    for secrets in [desk.open(), Secrets::in_memory()] {
        assert_eq!(value(&secrets, "a").await, None);
        secrets.remove("a").await.unwrap();
        assert!(!desk.data().exists(), "nothing is made before something is kept");
        assert_eq!(secrets.kept_in(), None);
    }
    let all = [desk.open(), Secrets::in_memory()];
    for secrets in &all {
        secrets.set("a", &Secret::new(KEY)).await.unwrap();
        secrets.set("b", &Secret::new("")).await.unwrap();
        assert_eq!(value(secrets, "a").await.as_deref(), Some(KEY));
        secrets.set("a", &Secret::new("other")).await.unwrap();
        assert_eq!(value(secrets, "a").await.as_deref(), Some("other"));
        secrets.remove("a").await.unwrap();
        assert_eq!(value(secrets, "a").await, None);
        assert_eq!(value(secrets, "b").await.as_deref(), Some(""));
        assert_eq!(format!("{secrets:?}"), "Secrets(…)");
    }
    assert_eq!(all[0].kept_in(), Some(KeyPlace::KeyFile));
    assert_eq!(value(&desk.open(), "b").await.as_deref(), Some(""), "after a restart too");
}

#[tokio::test]
async fn everything_is_private_and_no_key_is_in_clear() {
    let desk = Desk::new(&[]);
    let secrets = desk.open();
    secrets.set("provider/x", &Secret::new(KEY)).await.unwrap();
    secrets.set("provider/y", &Secret::new(KEY)).await.unwrap();
    assert_eq!(desk.mode(""), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(desk.data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert_eq!(desk.mode(&name), 0o600, "{name}");
        assert!(!fs::read_to_string(desk.file(&name)).unwrap().contains(KEY), "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["secrets.json", "secrets.key", "secrets.lock"], "nothing is left over");
    fs::set_permissions(desk.file("secrets.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let fault = desk.open().get("provider/x").await.unwrap_err();
    assert!(fault.message.contains("chmod 600"), "{fault}");
}

#[tokio::test]
async fn two_at_once_lose_nothing() {
    let desk = Desk::new(&[]);
    let (one, other) = (desk.open(), desk.open());
    let write = |secrets: Secrets, name: &'static str| async move {
        for n in 0..10 {
            secrets.set(&format!("{name}{n}"), &Secret::new(KEY)).await.unwrap();
        }
    };
    tokio::join!(write(one.clone(), "a"), write(other.clone(), "b"), write(desk.open(), "c"));
    for n in 0..10 {
        for name in ["a", "b", "c"] {
            let id = format!("{name}{n}");
            assert_eq!(value(&one, &id).await.as_deref(), Some(KEY), "{id}");
            assert_eq!(value(&other, &id).await.as_deref(), Some(KEY), "{id}");
        }
    }
    other.remove("a3").await.unwrap();
    assert_eq!(value(&one, "a3").await, None, "one sees what the other does");
}

#[tokio::test(start_paused = true)]
async fn a_lock_held_too_long_is_busy() {
    let desk = Desk::new(&[]);
    fs::create_dir(desk.data()).unwrap();
    let held = fs::File::create(desk.file("secrets.lock")).unwrap();
    held.lock().unwrap();
    let fault = desk.open().set("a", &Secret::new(KEY)).await.unwrap_err();
    assert_eq!(fault.kind, Kind::Busy, "{fault}");
}

/// Whatever was done to the files: a fault that says `words`, and the file as it was.
async fn check(break_it: impl Fn(&Desk), words: &str) {
    let desk = Desk::new(&[]);
    let secrets = desk.open();
    secrets.set("a", &Secret::new(KEY)).await.unwrap();
    secrets.set("b", &Secret::new("another")).await.unwrap();
    break_it(&desk);
    let before = desk.text();
    for fault in [
        desk.open().get("a").await.unwrap_err(),
        desk.open().set("a", &Secret::new("new")).await.err().unwrap_or_else(|| {
            // A record that was tampered with may be written over by its owner.
            assert!(words.contains("record"), "{words}");
            fs::write(desk.file("secrets.json"), &before).unwrap();
            Fault::internal(words)
        }),
    ] {
        assert!(fault.message.contains(words), "{fault}");
        assert!(!fault.message.contains(KEY), "{fault}");
    }
    assert_eq!(desk.text(), before, "{words}: nothing is written over");
}

#[tokio::test]
async fn what_was_damaged_is_told_and_kept() {
    let put = |desk: &Desk, name: &str, text: &str| fs::write(desk.file(name), text).unwrap();
    let edit = |desk: &Desk, edit: fn(&mut serde_json::Value)| {
        let mut vault = serde_json::from_str(&desk.text()).unwrap();
        edit(&mut vault);
        put(desk, "secrets.json", &vault.to_string());
    };
    check(|desk| put(desk, "secrets.json", "{\"version\":1"), "secrets.json cannot be used").await;
    check(|desk| put(desk, "secrets.json", ""), "secrets.json cannot be used").await;
    check(|desk| edit(desk, |vault| vault["version"] = 2.into()), "its version is 2").await;
    let swap = |vault: &mut serde_json::Value| vault["records"]["a"] = vault["records"]["b"].take();
    check(|desk| edit(desk, swap), "secrets.json cannot be used").await;
    let copy = |vault: &mut serde_json::Value| {
        vault["records"]["a"] = vault["records"]["b"].clone();
    };
    check(|desk| edit(desk, copy), "the record 'a' was changed").await;
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    check(|desk| put(desk, "secrets.key", other), "does not open it").await;
    check(|desk| put(desk, "secrets.key", "nonsense"), "holds no key").await;
    check(|desk| fs::remove_file(desk.file("secrets.key")).unwrap(), "cannot be read").await;
    let elsewhere = |vault: &mut serde_json::Value| vault["key"]["place"] = "secret_service".into();
    check(|desk| edit(desk, elsewhere), "no session bus").await;
}

#[tokio::test]
async fn sizes_have_limits() {
    let desk = Desk::new(&[]);
    let secrets = desk.open();
    let long = Secret::new("x".repeat(SECRET_BYTES_MAX + 1));
    let fault = secrets.set("a", &long).await.unwrap_err();
    assert_eq!(fault.message, "secret: at most 16384 bytes, not 16385");
    for id in [String::new(), "x".repeat(ID_BYTES_MAX + 1)] {
        let fault = secrets.set(&id, &Secret::new(KEY)).await.unwrap_err();
        assert!(fault.message.starts_with("id: 1 to 200 bytes"), "{fault}");
    }
    assert!(!desk.data().exists());
}

#[tokio::test]
async fn the_first_place_that_takes_the_key() {
    let credentials = tempfile::tempdir().unwrap();
    let folder = credentials.path().to_str().unwrap();
    fs::write(credentials.path().join("althing-secrets-key"), "k".repeat(64)).unwrap();
    // A bus nobody listens on is passed over without a word.
    let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus");
    let table: &[(&[(&str, &str)], KeyPlace)] = &[
        (&[bus, ("CREDENTIALS_DIRECTORY", folder)], KeyPlace::SystemdCredential),
        (&[("CREDENTIALS_DIRECTORY", folder), ("ALTHING_SECRETS", "file")], KeyPlace::KeyFile),
        (&[bus, ("CREDENTIALS_DIRECTORY", "/nowhere")], KeyPlace::KeyFile),
        (&[("XDG_RUNTIME_DIR", "/nowhere")], KeyPlace::KeyFile),
    ];
    for (env, place) in table {
        let desk = Desk::new(env);
        desk.open().set("a", &Secret::new(KEY)).await.unwrap();
        assert_eq!(desk.open().kept_in(), Some(*place), "{env:?}");
        assert_eq!(value(&desk.open(), "a").await.as_deref(), Some(KEY), "{env:?}");
        assert_eq!(desk.file("secrets.key").exists(), *place == KeyPlace::KeyFile);
    }
}
