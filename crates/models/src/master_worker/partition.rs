//! How the tasks of an iteration are dealt: in *batches*, each in as many equal *chunks* as there are
//! workers; a worker that returns a chunk gets the next one.
//!
//! With `M` tasks, `N` workers, `R_j` tasks left before batch `j`, and per task the mean `mu` and the
//! standard deviation `sigma` of the computing time (dynamic adjusting factoring, Martínez 2010, "Sintonización dinámica de
//! aplicaciones MPI"):
//!
//! | policy | batch `j` |
//! |---|---|
//! | FSC, fixed-size chunking | `M` over the number of batches |
//! | DPF, dynamic predictive factoring | the share `F` of `R_j` |
//! | DAF, dynamic adjusting factoring | `R_j / x_j`, `x_0 = 1 + sigma*sqrt(N/2)/mu`, `x_j = 2 + sigma*sqrt(N/2)/mu` |
//!
//! The divisors come from `mu*F_0 + sigma*F_0*sqrt(N/2) = mu*M/N` for the chunk `F_0` of batch 0, and
//! `mu*F_j + sigma*F_j*sqrt(N/2) = mu*(R_j/N - F_j)` for later ones: the slowest of `N` chunks ends when
//! the rest, evenly shared, would. Where a batch would have chunks below the smallest size allowed, all
//! that is left goes out in chunks of that size.
//!
//! # Invariants
//! - The chunks of [`chunks`] sum to the tasks, and none is empty.

/// Computing time per task: mean and standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Mean, in seconds.
    pub mean_s: f64,
    /// Standard deviation, in seconds.
    pub deviation_s: f64,
}

impl Spread {
    /// Of chunks, each with its tasks and its computing time in seconds: the mean over all tasks, and how
    /// far the chunks' times per task are from it, each counted as often as it has tasks.
    pub fn of_chunks(chunks: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let n_tasks: f64 = chunks.clone().map(|(n, _)| n).sum();
        let total_s: f64 = chunks.clone().map(|(_, time_s)| time_s).sum();
        if n_tasks <= 0.0 {
            return Self::default();
        }
        let mean_s = total_s / n_tasks;
        let squares: f64 = chunks
            .filter(|(n, _)| 0.0 < *n)
            .map(|(n, time_s)| n * (time_s / n - mean_s).powi(2))
            .sum();
        Self { mean_s, deviation_s: (squares / n_tasks).sqrt() }
    }

    /// `sigma / mu`; zero when nothing was computed.
    pub fn relative(&self) -> f64 {
        if 0.0 < self.mean_s { self.deviation_s / self.mean_s } else { 0.0 }
    }
}

/// `x_0` of DAF: batch 0 has one `x_0`-th of the tasks.
pub fn first_divisor(spread: Spread, n_workers: f64) -> f64 {
    1.0 + spread.relative() * (n_workers / 2.0).sqrt()
}

/// `x_j` of DAF: a later batch has one `x_j`-th of the tasks left.
pub fn later_divisor(spread: Spread, n_workers: f64) -> f64 {
    2.0 + spread.relative() * (n_workers / 2.0).sqrt()
}

/// How large batches are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// FSC: this many batches of equal size.
    FixedSize {
        /// Batches.
        n_batches: u64,
    },
    /// DPF and DAF: shares of what is left, for batch 0, for batch 1, and for each later one. A share
    /// that is not below 1 takes everything.
    Shares([f64; 3]),
}

/// The smallest share of what is left that a batch has.
const SHARE_MIN: f64 = 0.001;

/// A section of consecutive tasks for one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its batch, from 0.
    pub batch: u64,
    /// Its first task.
    pub first: u64,
    /// Its tasks.
    pub n_tasks: u64,
}

/// The chunks of an iteration in the order in which they are dealt.
pub fn chunks(policy: Policy, n_tasks: u64, n_workers: u64, n_tasks_min: u64) -> Vec<Chunk> {
    let n_workers = n_workers.max(1);
    let (mut dealt, mut chunks) = (0, Vec::new());
    for batch in 0.. {
        let n_left = n_tasks - dealt;
        if n_left == 0 {
            break;
        }
        let (n_in_batch, n_chunks) =
            size_of_batch(policy, batch, [n_tasks, n_left, n_workers, n_tasks_min.max(1)]);
        for k in 0..n_chunks {
            let size = n_in_batch / n_chunks + u64::from(k < n_in_batch % n_chunks);
            chunks.push(Chunk { batch, first: dealt, n_tasks: size });
            dealt += size;
        }
    }
    chunks
}

/// Tasks and chunks of a batch; of `[all tasks, tasks left, workers, smallest chunk]`.
fn size_of_batch(policy: Policy, batch: u64, of: [u64; 4]) -> (u64, u64) {
    let [n_tasks, n_left, n_workers, n_tasks_min] = of;
    let wished = match policy {
        Policy::FixedSize { n_batches } => n_tasks.div_ceil(n_batches.max(1)).min(n_left),
        Policy::Shares(shares) => {
            let share = shares[usize::try_from(batch).unwrap_or(2).min(2)];
            share_of(n_left, share)
        }
    };
    if wished < n_left && wished / n_workers < n_tasks_min {
        return (n_left, n_left.div_ceil(n_tasks_min).min(n_left));
    }
    (wished, n_workers.min(wished))
}

#[expect(clippy::cast_possible_truncation, reason = "a share of a whole number lies below it")]
#[expect(clippy::cast_sign_loss, reason = "neither factor is negative")]
fn share_of(n_left: u64, share: f64) -> u64 {
    let is_all = share.is_nan() || 1.0 <= share;
    if is_all { n_left } else { (share.max(SHARE_MIN) * n_left as f64) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(policy: Policy, n_tasks: u64, n_workers: u64, expected: &[u64]) {
        let sizes: Vec<u64> =
            chunks(policy, n_tasks, n_workers, 10).iter().map(|c| c.n_tasks).collect();
        assert_eq!(sizes, expected);
    }

    #[test]
    fn batches_are_dealt_in_equal_chunks() {
        check(Policy::FixedSize { n_batches: 2 }, 100, 2, &[25, 25, 25, 25]);
        check(Policy::Shares([1.0; 3]), 100, 3, &[34, 33, 33]);
        check(Policy::Shares([0.5; 3]), 100, 2, &[25, 25, 13, 12, 9, 8, 8]);
        check(Policy::Shares([0.6, 0.5, 1.0]), 100, 2, &[30, 30, 10, 10, 10, 10]);
        check(Policy::Shares([f64::NAN; 3]), 2, 4, &[1, 1]);
        check(Policy::Shares([0.5; 3]), 0, 2, &[]);
    }

    #[track_caller]
    fn check_divisors(chunks: &[(f64, f64)], n_workers: f64, first: f64, later: f64) {
        let spread = Spread::of_chunks(chunks.iter().copied());
        assert!((first_divisor(spread, n_workers) - first).abs() < 1e-12);
        assert!((later_divisor(spread, n_workers) - later).abs() < 1e-12);
    }

    #[test]
    fn divisors_grow_with_the_spread_between_chunks() {
        check_divisors(&[], 8.0, 1.0, 2.0);
        check_divisors(&[(10.0, 1.0), (20.0, 2.0)], 8.0, 1.0, 2.0);
        // mu = 2, sigma = 1: sigma/mu = 0.5, and sqrt(8/2) = 2.
        check_divisors(&[(10.0, 10.0), (10.0, 30.0)], 8.0, 2.0, 3.0);
    }

    proptest! {
        #[test]
        fn chunks_sum_to_the_tasks(
            shares in prop::array::uniform3(-0.5..1.5),
            n_batches in 0..20_u64,
            n_tasks in 0..100_000_u64,
            n_workers in 0..50_u64,
            smallest in 0..200_u64,
        ) {
            for policy in [Policy::Shares(shares), Policy::FixedSize { n_batches }] {
                let dealt = chunks(policy, n_tasks, n_workers, smallest);
                let mut next = 0;
                for chunk in &dealt {
                    prop_assert_eq!(chunk.first, next);
                    prop_assert!(0 < chunk.n_tasks);
                    next += chunk.n_tasks;
                }
                prop_assert_eq!(next, n_tasks);
            }
        }
    }
}
