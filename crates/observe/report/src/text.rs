//! Text in columns of a terminal: sanitizing, measuring and cutting.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces characters that a terminal would interpret, control and direction characters, by `·`.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) { '·' } else { c }).collect()
}

/// Returns the width of `text` in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Pads `text` on the right to `n_columns`.
pub(crate) fn left(text: &str, n_columns: usize) -> String {
    format!("{text}{}", spaces(n_columns.saturating_sub(width(text))))
}

/// Pads `text` on the left to `n_columns`.
pub(crate) fn right(text: &str, n_columns: usize) -> String {
    format!("{}{text}", spaces(n_columns.saturating_sub(width(text))))
}

/// Returns `n` spaces.
pub(crate) fn spaces(n: usize) -> String {
    " ".repeat(n)
}

/// Cuts `text` to at most `n_columns`, with `…` in the middle: the start identifies the thing, the end
/// distinguishes it from its neighbors.
pub(crate) fn shorten(text: &str, n_columns: usize) -> String {
    if width(text) <= n_columns {
        return text.to_owned();
    }
    let kept = n_columns.saturating_sub(1);
    let n_tail = kept / 2;
    let head = head_of(text.chars(), kept - n_tail);
    let tail: String = head_of(text.chars().rev(), n_tail).chars().rev().collect();
    let ellipsis = if n_columns == 0 { "" } else { "…" };
    format!("{head}{ellipsis}{tail}")
}

/// Breaks `text` at spaces into lines of at most `n_columns`.
pub(crate) fn wrap(text: &str, n_columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word = shorten(word, n_columns);
        if !line.is_empty() && n_columns < width(&line) + 1 + width(&word) {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn is_obeyed(c: char) -> bool {
    let direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{2028}' | '\u{2029}')
}

fn head_of(chars: impl Iterator<Item = char>, n_columns: usize) -> String {
    let mut taken = 0;
    chars
        .take_while(|c| {
            taken += c.width().unwrap_or(0);
            taken <= n_columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, n_columns: usize, expected: &str) {
        let short = shorten(text, n_columns);
        assert_eq!(short, expected);
        assert!(width(&short) <= n_columns);
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        check("solve", 8, "solve");
        check("solve_pressure", 8, "solv…ure");
        check("solve", 1, "…");
        check("solve", 0, "");
        check("火線火線", 5, "火…線");
    }

    #[test]
    fn a_name_cannot_command_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\nc\u{202e}"), "a·[2Jb·c·");
    }

    #[test]
    fn a_sentence_breaks_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 5), ["ab…ij"]);
        assert!(wrap("  ", 5).is_empty());
    }
}
