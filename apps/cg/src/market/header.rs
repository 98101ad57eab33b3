//! Head of a Matrix Market file: kind, comments, and sizes.

use crate::error::MarketError;
use std::io::BufRead;
use std::path::Path;

/// Type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Real numbers.
    Real,
    /// Integers.
    Integer,
    /// No values: entries are 1.
    Pattern,
}

/// Contents of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of rows, and of columns.
    pub(super) n_rows: u64,
    /// Number of entries that follow.
    pub(super) n_entries: u64,
    /// Type of the values.
    pub(super) field: Field,
    /// Whether an entry also stands for the one on the other side of the diagonal.
    pub(super) is_symmetric: bool,
    /// Size of the head, in bytes.
    pub(super) n_bytes: u64,
    /// Number of lines of the head.
    pub(super) n_lines: u64,
}

impl Header {
    pub(super) fn n_rows(&self) -> usize {
        usize::try_from(self.n_rows).unwrap_or(usize::MAX)
    }
}

const BANNER: &str =
    "`%%MatrixMarket matrix coordinate real symmetric`, as Matrix Market files begin";
const SIZE: &str = "the number of rows, of columns and of entries, before the entries";
/// Longest valid line, in bytes.
pub(super) const LINE_BYTES_MAX: u64 = 1 << 16;

/// Reads the lines before the first entry.
pub(super) fn read_header(text: &mut impl BufRead, path: &Path) -> Result<Header, MarketError> {
    let mut lines = Lines { text, n_bytes: 0, n_lines: 0 };
    let banner = lines.next().map_err(MarketError::read(path))?;
    let (field, is_symmetric) = kind(&banner, path)?;
    loop {
        let line = lines.next().map_err(MarketError::read(path))?;
        if line.is_empty() || !(line.starts_with('%') || line.trim().is_empty()) {
            let size = size(&line).ok_or_else(|| MarketError::line(path, lines.n_lines, SIZE))?;
            let [n_rows, n_columns, n_entries] = size;
            if n_rows != n_columns || u64::from(u32::MAX) < n_rows {
                return Err(MarketError::Shape { path: path.to_owned(), n_rows, n_columns });
            }
            let Lines { n_bytes, n_lines, .. } = lines;
            return Ok(Header { n_rows, n_entries, field, is_symmetric, n_bytes, n_lines });
        }
    }
}

struct Lines<'a, T> {
    text: &'a mut T,
    n_bytes: u64,
    n_lines: u64,
}

impl<T: BufRead> Lines<'_, T> {
    /// Returns the next line with its line break; empty after the last one.
    fn next(&mut self) -> std::io::Result<String> {
        let mut line = Vec::new();
        std::io::Read::take(&mut *self.text, LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        self.n_bytes += line.len() as u64;
        self.n_lines += 1;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }
}

fn kind(banner: &str, path: &Path) -> Result<(Field, bool), MarketError> {
    let lower = banner.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let ["%%matrixmarket", "matrix", format, field, symmetry] = words[..] else {
        return Err(MarketError::line(path, 1, BANNER));
    };
    let unknown = || {
        let kind = format!("{format} {field} {symmetry}");
        MarketError::Kind { path: path.to_owned(), kind }
    };
    let is_symmetric = match symmetry {
        "symmetric" => true,
        "general" => false,
        _ => return Err(unknown()),
    };
    match (format, field) {
        ("coordinate", "real") => Ok((Field::Real, is_symmetric)),
        ("coordinate", "integer") => Ok((Field::Integer, is_symmetric)),
        ("coordinate", "pattern") => Ok((Field::Pattern, is_symmetric)),
        _ => Err(unknown()),
    }
}

fn size(line: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Encodes the head for the other ranks.
impl From<Header> for [u64; 6] {
    fn from(header: Header) -> Self {
        let Header { n_rows, n_entries, field, is_symmetric, n_bytes, n_lines } = header;
        [n_rows, n_entries, field as u64, is_symmetric.into(), n_bytes, n_lines]
    }
}

impl From<[u64; 6]> for Header {
    fn from([n_rows, n_entries, field, is_symmetric, n_bytes, n_lines]: [u64; 6]) -> Self {
        let field = match field {
            0 => Field::Real,
            1 => Field::Integer,
            _ => Field::Pattern,
        };
        Self { n_rows, n_entries, field, is_symmetric: is_symmetric == 1, n_bytes, n_lines }
    }
}
