//! How a speech is written: as it is, wrapped, or wrapped under headings.

use crate::terminal::flow::Flow;
use crate::terminal::relabel::Relabel;
use althing_stdx::text::printable;

/// Writes one speech.
pub(super) enum Pen {
    /// As it is, but for what could drive a terminal.
    Raw {
        is_line_open: bool,
    },
    Wrapped(Flow),
    /// The labels of a synthesis become headings.
    Headed(Flow, Relabel),
}

impl Pen {
    pub fn write(&mut self, text: &str, out: &mut String) {
        match self {
            Pen::Raw { is_line_open } => {
                let text = printable(text);
                *is_line_open = text.chars().next_back().map_or(*is_line_open, |c| c != '\n');
                out.push_str(&text);
            }
            Pen::Wrapped(flow) => flow.push(text, out),
            Pen::Headed(flow, relabel) => flow.push(&relabel.push(text), out),
        }
    }

    /// Writes the rest and ends the line.
    pub fn end(self, out: &mut String) {
        match self {
            Pen::Raw { is_line_open: true } => out.push('\n'),
            Pen::Raw { is_line_open: false } => {}
            Pen::Wrapped(mut flow) => flow.end(out),
            Pen::Headed(mut flow, mut relabel) => {
                flow.push(&relabel.release(), out);
                flow.end(out);
            }
        }
    }
}
