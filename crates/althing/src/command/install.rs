//! `service install` and `uninstall`: the files by which the session bus and systemd start
//! `althing serve` when a program calls it.

use super::print;
use crate::args::{Http, Install};
use althing_hub::config::World;
use althing_hub::face::dbus::BUS_NAME;
use althing_stdx::{Fault, Kind, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The unit's name; the bus refers to it.
const UNIT: &str = "althing.service";

pub fn service(action: Install) -> Result<()> {
    let world = World::real();
    match action {
        Install::Install(http) => install(&world, &http),
        Install::Uninstall => uninstall(&world),
    }
}

fn install(world: &World, http: &Http) -> Result<()> {
    let program = std::env::current_exe().and_then(fs::canonicalize);
    let program = program.map_err(|e| Fault::internal(format!("where is this program: {e}")))?;
    let mut text = String::new();
    for (path, content) in files(world, &program, http)? {
        write(&path, &content)?;
        text.push_str(&format!("wrote {}\n", path.display()));
    }
    text.push_str(
        "Programs that call the service start it. To start it with every login:\n  \
         systemctl --user daemon-reload && systemctl --user enable --now althing\n",
    );
    print(&text)
}

fn uninstall(world: &World) -> Result<()> {
    let mut text = String::new();
    for (path, _) in files(world, Path::new("althing"), &Http::default())? {
        match fs::remove_file(&path) {
            Ok(()) => text.push_str(&format!("removed {}\n", path.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Fault::internal(format!("{}: {e}", path.display()))),
        }
    }
    print(if text.is_empty() { "Nothing was installed.\n" } else { &text })
}

/// Each file and what it says.
fn files(world: &World, program: &Path, http: &Http) -> Result<[(PathBuf, String); 2]> {
    let command = format!("{} serve{}", quoted(program)?, words(http));
    let folder = |variable: &str, usual: &str| {
        let set = world.env.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        set.unwrap_or_else(|| world.home.join(usual))
    };
    let bus = folder("XDG_DATA_HOME", ".local/share").join("dbus-1/services");
    let units = folder("XDG_CONFIG_HOME", ".config").join("systemd/user");
    Ok([
        (
            bus.join(format!("{BUS_NAME}.service")),
            format!("[D-BUS Service]\nName={BUS_NAME}\nExec={command}\nSystemdService={UNIT}\n"),
        ),
        (
            units.join(UNIT),
            format!(
                "[Unit]\nDescription=Althing: every program can use this person's models\n\n\
                 [Service]\nType=dbus\nBusName={BUS_NAME}\nExecStart={command}\n\
                 Restart=on-failure\n\n[Install]\nWantedBy=default.target\n"
            ),
        ),
    ])
}

/// What the service is started with, as the person wants it.
fn words(http: &Http) -> String {
    match http {
        Http { no_http: true, .. } => " --no-http".into(),
        Http { http: Some(address), .. } => format!(" --http {address}"),
        Http { http: None, .. } => String::new(),
    }
}

/// The program as both files understand it. Neither has a way to write every character.
fn quoted(program: &Path) -> Result<String> {
    let text = program.to_str().filter(|text| !text.contains(['"', '\\', '$', '%', '\n', '\'']));
    match text {
        Some(text) if text.contains(' ') => Ok(format!("\"{text}\"")),
        Some(text) => Ok(text.into()),
        None => {
            let text = format!(
                "{}: the session bus cannot start a program with such a path; move it",
                program.display()
            );
            Err(Fault::new(Kind::InvalidParams, text))
        }
    }
}

/// Whole or not at all.
fn write(path: &Path, content: &str) -> Result<()> {
    let failed = |e: std::io::Error| Fault::internal(format!("{}: {e}", path.display()));
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    fs::write(&draft, content).and_then(|()| fs::rename(&draft, path)).map_err(|e| {
        // The draft may not even be there.
        let _ = fs::remove_file(&draft);
        failed(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_start_this_program() {
        let world = World {
            env: [("XDG_CONFIG_HOME".to_string(), "/cfg".to_string())].into(),
            cwd: "/".into(),
            home: "/people/ann".into(),
        };
        let http = Http { http: Some("[::1]:9000".parse().unwrap()), no_http: false };
        let [(bus, activation), (unit, service)] =
            files(&world, Path::new("/opt/al thing"), &http).unwrap();
        assert_eq!(
            bus,
            Path::new("/people/ann/.local/share/dbus-1/services/org.althing.Capability1.service")
        );
        let exec = "Exec=\"/opt/al thing\" serve --http [::1]:9000\n";
        assert!(activation.contains(exec), "{activation}");
        assert!(activation.contains("\nSystemdService=althing.service\n"), "{activation}");
        assert_eq!(unit, Path::new("/cfg/systemd/user/althing.service"));
        assert!(service.contains("\nBusName=org.althing.Capability1\n"), "{service}");
        assert_eq!(quoted(Path::new("/a\"b")).unwrap_err().kind, Kind::InvalidParams);
    }
}
