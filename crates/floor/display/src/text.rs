//! Text in columns of a terminal, and in markup: sanitizing, measuring and cutting.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces characters that a terminal would interpret, control and direction characters, by `·`.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) { '·' } else { c }).collect()
}

/// Returns the width of `text` in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Pads `text` on the right to `n_columns`.
pub fn left(text: &str, n_columns: usize) -> String {
    format!("{text}{}", spaces(n_columns.saturating_sub(width(text))))
}

/// Pads `text` on the left to `n_columns`.
pub fn right(text: &str, n_columns: usize) -> String {
    format!("{}{text}", spaces(n_columns.saturating_sub(width(text))))
}

/// Returns `n` spaces.
pub fn spaces(n: usize) -> String {
    " ".repeat(n)
}

/// Cuts `text` to at most `n_columns`, with `…` in the middle: the start identifies the thing, the end
/// distinguishes it from its neighbors.
pub fn shorten(text: &str, n_columns: usize) -> String {
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

/// Breaks `text` at spaces into lines of at most `n_columns`; a longer word has a line of its own.
pub fn wrap(text: &str, n_columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= n_columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Escapes `text` for XML; control characters become spaces.
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(if c.is_control() { ' ' } else { c }),
        }
    }
    escaped
}

/// Returns whether a terminal obeys a character instead of showing it: control characters, line and paragraph
/// separators, and marks of writing direction.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
        assert_eq!(wrap("a abcdefghij", 5), ["a", "abcdefghij"]);
        assert!(wrap("  ", 5).is_empty());
    }

    #[test]
    fn xml_stays_xml() {
        assert_eq!(escape_xml("a < b && \"c\"\u{1}"), "a &lt; b &amp;&amp; &quot;c&quot; ");
    }
}
