//! Bodies in files of extended XYZ: text frames that OVITO, ASE and VMD open as a trajectory.
//!
//! A frame is the number of bodies, a line that names the columns, and a line per body. Numbers are written with as
//! many digits as reading them back exactly requires.

use crate::body::Body;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Error of a file of bodies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XyzError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; give `--start` disk, plummer, two-galaxies, or a file of bodies", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("`{}` cannot be written; give `--output` a file in a folder that has room", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file ends within a frame, or has none.
    #[error("`{}` ends within a frame, or has none; write a number of bodies, a line with `Properties=`, and a line per body", path.display())]
    Short {
        /// Path of the file.
        path: PathBuf,
    },
    /// A line is not valid.
    #[error("line {line} of `{}` is not {expected}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Description of what was expected.
        expected: &'static str,
    },
}

/// Columns in the second line of a frame, for readers.
const PROPERTIES: &str = "Properties=species:S:1:pos:R:3:velo:R:3:mass:R:1";
/// Default columns, for files that do not name theirs.
const PLAIN: &str = "species:S:1:pos:R:3";

/// Appends a frame behind the first `n_bytes` of a file, which are kept; returns the new size.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, n_bytes: u64, bodies: &[Body], time: f64) -> Result<u64, XyzError> {
    let mut text = format!("{}\n{PROPERTIES} pbc=\"F F F\" Time={time}\n", bodies.len());
    for Body { mass, position: [x, y, z], velocity: [u, v, w] } in bodies {
        // Writing to a `String` cannot fail.
        let _written = writeln!(text, "X {x} {y} {z} {u} {v} {w} {mass}");
    }
    let put = || -> std::io::Result<()> {
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.set_len(n_bytes)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
        let mut file = BufWriter::new(file);
        file.write_all(text.as_bytes())?;
        file.flush()
    };
    put().map_err(|source| XyzError::Write { path: path.to_owned(), source })?;
    Ok(n_bytes + text.len() as u64)
}

/// Reads the bodies of a file's last frame from the columns `pos`, `velo` and `mass`; by default bodies are at rest and
/// have mass 1.
///
/// # Errors
/// If the file cannot be read or is not valid.
pub fn read(path: &Path) -> Result<Vec<Body>, XyzError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| XyzError::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|problem| match problem {
        Problem::Short => XyzError::Short { path: path.to_owned() },
        Problem::Line { line, expected } => {
            XyzError::Line { path: path.to_owned(), line, expected }
        }
    })
}

#[derive(Debug, PartialEq)]
enum Problem {
    Short,
    Line { line: usize, expected: &'static str },
}

fn parse(text: &str) -> Result<Vec<Body>, Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let n_lines = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    let (mut at, mut last) = (0, None);
    while at < n_lines {
        let wrong = |expected| Problem::Line { line: at + 1, expected };
        let n_bodies: usize = lines[at].trim().parse().map_err(|_| wrong("a number of bodies"))?;
        let end = at.saturating_add(2).saturating_add(n_bodies);
        if n_lines < end {
            return Err(Problem::Short);
        }
        last = Some(at + 1..end);
        at = end;
    }
    let last = last.ok_or(Problem::Short)?;
    let header = last.start;
    let expected = "a line with `Properties=` and `pos:R:3`";
    let columns = Columns::read(lines[header]);
    let columns = columns.ok_or(Problem::Line { line: header + 1, expected })?;
    let expected = "a body with finite numbers in the columns that `Properties` names";
    let body = |at: usize| columns.body(lines[at]).ok_or(Problem::Line { line: at + 1, expected });
    if last.end == header + 1 {
        return Err(Problem::Short);
    }
    (header + 1..last.end).map(body).collect()
}

/// Positions of the columns in a line.
struct Columns {
    position: usize,
    velocity: Option<usize>,
    mass: Option<usize>,
}

impl Columns {
    fn read(header: &str) -> Option<Self> {
        let properties =
            header.split_whitespace().find_map(|word| word.strip_prefix("Properties="));
        let (mut position, mut velocity, mut mass, mut place) = (None, None, None, 0_usize);
        let mut words = properties.unwrap_or(PLAIN).split(':');
        while let Some(name) = words.next() {
            let (_type, width) = (words.next()?, words.next()?.parse::<usize>().ok()?);
            match (name, width) {
                ("pos", 3) => position = Some(place),
                ("velo" | "vel" | "velocities", 3) => velocity = Some(place),
                ("mass" | "masses", 1) => mass = Some(place),
                _ => {}
            }
            place = place.checked_add(width)?;
        }
        Some(Self { position: position?, velocity, mass })
    }

    fn body(&self, line: &str) -> Option<Body> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| -> Option<f64> {
            words.get(at)?.parse().ok().filter(|number: &f64| number.is_finite())
        };
        let vector = |at: usize| Some([number(at)?, number(at + 1)?, number(at + 2)?]);
        let velocity = self.velocity.map_or(Some([0.0; 3]), vector)?;
        let mass = self.mass.map_or(Some(1.0), number)?;
        Some(Body { mass, position: vector(self.position)?, velocity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(numbers: [f64; 7]) -> Body {
        let [mass, x, y, z, u, v, w] = numbers;
        Body { mass, position: [x, y, z], velocity: [u, v, w] }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_bit_by_bit(
            bodies in prop::collection::vec(prop::array::uniform7(prop::num::f64::NORMAL), 1..9),
        ) {
            let bodies: Vec<Body> = bodies.into_iter().map(body).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.xyz");
            let n_bytes = write(&path, 0, &[Body::default()], 0.0).unwrap();
            write(&path, n_bytes, &bodies, 0.5).unwrap();
            prop_assert_eq!(read(&path).unwrap(), bodies);
        }
    }

    #[test]
    fn frames_behind_the_length_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xyz");
        let first = write(&path, 0, &[Body::default()], 0.0).unwrap();
        write(&path, first, &[Body::default(); 5], 1.0).unwrap();
        let n_bytes = write(&path, first, &[body([2.0; 7])], 1.0).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), n_bytes);
        assert_eq!(read(&path).unwrap(), [body([2.0; 7])]);
    }

    #[track_caller]
    fn check(text: &str, expected: &[[f64; 7]]) {
        let expected: Vec<Body> = expected.iter().copied().map(body).collect();
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn files_of_others_are_read() {
        check("1\n\nH 1 2 3\n", &[[1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0]]);
        let header = "1\nLattice=\"1 0 0\" Properties=id:I:1:mass:R:1:pos:R:3 t=1\n7 5 1 2 3\n\n";
        check(header, &[[5.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0]]);
    }

    #[track_caller]
    fn check_wrong(text: &str, line: usize) {
        assert!(matches!(parse(text), Err(Problem::Line { line: found, .. }) if found == line));
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(parse(""), Err(Problem::Short));
        assert_eq!(parse("0\nProperties=pos:R:3\n"), Err(Problem::Short));
        assert_eq!(parse("2\n\nX 0 0 0\n"), Err(Problem::Short));
        assert_eq!(parse("18446744073709551615\n\n"), Err(Problem::Short));
        check_wrong("bodies\n", 1);
        check_wrong("1\nProperties=species:S:1\nX 0 0 0", 2);
        check_wrong("1\nProperties=pos:R:x\nX 0 0 0", 2);
        check_wrong("1\n\nX 0 0 inf", 3);
        check_wrong("1\n\nX 0 0", 3);
    }
}
