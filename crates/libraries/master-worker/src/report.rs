//! Reports of a run and of its iterations.

use crate::network::WorkerNetwork;
use dealing_report::{DealingReport, Iterated};
use std::collections::VecDeque;
use std::fmt;

/// Report of one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct IterationReport {
    /// Number of the iteration, from 0.
    pub iteration: u64,
    /// Number of its tasks.
    pub n_tasks: u64,
    /// Chunks dealt, including those dealt again.
    pub n_chunks: u64,
    /// Chunks taken back before they began.
    pub n_retracted: u64,
    /// Chunks that panicked and were retried.
    pub n_retried: u64,
    /// Workers lost or missing in the iteration.
    pub n_lost: u64,
    /// Time from the start of the iteration to its last result, in seconds.
    pub duration_s: f64,
    /// Bytes of the shared data, sent to each worker; 0 when they were unchanged.
    pub shared_bytes: u64,
    /// Bytes of the inputs of all chunks together.
    pub input_bytes: u64,
    /// Bytes of the results of all chunks together.
    pub output_bytes: u64,
    /// Ranks that took part, in order; includes the master if it computed anything.
    pub workers: Vec<WorkerReport>,
    /// Cost of a message between master and worker, if known.
    pub network: Option<WorkerNetwork>,
    /// Reason for the number of workers, in words; empty unless it was changed.
    pub staffing: String,
    /// Basis of the number of workers, such as the measured network, in words; empty without a model.
    pub reckoning: String,
}

/// Report of one worker in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Rank of the worker.
    pub rank: u32,
    /// Tasks computed.
    pub n_tasks: u64,
    /// Chunks computed.
    pub n_chunks: u64,
    /// Time in the user's code, in seconds.
    pub compute_s: f64,
    /// Time spent waiting for chunks after the first one, in seconds.
    pub waited_s: f64,
    /// Time spent waiting for the first chunk, in seconds.
    pub start_s: f64,
    /// Time without work at the end while others computed, in seconds.
    pub end_s: f64,
}

impl WorkerReport {
    /// Time in which the worker did not compute in an iteration of this duration, in seconds.
    pub fn idle_s(&self, duration_s: f64) -> f64 {
        (duration_s - self.compute_s).max(0.0)
    }

    /// Describes the worker's waits; empty when all were too short to mention.
    fn why(&self) -> String {
        let waits = [
            (self.start_s, "until its first chunk came"),
            (self.waited_s, "between chunks"),
            (self.end_s, "when nothing was left for it"),
        ];
        let worth = waits.iter().filter(|(wait_s, _)| WORTH_A_WORD_S <= *wait_s);
        let said = worth.map(|(wait_s, what)| format!("{:.2} ms {what}", 1e3 * wait_s));
        said.collect::<Vec<_>>().join(", ")
    }
}

const WORTH_A_WORD_S: f64 = 5e-6;

impl IterationReport {
    /// Time in the user's code over all workers, in seconds.
    pub fn compute_s(&self) -> f64 {
        self.workers.iter().map(|worker| worker.compute_s).sum()
    }

    /// Share of the workers' time in which they computed; 1 when there was nothing to do.
    pub fn efficiency(&self) -> f64 {
        let available_s = self.duration_s * self.workers.len() as f64;
        if 0.0 < available_s { (self.compute_s() / available_s).min(1.0) } else { 1.0 }
    }

    /// Explains why workers were idle, in words.
    pub fn explain(&self) -> String {
        let Some(idlest) = self.workers.iter().min_by(|a, b| a.compute_s.total_cmp(&b.compute_s))
        else {
            return "no worker took part".to_owned();
        };
        let idle_s = idlest.idle_s(self.duration_s);
        let share = 100.0 * idle_s / self.duration_s.max(f64::MIN_POSITIVE);
        let mut text =
            format!("rank {} was idle for {:.2} ms ({share:.0} %)", idlest.rank, 1e3 * idle_s);
        let why = idlest.why();
        if !why.is_empty() {
            text.push_str(": ");
            text.push_str(&why);
        }
        for said in [&self.staffing, &self.reckoning].into_iter().filter(|said| !said.is_empty()) {
            text.push_str("; ");
            text.push_str(said);
        }
        text
    }
}

impl fmt::Display for IterationReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "iteration {}: {} tasks in {} chunks on {} workers, {:.2} ms, efficiency {:.1} %",
            self.iteration,
            self.n_tasks,
            self.n_chunks,
            self.workers.len(),
            1e3 * self.duration_s,
            100.0 * self.efficiency()
        )?;
        for (count, what) in [(self.n_retried, "tried again"), (self.n_lost, "workers lost")] {
            if count != 0 {
                write!(formatter, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// Report of a run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Iterations computed by this run.
    pub n_iterations: u64,
    /// Number of the first iteration: not 0 when the run continued from a checkpoint.
    pub first_iteration: u64,
    /// Reports of the last iterations, as many as [`Options::history`](crate::Options::history) sets.
    pub history: VecDeque<IterationReport>,
    /// Time of all iterations together, in seconds.
    pub iterations_s: f64,
    /// Chunks of all iterations.
    pub n_chunks: u64,
    /// Tasks of all iterations.
    pub n_tasks: u64,
    /// Summary of the whole run: why workers were idle, how chunks were sized, what changed.
    pub dealt: DealingReport,
    /// Remarks on the number of workers: which were started or released, or why none can be. The first 100.
    pub remarks: Vec<String>,
    /// Workers that did not come back from their last tasks, which others have done. A program that initialized MPI
    /// itself cannot end with `MPI_Finalize` then, as it would wait for them.
    pub missing: Vec<u32>,
}

/// Largest number of remarks kept.
const N_REMARKS_MAX: usize = 100;

impl Report {
    pub(crate) fn new(policy: &str) -> Self {
        Self { dealt: DealingReport::new(policy), ..Self::default() }
    }

    pub(crate) fn add(&mut self, iteration: IterationReport, dealt: Iterated, n_history: usize) {
        self.dealt.add(dealt);
        self.n_iterations += 1;
        self.iterations_s += iteration.duration_s;
        self.n_chunks += iteration.n_chunks;
        self.n_tasks += iteration.n_tasks;
        while n_history.max(1) <= self.history.len() {
            self.history.pop_front();
        }
        self.history.push_back(iteration);
    }

    pub(crate) fn remark(&mut self, remark: String) {
        if self.remarks.len() < N_REMARKS_MAX {
            self.remarks.push(remark);
        }
    }

    /// Report of the last iteration.
    pub fn last(&self) -> Option<&IterationReport> {
        self.history.back()
    }
}

/// Sample iteration of 2.5 s in which workers computed for `computing_s`.
#[cfg(test)]
pub(crate) fn sample(number: u64, computing_s: &[f64]) -> IterationReport {
    let duration_s = 2.5;
    let workers = (1..).zip(computing_s).map(|(rank, &compute_s)| WorkerReport {
        rank,
        compute_s,
        n_chunks: 2,
        n_tasks: 40,
        waited_s: (duration_s - compute_s) / 5.0,
        end_s: (duration_s - compute_s) / 2.0,
        ..WorkerReport::default()
    });
    let workers: Vec<WorkerReport> = workers.collect();
    let (n_tasks, n_chunks) = (40 * workers.len() as u64, 2 * workers.len() as u64);
    let counted = IterationReport { n_tasks, n_chunks, ..IterationReport::default() };
    IterationReport { iteration: number, duration_s, workers, ..counted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_is_the_share_of_time_computed() {
        for (computing_s, expected) in
            [(vec![], 1.0), (vec![2.5], 1.0), (vec![2.5, 1.25], 0.75), (vec![0.0], 0.0)]
        {
            assert!((sample(0, &computing_s).efficiency() - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn the_idlest_worker_is_explained() {
        let mut report = sample(0, &[2.5, 0.5]);
        report.staffing = "2 workers because of a test".to_owned();
        report.reckoning = "calculated with messages".to_owned();
        let text = report.explain();
        assert!(
            text.starts_with("rank 2 was idle for 2000.00 ms (80 %): 400.00 ms between chunks, "),
            "{text}"
        );
        assert!(
            text.ends_with("; 2 workers because of a test; calculated with messages"),
            "{text}"
        );
    }

    #[test]
    fn the_history_is_bounded_and_sums_are_not() {
        let mut report = Report::new("best");
        (0..5).for_each(|number| report.add(sample(number, &[1.0]), Iterated::default(), 2));
        let numbers: Vec<_> = report.history.iter().map(|one| one.iteration).collect();
        assert_eq!((numbers, report.n_iterations), (vec![3, 4], 5));
        assert!((report.iterations_s - 12.5).abs() < 1e-12);
    }
}
