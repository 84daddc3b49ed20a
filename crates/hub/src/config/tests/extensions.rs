//! `[extensions.<name>]`, read and changed.

use super::*;

#[test]
fn an_extension_is_shown_as_it_is_in_force() {
    let home = Home::new(&[("ECHO_KEY", KEY)]).with(
        TOML,
        "[extensions.echo]\npath = '~/bin/echo.py'\nargs = ['-v', '~/x']\n\
         env = { MODE = 'fast', KEY = '$ECHO_KEY' }\ngrants = ['read', 'models']\n\
         restart = { times_max = 2 }\nfolders = ['~/messages', 'shared']\nprivate_data = true\n\
         inherit = ['DATABASE_URL', 'AWS_*']\nframe_bytes_max = 4096\n\
         [extensions.plain]\npath = 'node \"my ext.mjs\"'\nenabled = false\n",
    );
    home.warns(&[]);
    let file = format!("/{TOML}");
    home.check("extensions.echo.path", "/home/bin/echo.py -v /home/x", &file);
    home.check("extensions.echo.env", "KEY, MODE", &file);
    home.check("extensions.echo.inherit", "DATABASE_URL, AWS_*", &file);
    home.check("extensions.echo.grants", "read, models", &file);
    home.check("extensions.echo.restart", "2 times in 300 s", &file);
    home.check("extensions.echo.private_data", "true", &file);
    home.check("extensions.echo.frame_bytes_max", "4096", &file);
    home.check("extensions.plain.frame_bytes_max", "10485760", &file);
    let folders = "/home/messages, /home/.config/althing/shared";
    home.check("extensions.echo.folders", folders, &file);
    home.check("extensions.plain.enabled", "false", &file);
    home.check("extensions.plain.grants", "read, change, windows, dialogues, files", &file);
    let config = home.load();
    assert_eq!(config.extensions[0].entry.env["KEY"], KEY);
    assert!(!format!("{config:?}").contains(KEY));
}

/// A section with this in it is not used, and the warning has this in it.
#[track_caller]
fn check(section: &str, want: &str) {
    let home = Home::new(&[]).with(TOML, format!("[extensions.echo]\n{section}\n"));
    home.warns(&[want]);
    assert!(home.load().extensions.is_empty());
}

#[test]
fn what_is_wrong_is_told_with_its_key() {
    check("", "extensions.echo.path in /home/.config/althing/config.toml: is missing");
    check("path = ' '", "extensions.echo.path");
    check("path = 5", "must be a text; this extension is not used");
    check("path = 'x'\nargs = 'y'", "extensions.echo.args");
    check("path = 'x'\nenv = { A = 5 }", "must be a table of texts");
    check("path = 'x'\nenv = { A = '$NOT_SET' }", "A names a variable that is not set");
    check("path = 'x'\nenv = { 'A=B' = 'c' }", "'A=B' cannot be set");
    for wrong in ["'A'", "['*']", "['A=B']", "['']", "['A*B']"] {
        check(&format!("path = 'x'\ninherit = {wrong}"), "must be a list of names of variables");
    }
    check("path = 'x'\nenabled = 'yes'", "extensions.echo.enabled");
    check("path = 'x'\ngrants = ['all']", "read, change, windows, dialogues, files and models");
    check("path = 'x'\nrestart = true", "extensions.echo.restart");
    check("path = 'x'\nrestart = { times_max = 0 }", "times_max must be 1 to 100");
    check("path = 'x'\nrestart = { window_s = 86401 }", "window_s must be 1 to 86400");
    check("path = 'x'\nrestart = { first_ms = 86400001 }", "must be at most 86400000");
    check("path = 'x'\nframe_bytes_max = 1000", "must be a number from 1024 to 67108864");
    check("path = 'x'\nframe_bytes_max = 'x'", "must be a number from 1024");
    check("path = 'x'\nfolders = 5", "must be a list of folders");
    check("pathh = 'x'", "has 'pathh', which is not known; there are path");
    for (text, want) in [
        ("extensions = 5", "must be sections"),
        ("[extensions]\necho = 5", "must be a section: [extensions.echo]"),
        ("[extensions.Echo]\npath = 'x'", "cannot be an extension's name"),
    ] {
        Home::new(&[]).with(TOML, text).warns(&[want]);
    }
}

#[test]
fn commands_change_nothing_else_in_the_file() {
    let before = "# mine\nmethod = 'standard'   # kept\n\n[extensions.old]\npath = 'x'\n\
                  enabled = true # for now\n\n[providers.openai]\nparallel = 2\n";
    let home = Home::new(&[]).with(TOML, before);
    let file = home.load().file.value;
    let read = || fs::read_to_string(&file).unwrap();
    enable_extension(&file, "old", false).unwrap();
    assert_eq!(read(), before.replace("true", "false"));
    let mut new = ExtensionConfig::of_command("python3", home.world.home.clone());
    new.name = "new".into();
    new.entry.args = vec!["a b.py".into()];
    new.entry.env.insert("A".into(), "b".into());
    new.entry.inherit = vec!["AWS_*".into()];
    new.entry.grants = vec![althing_exthost::Grant::Read];
    new.entry.restart = Some(Default::default());
    new.entry.frame_bytes_max = 2048;
    add_extension(&file, &new).unwrap();
    home.warns(&[]);
    assert_eq!(home.load().extensions[1].entry, new.entry);
    let fault = add_extension(&file, &new).unwrap_err();
    assert!(fault.message.contains("already"), "{fault}");
    remove_extension(&file, "old").unwrap();
    remove_extension(&file, "new").unwrap();
    assert!(read().starts_with("# mine\nmethod = 'standard'   # kept\n"), "{}", read());
    assert!(read().ends_with("\n[providers.openai]\nparallel = 2\n"), "{}", read());
    assert!(!read().contains("extensions"), "{}", read());
    for name in ["new", "none"] {
        let fault = remove_extension(&file, name).unwrap_err();
        assert!(fault.message.contains("there is no extension"), "{fault}");
    }
    assert!(enable_extension(&file, "none", true).is_err());
}

#[cfg(unix)]
#[test]
fn a_file_is_made_privately_and_keeps_its_rights_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new(&[]);
    let file = home.load().file.value;
    let mut new = ExtensionConfig::of_command("x", home.world.home.clone());
    new.name = "one".into();
    add_extension(&file, &new).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    let kept = home.world.home.join("kept.toml");
    fs::rename(&file, &kept).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&kept, &file).unwrap();
    enable_extension(&file, "one", false).unwrap();
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(mode(&kept), 0o640);
    assert!(!home.load().extensions[0].entry.enabled);
    fs::write(&kept, "not = = toml").unwrap();
    assert!(enable_extension(&file, "one", true).unwrap_err().message.contains("is not TOML"));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "not = = toml");
}
