//! One line that moves: who is thinking, and for how long. It is wiped before anything is printed.

use super::{DIM, Screen};
use std::time::Duration;

const FRAMES: [&str; 4] = ["·  ", "·· ", "···", " ··"];

/// One voice that has been asked and has not spoken yet.
pub struct Waiting {
    pub name: String,
    pub since: Duration,
    /// Something else than thinking: `queued`, `trying again in 2 s`.
    pub note: Option<String>,
}

/// The line itself; it knows only whether it is on the screen.
#[derive(Default)]
pub struct Status {
    is_shown: bool,
    frame: usize,
}

impl Status {
    /// Wipes the line.
    pub fn clear(&mut self, out: &mut String) {
        if std::mem::take(&mut self.is_shown) {
            out.push_str("\r\x1b[K");
        }
    }

    /// Draws the line anew; nothing where nobody waits.
    pub fn draw(&mut self, screen: Screen, waiting: &[Waiting], out: &mut String) {
        self.clear(out);
        if waiting.is_empty() || !screen.live {
            return;
        }
        self.frame = (self.frame + 1) % FRAMES.len();
        let voices: Vec<String> = waiting.iter().map(voice).collect();
        let line = format!("{} {}", FRAMES[self.frame], voices.join(" · "));
        // The last column stays free: a full line would wrap and could not be wiped.
        out.push_str(&screen.paint(DIM, &cut(&line, screen.columns - 1)));
        self.is_shown = true;
    }
}

fn voice(waiting: &Waiting) -> String {
    let name = althing_stdx::text::one_line(&waiting.name, 40);
    match &waiting.note {
        Some(note) => format!("{name} ({})", althing_stdx::text::one_line(note, 60)),
        None => format!("{name} {} s", waiting.since.as_secs()),
    }
}

/// At most `columns` columns of `text`.
pub(super) fn cut(text: &str, columns: usize) -> String {
    use unicode_width::UnicodeWidthChar;
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_and_goes_and_never_wraps() {
        let screen = Screen { live: true, colour: false, columns: 40 };
        let mut status = Status::default();
        let mut out = String::new();
        let waiting = |name: &str, note: Option<&str>| Waiting {
            name: name.into(),
            since: Duration::from_secs(7),
            note: note.map(String::from),
        };
        status.draw(screen, &[waiting("Ada", None), waiting("B\x1bob", Some("queued"))], &mut out);
        assert_eq!(out, "··  Ada 7 s · B\\u{1b}ob (queued)");
        out.clear();
        status.draw(screen, &[waiting(&"東".repeat(50), None)], &mut out);
        assert!(out.starts_with("\r\x1b[K··· 東"));
        assert!(unicode_width::UnicodeWidthStr::width(&out[4..]) <= 40);
        out.clear();
        status.clear(&mut out);
        status.clear(&mut out);
        assert_eq!(out, "\r\x1b[K");
    }
}
