//! Text of a report under construction.

use super::Style;
use crate::tables::{Listing, Medium};
use display::ink::{Tone, paint};
use display::table::Table;
use display::text;

/// Number of spaces before every line below a heading.
pub(crate) const INDENT: usize = 2;
/// Minimum width in columns for columns that are of interest to few.
const WIDE: usize = 110;
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=140;

/// Lines written so far, and their style.
pub(crate) struct Page {
    text: String,
    style: Style,
}

impl Page {
    /// Creates an empty page.
    pub(crate) fn new(style: Style) -> Self {
        let width = style.width.clamp(*WIDTHS.start(), *WIDTHS.end());
        Self { text: String::new(), style: Style { width, ..style } }
    }

    /// Returns the width of a line in columns.
    pub(crate) fn width(&self) -> usize {
        self.style.width
    }

    /// Returns this terminal as a medium of tables.
    pub(crate) fn medium(&self) -> Medium {
        Medium::Terminal { is_wide: WIDE <= self.width() }
    }

    /// Returns whether to use color.
    pub(crate) fn color(&self) -> bool {
        self.style.color
    }

    /// Colors `text` for `tone`.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        paint(self.style.color, tone, text)
    }

    /// Starts a section: an empty line and a title with a rule after it.
    pub(crate) fn heading(&mut self, title: &str, note: &str) {
        let fits = !note.is_empty() && text::width(title) + text::width(note) + 4 <= self.width();
        let note = if fits { format!(" {note}") } else { String::new() };
        let n_rule = self.width().saturating_sub(text::width(title) + 1 + text::width(&note));
        let rule = format!("{}{note}", "─".repeat(n_rule));
        let line =
            format!("\n{} {}", self.paint(Tone::Strong, title), self.paint(Tone::Dim, &rule));
        self.unindented(&line);
    }

    /// Writes a line unchanged, except for trailing spaces.
    pub(crate) fn unindented(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Writes an indented line.
    pub(crate) fn line(&mut self, line: &str) {
        self.unindented(&format!("{}{line}", text::spaces(INDENT)));
    }

    /// Writes a sentence, wrapped as needed, with `bullet` before its first line.
    pub(crate) fn sentence(&mut self, bullet: &str, sentence: &str, tone: Tone) {
        let hang = text::width(bullet);
        let lines = text::wrap(&text::harmless(sentence), self.width() - INDENT - hang);
        for (idx, line) in lines.iter().enumerate() {
            let before = if idx == 0 { bullet.to_owned() } else { text::spaces(hang) };
            let line = text::shorten(line, self.width() - INDENT - hang);
            let line = format!("{before}{}", self.paint(tone, &line));
            self.line(&line);
        }
    }

    /// Writes a table.
    pub(crate) fn table<R>(&mut self, table: &Table<R>) {
        for line in table.lines(self.width() - INDENT, self.color()) {
            self.line(&line);
        }
    }

    /// Writes a table under its heading.
    pub(crate) fn listing(&mut self, listing: &Listing) {
        self.heading(listing.title, listing.note);
        self.table(&listing.table);
        self.rest(listing.n_rows, listing.table.rows().len());
        listing.remarks.iter().for_each(|remark| self.sentence("", remark, Tone::Dim));
    }

    /// Writes how many rows of `n` are not among the first `n_shown`.
    pub(crate) fn rest(&mut self, n: usize, n_shown: usize) {
        if n > n_shown {
            let line = self.paint(Tone::Dim, &format!("… and {} more", n - n_shown));
            self.line(&line);
        }
    }

    /// Returns the text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
