//! Keeps a model of the network right during a long run, at a bounded price.
//!
//! Now and then a message of one length goes forth and back. Its length changes in turn, so that every
//! piece of the model gets its share. A piece follows the medians of its last times.
//!
//! # Invariants
//! - The messages take at most the given share of the time.

use super::{NetModel, median_of};

/// Times that a piece follows.
const N_TIMES: usize = 9;

/// Which messages to time, and what they said.
#[derive(Clone, Debug)]
pub struct Refresh {
    model: NetModel,
    /// Largest share of the time that may be spent.
    share_max: f64,
    spent_s: f64,
    began_s: f64,
    /// The sample whose length is timed next.
    next: usize,
    /// Of each piece, how long messages took relative to the model, the latest last.
    ratios: Vec<Vec<f64>>,
}

impl Refresh {
    /// For a model measured at `now_s`, spending at most the share `share_max` of the time, as 0.001.
    #[must_use]
    pub fn new(model: NetModel, share_max: f64, now_s: f64) -> Self {
        let ratios = vec![Vec::new(); model.pieces.len()];
        Self { model, share_max, spent_s: 0.0, began_s: now_s, next: 0, ratios }
    }

    /// The model as it is now.
    #[must_use]
    pub fn model(&self) -> &NetModel {
        &self.model
    }

    /// The length of the message that is to go forth and back now; `None` when it would cost too much.
    #[must_use]
    pub fn due_bytes(&self, now_s: f64) -> Option<u64> {
        let n_bytes = self.model.samples.get(self.next)?.n_bytes;
        let price_s = 2.0 * self.model.one_way_s(n_bytes);
        (self.spent_s + price_s <= self.share_max * (now_s - self.began_s)).then_some(n_bytes)
    }

    /// Takes in the time of the message that was due.
    pub fn timed(&mut self, n_bytes: u64, round_trip_s: f64) {
        self.spent_s += round_trip_s;
        self.next = (self.next + 1) % self.model.samples.len().max(1);
        let at = self.model.pieces.iter().rposition(|piece| piece.from_bytes <= n_bytes);
        let Some(ratios) = at.and_then(|at| self.ratios.get_mut(at)) else { return };
        ratios.push(round_trip_s / 2.0 / self.model.one_way_s(n_bytes));
        if N_TIMES <= ratios.len() {
            self.follow(at.unwrap_or_default());
        }
    }

    /// Moves a piece to the median of its times.
    fn follow(&mut self, at: usize) {
        let ratios = std::mem::take(&mut self.ratios[at]);
        let Some(median) = median_of(0, &ratios) else { return };
        // As long as the model's own time is within the interval, it stays: chance must not move it.
        if (median.low_s..=median.high_s).contains(&1.0) {
            return;
        }
        let piece = &mut self.model.pieces[at];
        piece.latency_s *= median.median_s;
        piece.s_per_byte *= median.median_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Sample;

    fn model() -> NetModel {
        let sample = |power: u32| {
            let n_bytes = 1_u64 << power;
            let median_s = 1e-6 + 1e-9 * n_bytes as f64;
            Sample { n_bytes, median_s, low_s: median_s, high_s: median_s, n_times: 9 }
        };
        NetModel::fit(&(0..21).map(sample).collect::<Vec<_>>()).expect("enough samples")
    }

    /// Times messages whenever they are due, for 1000 s; the network is `slower` than the model.
    fn run(share_max: f64, slower: f64) -> (Refresh, f64, Vec<u64>) {
        let truth = model();
        let mut refresh = Refresh::new(model(), share_max, 0.0);
        let (mut spent_s, mut lengths) = (0.0, Vec::new());
        for second in 1..1000 {
            if let Some(n_bytes) = refresh.due_bytes(f64::from(second)) {
                let round_trip_s = 2.0 * slower * truth.one_way_s(n_bytes);
                spent_s += round_trip_s;
                lengths.push(n_bytes);
                refresh.timed(n_bytes, round_trip_s);
            }
        }
        (refresh, spent_s, lengths)
    }

    #[test]
    fn a_change_of_the_network_is_followed() {
        let (refresh, ..) = run(0.001, 3.0);
        let ratio = refresh.model().one_way_s(1000) / model().one_way_s(1000);
        assert!((ratio - 3.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn the_price_is_bounded() {
        let (_, spent_s, lengths) = run(1e-6, 1.0);
        assert!(spent_s <= 1e-6 * 1000.0, "{spent_s}");
        assert!(!lengths.is_empty());
    }

    #[test]
    fn every_length_has_its_turn() {
        let (_, _, mut lengths) = run(0.1, 1.0);
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths.len(), 21);
    }

    #[test]
    fn without_a_change_the_model_stays() {
        let (refresh, ..) = run(0.001, 1.0);
        assert_eq!(refresh.model(), &model());
    }
}
