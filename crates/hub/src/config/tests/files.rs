//! Which files are read, and what is said of broken ones.

use super::*;

#[test]
fn one_dotenv_file_is_read() {
    let home = Home::new(&[]).with(QUORUM, "QUORUM_ROUNDS_PER_AGENT=4\nQUORUM_SYNTHESIZER=random");
    let mut home = home.with(LOCAL, "QUORUM_ROUNDS_PER_AGENT=5");
    home.check("rounds_per_agent", "5", "QUORUM_ROUNDS_PER_AGENT in ./.env");
    home.check("synthesizer", "first", "default");
    assert_eq!(home.load().dotenv, Some(home.world.cwd.join(".env")));

    home.world.env.insert("QUORUM_GLOBAL_CONFIG".into(), "1".into());
    home.check("rounds_per_agent", "4", "QUORUM_ROUNDS_PER_AGENT in ~/.quorum/.env");
    home.check("synthesizer", "random", "QUORUM_SYNTHESIZER in ~/.quorum/.env");

    home.world.env.clear();
    home.world.cwd = home.world.home.join(".quorum");
    home.check("rounds_per_agent", "4", "QUORUM_ROUNDS_PER_AGENT in ~/.quorum/.env");
    assert_eq!(Home::new(&[]).load().dotenv, None);
}

#[track_caller]
fn check_places(vars: &[(&str, &str)], file: &str, database: &str) {
    let home = Home::new(vars);
    let config = home.load();
    assert_eq!(home.tidy(config.file.display()), file, "{vars:?}");
    assert_eq!(home.tidy(config.database().display()), database, "{vars:?}");
}

#[test]
fn places() {
    let (file, database) =
        ("/home/.config/althing/config.toml", "/home/.local/share/althing/althing.db");
    check_places(&[], file, database);
    check_places(&[("XDG_CONFIG_HOME", "relative"), ("XDG_DATA_HOME", "")], file, database);
    check_places(&[("XDG_CONFIG_HOME", "/c")], "/c/althing/config.toml", database);
    check_places(&[("XDG_DATA_HOME", "/d")], file, "/d/althing/althing.db");
    let own =
        [("ALTHING_CONFIG", "mine.toml"), ("ALTHING_DATA", "~/data"), ("XDG_DATA_HOME", "/d")];
    check_places(&own, "/home/project/mine.toml", "/home/data/althing.db");
    let home = Home::new(&[]).with(LOCAL, "ALTHING_DATA=/elsewhere\nALTHING_CONFIG=/elsewhere");
    home.check("data_dir", "/home/.local/share/althing", "default");
}

#[test]
fn broken_dotenv_files() {
    let home = |text: &[u8]| Home::new(&[]).with(LOCAL, text);
    let home_1 = home(b"QUORUM_ROUNDS_PER_AGENT=4\nwhat\nis\nthis\n");
    home_1.check("rounds_per_agent", "4", "QUORUM_ROUNDS_PER_AGENT in ./.env");
    home_1.warns(&["line 2 in ./.env: has no '='; it is ignored, and 2 more lines"]);
    let latin = home(b"X=caf\xe9\nQUORUM_ROUNDS_PER_AGENT=4\n");
    latin.check("rounds_per_agent", "4", "QUORUM_ROUNDS_PER_AGENT in ./.env");
    latin.warns(&["the file in ./.env: is not UTF-8"]);
    home(&vec![b'\n'; 64 * 1024]).warns(&[]);
    home(&vec![b'\n'; 64 * 1024 + 1]).warns(&["longer than 65536 bytes"]);
}

/// Reading one of these might never end.
#[test]
fn what_is_no_file_is_named_and_not_read() {
    for (path, name) in [(TOML, "config.toml"), (QUORUM, "~/.quorum/.env")] {
        let home = Home::new(&[]).with(path, "");
        let path = home.folder.path().join(path);
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        home.warns(&["the file"]);
        let warning = &home.warnings()[0];
        assert!(warning.contains(name) && warning.contains("is no regular file"), "{warning}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        home.warns(&["is no regular file"]);
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        home.warns(&[]);
    }
}

#[test]
fn broken_toml_files() {
    let warns = |text: &str, parts: &[&str]| Home::new(&[]).with(TOML, text).warns(parts);
    let place = "in /home/.config/althing/config.toml: ";
    warns("method = 'standard'\nétat = 1 =\n", &[&format!("line 2, column 10 {place}is not TOML")]);
    warns("[providers.openai\n", &["line 1, column"]);
    warns("rounds_per_agent = [1]", &[&format!("rounds_per_agent {place}must be a text")]);
    warns("rounds_per_agent = true", &["must be a text, a number or a list of texts"]);
    warns("methd = 'standard'", &[&format!("methd {place}is not known; did you mean method?")]);
    warns("zzzz = 1", &[&format!("zzzz {place}is not known; there are method,")]);
    warns("[providers.openai]\napikey = 'x'", &["did you mean api_key?"]);
    warns("providers = 1", &["must be sections"]);
    warns("[providers]\nopenai = 1", &["must be a section: [providers.openai]"]);
    warns(&" ".repeat(256 * 1024 + 1), &["longer than"]);
    let bytes = Home::new(&[]).with(TOML, b"\xff\xfe");
    bytes.warns(&["is not UTF-8"]);
}

#[test]
fn warnings_have_a_limit() {
    let text: String = (0..500).map(|n| format!("unknown_{n} = 1\n")).collect();
    let warnings = Home::new(&[]).with(TOML, text).warnings();
    assert_eq!(warnings.len(), WARNINGS_MAX + 1);
    assert_eq!(warnings.last().unwrap(), "warnings: 400 more warnings are not shown");
}

/// The template with every key uncommented.
fn uncommented() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(key) if key.starts_with(|c: char| c == '[' || c.is_ascii_lowercase()) => {
            key.to_string()
        }
        _ => line.to_string(),
    };
    TEMPLATE.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_template_uncommented_is_the_default() {
    let shown = |home: &Home| -> Vec<(String, String)> {
        let rows = home.load().rows().into_iter();
        rows.map(|row| (row.key, home.tidy(row.value))).collect()
    };
    let vars = [("OPENAI_API_KEY", KEY)];
    let bare = Home::new(&vars);
    let as_written = Home::new(&vars).with(TOML, TEMPLATE);
    let whole = Home::new(&vars).with(TOML, uncommented());
    whole.warns(&[]);
    assert_eq!(shown(&as_written), shown(&bare));
    assert_eq!(shown(&whole), shown(&bare));
    for setting in settings::SETTINGS {
        assert!(uncommented().contains(&format!("\n{} = ", setting.key)), "{}", setting.key);
        assert!(TEMPLATE.contains(&format!("({})", setting.env)), "{}", setting.env);
    }
}

#[test]
fn the_template_is_written_once() {
    let home = Home::new(&[]);
    let path = home.load().file.value;
    init(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), TEMPLATE);
    home.warns(&[]);
    fs::write(&path, "method = 'standard'").unwrap();
    let fault = init(&path).unwrap_err();
    assert!(fault.message.contains("nothing was changed"), "{fault}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "method = 'standard'");
    let below_a_file = init(&path.join("config.toml")).unwrap_err();
    assert!(below_a_file.message.contains("cannot be written"), "{below_a_file}");
}

#[cfg(unix)]
#[test]
fn the_template_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new(&[]);
    let path = home.load().file.value;
    init(&path).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    fs::write(&path, format!("[providers.openai]\napi_key = '{KEY}'")).unwrap();
    home.warns(&[]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    home.warns(&["other users of this machine can read this file"]);
}
