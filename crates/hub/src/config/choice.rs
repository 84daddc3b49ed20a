//! Settings that are one word of a closed set.

/// A closed set of words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value and its word.
    const ALL: &'static [(&'static str, Self)];

    /// The value's word.
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// Who writes the synthesis: the first model, anyone, or each in turn from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synthesizer {
    First,
    Random,
    Rotate,
}

impl Choice for Synthesizer {
    const ALL: &'static [(&'static str, Synthesizer)] = &[
        ("first", Synthesizer::First),
        ("random", Synthesizer::Random),
        ("rotate", Synthesizer::Rotate),
    ];
}

/// How many calls a server gets at once: as its provider suits, many, or one. Servers never wait
/// for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    Auto,
    Parallel,
    Sequential,
}

impl Choice for Execution {
    const ALL: &'static [(&'static str, Execution)] = &[
        ("auto", Execution::Auto),
        ("parallel", Execution::Parallel),
        ("sequential", Execution::Sequential),
    ];
}

/// What an export is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Md,
    Json,
    Html,
    Txt,
    /// Written by frontends only.
    Pdf,
}

impl Choice for Format {
    const ALL: &'static [(&'static str, Format)] = &[
        ("md", Format::Md),
        ("json", Format::Json),
        ("html", Format::Html),
        ("txt", Format::Txt),
        ("pdf", Format::Pdf),
    ];
}
