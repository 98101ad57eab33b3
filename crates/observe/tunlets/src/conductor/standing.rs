//! Changes that are kept, with the values before them, for the moment at which the user switches tuning off.

use super::turn::{ChangeInProgress, ChangeState, Turn};
use app_description::TuningPoint;
use events::{Rank, Value};
use std::collections::BTreeMap;

/// Reason of what is taken back.
pub(super) const REASON: &str = "tuning was switched off";

/// Kept changes by tuning point.
#[derive(Debug, Default)]
pub(super) struct Standing {
    is_off: bool,
    kept: BTreeMap<usize, Kept>,
}

#[derive(Debug)]
struct Kept {
    slot: usize,
    decision: u64,
    /// Value that was set at every passage before the first change.
    held: Option<Value>,
    /// Values of the ranks before the first change.
    old: Vec<(Rank, Value)>,
}

impl Standing {
    /// Returns whether tuning is switched off.
    pub(super) fn is_off(&self) -> bool {
        self.is_off
    }

    /// Switches tuning on or off; returns whether it was otherwise before.
    pub(super) fn switch(&mut self, is_on: bool) -> bool {
        std::mem::replace(&mut self.is_off, !is_on) == is_on
    }

    /// Notes a change that is kept.
    pub(super) fn keep(&mut self, slot: usize, change: &ChangeInProgress, old: Vec<(Rank, Value)>) {
        let decision = change.decision;
        let new = Kept { slot, decision, held: change.held, old };
        self.kept.entry(change.point).and_modify(|kept| kept.decision = decision).or_insert(new);
    }

    /// Forgets a tuning point whose value is unknown.
    pub(super) fn forget(&mut self, point: usize) {
        self.kept.remove(&point);
    }

    /// Removes the changes of one tunlet, as a turn in which they hold.
    pub(super) fn next_turn(&mut self) -> Option<Turn> {
        let slot = self.kept.first_key_value()?.1.slot;
        let of_slot = self.kept.extract_if(.., |_, kept| kept.slot == slot);
        let change = |(point, kept): (usize, Kept)| {
            let Kept { decision, held, old, .. } = kept;
            let state = ChangeState::Applied { old, at_s: (0.0, 0.0) };
            ChangeInProgress { decision, point, held, state }
        };
        Some(Turn::of(slot, of_slot.map(change).collect()))
    }
}

/// Checks that a lever gets the value as it was found, is safe, or that its effect could be measured.
pub(super) fn check_lever(
    (point, value): (&TuningPoint, Value),
    why_unmeasurable: Option<&str>,
) -> Result<(), String> {
    let needs_trial = point.change.lever().is_some_and(|lever| !lever.is_safe_unmeasured());
    match why_unmeasurable {
        Some(why) if needs_trial && value.as_integer() != Some(0) => {
            Err(format!("its effect could not be measured: {why}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use app_description::Application;
    use events::Lever;

    #[track_caller]
    fn check(lever: Lever, value: i64, is_measurable: bool, is_allowed: bool) {
        let mut application = Application::default();
        application.add_levers(&[lever]);
        let wanted = (&application.tuning_points[0], Value::Int(value));
        let why = (!is_measurable).then_some("nothing repeats");
        let checked = check_lever(wanted, why);
        assert_eq!(checked.is_ok(), is_allowed);
    }

    #[test]
    fn what_may_hurt_has_to_be_measurable() {
        check(Lever::Memory, 1, true, true);
        check(Lever::Memory, 1, false, false);
        check(Lever::Memory, 0, false, true);
        check(Lever::Waiting, 2, false, true);
    }
}
