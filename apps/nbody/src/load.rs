//! Simulated work: a body takes its worker a given time, most of it asleep, and longer by the factors of a load file.
//!
//! So workers speed each other up even on a machine with fewer cores than workers, and the load of a node is that of
//! the file, not that of other programs.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Slowdown of workers, by iteration.
///
/// A line of the file is an iteration, counted from 0, and a factor for all workers or one for each from rank 1 on; it
/// holds until the next line. `#` begins a comment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slowdowns {
    /// Iterations in ascending order, with their factors.
    lines: Vec<(u64, Vec<f64>)>,
}

/// Error of a load file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("`{}` cannot be read; give `--load` a file with an iteration and a factor per line", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A line is not valid.
    #[error(
        "line {line} of `{}` is not understood; write an iteration above the one before it and a factor from 0 on, as in `30 2.5`",
        path.display()
    )]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
}

impl Slowdowns {
    /// Reads a load file.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|line| LoadError::Line { path: path.to_owned(), line })
    }

    /// Parses a text; returns the number of the first invalid line as the error.
    fn parse(text: &str) -> Result<Self, usize> {
        let mut lines: Vec<(u64, Vec<f64>)> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let said = line.split('#').next().unwrap_or_default();
            if said.trim().is_empty() {
                continue;
            }
            let (iteration, factors) = line_of(said).ok_or(number)?;
            if lines.last().is_some_and(|(before, _)| iteration <= *before) {
                return Err(number);
            }
            lines.push((iteration, factors));
        }
        Ok(Self { lines })
    }

    /// Factor on the work of a rank in an iteration; 1 by default.
    #[must_use]
    pub fn factor(&self, iteration: u64, rank: u32) -> f64 {
        let n_begun = self.lines.partition_point(|(from, _)| *from <= iteration);
        let Some((_, factors)) = n_begun.checked_sub(1).and_then(|at| self.lines.get(at)) else {
            return 1.0;
        };
        let own = factors.get(rank.saturating_sub(1) as usize);
        own.or(factors.last()).copied().unwrap_or(1.0)
    }
}

fn line_of(text: &str) -> Option<(u64, Vec<f64>)> {
    let mut words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let iteration = words.next()?.parse().ok()?;
    let factors: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    let is_usable = |factor: &f64| factor.is_finite() && 0.0 <= *factor;
    let factors = factors.filter(|all| !all.is_empty() && all.iter().all(is_usable))?;
    Some((iteration, factors))
}

/// Time that `n_bodies` shall take a worker.
pub(crate) fn time(wait_us: f64, n_bodies: u64, factor: f64) -> Duration {
    Duration::try_from_secs_f64(1e-6 * wait_us * n_bodies as f64 * factor).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, iteration: u64, rank: u32, expected: f64) {
        let factor = Slowdowns::parse(text).unwrap().factor(iteration, rank);
        assert!((factor - expected).abs() < 1e-15, "{factor}");
    }

    #[test]
    fn a_line_holds_until_the_next_one() {
        check("", 5, 1, 1.0);
        check("# nothing\n\n", 5, 1, 1.0);
        check("2 3", 1, 1, 1.0);
        check("2 3", 2, 9, 3.0);
        check("0 1\n2 3 # twice\n4\t0.5", 3, 1, 3.0);
        check("0 1\n2 3 # twice\n4\t0.5", 99, 1, 0.5);
        check("0 1,2,3", 0, 2, 2.0);
        check("0 1 2 3", 0, 9, 3.0);
    }

    #[track_caller]
    fn check_wrong(text: &str, line: usize) {
        assert_eq!(Slowdowns::parse(text), Err(line));
    }

    #[test]
    fn other_lines_are_refused() {
        check_wrong("0", 1);
        check_wrong("0 1\nx 1", 2);
        check_wrong("0 1\n\n0 2", 3);
        check_wrong("0 -1", 1);
        check_wrong("0 inf", 1);
    }
}
