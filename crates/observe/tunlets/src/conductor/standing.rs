//! Changes that are kept, with the values before them, for the moment at which the user switches tuning off.

use super::change::{ChangeInProgress, ChangeState};
use super::turn::Turn;
use events::{Rank, Value};
use std::collections::BTreeMap;

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
            let (decided_s, note) = (0.0, String::new());
            ChangeInProgress { decision, point, decided_s, held, note, unsaid: None, state }
        };
        Some(Turn::of(slot, of_slot.map(change).collect()))
    }
}
