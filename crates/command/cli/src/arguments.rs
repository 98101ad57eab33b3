//! Reads the command line: errors of arguments are shown with control characters escaped.

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;
use user_io::terminal::{Color, Terminal};

/// Parses the arguments of the process. Prints help, version and errors itself; an error gives the exit code.
pub(crate) fn read<A: Parser>() -> Result<A, ExitCode> {
    let error = match A::try_parse() {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    if !error.use_stderr() {
        // Help and version repeat no argument, so nothing needs escaping; clap colors and pages them.
        error.exit();
    }
    let exit_code = error.exit_code();
    let message = escaped::<A>(error, std::env::args_os()).render();
    let is_colored = Terminal::new(Color::Auto).style().color;
    if is_colored {
        eprint!("{}", message.ansi());
    } else {
        eprint!("{message}");
    }
    Err(ExitCode::from(u8::try_from(exit_code).unwrap_or(1)))
}

/// Makes the error again from arguments with control characters escaped, so that each stays in its line.
fn escaped<A: Parser>(
    error: clap::Error,
    arguments: impl Iterator<Item = OsString>,
) -> clap::Error {
    let visible = |argument: OsString| match argument.to_str() {
        Some(text) => OsString::from(user_io::print::escape_line(text).as_ref()),
        None => argument,
    };
    A::try_parse_from(arguments.map(visible)).err().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arguments;

    /// A newline in an argument started a message of its own, and an escape sequence reached the terminal.
    #[test]
    fn a_wrong_argument_stays_in_its_line() {
        let words = ["sintonia", "fit", "x", "--rate=1\nsintonia: all is well\u{1b}[2J"];
        let error = Arguments::try_parse_from(words).unwrap_err();
        let said =
            escaped::<Arguments>(error, words.into_iter().map(OsString::from)).render().to_string();
        assert!(said.contains("1\\nsintonia: all is well\\u001b[2J"), "{said}");
        assert!(!said.contains("\nsintonia:"), "{said}");
    }
}
