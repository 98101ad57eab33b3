//! Conversion of entries to rows.

use super::MarketError;
use super::entry::Entry;
use crate::csr::filled;
use malleable::Csr;
use std::ops::Range;
use std::path::Path;

/// Sorts the entries of these rows, which arrived in pieces; a piece is freed once its entries are in place.
pub(super) fn rows(
    entries: Vec<Vec<Entry>>,
    own: Range<usize>,
    path: &Path,
) -> Result<Csr, MarketError> {
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
