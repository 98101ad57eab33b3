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
use std::path::Path;

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
