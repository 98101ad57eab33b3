//! Prints everything that this program prints, so that no outside text reaches a terminal unescaped.
//!
//! Arguments, names of files, hosts and functions, and output of other programs may contain anything: a newline starts
//! a second message that seems to be ours, an escape sequence changes the terminal, a mark of writing direction turns a
//! name around. Such characters are made visible here: `\n`, `\u001b`.
//!
//! # Invariants
//! - A message is one line; a text keeps its lines, and the colors that `report` sets.
//! - JSON remains JSON: characters are made visible as JSON escapes them.
//! - A closed output does not make a message fail.
//!
//! # Not here
//! Output of watched programs and submitted tasks (`watch::live::capture`, `tasks::wait`): it is passed on unchanged.

use crate::exit::NotWritten;
use anyhow::Context;
use display::text::is_obeyed;
use std::borrow::Cow;
use std::fmt::{Arguments, Write as _};
use std::io::Write;
use std::process::ExitCode;

/// Replaces the standard macro, so that no message avoids this module: a message of ours, which begins with
/// `sintonia: `, stays in its line.
#[macro_export]
macro_rules! eprintln {
    ($($words:tt)*) => { $crate::print::print_message(format_args!($($words)*)) };
}

/// Replaces the standard macro: a part of a line, or lines.
#[macro_export]
macro_rules! eprint {
    ($($words:tt)*) => { $crate::print::print_part(&format!($($words)*)) };
}

/// Prefix of messages of this program.
const OURS: &str = "sintonia: ";
/// Start of a further line of a message.
const INDENTED: &str = "\n  ";
/// Starts of a text that replaces the line of a terminal.
const ANEW_CLEARED: &str = "\r\u{1b}[K";
const ANEW: &str = "\r";
/// Most bytes of the parameters of a sequence that sets a color.
const COLOR_BYTES_MAX: usize = 12;

/// Prints a message on standard error.
pub fn print_message(words: Arguments<'_>) {
    let words = words.to_string();
    let shown = if words.starts_with(OURS) { paragraph(&words) } else { escape_lines(&words) };
    // If standard error is closed, the user does not want messages.
    writeln!(std::io::stderr().lock(), "{shown}").ok();
}

/// Prints a part of a line, or lines, on standard error. A part that starts with `\r` replaces the line.
pub fn print_part(words: &str) {
    let begin = [ANEW_CLEARED, ANEW].into_iter().find(|begin| words.starts_with(begin));
    let (begin, rest) = match begin {
        Some(begin) => (begin, escape_line(&words[begin.len()..])),
        None => ("", escape_lines(words)),
    };
    write!(std::io::stderr().lock(), "{begin}{rest}").ok();
}

/// Prints the result that was asked for on standard output; returns the exit code of a subcommand that ends with it.
///
/// # Errors
/// If it cannot be written.
pub fn result(words: &str) -> anyhow::Result<ExitCode> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(escape_lines(words).as_bytes()).and_then(|()| output.flush());
    written.context(NotWritten)?;
    Ok(ExitCode::SUCCESS)
}

/// Number as JSON; whole numbers without a decimal point.
pub fn json_number(value: f64) -> serde_json::Value {
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number and in range")]
    if value.fract() == 0.0 && value.abs() < 9e15 { (value as i64).into() } else { value.into() }
}

/// Last lines of the output of a command, without blank ones: each on a new line and indented.
pub fn indented_end(output: &str, n_lines_max: usize) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(n_lines_max)..];
    last.iter().map(|line| format!("{INDENTED}{line}")).collect()
}

/// Message in its line, with further lines indented: these cannot be taken for messages of this program.
fn paragraph(words: &str) -> Cow<'_, str> {
    if !words.contains(INDENTED) {
        return escape_line(words);
    }
    let lines: Vec<_> = words.split(INDENTED).map(escape_line).collect();
    Cow::Owned(lines.join(INDENTED))
}

/// Prints a warning, or another sentence for the user.
pub fn warn(text: &str) {
    eprintln!("sintonia: {text}");
}

/// Text in one line, with characters that would leave it made visible: a name in a table, an argument in a message.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|letter| push(&mut shown, letter));
    Cow::Owned(shown)
}

/// Text of several lines, which may have colors.
pub fn escape_lines(words: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| !is_obeyed(letter) || matches!(letter, '\n' | '\t');
    if words.chars().all(is_plain) {
        return Cow::Borrowed(words);
    }
    let mut shown = String::with_capacity(words.len() + 16);
    let mut rest = words;
    while let Some(letter) = rest.chars().next() {
        let n_bytes = color(rest).unwrap_or_else(|| letter.len_utf8());
        match is_plain(letter) || letter.len_utf8() < n_bytes {
            true => shown.push_str(&rest[..n_bytes]),
            false => push(&mut shown, letter),
        }
        rest = &rest[n_bytes..];
    }
    Cow::Owned(shown)
}

/// Bytes of the sequence at the beginning that sets or resets a color, if there is one.
fn color(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let n_parameters = parameters.bytes().take_while(|byte| is_parameter(byte)).count();
    let is_color = n_parameters <= COLOR_BYTES_MAX && parameters[n_parameters..].starts_with('m');
    is_color.then_some(2 + n_parameters + 1)
}

fn push(shown: &mut String, letter: char) {
    match letter {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        hidden if is_obeyed(hidden) => {
            write!(shown, "\\u{:04x}", u32::from(hidden)).expect("a string takes everything");
        }
        plain => shown.push(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(foreign: &str, in_a_line: &str, in_a_text: &str) {
        assert_eq!(escape_line(foreign), in_a_line);
        assert_eq!(escape_lines(foreign), in_a_text);
    }

    /// Arguments, names and output of others were printed unescaped, with all that a terminal obeys.
    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        check("plain größe", "plain größe", "plain größe");
        check("a\nb\tc", "a\\nb\\tc", "a\nb\tc");
        check("a\rb", "a\\rb", "a\\rb");
        check("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007", "\\u001b]0;title\\u0007");
        check("\u{1b}[2J", "\\u001b[2J", "\\u001b[2J");
        check("\u{1b}[1;31mred\u{1b}[0m", "\\u001b[1;31mred\\u001b[0m", "\u{1b}[1;31mred\u{1b}[0m");
        check("\u{1b}[", "\\u001b[", "\\u001b[");
        check("\u{9b}2J\u{7f}", "\\u009b2J\\u007f", "\\u009b2J\\u007f");
        check("a\u{202e}b\u{2028}", "a\\u202eb\\u2028", "a\\u202eb\\u2028");
    }

    #[test]
    fn only_indented_lines_follow_a_message() {
        assert_eq!(paragraph("sintonia: a\n  b\nsintonia: c"), "sintonia: a\n  b\\nsintonia: c");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{85}\u{202e}\nb" });
        let printed = escape_lines(&format!("{value:#}\n")).into_owned();
        assert!(printed.chars().all(|letter| letter == '\n' || !is_obeyed(letter)), "{printed}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
    }
}
