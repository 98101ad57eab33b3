//! Work that waits: a body takes its worker a given time, most of it asleep, and longer where others use the node.
//!
//! On a machine with fewer cores than workers they still speed each other up then, and the load of a node is what a
//! file says, not what else happens to run.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much slower workers are, by iteration.
///
/// A line of the file is an iteration, counted from 0, and a factor for all workers or one for each of them from rank 1
/// on; it holds until the next line. `#` begins a comment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// By iteration, rising.
    lines: Vec<(u64, Vec<f64>)>,
}

/// Why a file of loads cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("`{}` cannot be read; give `--load` a file with an iteration and a factor per line", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line is none.
    #[error(
        "line {line} of `{}` is not understood; write an iteration above the one before it and a factor from 0 on, as in `30 2.5`",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Which one, from 1.
        line: usize,
    },
}

impl Load {
    /// The loads of a file.
    ///
    /// # Errors
    /// When it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|line| LoadError::Line { path: path.to_owned(), line })
    }

    /// The loads of a text, or the line that is none.
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

    /// How much longer the work of a rank takes in an iteration; 1 where nothing is said.
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

/// How long so many bodies shall take a worker.
pub(crate) fn time(wait_us: f64, n_bodies: u64, factor: f64) -> Duration {
    Duration::try_from_secs_f64(1e-6 * wait_us * n_bodies as f64 * factor).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, iteration: u64, rank: u32, expected: f64) {
        let factor = Load::parse(text).unwrap().factor(iteration, rank);
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
        assert_eq!(Load::parse(text), Err(line));
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
