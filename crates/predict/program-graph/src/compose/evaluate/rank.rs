//! State of one rank: its clock and the breakdown of its time.

use super::transfer::{Matched, Side};
use crate::compose::collectives::Dependency;
use crate::compose::program::ProgramStep;

/// Progress of a rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Rank {
    pub(super) clock_s: f64,
    pub(super) compute_s: f64,
    pub(super) waited_s: f64,
    /// Total time and waiting time in s, by region.
    pub(super) regions: Vec<[f64; 2]>,
    /// Index of its next step, and whether it has entered that step.
    pub(super) next: usize,
    pub(super) is_inside: bool,
    pub(super) entered_s: f64,
    /// Waiting time in the current step, in s.
    waited_now_s: f64,
    /// Transfer that it must wait for.
    pub(super) needs: Option<(u32, Side)>,
    /// True if the collective that it is in has completed.
    pub(super) is_released: bool,
    /// Times until which its link is busy with sending long messages, and with receiving: both happen one
    /// after the other.
    pub(super) sends_until_s: f64,
    comes_until_s: f64,
    /// Start of the last long message that it sends.
    pub(super) sends_since_s: f64,
    /// Transfers it started, by request.
    started: Vec<Option<(u32, Side)>>,
}

impl Rank {
    pub(super) fn new(n_regions: usize) -> Self {
        Self { regions: vec![[0.0; 2]; n_regions], ..Self::default() }
    }

    /// Waits for a transfer now, or later by a wait on the request.
    pub(super) fn hold(&mut self, request: Option<u32>, transfer: Option<(u32, Side)>) {
        let Some(request) = request else {
            self.needs = transfer;
            return;
        };
        let at = request as usize;
        if self.started.len() <= at {
            self.started.resize(at + 1, None);
        }
        self.started[at] = transfer;
    }

    /// Waits for a transfer started before.
    pub(super) fn take(&mut self, request: u32) {
        self.needs = self.started.get_mut(request as usize).and_then(Option::take);
    }

    pub(super) fn waits(&mut self, time_s: f64) {
        self.waited_s += time_s;
        self.waited_now_s += time_s;
    }

    /// Ends the current step.
    pub(super) fn leave(&mut self, step: &ProgramStep) {
        (self.next, self.is_inside) = (self.next + 1, false);
        let waited_s = std::mem::take(&mut self.waited_now_s);
        if let Some([time_s, waiting_s]) = self.regions.get_mut(step.place.region as usize) {
            *time_s += self.clock_s - self.entered_s;
            *waiting_s += waited_s;
        }
    }

    /// Completes a transfer; returns the dependency, if the other rank determined the time.
    pub(super) fn finish(&mut self, transfer: &Matched, side: Side) -> Option<Dependency> {
        let Matched { sent, posted_s } = transfer;
        let cost = sent.cost;
        let before_s = self.clock_s;
        let (other, other_s) = match side {
            Side::Sender => (sent.to, *posted_s),
            Side::Receiver => (sent.from, sent.at_s),
        };
        let (done_s, by_other) = if cost.is_eager {
            let head_s = sent.at_s + cost.overhead_s + cost.flight_s;
            let free_s = posted_s.max(self.comes_until_s);
            let data_s = free_s.max(head_s) + cost.data_s;
            self.comes_until_s = data_s;
            (before_s.max(data_s) + cost.overhead_s, before_s < data_s && free_s < head_s)
        } else {
            let passed_s = sent.at_s.max(*posted_s) + cost.one_way_s();
            let (own_s, done_s) = match side {
                Side::Sender => (sent.at_s, passed_s),
                Side::Receiver => {
                    let comes_s = passed_s.max(self.comes_until_s + cost.data_s);
                    let since_s = self.sends_since_s.max(comes_s - cost.data_s);
                    let both_s = (self.sends_until_s.min(comes_s) - since_s).max(0.0);
                    self.comes_until_s = comes_s + (cost.exchange_ratio - 1.0) * both_s;
                    (*posted_s, self.comes_until_s)
                }
            };
            (before_s.max(done_s), before_s < done_s && own_s < other_s)
        };
        self.clock_s = done_s;
        self.waits((other_s - before_s).clamp(0.0, done_s - before_s));
        by_other.then_some(Dependency { at_s: done_s, on: other, since_s: other_s })
    }

    /// Returns whether all state that determines later times equals that of `earlier`, shifted by `time_s`.
    pub(super) fn is_later(&self, earlier: &Self, time_s: f64, within_s: f64) -> bool {
        let same = |now_s: f64, before_s: f64| (now_s - before_s - time_s).abs() <= within_s;
        // Link times before the rank's clock have no further effect.
        let over = |now_s: f64, before_s: f64| now_s <= self.clock_s && before_s <= earlier.clock_s;
        let same_or_over = |now_s, before_s| same(now_s, before_s) || over(now_s, before_s);
        same(self.clock_s, earlier.clock_s)
            && same_or_over(self.sends_until_s, earlier.sends_until_s)
            && same_or_over(self.sends_since_s, earlier.sends_since_s)
            && same_or_over(self.comes_until_s, earlier.comes_until_s)
    }

    /// Adds the work since `earlier` another `n_times` times.
    pub(super) fn add(&mut self, earlier: &Self, n_times: f64, later_s: f64) {
        let more = |now: &mut f64, before: f64| *now += n_times * (*now - before);
        more(&mut self.compute_s, earlier.compute_s);
        more(&mut self.waited_s, earlier.waited_s);
        for (now, before) in self.regions.iter_mut().zip(&earlier.regions) {
            more(&mut now[0], before[0]);
            more(&mut now[1], before[1]);
        }
        self.clock_s += later_s;
        self.sends_until_s += later_s;
        self.sends_since_s += later_s;
        self.comes_until_s += later_s;
    }
}
