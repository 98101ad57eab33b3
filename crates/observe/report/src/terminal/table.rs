//! Table with aligned columns that fits the terminal.

use super::ink::{Tone, paint};
use super::page::Page;
use crate::text;

/// Number of spaces between columns.
const GAP: usize = 2;
/// Width below which a name is not cut.
const SHORTEST: usize = 8;

/// Alignment of a column's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Left-aligned, never cut.
    Left,
    /// Left-aligned, cut in the middle if the table is too wide.
    Name,
    /// Right-aligned.
    Right,
}

/// Title and alignment of a column.
pub(crate) type Column = (&'static str, Align);

/// Text and role of a cell.
pub(crate) type Cell = (String, Tone);

/// Table under construction.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Writes the titles, if any, and the rows.
    pub(crate) fn write(&self, page: &mut Page) {
        let widths = self.widths(page.width() - super::page::INDENT);
        if self.columns.iter().any(|(title, _)| !title.is_empty()) {
            let titles = self.columns.iter().map(|(title, _)| ((*title).to_owned(), Tone::Dim));
            page.line(&self.line(page, &titles.collect::<Vec<_>>(), &widths));
        }
        for row in &self.rows {
            page.line(&self.line(page, row, &widths));
        }
    }

    fn line(&self, page: &Page, row: &[Cell], widths: &[usize]) -> String {
        let cells = row.iter().zip(&self.columns).zip(widths);
        let cells = cells.map(|(((text, tone), (_, align)), width)| {
            let text = text::shorten(text, *width);
            let text = match align {
                Align::Right => text::right(&text, *width),
                Align::Left | Align::Name => text::left(&text, *width),
            };
            paint(page.color(), *tone, &text)
        });
        cells.collect::<Vec<_>>().join(&text::spaces(GAP))
    }

    /// Returns the widths of the columns that fit: as wide as their text; if that is too wide, the widest names
    /// are cut first, then the last columns are left out.
    fn widths(&self, room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|idx| self.natural(idx)).collect();
        while room < total(&widths) {
            let names = (0..widths.len()).filter(|idx| self.columns[*idx].1 == Align::Name);
            match names.max_by_key(|idx| widths[*idx]) {
                Some(widest) if SHORTEST < widths[widest] => widths[widest] -= 1,
                _ => drop(widths.pop()),
            }
        }
        widths
    }

    fn natural(&self, idx: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(idx));
        let widest = cells.map(|(text, _)| text::width(text)).max().unwrap_or(0);
        widest.max(text::width(self.columns[idx].0))
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let mut page = Page::new(Style { color: false, width: 60 });
        let mut table = Table::new(&[("", Align::Name), ("", Align::Left), ("", Align::Right)]);
        table.row(vec![
            (name.to_owned(), Tone::Plain),
            ("abc".to_owned(), Tone::Plain),
            ("1".to_owned(), Tone::Plain),
        ]);
        table.write(&mut page);
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn only_names_are_cut() {
        check("x", "  x  abc  1\n");
        let long = "n".repeat(80);
        check(&long, &format!("  {}…{}  abc  1\n", "n".repeat(25), "n".repeat(24)));
    }
}
