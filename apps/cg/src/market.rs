//! Matrix Market files: sparse matrices as text, one line per entry (Boisvert, Pozo and Remington 1996).
//!
//! All ranks read: each a part of the file's bytes, from line to line, whose entries are sent to the ranks that hold
//! their rows. A compressed file cannot be split; the first rank decompresses it once and distributes pieces of lines,
//! since the other ranks would only repeat its work, perhaps on the same cores. Either way a rank holds only a few
//! pieces of text at a time.
//!
//! # Not here
//! Vectors: `vector.rs`.

mod header;
mod read;
mod text;

use crate::generate::Generator;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use read::read;

/// Number of rows generated at a time.
const ROWS: usize = 3000;

/// Writes a generated matrix as a symmetric file of real numbers; compressed when its name ends in `.gz`.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, generator: &Generator) -> io::Result<()> {
    let file = BufWriter::new(File::create(path)?);
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut zipped = BufWriter::new(GzEncoder::new(file, Compression::fast()));
        write_text(&mut zipped, generator)?;
        zipped.into_inner()?.finish()?.flush()
    } else {
        let mut file = file;
        write_text(&mut file, generator)?;
        file.flush()
    }
}

fn write_text(file: &mut impl Write, generator: &Generator) -> io::Result<()> {
    let n_rows = generator.n_rows();
    let parts = || (0..n_rows).step_by(ROWS).map(|begin| begin..(begin + ROWS).min(n_rows));
    // The diagonal is full, and the halves are equal.
    let n_non_zeros: usize =
        parts().flat_map(|rows| generator.lengths(rows)).map(|length| length as usize).sum();
    let n_entries = usize::midpoint(n_non_zeros, n_rows);
    writeln!(file, "%%MatrixMarket matrix coordinate real symmetric")?;
    writeln!(file, "{n_rows} {n_rows} {n_entries}")?;
    for rows in parts() {
        let csr = generator.rows(rows.clone());
        for (row, entries) in rows.zip(csr.rows()) {
            let (columns, values) = (&csr.columns[entries.clone()], &csr.values[entries]);
            let lower =
                columns.iter().zip(values).take_while(|(column, _)| **column as usize <= row);
            for (column, value) in lower {
                writeln!(file, "{} {} {value:?}", row + 1, column + 1)?;
            }
        }
    }
    Ok(())
}

/// Error of a Matrix Market file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; check its name, and that every node sees it", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A line is not valid.
    #[error("line {line} of `{}` is not understood; write {expected}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// Description of what was expected.
        expected: &'static str,
    },
    /// The file has another kind of matrix.
    #[error(
        "`{}` holds a matrix of the kind `{kind}`; convert it to `coordinate`, `real`, `integer` or `pattern`, and \
         `general` or `symmetric`",
        path.display()
    )]
    Kind {
        /// Path of the file.
        path: PathBuf,
        /// Kind in its first line.
        kind: String,
    },
    /// The matrix is not square, or is too large.
    #[error(
        "`{}` holds a matrix of {n_rows} rows and {n_columns} columns; give a square one of at most {} rows",
        path.display(),
        u32::MAX
    )]
    Shape {
        /// Path of the file.
        path: PathBuf,
        /// Number of rows.
        n_rows: u64,
        /// Number of columns.
        n_columns: u64,
    },
    /// The file ends early, or has more entries than its head states.
    #[error("`{}` has {found} entries where its head says {expected}; get the whole file again", path.display())]
    Count {
        /// Path of the file.
        path: PathBuf,
        /// Number of entries in the head.
        expected: u64,
        /// Number of entries found.
        found: u64,
    },
    /// The file has an entry twice.
    #[error(
        "`{}` has more than one entry for row {row} and column {column}; add them up, and in a symmetric file write one of \
         both halves",
        path.display()
    )]
    Twice {
        /// Path of the file.
        path: PathBuf,
        /// Row, from 1.
        row: u64,
        /// Column, from 1.
        column: u64,
    },
    /// The matrix is not symmetric.
    #[error(
        "`{}` holds a matrix that is not symmetric; give a symmetric one, conjugate gradients solve no other",
        path.display()
    )]
    NotSymmetric {
        /// Path of the file.
        path: PathBuf,
    },
    /// A vector has another length.
    #[error("`{}` has {found} numbers; write one for each of the {expected} rows", path.display())]
    Length {
        /// Path of the file.
        path: PathBuf,
        /// Number of rows.
        expected: u64,
        /// Number of numbers found.
        found: u64,
    },
}

impl MarketError {
    pub(crate) fn read(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn line(path: &Path, line: u64, expected: &'static str) -> Self {
        Self::Line { path: path.to_owned(), line, expected }
    }
}
