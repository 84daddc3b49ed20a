//! `[logins.<provider>]`: the client and the servers of a login, where they are not the usual ones.

use super::file::TomlFile;
use super::source::{Warning, shown};
use super::world::World;
use althing_gateway::login::{Flow, LOGINS, LoginRow};
use althing_stdx::{Fault, Result};

/// How to log in at a provider. A `.env` file has no say: whoever names the servers gets the
/// tokens. A wrong value is a fault, since what was meant for one server must not go to another.
pub(crate) fn login_flow(world: &World, row: &'static LoginRow) -> Result<Flow> {
    // Whatever is wrong with the rest of the file was told when it was read.
    let file = TomlFile::read(world.config_file().value, &mut Vec::new());
    let mut flow = Flow::new(row);
    for key in Flow::KEYS {
        let variable = variable(row, key);
        let (value, source) = match (world.var(&variable), file.of_login(row.provider, key)) {
            (Some(value), _) => (value.to_string(), variable),
            (None, Some(Ok(raw))) => (raw.text, raw.source.to_string()),
            (None, Some(Err(warning))) => return Err(Fault::invalid(warning)),
            (None, None) => continue,
        };
        let wrong = |fault: Fault| Fault::invalid(format!("{} ({source})", fault.message));
        flow.set(key, &value).map_err(wrong)?;
    }
    Ok(flow)
}

/// `ALTHING_COPILOT_CLIENT_ID`.
fn variable(row: &LoginRow, key: &str) -> String {
    format!("ALTHING_{}_{key}", row.provider).to_ascii_uppercase()
}

/// Warns of every name and every value below `logins` that is wrong.
pub(super) fn check(file: &TomlFile, warnings: &mut Vec<Warning>) {
    let Some(all) = file.logins() else { return };
    let mut warn = |place: &str, problem: String| {
        warnings.push(Warning::new(place, &file.source(), problem));
    };
    let Some(sections) = all.as_table() else {
        warn("logins", "must be sections: [logins.copilot], …".into());
        return;
    };
    let names: Vec<&str> = LOGINS.iter().map(|row| row.provider).collect();
    file.check("logins.", sections, &names, warnings);
    for row in LOGINS {
        let Some(section) = sections.get(row.provider) else { continue };
        let place = format!("logins.{}", row.provider);
        let Some(table) = section.as_table() else {
            let problem = format!("must be a section: [{place}]");
            warnings.push(Warning::new(&place, &file.source(), problem));
            continue;
        };
        file.check(&format!("{place}."), table, &Flow::KEYS, warnings);
        for key in Flow::KEYS {
            match file.of_login(row.provider, key) {
                Some(Ok(raw)) => {
                    if let Err(fault) = Flow::new(row).set(key, &raw.text) {
                        let problem = shown(&fault.message, 100);
                        warnings.push(Warning::new(&place, &file.source(), problem));
                    }
                }
                Some(Err(warning)) => warnings.push(warning),
                None => {}
            }
        }
    }
}
