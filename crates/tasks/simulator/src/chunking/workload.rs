//! Workload: tasks in their order.

use crate::chunking::describe::{Block, Distribution};
use chunking::{Spread, WeightedMoments};
use random::Random;

/// Most tasks of measured chunks.
const N_TASKS_MAX: u64 = 10_000_000;

/// Tasks, each with its time on a worker of the usual speed.
#[derive(Clone, Debug)]
pub struct Workload {
    /// For each task the time of all tasks before it, and last the time of all, in s.
    before_s: Vec<f64>,
    spread: Spread,
}

/// Reasons why tasks cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A line of a trace is no time.
    #[error(
        "line {line} is `{text}`: write the time of one task in ms, a number that is not negative"
    )]
    NotATime {
        /// Number of the line, from 1.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// A chunk has a negative time.
    #[error(
        "chunk {0} of the report ends before it begins: run the program again with `--report FILE`"
    )]
    Backwards(usize),
    /// No task takes any time.
    #[error("there is no task that takes any time")]
    NoWork,
    /// There are more tasks than fit in memory.
    #[error("`{0}` tasks are too many; at most {N_TASKS_MAX} can be simulated")]
    TooMany(u64),
    /// The sum of the times is not finite.
    #[error("the sum of all task times is not finite; use shorter times")]
    Endless,
}

impl Workload {
    /// Draws the tasks one after the other, and makes those in the blocks longer.
    ///
    /// # Errors
    /// When the sum of their times is zero or not finite.
    pub fn drawn(
        n_tasks: u64,
        distribution: Distribution,
        blocks: &[Block],
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let mut random = Random::new(seed);
        let is_inside = |task: u64, block: &Block| {
            let at = (task as f64 + 0.5) / n_tasks as f64;
            block.start <= at && at < block.start + block.length
        };
        let task_s = |task| {
            let inside = blocks.iter().filter(|block| is_inside(task, block));
            let factor: f64 = inside.map(|block| block.factor).product();
            factor * distribution.draw_ms(&mut random) / 1e3
        };
        Self::new((0..n_tasks).map(task_s))
    }

    /// Reads a measured trace: a line for each task, with its time in milliseconds. Empty lines, and what follows
    /// `#`, are skipped.
    ///
    /// # Errors
    /// When a line is no time, or the sum of the times is zero or not finite.
    pub fn from_trace(text: &str) -> Result<Self, WorkloadError> {
        let mut tasks_s = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let time_ms = text.parse().ok().filter(|ms: &f64| ms.is_finite() && 0.0 <= *ms);
            let wrong = || WorkloadError::NotATime { line, text: text.to_owned() };
            tasks_s.push(time_ms.ok_or_else(wrong)? / 1e3);
        }
        Self::new(tasks_s.into_iter())
    }

    /// Workload of measured chunks, in the order of dealing: number of tasks, and seconds. All tasks of a chunk get the
    /// same time.
    ///
    /// Where they have fewer than `n_tasks` tasks, their times repeat from the first on.
    ///
    /// # Errors
    /// When the sum of their times is zero or not finite, they have too many tasks, or one has a negative time.
    pub fn of_chunks(chunks: &[(u64, f64)], n_tasks: u64) -> Result<Self, WorkloadError> {
        if let Some(before) = chunks.iter().position(|(_, time_s)| *time_s < 0.0) {
            return Err(WorkloadError::Backwards(before + 1));
        }
        let n_measured = chunks.iter().fold(0, |sum: u64, chunk| sum.saturating_add(chunk.0));
        let n_tasks = n_tasks.max(n_measured);
        if N_TASKS_MAX < n_tasks {
            return Err(WorkloadError::TooMany(n_tasks));
        }
        let tasks_s = chunks.iter().flat_map(|&(n_tasks, time_s)| {
            let task_s = (time_s / n_tasks as f64).max(0.0);
            (0..n_tasks).map(move |_| task_s)
        });
        let n_wanted = if n_measured == 0 { 0 } else { n_tasks };
        Self::new(tasks_s.cycle().take(usize::try_from(n_wanted).unwrap_or(usize::MAX)))
    }

    /// Tasks with these times, in seconds.
    ///
    /// # Errors
    /// When their sum is zero or not finite.
    pub(super) fn new(tasks_s: impl Iterator<Item = f64>) -> Result<Self, WorkloadError> {
        let (mut before_s, mut sum_s, mut moments) = (vec![0.0], 0.0, WeightedMoments::default());
        for task_s in tasks_s {
            sum_s += task_s;
            before_s.push(sum_s);
            moments.add(1.0, task_s);
        }
        if sum_s <= 0.0 {
            return Err(WorkloadError::NoWork);
        }
        if !sum_s.is_finite() {
            return Err(WorkloadError::Endless);
        }
        Ok(Self { before_s, spread: moments.spread() })
    }

    /// Number of tasks.
    pub fn n_tasks(&self) -> u64 {
        self.before_s.len() as u64 - 1
    }

    /// Returns the time of all tasks, in s.
    pub fn work_s(&self) -> f64 {
        self.before_s.last().copied().unwrap_or(0.0)
    }

    /// Returns the time of the longest task, in s.
    pub(super) fn largest_s(&self) -> f64 {
        self.before_s.windows(2).map(|two| two[1] - two[0]).fold(0.0, f64::max)
    }

    /// Returns the mean and the deviation of a task's time.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// Returns the time of `n_tasks` tasks from `first` on, in s.
    #[expect(clippy::cast_possible_truncation, reason = "tasks are in memory")]
    pub(super) fn chunk_s(&self, first: u64, n_tasks: u64) -> f64 {
        self.before_s[(first + n_tasks) as usize] - self.before_s[first as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_makes_its_tasks_longer() {
        let block = |text: &str| text.parse().unwrap();
        let blocks = [block("0.3:0.4:3"), block("0.6:0.4:2")];
        let constant = Distribution::Constant { ms: 1000.0 };
        let workload = Workload::drawn(10, constant, &blocks, 0).unwrap();
        let tasks_s: Vec<f64> = (0..10).map(|task| workload.chunk_s(task, 1)).collect();
        assert_eq!(tasks_s, [1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 6.0, 2.0, 2.0, 2.0]);
        assert!((workload.work_s() - 24.0).abs() < 1e-12);
        assert!((workload.spread().mean_s - 2.4).abs() < 1e-12);
        assert!((workload.spread().deviation_s - 1.8_f64.sqrt()).abs() < 0.2);
    }

    #[test]
    fn a_trace_is_a_time_per_line() {
        let workload = Workload::from_trace("1\n  2.5 # second\n\n# end\r\n1e3\r\n").unwrap();
        assert_eq!(workload.n_tasks(), 3);
        assert!((workload.work_s() - 1.0035).abs() < 1e-12);
    }

    #[test]
    fn a_measured_chunk_is_as_many_tasks() {
        let workload = Workload::of_chunks(&[(2, 3.0), (0, 9.0), (1, 0.5)], 0).unwrap();
        assert_eq!(workload.n_tasks(), 3);
        assert!((workload.chunk_s(0, 1) - 1.5).abs() < 1e-12);
        assert!((workload.work_s() - 3.5).abs() < 1e-12);
        let longer = Workload::of_chunks(&[(2, 3.0), (1, 0.5)], 7).unwrap();
        assert_eq!(longer.n_tasks(), 7);
        assert!((longer.work_s() - 8.5).abs() < 1e-12);
        let said = |chunks| Workload::of_chunks(chunks, 0).unwrap_err().to_string();
        assert_eq!(
            said(&[(1, 1.0), (1, -1.0)]),
            "chunk 2 of the report ends before it begins: run the program again with `--report FILE`"
        );
        assert_eq!(said(&[]), "there is no task that takes any time");
        assert_eq!(said(&[(1, f64::NAN)]), "there is no task that takes any time");
        assert_eq!(
            said(&[(u64::MAX, 1.0), (1, 1.0)]),
            format!("`{}` tasks are too many; at most 10000000 can be simulated", u64::MAX)
        );
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(Workload::from_trace(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_no_time_is_named_with_its_line() {
        let sentence = "write the time of one task in ms, a number that is not negative";
        refused("1\n\nfast\n", &format!("line 3 is `fast`: {sentence}"));
        refused("-1\n", &format!("line 1 is `-1`: {sentence}"));
        refused("1\n2,5\n", &format!("line 2 is `2,5`: {sentence}"));
        refused("inf", &format!("line 1 is `inf`: {sentence}"));
        refused("", "there is no task that takes any time");
        refused("0\n0\n", "there is no task that takes any time");
        refused(
            &"1.7e308\n".repeat(2000),
            "the sum of all task times is not finite; use shorter times",
        );
    }
}
