//! A batch: a share of the remaining tasks, dealt in chunks of equal size.

/// Smallest share of the remaining tasks in a batch.
const SHARE_MIN: f64 = 0.001;

/// Tasks and workers from which a batch is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Tasks neither dealt nor in another batch.
    pub(crate) n_left: u64,
    pub(crate) n_workers: u32,
    /// Tasks in the smallest chunk.
    pub(crate) n_tasks_min: u64,
}

/// Undealt rest of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    n_tasks: u64,
    n_chunks: u64,
}

impl Batch {
    /// Cuts a batch of this share, with as many chunks as workers. Where chunks would be below the smallest
    /// size, the batch takes all remaining tasks, in chunks of that size.
    pub(crate) fn of_share(share: f64, cut: Cut) -> Self {
        let Cut { n_left, n_workers, .. } = cut;
        let (n_workers, n_tasks_min) = (u64::from(n_workers.max(1)), cut.n_tasks_min.max(1));
        let wished = share_of(n_left, share);
        if wished < n_left && wished / n_workers < n_tasks_min {
            return Self { n_tasks: n_left, n_chunks: n_left.div_ceil(n_tasks_min) };
        }
        Self { n_tasks: wished, n_chunks: n_workers.min(wished) }
    }

    /// Takes the next chunk and returns its size; 0 when no chunk is left. Sizes differ by at most one
    /// task.
    pub(crate) fn take(&mut self) -> u64 {
        if self.n_chunks == 0 {
            return 0;
        }
        let n_tasks = self.n_tasks.div_ceil(self.n_chunks);
        self.n_chunks -= 1;
        self.n_tasks -= n_tasks;
        n_tasks
    }

    pub(crate) fn n_tasks(&self) -> u64 {
        self.n_tasks
    }

    pub(crate) fn n_chunks(&self) -> u64 {
        self.n_chunks
    }
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

    #[track_caller]
    fn check(share: f64, (n_left, n_workers, n_tasks_min): (u64, u32, u64), expected: &[u64]) {
        let mut batch = Batch::of_share(share, Cut { n_left, n_workers, n_tasks_min });
        let chunks: Vec<u64> =
            std::iter::from_fn(|| Some(batch.take()).filter(|n| *n != 0)).collect();
        assert_eq!(chunks, expected);
    }

    #[test]
    fn a_share_is_cut_for_all_workers() {
        check(0.5, (100, 2, 10), &[25, 25]);
        check(0.3, (100, 4, 1), &[8, 8, 7, 7]);
        check(0.3, (100, 4, 10), &[10; 10]);
        check(0.5, (25, 2, 10), &[9, 8, 8]);
        check(f64::NAN, (100, 3, 10), &[34, 33, 33]);
        check(-1.0, (100, 3, 50), &[50, 50]);
        check(1.0, (2, 4, 1), &[1, 1]);
        check(0.5, (0, 4, 1), &[]);
    }
}
