//! Malleable job while its size is being decided: what it would give for nodes, and what it loses without them.

use super::{NodeRange, QueueRules, ResizeReason, RunningJob};

/// Number of changes in a change to a size and back.
const THERE_AND_BACK: f64 = 2.0;

/// Smallest gain of a step, as a share of the time left: more than what counts as equally fast, so that nodes do not go to and
/// fro.
const LEAST_GAIN: f64 = 0.03;

/// Malleable job, and the size that it is to have.
pub(super) struct Malleable<'a> {
    pub(super) job: &'a RunningJob,
    pub(super) range: NodeRange,
    pub(super) n_nodes: u32,
    pub(super) reason: ResizeReason,
}

/// Step by which a job may grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrowthStep {
    pub(super) n_more: u32,
    /// Time saved, for each second that the job will have each of these nodes.
    pub(super) worth: f64,
}

impl<'a> Malleable<'a> {
    /// `None` for a rigid job, and for one whose size is outside its own range, as it is about to change it.
    pub(super) fn new(job: &'a RunningJob) -> Option<Self> {
        let (n_nodes, reason) = (job.n_nodes, ResizeReason::UsesIdle);
        let range = job.range.filter(|range| (range.min..=range.max).contains(&n_nodes))?;
        Some(Self { job, range, n_nodes, reason })
    }

    /// Nodes beyond `floor`; none of a job that ends before it could give them away.
    pub(super) fn surplus(&self, floor: u32) -> i64 {
        let outlook = self.job.outlook.as_ref();
        let left = outlook.and_then(|outlook| outlook.left_s(self.job.n_nodes));
        let ends_first = left.is_some_and(|left| left.high <= self.job.resize_s);
        if ends_first { 0 } else { i64::from(self.n_nodes.saturating_sub(floor)) }
    }

    /// Size beyond which nodes are taken first. A job with an outlook is judged by that alone.
    pub(super) fn preferred(&self) -> u32 {
        match self.job.outlook {
            Some(_) => self.n_nodes,
            None => self.range.preferred.clamp(self.range.min, self.range.max),
        }
    }

    /// Price of a change that has not been decided yet, in seconds.
    fn price_s(&self) -> f64 {
        if self.n_nodes == self.job.n_nodes { self.job.resize_s } else { 0.0 }
    }

    /// Share of its remaining time that it loses for each of `n_given` nodes. Where that is unknown, as a program does that
    /// is perfectly parallel.
    pub(super) fn loss(&self, n_given: i64) -> f64 {
        let to = self.n_nodes.saturating_sub(u32::try_from(n_given).unwrap_or(u32::MAX)).max(1);
        let n_given = f64::from(self.n_nodes.saturating_sub(to).max(1));
        let known = || {
            let outlook = self.job.outlook.as_ref()?;
            let lost_s = self.price_s() - outlook.saved_s(self.n_nodes, to)?;
            Some(lost_s / outlook.left_s(self.n_nodes)?.value.max(f64::MIN_POSITIVE))
        };
        known().unwrap_or(n_given / f64::from(to)) / n_given
    }

    /// True if its last change was long enough ago for another one that nobody waits for.
    pub(super) fn is_calm(&self, rules: &QueueRules) -> bool {
        rules.calm_s.max(rules.calm_per_cost * self.job.resize_s) <= self.job.calm_s
    }

    /// True if it may have more nodes than now.
    pub(super) fn may_grow(&self, rules: &QueueRules) -> bool {
        self.job.n_nodes <= self.n_nodes && self.n_nodes < self.range.max && self.is_calm(rules)
    }

    /// Step of at most `n_free` nodes that brings most; `idle_s` are the times for which those have been idle.
    pub(super) fn best_step(&self, n_free: u32, idle_s: &[f64]) -> Option<GrowthStep> {
        let outlook = self.job.outlook.as_ref().filter(|outlook| !outlook.is_fastest())?;
        let now_s = outlook.left_s(self.n_nodes)?.value;
        // What nobody measured is tried by steps: to what its user prefers, then to twice as many.
        let tried = self.range.preferred.max(2 * self.job.n_nodes);
        let step = |n_more: u32| {
            let to = self.n_nodes + n_more;
            let saved_s = outlook.saved_s(self.n_nodes, to)?;
            let gain_s = saved_s - self.price_s();
            let is_known = to <= tried || !outlook.is_unsure(self.job.n_nodes, to);
            // Seconds saved per second with these nodes; a change to them and back has to be earned by it.
            let pays_after_s = THERE_AND_BACK * self.price_s() * now_s / saved_s;
            let newest_s = idle_s.get(usize::try_from(n_more).ok()? - 1).copied().unwrap_or(0.0);
            let worth =
                gain_s / (f64::from(n_more) * outlook.left_s(to)?.value.max(f64::MIN_POSITIVE));
            (LEAST_GAIN * now_s < gain_s && is_known && pays_after_s <= newest_s)
                .then_some(GrowthStep { n_more, worth })
        };
        let n_most = n_free.min(self.range.max - self.n_nodes);
        let doubling = std::iter::successors(Some(1_u32), |n| n.checked_mul(2));
        let steps = doubling.take_while(|n| *n < n_most).chain([n_most]);
        steps.filter_map(step).max_by(|a, b| a.worth.total_cmp(&b.worth))
    }
}
