//! Keeps a network model up to date during a long run, at a bounded cost.
//!
//! Now and then a message of one length makes a round trip. The lengths take turns, so that every
//! piece of the model gets its share. A piece follows the median of its latest times.
//!
//! # Invariants
//! - The messages take at most the given share of the run's time.

use super::{NetModel, median_of};

/// Number of times after which a piece is adjusted.
const N_TIMES: usize = 9;

/// Schedule of timed messages, and what they measured.
#[derive(Clone, Debug)]
pub struct Refresh {
    model: NetModel,
    /// Largest share of the run's time that timed messages may take.
    share_max: f64,
    spent_s: f64,
    began_s: f64,
    /// Index of the sample whose length is timed next.
    next: usize,
    /// Measured time over modeled time of the latest messages of each piece, newest last.
    ratios: Vec<Vec<f64>>,
}

impl Refresh {
    /// Starts with a model measured at `now_s`; spends at most the share `share_max` of the time, such as
    /// 0.001.
    #[must_use]
    pub fn new(model: NetModel, share_max: f64, now_s: f64) -> Self {
        let ratios = vec![Vec::new(); model.pieces.len()];
        Self { model, share_max, spent_s: 0.0, began_s: now_s, next: 0, ratios }
    }

    /// Returns the current model.
    #[must_use]
    pub fn model(&self) -> &NetModel {
        &self.model
    }

    /// Returns the length of the message to time now; `None` when it would cost too much.
    #[must_use]
    pub fn due_bytes(&self, now_s: f64) -> Option<u64> {
        let n_bytes = self.model.samples.get(self.next)?.n_bytes;
        let price_s = 2.0 * self.model.one_way_s(n_bytes);
        (self.spent_s + price_s <= self.share_max * (now_s - self.began_s)).then_some(n_bytes)
    }

    /// Records the round-trip time of the message that was due.
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

    /// Scales a piece by the median of its ratios.
    fn follow(&mut self, at: usize) {
        let ratios = std::mem::take(&mut self.ratios[at]);
        let Some(median) = median_of(0, &ratios) else { return };
        // While the model's own time is within the interval, the piece stays: noise must not move it.
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
    use crate::network::places::tests::model;

    /// Times messages whenever they are due, for 1000 s; the real network is `slower` times the model.
    fn run(share_max: f64, slower: f64) -> (Refresh, f64, Vec<u64>) {
        let truth = model(1e-6);
        let mut refresh = Refresh::new(truth.clone(), share_max, 0.0);
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
        let ratio = refresh.model().one_way_s(1000) / model(1e-6).one_way_s(1000);
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
        assert_eq!(refresh.model(), &model(1e-6));
    }
}
