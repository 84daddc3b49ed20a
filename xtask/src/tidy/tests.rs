//! Every rule catches what is planted for it, and lets its neighbours be.

use expect_test::{Expect, expect};

use super::{File, LAYERS, RULES, layers};

fn check(path: &str, text: &str, expected: Expect) {
    let file = File { path: path.into(), text: text.into() };
    let findings = RULES.iter().flat_map(|rule| rule(&file));
    expected.assert_eq(&findings.map(|finding| format!("{finding}\n")).collect::<String>());
}

#[test]
fn a_crate_knows_only_the_layers_below() {
    let text = "
[dependencies]
althing-stdx = { workspace = true }
althing-hub.workspace = true
serde = { workspace = true } # althing-hub = 1
[dependencies.althing-gateway]
path = \"../gateway\"
[target.'cfg(unix)'.dependencies]
althing-assembly = { workspace = true }
[dev-dependencies]
althing-testkit = { workspace = true }
[build-dependencies]
althing-testkit = { workspace = true }
";
    check(
        "crates/chat/Cargo.toml",
        text,
        expect![[r#"
        crates/chat/Cargo.toml:4: `chat` may not know `hub`, only: stdx
        crates/chat/Cargo.toml:6: `chat` may not know `gateway`, only: stdx
        crates/chat/Cargo.toml:9: `chat` may not know `assembly`, only: stdx
        crates/chat/Cargo.toml:13: `chat` may not know `testkit`, only: stdx
    "#]],
    );
}

#[test]
fn foreign_crates_stay_where_they_belong() {
    let text = "
[dependencies]
anyhow = { workspace = true }
hyper-util = { workspace = true }
other = { package = \"anyhow\", version = \"1\" }
genai = { workspace = true }
[dev-dependencies]
anyhow = { workspace = true }
genai = { workspace = true }
clap_complete = { workspace = true }
";
    check(
        "crates/gateway/Cargo.toml",
        text,
        expect![[r#"
            crates/gateway/Cargo.toml:3: `gateway` may not know `anyhow`, which is only for: althing, xtask, *:dev
            crates/gateway/Cargo.toml:6: `gateway` may not know `genai`, which is only for: gateway:dev
            crates/gateway/Cargo.toml:10: `gateway` may not know `clap_complete`, which is only for: althing
            crates/gateway/Cargo.toml:5: a renamed dependency: use its own name
        "#]],
    );
}

#[test]
fn every_crate_has_a_row_and_every_row_a_crate() {
    let manifest = |name| File { path: format!("{name}/Cargo.toml"), text: String::new() };
    let known = LAYERS.iter().skip(1).map(|(name, _)| format!("crates/{name}"));
    let files: Vec<File> = known.chain(["crates/new".into()]).map(manifest).collect();
    let found: Vec<_> = layers::rows(&files).iter().map(|it| format!("{it}\n")).collect();
    expect![[r#"
        crates/new/Cargo.toml:1: `new` has no row in LAYERS: add one
        xtask/src/tidy.rs:1: LAYERS has `stdx`, which is gone
    "#]]
    .assert_eq(&found.concat());
}

#[test]
fn every_dependency_says_why() {
    let text = "
[workspace.dependencies]
althing-stdx = { path = \"crates/stdx\" }
# a reason
one = \"1\"
two = \"1\"
three = \"1\" # a reason

four = \"1\"
";
    check(
        "Cargo.toml",
        text,
        expect![[r#"
        Cargo.toml:6: say why `two` is here
        Cargo.toml:9: say why `four` is here
    "#]],
    );
}

#[test]
fn only_doors_touch_the_outside() {
    let text = "
//! Not std::fs, only a word about it.
use std::net::{IpAddr, TcpStream};
use std::{env, fs};
let text = fs::read(path)?; // fs::read
let it = std::process::Command::new(\"ls\");
let home = env::var(\"HOME\");
let offs::et = MyFile::new(crate_env::x, env!(\"X\"));
    #[cfg(test)]
    fn helper() {
        let text = fs::read(path)?;
    }
#[cfg(test)]
fn empty() {}
let is_there = path.exists();
#[cfg(test)]
use std::fs;
#[cfg(test)]
mod tests {
    use std::fs;
}
fn late() { tokio::fs::read(path) }
";
    check(
        "crates/assembly/src/floor.rs",
        text,
        expect![[r#"
            crates/assembly/src/floor.rs:3: `TcpStream` here, but this file is no door to Sockets: go through one (DOORS in tidy.rs)
            crates/assembly/src/floor.rs:5: `fs::` here, but this file is no door to Files: go through one (DOORS in tidy.rs)
            crates/assembly/src/floor.rs:6: `std::process` here, but this file is no door to Processes: go through one (DOORS in tidy.rs)
            crates/assembly/src/floor.rs:7: `env::` here, but this file is no door to Environment: go through one (DOORS in tidy.rs)
            crates/assembly/src/floor.rs:15: `.exists()` here, but this file is no door to Files: go through one (DOORS in tidy.rs)
            crates/assembly/src/floor.rs:22: `tokio::fs` here, but this file is no door to Files: go through one (DOORS in tidy.rs)
        "#]],
    );
    check(
        "crates/hub/src/store.rs",
        text,
        expect![[r#"
        crates/hub/src/store.rs:3: `TcpStream` here, but this file is no door to Sockets: go through one (DOORS in tidy.rs)
        crates/hub/src/store.rs:6: `std::process` here, but this file is no door to Processes: go through one (DOORS in tidy.rs)
        crates/hub/src/store.rs:7: `env::` here, but this file is no door to Environment: go through one (DOORS in tidy.rs)
    "#]],
    );
    check("crates/assembly/src/floor/tests.rs", text, expect![[""]]);
    check("crates/althing/src/main.rs", text, expect![[""]]);
}

#[test]
fn long_files_are_told_of_and_then_refused() {
    check("a.rs", &"\n".repeat(600), expect![[""]]);
    check(
        "a.rs",
        &"\n".repeat(601),
        expect![[r#"
        a.rs:601: note: 601 lines, and 600 are many: split it by its jobs
    "#]],
    );
    check(
        "a.rs",
        &"\n".repeat(801),
        expect![[r#"
        a.rs:801: 801 lines, and 600 are many: split it by its jobs
    "#]],
    );
    check("a.md", &"\n".repeat(801), expect![[""]]);
}

#[test]
fn files_have_the_names_of_their_modules() {
    check(
        "crates/hub/src/face/mod.rs",
        "",
        expect![[r#"
        crates/hub/src/face/mod.rs:1: rename it to crates/hub/src/face.rs
    "#]],
    );
}

#[test]
fn no_path_of_one_machine() {
    let text = "
see /home/ada/notes
see C:/Users/ada and /Users/ada
see \"/root/x\"
see ~/.config/althing, /home/user/x, $HOME/x, crates/root/x
";
    check(
        "docs/a.md",
        text,
        expect![[r#"
        docs/a.md:2: a path of one machine: make it relative
        docs/a.md:3: a path of one machine: make it relative
        docs/a.md:4: a path of one machine: make it relative
    "#]],
    );
    check(
        "crates/hub/src/config/tests.rs",
        text,
        expect![[r#"
        crates/hub/src/config/tests.rs:4: a path of one machine: make it relative
    "#]],
    );
}

#[test]
fn no_address_of_a_registry() {
    let lock = "
source = \"registry+https://github.com/rust-lang/crates.io-index\"
source = \"registry+https://mirror.example/index\"
";
    check(
        "Cargo.lock",
        lock,
        expect![[r#"
        Cargo.lock:3: names a registry: leave the address out
    "#]],
    );
    let requirements = "# see https://example.org\n--index-url https://example.org\na==1\n";
    check(
        "peers/a/requirements.txt",
        requirements,
        expect![[r#"
        peers/a/requirements.txt:2: names a registry: leave the address out
    "#]],
    );
    check(
        "web/package-lock.json",
        "\"resolved\": \"x\",\n\"version\": \"1\"",
        expect![[r#"
        web/package-lock.json:1: names a registry: leave the address out
    "#]],
    );
    check(
        ".cargo/config.toml",
        "[alias]\n[source.crates-io]\n",
        expect![[r#"
        .cargo/config.toml:2: names a registry: leave the address out
    "#]],
    );
}

#[test]
fn commands_in_texts_exist() {
    let text = "`cargo xtask test` or `cargo xtask tests`, `cargo xtask <command>`";
    check(
        "README.md",
        text,
        expect![[r#"
        README.md:1: there is no `cargo xtask tests`
    "#]],
    );
}
