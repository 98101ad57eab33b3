//! Accumulates the numbers of a run in progress.

use crate::run::{
    ChunkRecord, DealingReport, FORMAT_VERSION, IterationChange, IterationLine, Slowest, Sums,
    Worker,
};

/// Largest number of iterations listed; when it is reached, every second one is dropped.
const N_ITERATIONS_MAX: usize = 1000;
const N_WORKERS_MAX: usize = 4096;
const N_CHANGES_MAX: usize = 500;

/// Numbers of a finished iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iterated {
    /// Sums of this iteration.
    pub sums: Sums,
    /// Number of the iteration.
    pub iteration: u64,
    /// Workers that took part, each with this iteration only.
    pub workers: Vec<Worker>,
    /// Ranks of workers that were present but not used.
    pub parked: Vec<u32>,
    /// Recorded chunks of the iteration.
    pub chunks: Vec<ChunkRecord>,
    /// Number of chunks that were not recorded.
    pub n_chunks_left_out: u64,
    /// Reason for the number of workers.
    pub reason: String,
    /// Shares of batches, once a tool has set them.
    pub shares: Option<[f64; 3]>,
}

impl DealingReport {
    /// Creates an empty record for a run.
    pub fn new(policy: &str) -> Self {
        let (format_version, policy) = (FORMAT_VERSION, policy.to_owned());
        Self { format_version, policy, every: 1, ..Self::default() }
    }

    /// Adds the next iteration.
    pub fn add(&mut self, mut one: Iterated) {
        let line = line_of(&one);
        self.note_changes(&one, line.n_workers);
        self.list(line);
        for worker in &one.workers {
            self.add_worker(worker, one.sums.duration_s);
        }
        for rank in &one.parked {
            let parked = Worker { rank: *rank, ..Worker::default() };
            self.add_worker(&Worker { parked_s: one.sums.duration_s, ..parked }, 0.0);
        }
        self.sums.add(&one.sums);
        if self.slowest.as_ref().is_none_or(|slowest| slowest.duration_s < line.duration_s) {
            one.chunks.sort_unstable_by_key(|chunk| chunk.chunk);
            self.slowest = Some(Slowest {
                iteration: one.iteration,
                duration_s: line.duration_s,
                n_tasks: line.n_tasks,
                chunks: one.chunks,
                n_chunks_left_out: one.n_chunks_left_out,
            });
        }
    }

    /// Notes another change from an iteration on.
    pub fn note(&mut self, change: IterationChange) {
        if self.changes.len() < N_CHANGES_MAX {
            self.changes.push(change);
        } else {
            self.n_changes_left_out += 1;
        }
    }

    /// Notes the changes since the previous iteration.
    fn note_changes(&mut self, one: &Iterated, n_workers: u32) {
        let iteration = one.iteration;
        let Some((before, shares)) = self.last.replace((n_workers, one.shares)) else { return };
        if before != n_workers {
            let [old, new] = [before, n_workers].map(|n| Some(f64::from(n)));
            let (what, reason) = ("workers".to_owned(), one.reason.clone());
            self.note(IterationChange { iteration, what, old, new, reason });
        }
        for (batch, name) in ["share of batch 0", "share of batch 1", "share of later batches"]
            .into_iter()
            .enumerate()
        {
            let [old, new] = [shares, one.shares].map(|shares| shares.map(|shares| shares[batch]));
            if old.map(f64::to_bits) != new.map(f64::to_bits) {
                let (what, reason) = (name.to_owned(), "set from outside".to_owned());
                self.note(IterationChange { iteration, what, old, new, reason });
            }
        }
    }

    fn list(&mut self, line: IterationLine) {
        if !self.sums.n_iterations.is_multiple_of(self.every) {
            return;
        }
        if N_ITERATIONS_MAX <= self.iterations.len() {
            self.every *= 2;
            let mut is_kept = false;
            self.iterations.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.iterations.push(line);
    }

    fn add_worker(&mut self, worker: &Worker, duration_s: f64) {
        let place = self.workers.binary_search_by_key(&worker.rank, |known| known.rank);
        let place = match place {
            Ok(place) => place,
            Err(_) if N_WORKERS_MAX <= self.workers.len() => {
                self.n_workers_left_out += 1;
                return;
            }
            Err(place) => {
                self.workers.insert(place, Worker { rank: worker.rank, ..Worker::default() });
                place
            }
        };
        let known = &mut self.workers[place];
        known.n_tasks += worker.n_tasks;
        known.n_chunks += worker.n_chunks;
        known.duration_s += duration_s;
        known.compute_s += worker.compute_s;
        known.start_s += worker.start_s;
        known.waited_s += worker.waited_s;
        known.end_s += worker.end_s;
        known.parked_s += worker.parked_s;
    }
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.n_iterations += 1;
        self.duration_s += other.duration_s;
        self.ideal_s += other.ideal_s;
        self.compute_s += other.compute_s;
        self.available_s += other.available_s;
        self.n_tasks += other.n_tasks;
        self.n_chunks += other.n_chunks;
        self.n_retracted += other.n_retracted;
        self.n_retried += other.n_retried;
        self.n_lost += other.n_lost;
        self.n_messages += other.n_messages;
        self.shared_bytes += other.shared_bytes;
        self.input_bytes += other.input_bytes;
        self.output_bytes += other.output_bytes;
        self.way_s += other.way_s;
        self.n_ways += other.n_ways;
    }
}

fn line_of(one: &Iterated) -> IterationLine {
    let Sums { duration_s, ideal_s, n_tasks, n_chunks, .. } = one.sums;
    let n_workers = u32::try_from(one.workers.len()).unwrap_or(u32::MAX);
    IterationLine { iteration: one.iteration, duration_s, ideal_s, n_workers, n_tasks, n_chunks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iterated(iteration: u64, n_workers: u32, duration_s: f64) -> Iterated {
        let worker = |rank| Worker { rank, n_tasks: 2, ..Worker::default() };
        let sums = Sums { duration_s, n_tasks: 2 * u64::from(n_workers), ..Sums::default() };
        let workers = (1..=n_workers).map(worker).collect();
        Iterated { iteration, sums, workers, ..Iterated::default() }
    }

    #[test]
    fn lists_are_bounded_and_sums_are_of_all() {
        let mut dealt = DealingReport::new("best");
        for iteration in 0..5000 {
            dealt.add(iterated(iteration, 1 + u32::try_from(iteration % 2).unwrap(), 0.5));
        }
        assert_eq!((dealt.sums.n_iterations, dealt.sums.n_tasks), (5000, 15_000));
        assert!(dealt.iterations.len() <= N_ITERATIONS_MAX && dealt.every == 8);
        assert!(dealt.iterations.iter().all(|line| line.iteration % 8 == 0));
        assert_eq!((dealt.changes.len(), dealt.n_changes_left_out), (500, 4499));
        let tasks: Vec<u64> = dealt.workers.iter().map(|worker| worker.n_tasks).collect();
        assert_eq!(tasks, [10_000, 5000]);
    }

    #[test]
    fn the_slowest_iteration_is_kept_in_the_order_of_dealing() {
        let mut dealt = DealingReport::new("best");
        for (iteration, duration_s) in [(0, 0.5), (1, 2.0), (2, 1.0)] {
            let chunk = |chunk| ChunkRecord { chunk, n_tasks: iteration, ..ChunkRecord::default() };
            let chunks = [3, 1, 2].map(chunk).to_vec();
            dealt.add(Iterated { chunks, ..iterated(iteration, 1, duration_s) });
        }
        let slowest = dealt.slowest.unwrap();
        let order: Vec<u64> = slowest.chunks.iter().map(|chunk| chunk.chunk).collect();
        assert_eq!((slowest.iteration, order), (1, vec![1, 2, 3]));
    }

    #[test]
    fn who_is_not_wanted_is_parked() {
        let mut dealt = DealingReport::new("best");
        dealt.add(iterated(0, 2, 1.0));
        dealt.add(Iterated {
            parked: vec![2],
            reason: "one is enough".to_owned(),
            ..iterated(1, 1, 3.0)
        });
        let second = dealt.workers[1];
        assert!((second.duration_s, second.parked_s) == (1.0, 3.0), "{second:?}");
        let changes: Vec<_> = dealt.changes.iter().map(|c| (c.iteration, &*c.reason)).collect();
        assert_eq!(changes, [(1, "one is enough")]);
    }

    #[test]
    fn what_tools_set_is_noted() {
        let mut dealt = DealingReport::new("best");
        let shares = [None, Some([0.5, 0.25, 0.25]), Some([0.5, 0.5, 0.25]), None];
        for (iteration, shares) in (0..).zip(shares) {
            dealt.add(Iterated { shares, ..iterated(iteration, 1, 1.0) });
        }
        let at: Vec<_> = dealt.changes.iter().map(|c| (c.iteration, c.old, c.new)).collect();
        let (half, quarter) = (Some(0.5), Some(0.25));
        let first = [(1, None, half), (1, None, quarter), (1, None, quarter), (2, quarter, half)];
        let last = [(3, half, None), (3, half, None), (3, quarter, None)];
        assert_eq!(at, [first.as_slice(), &last].concat());
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let mut dealt = DealingReport::new("gss");
        dealt.add(iterated(4, 2, 0.25));
        dealt.last = None;
        let text = serde_json::to_string(&dealt).unwrap();
        assert_eq!(serde_json::from_str::<DealingReport>(&text).unwrap(), dealt);
    }
}
