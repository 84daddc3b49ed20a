//! `[workers.<name>]`.

use super::*;

#[test]
fn a_worker_is_shown_as_it_is_in_force() {
    let home = Home::new(&[("CALC_KEY", KEY)]).with(
        TOML,
        "[workers.calc]\nrun = 'python \"my calc.py\" -v'\ntimeout = 2.5\nidle = 60\nnamespace = 'n'\n\
         env = { MODE = 'fast', KEY = '$CALC_KEY' }\nonly = ['add']\n\
         tools = [{ name = 'add' }, { name = 'sub' }]\n\
         [workers.abacus]\nservice = 'math-service'\n\
         [workers.here]\nrun = ['./bin/here', '~/x', 'y']\n\
         [providers.calc]\nprovider = 'worker'\n",
    );
    home.warns(&[]);
    let file = format!("/{TOML}");
    home.check("workers.calc.run", "python my calc.py -v", &file);
    home.check("workers.calc.timeout", "2.5", &file);
    home.check("workers.calc.idle", "60", &file);
    home.check("workers.calc.namespace", "n", &file);
    home.check("workers.calc.env", "MODE, KEY", &file);
    home.check("workers.calc.only", "add", &file);
    home.check("workers.calc.tools", "add, sub", &file);
    home.check("workers.calc.provider", "worker", &file);
    home.check("workers.abacus.service", "math-service", &file);
    home.check("workers.abacus.timeout", "30", &file);
    home.check("workers.abacus.idle", "300", &file);
    let folder = "/home/.config/althing";
    home.check("workers.here.run", &format!("{folder}/bin/here /home/x y"), &file);
    let config = home.load();
    let names: Vec<&str> = config.workers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["calc", "abacus", "here"], "in the order of the file");
    assert_eq!(config.workers[0].env[1].1.expose(), KEY);
    assert!(!format!("{config:?}").contains(KEY));
    let Start::Run { words, folder: start } = &config.workers[0].start else { panic!() };
    assert_eq!(words, &["python", "my calc.py", "-v"]);
    assert!(start.ends_with("home/.config/althing"));
}

/// A section with this in it is not used, and the warning begins with the key.
#[track_caller]
fn check(section: &str, want: &str) {
    let home = Home::new(&[]).with(TOML, format!("[workers.calc]\n{section}\n"));
    home.warns(&[want]);
    assert!(home.load().workers.is_empty());
}

#[test]
fn what_is_wrong_is_told_with_its_key() {
    check("", "workers.calc.run in /home/.config/althing/config.toml: is missing");
    check("run = ''", "workers.calc.run in /home/.config/althing/config.toml: is empty");
    check("run = 5", "must be a text or a list of texts");
    check("run = ['a', 5]", "must be a list of texts");
    check("run = \"a 'b\"", "has a ' without its end; this worker is not used");
    check("run = 'a'\nservice = 'b'", "workers.calc.service");
    check("service = ''", "workers.calc.service");
    check("run = 'a'\ntimeout = 0", "workers.calc.timeout");
    check("run = 'a'\ntimeout = 3601", "more than 0 and up to 3600");
    check("run = 'a'\ntimeout = 'x'", "must be seconds");
    check("run = 'a'\nidle = 0", "workers.calc.idle");
    check("run = 'a'\nidle = 86401", "more than 0 and up to 86400");
    check("run = 'a'\nenv = ['A']", "workers.calc.env");
    check("run = 'a'\nenv = { A = 5 }", "A must be a text");
    check("run = 'a'\nenv = { A = '$NOT_SET' }", "A names a variable that is not set");
    check("run = 'a'\nenv = { COMLINK_ZMQ_PORT = '1' }", "cannot be set");
    check("run = 'a'\nonly = 'add'", "workers.calc.only");
    check("run = 'a'\ntools = [{ nam = 'x' }]", "workers.calc.tools in ");
    check("run = 'a'\ntools = [{ name = 'x', parameters = 5 }]", "[0]: parameters: must be");
    check("run = 'a'\ntimeuot = 5", "has 'timeuot', which is not known");
}

#[test]
fn names_and_sections_are_checked() {
    let home = Home::new(&[]).with(TOML, "workers = 5\n");
    home.warns(&["workers in /home/.config/althing/config.toml: must be sections"]);
    let home = Home::new(&[]).with(TOML, "[workers.'My Calc']\nrun = 'a'\n");
    home.warns(&["cannot be a worker's name"]);
    let home = Home::new(&[]).with(TOML, "[workers]\ncalc = 5\n");
    home.warns(&["must be a section: [workers.calc]"]);
    let home = Home::new(&[]).with(TOML, "[providers.lost]\nprovider = 'worker'\n");
    home.warns(&["providers.lost.provider"]);
    let many: String = (0..40).map(|at| format!("[workers.w{at}]\nrun = 'a'\n")).collect();
    let home = Home::new(&[]).with(TOML, many);
    home.warns(&["there may be 32"]);
    assert_eq!(home.load().workers.len(), 32);
}

#[test]
fn the_current_folder_has_no_say() {
    let home = Home::new(&[]).with(LOCAL, "WORKERS=x\nALTHING_WORKERS=x\n");
    assert!(home.load().workers.is_empty());
}
