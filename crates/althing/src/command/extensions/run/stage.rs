//! What extensions do on a message, command by command, and when that is done.

use super::{Person, SHOWN_CHARS_MAX};
use crate::args::Session;
use althing_hub::extensions::{self as hub, Error, Host, State, Troupe, code};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::path::Path;
use std::time::Duration;

/// Where the message goes when all is done.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// Nowhere, or to standard output.
    None,
    File(&'a Path),
    /// Back to where it came from, unless somebody else has written there meanwhile.
    InPlace(&'a Path),
}

/// What extensions are to do.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) commands: &'a [String],
    pub(super) target: Target<'a>,
}

/// Why it is not over: a window that nobody closes is the usual reason.
pub(super) fn late(args: &Session, host: &Host) -> String {
    let windows = host.windows();
    let window = windows.first().map(|window| {
        let shown = one_line(&format!("{} at {}", window.title, window.url), SHOWN_CHARS_MAX);
        format!("; a window is still open: {shown}")
    });
    format!(
        "--timeout: not quiet within {} s{}",
        args.timeout.as_secs(),
        window.unwrap_or_default()
    )
}

/// What works on the message, and for whom.
pub(super) struct Stage<'a> {
    pub(super) host: &'a Host,
    pub(super) troupe: &'a Troupe,
    pub(super) person: &'a Person,
    pub(super) settle: Duration,
}

impl Stage<'_> {
    pub(super) async fn work(&self, wanted: Wanted<'_>) -> Result<()> {
        self.host.settled().await;
        self.lives()?;
        self.host.tell_opened();
        for command in wanted.commands {
            self.host.command(command).map_err(|error| refused(self.host, error))?;
            self.rest().await?;
        }
        if wanted.commands.is_empty() {
            self.rest().await?;
        }
        self.write(wanted.target).await
    }

    /// Waits until nothing happens any more; then everybody must be alive.
    async fn rest(&self) -> Result<()> {
        self.host.quiet(self.settle).await;
        self.lives()
    }

    /// Writes the message, which extensions hear of. One that changes it then is too late.
    async fn write(&self, target: Target<'_>) -> Result<()> {
        let draft = self.host.draft();
        let text = draft.document.text();
        let path = match target {
            Target::None => return Ok(()),
            Target::File(path) | Target::InPlace(path) => path,
        };
        self.person.is_answered()?;
        self.person.has_none_left()?;
        let save_as = match target {
            Target::InPlace(_) => {
                hub::save_over(path, text, Some(&draft.saved))?;
                false
            }
            _ => {
                hub::save(path, text)?;
                true
            }
        };
        let file = std::path::absolute(path).map_err(Fault::internal)?;
        self.host.saved(file, text, save_as);
        self.rest().await?;
        match self.host.draft().is_changed() {
            false => Ok(()),
            true => {
                let text = format!("{} is written, and was changed after that", path.display());
                Err(Fault::new(Kind::Upstream, text))
            }
        }
    }

    fn lives(&self) -> Result<()> {
        for (info, member) in self.host.extensions().iter().zip(&self.troupe.members) {
            let why = match &info.state {
                State::Failed(why) => why,
                _ if info.crashes > 0 => "it ended while it was at work, and was started again",
                _ => continue,
            };
            return Err(Fault::new(Kind::Upstream, format!("{}: {why}", member.name)));
        }
        Ok(())
    }
}

/// A command that nobody has, with those that there are.
fn refused(host: &Host, error: Error) -> Fault {
    if error.code != code::COMMAND_NOT_FOUND {
        return Fault::new(Kind::Busy, error.message);
    }
    let all = host.extensions().into_iter().filter_map(|info| info.manifest);
    let known = all.flat_map(|manifest| {
        let buttons = manifest.toolbar_buttons.into_iter().map(|button| button.command);
        manifest.commands.into_iter().chain(buttons)
    });
    let mut known: Vec<String> = known.collect();
    known.sort();
    known.dedup();
    let known = if known.is_empty() { "none".into() } else { known.join(", ") };
    Fault::new(Kind::NotFound, format!("--command: {}; there are: {known}", error.message))
}
