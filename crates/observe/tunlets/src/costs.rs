//! Costs of messages by size, learned from the newest messages of each size.
//!
//! A program in a steady state sends messages of one size only. To keep what was learned from other sizes,
//! sizes are kept apart: each class holds a few of its newest messages, and one of them represents it.
//!
//! # Invariants
//! - Bounded number of sizes, and of messages per size; the least recently seen size is dropped first.
//!
//! # Not here
//! The line through them (`models::master_worker::transfer`).

use models::master_worker::transfer::{Cost, Transfer};
use std::collections::{BTreeMap, VecDeque};

const N_SIZES_MAX: usize = 32;
const N_MESSAGES_MAX: usize = 16;
/// Sizes in a class differ by less than this factor.
const CLASS: f64 = 1.2;

/// Costs by size; see the module documentation.
#[derive(Debug)]
pub(crate) struct Costs {
    anchor_s: f64,
    /// Quantile of the message that represents its size: 0 for the fastest, 1 for the slowest.
    rank: f64,
    sizes: BTreeMap<i64, Size>,
    n_seen: u64,
}

#[derive(Debug, Default)]
struct Size {
    messages: VecDeque<(f64, f64)>,
    last_seen: u64,
}

impl Costs {
    pub(crate) fn new(anchor_s: f64, rank: f64) -> Self {
        Self { anchor_s, rank, sizes: BTreeMap::new(), n_seen: 0 }
    }

    /// Adds the time of a message of this size; negative times, from unsynchronized clocks, are ignored.
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm is small")]
    pub(crate) fn add(&mut self, size: f64, time_s: f64) {
        if !(0.0 <= size && 0.0 <= time_s) {
            return;
        }
        self.n_seen += 1;
        let class = (size.max(1.0).ln() / CLASS.ln()).round() as i64;
        let known = self.sizes.entry(class).or_default();
        known.last_seen = self.n_seen;
        known.messages.push_back((size, time_s));
        if N_MESSAGES_MAX < known.messages.len() {
            known.messages.pop_front();
        }
        if N_SIZES_MAX < self.sizes.len() {
            let oldest = self.sizes.iter().min_by_key(|(_, size)| size.last_seen);
            if let Some(class) = oldest.map(|(class, _)| *class) {
                self.sizes.remove(&class);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the line through the representative messages.
    pub(crate) fn fit(&self) -> Transfer {
        let mut fit = Transfer::new(self.anchor_s, N_SIZES_MAX);
        for size in self.sizes.values() {
            let mut messages: Vec<_> = size.messages.iter().copied().collect();
            messages.sort_by(|a, b| a.1.total_cmp(&b.1));
            #[expect(clippy::cast_possible_truncation, reason = "at most the messages of a size")]
            #[expect(clippy::cast_sign_loss, reason = "a rank is not negative")]
            let at = (self.rank * (messages.len() - 1) as f64).round() as usize;
            let (size, time_s) = messages[at];
            fit.add(size, time_s);
        }
        fit
    }

    pub(crate) fn cost(&self) -> Cost {
        self.fit().cost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_no_longer_seen_is_remembered() {
        let mut costs = Costs::new(1e-6, 0.5);
        costs.add(1000.0, 2e-4);
        for _ in 0..1000 {
            costs.add(2000.0, 3e-4);
        }
        let cost = costs.cost();
        assert!((cost.latency_s - 1e-4).abs() < 1e-9, "{cost:?}");
    }

    #[test]
    fn sizes_and_messages_are_bounded() {
        let mut costs = Costs::new(1e-6, 0.5);
        for n in 0..10_000 {
            costs.add(1.1_f64.powi(n % 500), 1e-3);
        }
        assert_eq!(costs.sizes.len(), N_SIZES_MAX);
        assert!(costs.sizes.values().all(|size| size.messages.len() <= N_MESSAGES_MAX));
    }
}
