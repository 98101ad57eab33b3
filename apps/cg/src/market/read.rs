//! Reads a file on all ranks together.

use super::MarketError;
use super::entry::{Entry, parse};
use super::header::Header;
use super::rows::rows;
use super::text::{Opened, Piece, Text, open};
use crate::blocks::{owner, rows_of};
use crate::group::agree;
use crate::solver::count;
use crate::{CgError, Group, symmetry};
use malleable::Csr;
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
