//! Counters of an iteration.

use crate::ledger::{Done, WorkerTimes};
use crate::report::{IterationReport, WorkerReport};
use dealing_report::{ChunkRecord, Iterated, Sums, Worker};
use std::collections::BTreeMap;

/// Largest number of chunks of an iteration that are recorded one by one.
const N_CHUNKS_MAX: usize = 2000;

/// Counters of the current iteration.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counted: IterationReport,
    workers: BTreeMap<u32, WorkerReport>,
    /// Start of each worker's first chunk and end of its last one, in seconds since the iteration began.
    busy: BTreeMap<u32, [f64; 2]>,
    is_shared_new: bool,
    began_s: f64,
    chunks: Vec<ChunkRecord>,
    n_chunks_left_out: u64,
    n_begins: u64,
    /// Messages that were not sent of their own, but with others.
    n_spared: u64,
    n_shared_bytes: u64,
    way_s: f64,
    n_ways: u64,
}

impl Tally {
    pub(super) fn shared_is_new(&mut self) {
        self.is_shared_new = true;
    }

    /// Starts the iteration's clock; what was counted before `begin` belongs to the iteration too.
    pub(super) fn begin(&mut self, now_s: f64) {
        self.began_s = now_s;
    }

    /// Counts shared data sent to a worker.
    pub(super) fn shared(&mut self, n_bytes: usize) {
        if self.is_shared_new {
            self.counted.shared_bytes = n_bytes as u64;
        }
    }

    /// Counts the announcement of the iteration to a worker, with `n_bytes` of shared data.
    pub(super) fn told(&mut self, n_bytes: usize) {
        self.n_begins += 1;
        self.n_shared_bytes += n_bytes as u64;
    }

    pub(super) fn sent(&mut self, n_bytes: usize) {
        self.counted.n_chunks += 1;
        self.counted.input_bytes += n_bytes as u64;
    }

    /// Counts chunks or results that travelled in one message.
    pub(super) fn bundled(&mut self, n_parts: usize) {
        self.n_spared += n_parts.saturating_sub(1) as u64;
    }

    pub(super) fn retracted(&mut self) {
        self.counted.n_retracted += 1;
    }

    pub(super) fn retried(&mut self) {
        self.counted.n_retried += 1;
    }

    pub(super) fn lost(&mut self) {
        self.counted.n_lost += 1;
    }

    pub(super) fn done(&mut self, worker: u32, done: &Done, measured: WorkerTimes, n_bytes: usize) {
        self.counted.output_bytes += n_bytes as u64;
        let counted = self.workers.entry(worker).or_default();
        if counted.n_chunks != 0 {
            counted.waited_s += measured.waited_s.max(0.0);
        }
        counted.n_chunks += 1;
        counted.n_tasks += done.tasks.end - done.tasks.start;
        counted.compute_s += measured.compute_s;
    }

    /// Records when a finished chunk was computed, on the master's clock.
    pub(super) fn timed(&mut self, rank: u32, chunk: u64, done: &Done, times_s: [f64; 2]) {
        let [began_s, ended_s] = times_s.map(|at_s| (at_s - self.began_s).max(0.0));
        let busy = self.busy.entry(rank).or_insert([began_s, ended_s]);
        busy[1] = busy[1].max(ended_s);
        if let Some(round_trip_s) = done.round_trip_s {
            self.way_s += round_trip_s;
            self.n_ways += 1;
        }
        if N_CHUNKS_MAX <= self.chunks.len() {
            self.n_chunks_left_out += 1;
            return;
        }
        let (first, batch) = (done.tasks.start, done.batch);
        let n_tasks = done.tasks.end - first;
        self.chunks.push(ChunkRecord { rank, chunk, first, n_tasks, batch, began_s, ended_s });
    }

    /// Returns all counts and resets them for the next iteration. Workers that took part are listed even
    /// if they got nothing.
    pub(super) fn report(
        &mut self,
        iteration: u64,
        n_tasks: u64,
        duration_s: f64,
        took_part: impl Iterator<Item = u32>,
    ) -> (IterationReport, Iterated) {
        let mut tally = std::mem::take(self);
        for rank in took_part {
            tally.workers.entry(rank).or_default();
        }
        let busy = std::mem::take(&mut tally.busy);
        let workers = std::mem::take(&mut tally.workers).into_iter().map(|(rank, counted)| {
            let [first_s, last_s] = busy.get(&rank).copied().unwrap_or([duration_s, duration_s]);
            let (start_s, end_s) = (first_s.min(duration_s), (duration_s - last_s).max(0.0));
            WorkerReport { rank, start_s, end_s, ..counted }
        });
        let workers = workers.collect();
        let counted = std::mem::take(&mut tally.counted);
        let report = IterationReport { iteration, n_tasks, duration_s, workers, ..counted };
        let iterated = tally.iterated(&report);
        (report, iterated)
    }

    /// Returns the same counts in the form of the run's report.
    pub(crate) fn iterated(self, report: &IterationReport) -> Iterated {
        let n_workers = report.workers.len() as f64;
        let compute_s = report.compute_s();
        let n_answers: u64 = report.workers.iter().map(|worker| worker.n_chunks).sum();
        let n_messages = report.n_chunks + n_answers + report.n_retracted + self.n_begins;
        let sums = Sums {
            n_iterations: 1,
            duration_s: report.duration_s,
            ideal_s: compute_s / n_workers.max(1.0),
            compute_s,
            available_s: report.duration_s * n_workers,
            n_tasks: report.n_tasks,
            n_chunks: report.n_chunks,
            n_retracted: report.n_retracted,
            n_retried: report.n_retried,
            n_lost: report.n_lost,
            n_messages: n_messages.saturating_sub(self.n_spared),
            shared_bytes: self.n_shared_bytes,
            input_bytes: report.input_bytes,
            output_bytes: report.output_bytes,
            way_s: self.way_s,
            n_ways: self.n_ways,
        };
        let worker = |one: &WorkerReport| Worker {
            rank: one.rank,
            n_tasks: one.n_tasks,
            n_chunks: one.n_chunks,
            duration_s: report.duration_s,
            compute_s: one.compute_s,
            start_s: one.start_s,
            waited_s: one.waited_s,
            end_s: one.end_s,
            parked_s: 0.0,
        };
        Iterated {
            sums,
            iteration: report.iteration,
            workers: report.workers.iter().map(worker).collect(),
            chunks: self.chunks,
            n_chunks_left_out: self.n_chunks_left_out,
            ..Iterated::default()
        }
    }
}
