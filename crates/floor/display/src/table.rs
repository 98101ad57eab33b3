//! Table of rows with aligned columns; a column is one entry: title, alignment, and the cell of a row.

use crate::ink::{Tone, paint};
use crate::{text, units};
use std::fmt;

/// Number of spaces between columns.
const GAP: usize = 2;
/// Width below which a name is not cut.
const SHORTEST: usize = 8;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left-aligned, never cut.
    Left,
    /// Left-aligned, cut in the middle if the table is too wide.
    Name,
    /// Right-aligned.
    Right,
    /// Small picture as markup, on pages only.
    Spark,
    /// Wide picture as markup, on pages only.
    Bar,
}

/// Content of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Text, or the markup of a picture.
    pub text: String,
    /// Role of the text.
    pub tone: Tone,
    /// Number that a page sorts by, if not the text.
    pub value: Option<f64>,
    /// Longer text that a page shows under the pointer.
    pub hint: String,
}

impl Cell {
    /// Time span in seconds.
    pub fn seconds(span_s: f64) -> Self {
        Self { value: Some(span_s), ..units::seconds(span_s).into() }
    }

    /// Amount of memory or traffic in bytes.
    pub fn bytes(n_bytes: u64) -> Self {
        Self { value: Some(n_bytes as f64), ..units::bytes(n_bytes).into() }
    }

    /// Count.
    pub fn count(n: u64) -> Self {
        Self { value: Some(n as f64), ..units::count(n).into() }
    }

    /// Share of 0..=1.
    pub fn percent(share: f64) -> Self {
        Self { value: Some(share), ..units::percent(share).into() }
    }

    /// The cell in another tone.
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// The cell with the number that a page sorts by.
    pub fn value(self, value: f64) -> Self {
        Self { value: Some(value), ..self }
    }

    /// The cell with a longer text.
    pub fn hint(self, hint: String) -> Self {
        Self { hint, ..self }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Column with a cell for each row.
#[derive(Clone, Debug)]
pub struct Column {
    /// Title; may be empty.
    pub title: String,
    /// Alignment of title and cells.
    pub align: Align,
    /// Cells from the first row to the last.
    pub cells: Vec<Cell>,
}

/// Table under construction, a column after the other; `to_string` shows it uncut and without color.
#[derive(Clone, Debug)]
pub struct Table<R> {
    rows: Vec<R>,
    columns: Vec<Column>,
}

impl<R> Table<R> {
    /// Creates a table of these rows, without columns.
    pub fn new(rows: impl IntoIterator<Item = R>) -> Self {
        Self { rows: rows.into_iter().collect(), columns: Vec::new() }
    }

    /// Adds a left-aligned column that is never cut.
    pub fn left<C: Into<Cell>>(self, title: impl Into<String>, cell: impl Fn(&R) -> C) -> Self {
        self.column(title, Align::Left, cell)
    }

    /// Adds a left-aligned column that is cut where the table is too wide.
    pub fn name<C: Into<Cell>>(self, title: impl Into<String>, cell: impl Fn(&R) -> C) -> Self {
        self.column(title, Align::Name, cell)
    }

    /// Adds a right-aligned column.
    pub fn right<C: Into<Cell>>(self, title: impl Into<String>, cell: impl Fn(&R) -> C) -> Self {
        self.column(title, Align::Right, cell)
    }

    /// Adds a column.
    pub fn column<C: Into<Cell>>(
        mut self,
        title: impl Into<String>,
        align: Align,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.columns.push(Column { title: title.into(), align, cells });
        self
    }

    /// Takes the last column away unless `is_wanted`.
    pub fn when(mut self, is_wanted: bool) -> Self {
        if !is_wanted {
            self.columns.pop();
        }
        self
    }

    /// Replaces the rows that further columns are made from; the cells stay.
    pub fn with_rows<S>(self, row: impl Fn(&R) -> S) -> Table<S> {
        Table { rows: self.rows.iter().map(row).collect(), columns: self.columns }
    }

    /// Columns from the left.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Rows from the top.
    pub fn rows(&self) -> &[R] {
        &self.rows
    }

    /// Titles, if there are any, and rows, in lines of at most `room` columns: the widest names are cut first, then
    /// the last columns are left out.
    pub fn lines(&self, room: usize, color: bool) -> Vec<String> {
        let is_shown = |column: &&Column| !matches!(column.align, Align::Spark | Align::Bar);
        let columns: Vec<&Column> = self.columns.iter().filter(is_shown).collect();
        let widths = widths(&columns, room);
        let line = |cell: &dyn Fn(&Column) -> (String, Tone)| {
            let cells = columns.iter().zip(&widths).map(|(column, width)| {
                let (text, tone) = cell(column);
                let text = text::shorten(&text, *width);
                let padded = match column.align {
                    Align::Right => text::right(&text, *width),
                    _ => text::left(&text, *width),
                };
                paint(color, tone, &padded)
            });
            cells.collect::<Vec<_>>().join(&text::spaces(GAP)).trim_end().to_owned()
        };
        let has_titles = columns.iter().any(|column| !column.title.is_empty());
        let titles = has_titles.then(|| line(&|column| (column.title.clone(), Tone::Dim)));
        let row = |idx: usize| {
            line(&|column: &Column| (column.cells[idx].text.clone(), column.cells[idx].tone))
        };
        titles.into_iter().chain((0..self.rows.len()).map(row)).collect()
    }
}

impl<R> fmt::Display for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines(usize::MAX, false).iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

fn widths(columns: &[&Column], room: usize) -> Vec<usize> {
    let natural = |column: &&Column| {
        let cells = column.cells.iter().map(|cell| text::width(&cell.text));
        cells.max().unwrap_or(0).max(text::width(&column.title))
    };
    let mut widths: Vec<usize> = columns.iter().map(natural).collect();
    while room < widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1) {
        let names = (0..widths.len()).filter(|idx| columns[*idx].align == Align::Name);
        match names.max_by_key(|idx| widths[*idx]) {
            Some(widest) if SHORTEST < widths[widest] => widths[widest] -= 1,
            _ => drop(widths.pop()),
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let table = Table::new([name]).name("", |name| *name).left("", |_| "abc");
        let table = table.right("", |_| "1").column("", Align::Bar, |_| "<svg>");
        assert_eq!(table.lines(58, false), [expected]);
    }

    #[test]
    fn only_names_are_cut() {
        check("x", "x  abc  1");
        let long = "n".repeat(80);
        check(&long, &format!("{}…{}  abc  1", "n".repeat(25), "n".repeat(24)));
    }

    #[test]
    fn a_table_is_aligned_and_may_lack_columns() {
        let table = Table::new([(1, 0.5), (20, 0.03)]).right("rank", |row| row.0.to_string());
        let table =
            table.left("unwanted", |_| "").when(false).left("idle", |row| Cell::percent(row.1));
        assert_eq!(table.to_string(), "rank  idle\n   1  50.0 %\n  20  3.0 %\n");
        assert_eq!(table.lines(6, false), ["rank", "   1", "  20"]);
        assert_eq!(table.lines(60, true)[0], "\u{1b}[2mrank\u{1b}[0m  \u{1b}[2midle  \u{1b}[0m");
    }
}
