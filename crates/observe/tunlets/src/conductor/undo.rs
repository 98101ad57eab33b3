//! Restores the values that ranks had before.

use super::Conductor;
use super::action::{Action, Coverage};
use super::turn::{Change, ChangeState, Turn};
use events::tuning::TuningEvent;
use events::{Rank, Value};

impl Conductor {
    /// Undoes the changes of a turn.
    pub(super) fn undo(&mut self, now_s: f64, turn: &mut Turn, reason: &str) {
        for change in &mut turn.changes {
            let ChangeState::Applied { old, .. } = &change.state else { continue };
            let old: Vec<_> =
                old.iter().filter(|(rank, _)| self.present.contains(rank)).copied().collect();
            if old.is_empty() {
                change.state = ChangeState::Over;
                let reason = format!("{reason}; its ranks ended before it could be taken back");
                self.lose(now_s, turn.slot, change, reason);
                continue;
            }
            change.state = match self.bring_back(now_s, change, &old) {
                Ok(action) => ChangeState::Undoing { action, reason: reason.to_owned() },
                Err(why) => {
                    let (decision, reason) = (change.decision, format!("{reason}, but {why}"));
                    self.record(now_s, TuningEvent::Kept { decision, reason });
                    ChangeState::Over
                }
            };
        }
    }

    /// Starts restoring the ranks' earlier values; on error, returns why that is impossible.
    pub(super) fn bring_back(
        &mut self,
        now_s: f64,
        change: &Change,
        old: &[(Rank, Value)],
    ) -> Result<Action, &'static str> {
        let is_known = old.iter().all(|(_, value)| !value.as_f64().is_nan());
        match self.application.tuning_points[change.point].change.one_way(is_known) {
            Some(why) => Err(why),
            None => {
                // A value that was set at every passage is again set at every passage.
                let before = |(rank, old): &(Rank, Value)| (*rank, change.held.unwrap_or(*old));
                let values: Vec<_> = old.iter().map(before).collect();
                Ok(self.act(now_s, (change.point, Coverage::Each), &values, change.held.is_some()))
            }
        }
    }
}
