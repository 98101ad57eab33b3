//! Vectors in files: one number per line, below the head of Matrix Market arrays or without one.

use crate::error::MarketError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

const NUMBER: &str = "one number";

/// Reads a vector of this length.
///
/// # Errors
/// If the file cannot be read, is not a vector, or has another length.
pub fn read(path: &Path, length: usize) -> Result<Vec<f64>, MarketError> {
    let file = File::open(path).map_err(MarketError::read(path))?;
    let mut numbers = Vec::with_capacity(length);
    let mut has_head = false;
    for (at, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(MarketError::read(path))?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('%') {
            has_head |= text.starts_with("%%MatrixMarket");
        } else if std::mem::take(&mut has_head) {
            // The line with the size; numbers are counted below.
        } else {
            let number = text.parse().ok().filter(|number: &f64| number.is_finite());
            let wrong = || MarketError::line(path, at as u64 + 1, NUMBER);
            numbers.push(number.ok_or_else(wrong)?);
        }
    }
    if numbers.len() == length {
        return Ok(numbers);
    }
    let (expected, found) = (length as u64, numbers.len() as u64);
    Err(MarketError::Length { path: path.to_owned(), expected, found })
}

/// Writes a vector, with as many digits as reading it back exactly requires.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, numbers: &[f64]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "%%MatrixMarket matrix array real general")?;
    writeln!(file, "{} 1", numbers.len())?;
    for number in numbers {
        writeln!(file, "{number:?}")?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mtx");
        let numbers = [0.1 + 0.2, -1e-300, 5.0];
        write(&path, &numbers).unwrap();
        assert_eq!(read(&path, 3).unwrap(), numbers);
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.txt");
        std::fs::write(&path, text).unwrap();
        let said = read(&path, 2).map_or_else(|error| error.to_string(), |b| format!("{b:?}"));
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_head_may_be_missing() {
        check("1\n 2.5 \n", "[1.0, 2.5]");
        check("%%MatrixMarket matrix array real general\n% a comment\n2 1\n1\n2\n", "[1.0, 2.0]");
        check("1\n2\n3\n", "b.txt` has 3 numbers; write one for each of the 2 rows");
        check("1\n2 3\n", "line 2 of `");
        check("1\ninf\n", "is not understood; write one number");
    }
}
