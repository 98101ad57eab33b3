//! Colors of text in a terminal: the sixteen that every terminal has, or none.

/// Style of text for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// True to color with escape sequences.
    pub color: bool,
    /// Width of the terminal in columns.
    pub width: usize,
}

/// Role of a piece of text, which determines its color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Text that stands out.
    Strong,
    /// Titles and remarks.
    Dim,
    /// Good result.
    Good,
    /// Result that could be better.
    Fair,
    /// Bad result, or a failure.
    Poor,
    /// Computation.
    Useful,
    /// Time in MPI.
    Mpi,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Good | Self::Useful => "32",
            Self::Fair => "33",
            Self::Poor => "31",
            Self::Mpi => "34",
        }
    }

    /// Name of a result's tone, as pages name its color; empty for other tones.
    pub fn grade(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Poor => "poor",
            _ => "",
        }
    }
}

/// Colors `text` for `tone`; unchanged if `color` is off or there is nothing to color.
pub fn paint(color: bool, tone: Tone, text: &str) -> String {
    if !color || tone == Tone::Plain || text.trim().is_empty() {
        return text.to_owned();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
}
