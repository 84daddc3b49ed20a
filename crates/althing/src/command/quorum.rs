//! `quorum`: the terminal frontend of Quorum with Althing as its backend. Its own launcher starts its
//! own backend whatever the environment says, and the package lacks the npm packages it needs: so the
//! frontend is started here, and what is missing is installed once.

use super::tell;
use crate::args::Quorum;
use crate::terminal::Screen;
use althing_hub::config::{Config, World};
use althing_stdx::{Fault, Kind, Result};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// The npm packages, in the versions that are tested, with their checksums.
const PACKAGES: &str = include_str!("../../../../peers/quorum/package.json");
const LOCK: &str = include_str!("../../../../peers/quorum/package-lock.json");
/// Says that they are there: the frontend is drawn with it.
const DRAWN_WITH: &str = "node_modules/ink/package.json";
/// Where the frontend lies below the folder of Python's packages, and its program.
const FRONTEND: &str = "quorum/_frontend";
const PROGRAM: &str = "index.js";
/// Folders of Python versions that are looked at below one `lib`; more are passed over.
const PYTHONS_MAX: usize = 20;
/// Files of the frontend that are copied; it has some hundred.
const FILES_MAX: usize = 5_000;

/// Becomes the frontend. Returns only where it cannot be started.
pub fn quorum(args: &Quorum) -> Result<()> {
    let world = World::real();
    let node = on_path(&world, "node").ok_or_else(no_node)?;
    let frontend = match &args.frontend {
        Some(path) => named(path)?,
        None => installed(&world).ok_or_else(no_frontend)?,
    };
    let frontend = match has_packages(&frontend) {
        true => frontend,
        false => prepared(&world, &frontend)?,
    };
    let backend = std::env::current_exe()
        .map_err(|e| Fault::internal(format!("where is this program: {e}")))?;
    let error = Command::new(node)
        .arg(frontend.join(PROGRAM))
        .env("QUORUM_PYTHON", backend)
        // Only its own launcher waits for that file.
        .env_remove("QUORUM_SIGNAL_FILE")
        .exec();
    Err(Fault::internal(format!("node could not be started: {error}")))
}

fn no_node() -> Fault {
    let text = "the Quorum frontend needs Node.js 20 or newer, and there is no `node` on PATH: \
                install it from https://nodejs.org or with your system's packages";
    Fault::new(Kind::NotFound, text)
}

fn no_frontend() -> Fault {
    let text = "no Quorum frontend was found. Install it with `pipx install quorum-cli` (or \
                `uv tool install quorum-cli`, or pip into a venv whose `bin` is on PATH), or name its \
                folder with --frontend. It is a program of its own, under the Business Source License";
    Fault::new(Kind::NotFound, text)
}

/// The frontend that the person names: its folder, its program, or what either lies in.
fn named(path: &Path) -> Result<PathBuf> {
    let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
    let places = [folder.to_path_buf(), folder.join("_frontend"), folder.join(FRONTEND)];
    let found = places.into_iter().find(|it| it.join(PROGRAM).is_file());
    let found = found.and_then(|it| fs::canonicalize(it).ok());
    found.ok_or_else(|| {
        let text = format!("--frontend: {} has no {FRONTEND}/{PROGRAM}", path.display());
        Fault::new(Kind::NotFound, text)
    })
}

/// The frontend of the `quorum` on PATH, wherever Python's packages lie from there.
fn installed(world: &World) -> Option<PathBuf> {
    let program = fs::canonicalize(on_path(world, "quorum")?).ok()?;
    let root = program.parent()?.parent()?;
    let lib = root.join("lib");
    let pythons = fs::read_dir(&lib).into_iter().flatten().flatten().take(PYTHONS_MAX);
    let pythons = pythons.map(|it| it.path()).flat_map(|python| {
        ["site-packages", "dist-packages"].map(|packages| python.join(packages).join(FRONTEND))
    });
    // The last is where `pip --target` puts it.
    let mut places = pythons.chain([root.join(FRONTEND)]);
    places.find(|it| it.join(PROGRAM).is_file())
}

fn on_path(world: &World, name: &str) -> Option<PathBuf> {
    let path = world.env.get("PATH")?;
    // A relative folder would be whatever folder one happens to stand in.
    let folders = std::env::split_paths(path).filter(|it| it.is_absolute());
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Whether Node finds the packages from there: in this folder or one above.
fn has_packages(frontend: &Path) -> bool {
    frontend.ancestors().any(|folder| folder.join(DRAWN_WITH).is_file())
}

/// A copy of the frontend beside its npm packages, in Althing's own folder: whatever Python's package
/// manager put where it was stays as it is. The packages are installed once.
fn prepared(world: &World, frontend: &Path) -> Result<PathBuf> {
    let home = Config::load(world).data_dir.join("quorum");
    let copy = home.join("_frontend");
    let failed = |e: io::Error| Fault::internal(format!("{}: {e}", home.display()));
    fs::create_dir_all(&home).map_err(failed)?;
    let is_same = fs::read_to_string(home.join("package-lock.json")).is_ok_and(|it| it == LOCK);
    if !(is_same && home.join(DRAWN_WITH).is_file()) {
        install_packages(world, &home)?;
    }
    // Anew each time: it is small, and the package may have been updated.
    if copy.is_dir() {
        fs::remove_dir_all(&copy).map_err(failed)?;
    }
    copy_folder(frontend, &copy, &mut 0).map_err(failed)?;
    Ok(copy)
}

fn install_packages(world: &World, home: &Path) -> Result<()> {
    let npm = on_path(world, "npm").ok_or_else(|| {
        let text = "the Quorum frontend needs npm packages that its own package lacks, and there is \
                    no `npm` on PATH: it comes with Node.js";
        Fault::new(Kind::NotFound, text)
    })?;
    let text =
        format!("The frontend's npm packages are installed once, 53 MB in {}.", home.display());
    tell(Screen::stdout(), &text);
    let failed = |e: io::Error| Fault::internal(format!("{}: {e}", home.display()));
    fs::write(home.join("package.json"), PACKAGES).map_err(failed)?;
    fs::write(home.join("package-lock.json"), LOCK).map_err(failed)?;
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let done = Command::new(npm).args(quiet).current_dir(home).status();
    let done = done.map_err(|e| Fault::internal(format!("npm could not be started: {e}")))?;
    if done.success() {
        return Ok(());
    }
    // Else the next start would take them for installed.
    let _ = fs::remove_file(home.join("package-lock.json"));
    let text = format!("npm could not install the frontend's packages ({done}); it says why above");
    Err(Fault::new(Kind::Network, text))
}

fn copy_folder(from: &Path, to: &Path, count: &mut usize) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        *count += 1;
        if *count > FILES_MAX {
            return Err(io::Error::other(format!("more than {FILES_MAX} files to copy")));
        }
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        match kind.is_dir() {
            // Links are not followed: a package has none, and they lead anywhere.
            true if entry.file_name() != OsStr::new("node_modules") => {
                copy_folder(&entry.path(), &target, count)?;
            }
            false if kind.is_file() => drop(fs::copy(entry.path(), target)?),
            _ => {}
        }
    }
    Ok(())
}
