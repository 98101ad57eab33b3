//! Takes back prefetched chunks that an idle worker can begin at once.

use super::{Desk, Ledger, Step};

/// Delay past a chunk's expected end after which the expectation no longer counts, in seconds.
const LATE_S: f64 = 100e-6;

impl Ledger {
    /// Takes back the chunk that would wait longest, when a worker is idle and the pool is empty.
    pub(super) fn retract(&mut self, now_s: f64) -> Option<Step> {
        if self.pool.n_tasks() != 0 || self.is_done() || self.idle.is_empty() {
            return None;
        }
        let waiting = (0..).zip(&self.desks).filter(|(_, desk)| desk.is_in_use());
        let waiting = waiting.filter(|(_, desk)| 2 <= desk.held.len() && self.can_others(desk));
        let (worker, wait_s) = waiting
            .map(|(worker, desk)| (worker, self.wait_s(desk, now_s)))
            .max_by(|(_, one_s), (_, other_s)| one_s.total_cmp(other_s))?;
        let desk = self.desks.get_mut(worker as usize)?;
        if wait_s < 2.0 * desk.pace.round_trip_s() {
            // The chunk begins in a moment, unless the one before it takes longer than expected.
            self.alarms.look_at(now_s + wait_s.max(0.0) + 2.0 * LATE_S);
            return None;
        }
        let held = desk.held.pop_back()?;
        self.pool.put(held.part);
        self.restart();
        self.expect(worker, now_s);
        Some(Step::Retract { worker, chunk: held.id })
    }

    /// Time until the chunk behind the present one begins, in seconds; infinite where the present one is
    /// overdue.
    fn wait_s(&self, desk: &Desk, now_s: f64) -> f64 {
        let end_s = desk.expected_end_s(&self.all).map(|(end_s, _)| end_s);
        end_s.filter(|end_s| now_s <= end_s + LATE_S).map_or(f64::INFINITY, |end_s| end_s - now_s)
    }

    /// Returns whether an idle worker may get the last chunk at this desk.
    fn can_others(&self, desk: &Desk) -> bool {
        let avoid = desk.held.back().and_then(|held| held.part.avoid);
        let mut idle = self.idle.iter();
        idle.any(|worker| self.desk(*worker).is_some_and(Desk::is_idle) && avoid != Some(*worker))
    }
}
