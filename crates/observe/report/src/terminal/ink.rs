//! Colors of text in a terminal: the sixteen that every terminal has, or none.

/// Role of a piece of text, which determines its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Fair,
    Poor,
    Useful,
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
}

impl From<crate::efficiency::Grade> for Tone {
    fn from(grade: crate::efficiency::Grade) -> Self {
        match grade {
            crate::efficiency::Grade::Good => Self::Good,
            crate::efficiency::Grade::Fair => Self::Fair,
            crate::efficiency::Grade::Poor => Self::Poor,
        }
    }
}

/// Colors `text` for `tone`; unchanged if `color` is off or there is nothing to color.
pub(crate) fn paint(color: bool, tone: Tone, text: &str) -> String {
    if !color || tone == Tone::Plain || text.trim().is_empty() {
        return text.to_owned();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
}
