//! Reads a file on all ranks together.

use super::header::{Field, Header};
use super::text::{Opened, Piece, Text, open};
use crate::blocks::{owner, rows_of};
use crate::csr::filled;
use crate::error::MarketError;
use crate::group::agree;
use crate::solver::count;
use crate::{CgError, Group, symmetry};
use bytemuck::{Pod, Zeroable};
use malleable::Csr;
use std::ops::Range;
use std::path::Path;

/// Reads a rank's rows of a matrix; also returns the number of rows on all ranks.
///
/// # Errors
/// If the file is not a symmetric matrix, on one rank; the others get [`CgError::Elsewhere`].
pub fn read(path: &Path, group: &impl Group) -> Result<(usize, Csr), CgError> {
    let opened = (group.rank() == 0).then(|| open(path)).transpose();
    let opened = agree(group, opened.map_err(CgError::from))?;
    let (header, opened) = opened.unzip();
    let (header, is_zipped) = tell(header, matches!(opened, Some(Opened::Zipped(_))), group)?;
    let text = match is_zipped {
        true => Ok(Text::zipped(opened, &header)),
        false => Text::plain(path, &header, group),
    };
    let text = agree(group, text.map_err(CgError::from))?;
    let file = File { path, header };
    let entries = file.entries(text, group)?;
    let n_rows = header.n_rows();
    let own = rows_of(n_rows, group.rank(), group.n_ranks());
    let csr = agree(group, rows(entries, own, path).map_err(CgError::from))?;
    if !header.is_symmetric && !symmetry::holds(&csr, n_rows, group)? {
        let error = MarketError::NotSymmetric { path: path.to_owned() };
        return agree(group, Err(error.into()));
    }
    Ok((n_rows, csr))
}

/// Sends the head that the first rank read to all ranks.
fn tell(
    header: Option<Header>,
    is_zipped: bool,
    group: &impl Group,
) -> Result<(Header, bool), CgError> {
    let head = header.map_or(Vec::new(), |header| {
        let mut head = <[u64; 6]>::from(header).to_vec();
        head.push(is_zipped.into());
        head
    });
    let told = group.exchange(&vec![head; group.n_ranks()])?;
    let (header, is_zipped) = told.split_first_chunk().unwrap_or((&[0; 6], &[]));
    Ok((Header::from(*header), *is_zipped == [1]))
}

/// File being read.
struct File<'a> {
    path: &'a Path,
    header: Header,
}

impl File<'_> {
    /// Collects the entries of a rank's rows, in pieces as they arrive.
    fn entries(&self, mut text: Text, group: &impl Group) -> Result<Vec<Vec<Entry>>, CgError> {
        let (mut entries, mut n_stored) = (Vec::new(), 0);
        loop {
            let piece = text.next(self.path, group);
            let is_last = matches!(piece, Ok(None));
            let parts = piece.and_then(|piece| match piece {
                Some(piece) => self.parts(&piece, group.n_ranks(), &mut n_stored),
                None => Ok(Vec::new()),
            });
            let mut counts = [f64::from(!is_last), f64::from(parts.is_err())];
            group.sum(&mut counts)?;
            if 0.0 < counts[1] {
                agree(group, parts)?;
            } else if 0.0 < counts[0] {
                entries.push(group.exchange(&parts?)?);
            } else {
                break;
            }
        }
        self.check_count(n_stored, group)?;
        Ok(entries)
    }

    /// Parses the entries of a piece for each rank, including those mirrored at the diagonal.
    fn parts(
        &self,
        piece: &Piece,
        n_ranks: usize,
        n_stored: &mut u64,
    ) -> Result<Vec<Vec<Entry>>, CgError> {
        let n_rows = self.header.n_rows();
        let mut parts = vec![Vec::new(); n_ranks];
        for (at, line) in piece.text.split(|byte| *byte == b'\n').enumerate() {
            let entry = match parse(line, &self.header) {
                Ok(Some(entry)) => entry,
                Ok(None) => continue,
                Err(expected) => {
                    let line = piece.line(at as u64, self.path)?;
                    return Err(MarketError::line(self.path, line, expected).into());
                }
            };
            *n_stored += 1;
            parts[owner(n_rows, entry.row as usize, n_ranks)].push(entry);
            if self.header.is_symmetric && entry.row != entry.column {
                parts[owner(n_rows, entry.column as usize, n_ranks)].push(entry.mirrored());
            }
        }
        Ok(parts)
    }

    fn check_count(&self, n_stored: u64, group: &impl Group) -> Result<(), CgError> {
        let mut found = [n_stored as f64];
        group.sum(&mut found)?;
        let expected = self.header.n_entries;
        let found = count(found[0]);
        if found == expected {
            return Ok(());
        }
        let path = self.path.to_owned();
        agree(group, Err(MarketError::Count { path, expected, found }.into()))
    }
}

/// Sorts the entries of these rows, which arrived in pieces; a piece is freed once its entries are in place.
fn rows(entries: Vec<Vec<Entry>>, own: Range<usize>, path: &Path) -> Result<Csr, MarketError> {
    let mut lengths = vec![0_u32; own.len()];
    for entry in entries.iter().flatten() {
        lengths[entry.row as usize - own.start] += 1;
    }
    let mut next: Vec<usize> = lengths
        .iter()
        .scan(0, |sum, length| Some(std::mem::replace(sum, *sum + *length as usize)))
        .collect();
    let mut twice = None;
    let csr = filled(lengths, |columns, values| {
        for entry in entries.into_iter().flatten() {
            let at = &mut next[entry.row as usize - own.start];
            (columns[*at], values[*at]) = (entry.column, entry.value);
            *at += 1;
        }
        twice = sort_all(&next, columns, values);
    });
    match twice {
        None => Ok(csr),
        Some((row, column)) => {
            let (row, column) = ((own.start + row) as u64 + 1, u64::from(column) + 1);
            Err(MarketError::Twice { path: path.to_owned(), row, column })
        }
    }
}

/// Sorts each row by columns; returns the first row and column with two entries. Rows end at `ends`.
fn sort_all(ends: &[usize], columns: &mut [u32], values: &mut [f64]) -> Option<(usize, u32)> {
    let (mut begin, mut room, mut twice) = (0, Vec::new(), None);
    for (row, end) in ends.iter().enumerate() {
        sort(&mut columns[begin..*end], &mut values[begin..*end], &mut room);
        let pair = columns[begin..*end].windows(2).find(|pair| pair[0] == pair[1]);
        twice = twice.or(pair.map(|pair| (row, pair[0])));
        begin = *end;
    }
    twice
}

fn sort(columns: &mut [u32], values: &mut [f64], row: &mut Vec<(u32, f64)>) {
    if columns.is_sorted() {
        return;
    }
    row.clear();
    row.extend(columns.iter().copied().zip(values.iter().copied()));
    row.sort_unstable_by_key(|(column, _)| *column);
    for ((column, value), sorted) in columns.iter_mut().zip(values).zip(row) {
        (*column, *value) = *sorted;
    }
}

/// Entry of a matrix; rows and columns count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    row: u32,
    column: u32,
    value: f64,
}

impl Entry {
    /// Entry on the other side of the diagonal.
    fn mirrored(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }
}

/// Parses a line; `None` when it is empty or a comment.
///
/// # Errors
/// Description of what was expected.
fn parse(line: &[u8], header: &Header) -> Result<Option<Entry>, &'static str> {
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
