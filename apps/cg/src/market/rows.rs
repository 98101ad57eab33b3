//! Entries become rows.

use super::MarketError;
use super::entry::Entry;
use crate::Csr;
use std::ops::Range;
use std::path::Path;

/// Sorts the entries of these rows, which came in pieces; a piece is given back once its entries are in place.
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
    let mut csr = Csr::zeroed(lengths);
    let (columns, values) = csr.parts_mut().expect("nobody has a copy of new rows");
    for entry in entries.into_iter().flatten() {
        let at = &mut next[entry.row as usize - own.start];
        (columns[*at], values[*at]) = (entry.column, entry.value);
        *at += 1;
    }
    let mut ends = next.into_iter();
    let (mut begin, mut row) = (0, Vec::new());
    for number in own {
        let end = ends.next().unwrap_or(begin);
        sort(&mut columns[begin..end], &mut values[begin..end], &mut row);
        if let Some(twice) = columns[begin..end].windows(2).find(|pair| pair[0] == pair[1]) {
            let (row, column) = (number as u64 + 1, u64::from(twice[0]) + 1);
            return Err(MarketError::Twice { path: path.to_owned(), row, column });
        }
        begin = end;
    }
    Ok(csr)
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
