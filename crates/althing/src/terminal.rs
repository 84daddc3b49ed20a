//! What a person sees: styles, wrapping, the live view of a run.

pub mod council;
pub mod download;
pub mod flow;
pub mod live;
mod relabel;
pub mod status;
pub mod table;

use anstyle::{AnsiColor, Style};
use std::io::IsTerminal;

/// Narrower terminals than this are treated as this wide; wider lines than the other do not read well.
const COLUMNS_MIN: usize = 20;
const COLUMNS_MAX: usize = 100;
/// Where there is no terminal to ask.
const COLUMNS_PLAIN: usize = 80;

/// What the output can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// A person watches: text streams and a status line moves.
    pub live: bool,
    pub colour: bool,
    pub columns: usize,
}

impl Screen {
    /// The screen behind standard output. Colours only on a terminal, and not against `NO_COLOR`.
    pub fn stdout() -> Screen {
        Screen::of(std::io::stdout().is_terminal())
    }

    /// The screen behind standard error, for what is not the result of a command.
    pub fn stderr() -> Screen {
        Screen::of(std::io::stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Screen {
        let live = is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns =
            width.filter(|_| live).unwrap_or(COLUMNS_PLAIN).clamp(COLUMNS_MIN, COLUMNS_MAX);
        Screen { live, colour: live && !no_colour, columns }
    }

    /// What a pipe or a file gets.
    #[cfg(test)]
    pub fn plain() -> Screen {
        Screen { live: false, colour: false, columns: COLUMNS_PLAIN }
    }

    /// `text` in `style`, or as it is where there are no colours.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }
}

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();

/// A colour per seat, the same through a run.
pub fn seat_style(seat: usize) -> Style {
    const COLOURS: [AnsiColor; 6] = [
        AnsiColor::Cyan,
        AnsiColor::Magenta,
        AnsiColor::Green,
        AnsiColor::Blue,
        AnsiColor::Yellow,
        AnsiColor::BrightRed,
    ];
    COLOURS[seat % COLOURS.len()].on_default().bold()
}

/// Characters of a paragraph; more are cut.
const PARAGRAPH_CHARS_MAX: usize = 1000;

/// Untrusted text as a paragraph in `style`: wrapped where a person watches, one line elsewhere.
pub fn paragraph(screen: Screen, style: Style, text: &str) -> String {
    let mut wrapped = String::new();
    let columns = if screen.live { screen.columns } else { usize::MAX };
    let mut flow = flow::Flow::new(Screen { colour: false, columns, ..screen }, "");
    flow.push(&althing_stdx::text::one_line(text, PARAGRAPH_CHARS_MAX), &mut wrapped);
    flow.end(&mut wrapped);
    wrapped.lines().map(|line| screen.paint(style, line) + "\n").collect()
}

/// Writes a word so that a shell takes it as it is.
pub fn shell_word(word: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@' | '+');
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A heading with a rule to the right edge.
pub fn heading(screen: Screen, rule: char, text: &str) -> String {
    use unicode_width::UnicodeWidthStr;
    let used = text.width() + 4;
    let tail: String =
        std::iter::repeat_n(rule, screen.columns.saturating_sub(used).max(2)).collect();
    let (lead, tail) = (screen.paint(DIM, &format!("{rule}{rule}")), screen.paint(DIM, &tail));
    format!("{lead} {} {tail}", screen.paint(BOLD, text))
}
