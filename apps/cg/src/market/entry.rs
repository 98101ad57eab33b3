//! Entries of a matrix, one per line of the file.

use super::header::{Field, Header};
use bytemuck::{Pod, Zeroable};

/// Entry of a matrix; rows and columns count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) value: f64,
}

impl Entry {
    /// Entry on the other side of the diagonal.
    pub(super) fn mirrored(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }
}

/// Parses a line; `None` when it is empty or a comment.
///
/// # Errors
/// Description of what was expected.
pub(super) fn parse(line: &[u8], header: &Header) -> Result<Option<Entry>, &'static str> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(first) = words.next().filter(|word| word[0] != b'%') else { return Ok(None) };
    let expected = match header.field {
        Field::Real => "a row, a column and a number, all within the matrix",
        Field::Integer => "a row, a column and a whole number, all within the matrix",
        Field::Pattern => "a row and a column, both within the matrix",
    };
    let index = |word| index(word, header.n_rows);
    let entry = index(Some(first)).zip(index(words.next())).and_then(|(row, column)| {
        let value = match header.field {
            Field::Real => number(words.next()?)?,
            Field::Integer => whole(words.next()?)?,
            Field::Pattern => 1.0,
        };
        words.next().is_none().then_some(Entry { row, column, value })
    });
    entry.map(Some).ok_or(expected)
}

/// Parses a number from 1 to `n`, and returns it counted from 0.
fn index(word: Option<&[u8]>, n: u64) -> Option<u32> {
    let word = word.filter(|word| word.len() <= 10)?;
    let digits = word.iter().try_fold(0, |number: u64, digit| {
        digit.is_ascii_digit().then(|| 10 * number + u64::from(digit - b'0'))
    });
    let index = digits.filter(|digits| (1..=n).contains(digits))? - 1;
    u32::try_from(index).ok()
}

fn number(word: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

fn whole(word: &[u8]) -> Option<f64> {
    let number: i64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    Some(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(field: Field, line: &str, expected: Option<(u32, u32, f64)>) {
        let header =
            Header { n_rows: 9, n_entries: 1, field, is_symmetric: true, n_bytes: 0, n_lines: 0 };
        let parsed = parse(line.as_bytes(), &header);
        let expected = expected.map(|(row, column, value)| Entry { row, column, value });
        assert_eq!(parsed.ok().flatten(), expected);
        assert_eq!(parsed.is_err(), expected.is_none() && !line.contains('%') && !line.is_empty());
    }

    #[test]
    fn a_line_is_an_entry() {
        check(Field::Real, "1 2 -3.5e-1", Some((0, 1, -0.35)));
        check(Field::Real, "  9\t9   1\r", Some((8, 8, 1.0)));
        check(Field::Integer, "3 2 -7", Some((2, 1, -7.0)));
        check(Field::Pattern, "3 2", Some((2, 1, 1.0)));
        check(Field::Real, "", None);
        check(Field::Real, "% a comment", None);
        check(Field::Real, "1 2", None);
        check(Field::Real, "1 2 3 4", None);
        check(Field::Real, "0 2 3", None);
        check(Field::Real, "1 10 3", None);
        check(Field::Real, "1 -1 3", None);
        check(Field::Real, "1 2 nan", None);
        check(Field::Integer, "1 2 0.5", None);
        check(Field::Pattern, "1 2 3", None);
        check(Field::Real, "18446744073709551617 1 1", None);
    }
}
