//! `new`: a small extension to begin with, which works as it is.

use crate::args::ExtensionLanguage;
use crate::command::print;
use althing_hub::config::check_extension_name;
use althing_stdx::{Fault, Kind, Result};
use std::fs::{self, DirBuilder};
use std::path::Path;

/// A language, and what is written for it. `{name}` is the extension's name.
struct Start {
    program: &'static str,
    ending: &'static str,
    text: &'static str,
}

const PYTHON: Start =
    Start { program: "python3", ending: "py", text: include_str!("new/start.py") };
const NODE: Start = Start { program: "node", ending: "mjs", text: include_str!("new/start.mjs") };
const SAMPLE: &str = include_str!("../../../../../examples/extensions/adt.hl7");
const SAMPLE_FILE: &str = "adt.hl7";

/// Makes the folder `name` with the extension and a message in it; what is there is not touched.
pub fn write(cwd: &Path, name: &str, language: ExtensionLanguage) -> Result<()> {
    check_extension_name(name).map_err(|problem| Fault::invalid(format!("name: {problem}")))?;
    let start = match language {
        ExtensionLanguage::Python => PYTHON,
        ExtensionLanguage::Node => NODE,
    };
    let folder = cwd.join(name);
    let cannot = |error: std::io::Error| {
        let text = format!("{}: cannot be made: {error}; choose another name", folder.display());
        Fault::new(Kind::NotFound, text)
    };
    DirBuilder::new().create(&folder).map_err(cannot)?;
    let program = format!("{name}.{}", start.ending);
    fs::write(folder.join(&program), start.text.replace("{name}", name)).map_err(cannot)?;
    fs::write(folder.join(SAMPLE_FILE), SAMPLE).map_err(cannot)?;
    let run = format!("{} {name}/{program}", start.program);
    print(&format!(
        "{name}/{program} and {name}/{SAMPLE_FILE} are written. Try it:\n  \
         althing extensions run '{run}' --message {name}/{SAMPLE_FILE} --command {name}/greet\n  \
         althing extensions add {name} -- {run}\n  \
         althing extensions open {name}/{SAMPLE_FILE}\n"
    ))
}
