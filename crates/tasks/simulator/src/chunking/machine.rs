//! Workers, their speeds over time, and the costs of a chunk.

use crate::chunking::describe::{DescribeError, number, wrong};
use std::str::FromStr;

/// Workers and costs of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Number of workers, which are called 0, 1, and so on.
    pub n_workers: u32,
    /// Time from the master's answer until the worker computes, for each chunk, in s.
    pub overhead_s: f64,
    /// Time that the master needs for a request, in s.
    pub serve_s: f64,
    /// True if the next chunk is asked for before the present one ends.
    pub prefetch: bool,
    /// Changes of speed.
    pub slowdowns: Vec<Slowdown>,
}

/// From some moment on, a worker needs `factor` times as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// Number of the worker.
    pub worker: u32,
    /// Factor on its original times, whatever slowdowns came before.
    pub factor: f64,
    /// Moment, in ideal times without slowdowns.
    pub at: f64,
}

/// Reasons why a machine is impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// There is no worker.
    #[error("at least one worker is needed")]
    NoWorkers,
    /// A slowdown names a worker that does not exist.
    #[error("worker `{worker}` cannot slow down: workers are 0 to {}", .n_workers - 1)]
    NoSuchWorker {
        /// Number that was named.
        worker: u32,
        /// Number of workers.
        n_workers: u32,
    },
}

impl FromStr for Slowdown {
    type Err = DescribeError;

    fn from_str(text: &str) -> Result<Self, DescribeError> {
        const FORM: &str = "WORKER:FACTOR@FRACTION, such as `0:2@0.5`";
        let wrong = || wrong(text, FORM);
        let (worker, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (factor, at) = rest.split_once('@').ok_or_else(wrong)?;
        let worker = worker.trim().parse().map_err(|_| wrong())?;
        let factor = number(factor).filter(|factor| (1e-6..=1e6).contains(factor));
        let at = number(at).filter(|at| 0.0 <= *at);
        Ok(Self { worker, factor: factor.ok_or_else(wrong)?, at: at.ok_or_else(wrong)? })
    }
}

impl Machine {
    /// Machine whose workers have the same speed.
    pub fn new(n_workers: u32, overhead_s: f64) -> Self {
        Self { n_workers, overhead_s, serve_s: 0.0, prefetch: false, slowdowns: Vec::new() }
    }

    /// Checks whether the machine is possible.
    ///
    /// # Errors
    /// When there is no worker, or a slowdown names one that does not exist.
    pub fn check(&self) -> Result<(), MachineError> {
        let n_workers = self.n_workers;
        if n_workers == 0 {
            return Err(MachineError::NoWorkers);
        }
        let unknown = self.slowdowns.iter().find(|slowdown| n_workers <= slowdown.worker);
        unknown.map_or(Ok(()), |slowdown| {
            Err(MachineError::NoSuchWorker { worker: slowdown.worker, n_workers })
        })
    }
}

/// Speeds of the workers over time, for an amount of work.
#[derive(Debug)]
pub(super) struct Speeds {
    /// For each worker: pairs of a time and the speed from then on, in the order of time, the first from 0.
    workers: Vec<Vec<(f64, f64)>>,
}

impl Speeds {
    pub(super) fn new(machine: &Machine, work_s: f64) -> Self {
        let usual_s = work_s / f64::from(machine.n_workers);
        let mut slowdowns = machine.slowdowns.clone();
        slowdowns.sort_by(|some, other| some.at.total_cmp(&other.at));
        let mut workers = vec![vec![(0.0, 1.0)]; machine.n_workers as usize];
        for slowdown in slowdowns {
            if let Some(speeds) = workers.get_mut(slowdown.worker as usize) {
                speeds.push((slowdown.at * usual_s, 1.0 / slowdown.factor));
            }
        }
        Self { workers }
    }

    /// Returns when a worker ends work that it begins at `start_s` and that takes `work_s` at the usual speed.
    pub(super) fn end_s(&self, worker: u32, start_s: f64, work_s: f64) -> f64 {
        let speeds = &self.workers[worker as usize];
        let (mut now_s, mut left_s) = (start_s, work_s);
        for (k, &(_, speed)) in speeds.iter().enumerate() {
            let until_s = speeds.get(k + 1).map_or(f64::INFINITY, |next| next.0);
            if until_s <= now_s {
                continue;
            }
            let possible_s = (until_s - now_s) * speed;
            if left_s <= possible_s {
                return now_s + left_s / speed;
            }
            left_s -= possible_s;
            now_s = until_s;
        }
        now_s
    }

    /// Returns the time at which all workers together have done this work, without gaps.
    pub(super) fn ideal_s(&self, work_s: f64) -> f64 {
        self.ideal_after_s(0.0, work_s)
    }

    /// Returns the same for work that begins at `begin_s`.
    pub(super) fn ideal_after_s(&self, begin_s: f64, work_s: f64) -> f64 {
        let mut changes: Vec<f64> =
            self.workers.iter().flatten().map(|(from_s, _)| from_s.max(begin_s)).collect();
        changes.sort_by(f64::total_cmp);
        changes.dedup();
        let mut left_s = work_s;
        for (k, &from_s) in changes.iter().enumerate() {
            let until_s = changes.get(k + 1).copied().unwrap_or(f64::INFINITY);
            let speed = self.speed_at(from_s);
            let possible_s = (until_s - from_s) * speed;
            if left_s <= possible_s {
                return from_s + left_s / speed;
            }
            left_s -= possible_s;
        }
        0.0
    }

    fn speed_at(&self, time_s: f64) -> f64 {
        let speed = |speeds: &Vec<(f64, f64)>| {
            let begun = speeds.iter().rev().find(|(from_s, _)| *from_s <= time_s);
            begun.map_or(1.0, |(_, speed)| *speed)
        };
        self.workers.iter().map(speed).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(slowdowns: &[&str]) -> Speeds {
        let slowdowns = slowdowns.iter().map(|text| text.parse().unwrap()).collect();
        Speeds::new(&Machine { slowdowns, ..Machine::new(2, 0.0) }, 20.0)
    }

    #[track_caller]
    fn check(slowdowns: &[&str], ideal_s: f64, end_s: f64) {
        let speeds = speeds(slowdowns);
        assert!((speeds.ideal_s(20.0) - ideal_s).abs() < 1e-12, "{}", speeds.ideal_s(20.0));
        let end = speeds.end_s(1, 1.0, 9.0);
        assert!((end - end_s).abs() < 1e-12, "{end}");
    }

    #[test]
    fn a_worker_is_slow_from_the_moment_on() {
        check(&[], 10.0, 10.0);
        check(&["1:2@0.5"], 5.0 + 10.0 / 1.5, 15.0);
        check(&["1:2@0"], 20.0 / 1.5, 19.0);
        check(&["1:2@0.5", "1:1@0.7"], 5.0 + 2.0 + 7.0 / 2.0, 11.0);
        check(&["1:1@0.7", "1:2@0.5"], 5.0 + 2.0 + 7.0 / 2.0, 11.0);
        check(&["0:4@0.5"], 5.0 + 10.0 / 1.25, 10.0);
        check(&["1:2@7"], 10.0, 10.0);
    }

    #[track_caller]
    fn refused(text: &str) {
        let said = text.parse::<Slowdown>().unwrap_err().to_string();
        assert_eq!(said, format!("`{text}` is not WORKER:FACTOR@FRACTION, such as `0:2@0.5`"));
    }

    #[test]
    fn what_is_no_slowdown_is_refused() {
        for text in
            ["", "1:2", "1@0.5", "x:2@0.5", "-1:2@0.5", "1:0@0.5", "1:2@-1", "1:nan@0.5", "1:2@inf"]
        {
            refused(text);
        }
        let slow = Slowdown { worker: 7, factor: 2.0, at: 0.5 };
        let machine = Machine { slowdowns: vec![slow], ..Machine::new(7, 0.0) };
        let said = machine.check().unwrap_err().to_string();
        assert_eq!(said, "worker `7` cannot slow down: workers are 0 to 6");
        assert_eq!(Machine::new(0, 0.0).check(), Err(MachineError::NoWorkers));
        assert_eq!(Machine::new(8, 0.0).check(), Ok(()));
    }
}
