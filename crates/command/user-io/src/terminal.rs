//! Width of the terminal, and whether its output is colored.

use clap::ValueEnum;
use display::ink::Style;
use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

/// Width where it is unknown, in columns.
const COLUMNS: usize = 100;

/// Choice of colored output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Terminal that messages for people go to: standard error.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    color: Color,
}

impl Terminal {
    /// Makes it, with the choice of the user.
    #[must_use]
    pub fn new(color: Color) -> Self {
        Self { color }
    }

    /// Style for standard error.
    #[must_use]
    pub fn style(self) -> Style {
        self.style_of(std::io::stderr())
    }

    /// Style for standard output.
    #[must_use]
    pub fn stdout_style(self) -> Style {
        self.style_of(std::io::stdout())
    }

    fn style_of(self, output: impl AsFd + IsTerminal) -> Style {
        Style { color: self.has_color(output.is_terminal()), width: columns(output) }
    }

    fn has_color(self, is_terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
                is_terminal && !is_unwanted && !is_dumb
            }
        }
    }
}

fn columns(output: impl AsFd) -> usize {
    match rustix::termios::tcgetwinsize(output) {
        Ok(size) if size.ws_col != 0 => size.ws_col.into(),
        _ => COLUMNS,
    }
}
