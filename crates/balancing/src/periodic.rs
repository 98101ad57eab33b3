//! `periodic:T`: every T seconds a node announces its state and its previous state (J. thesis 2012, 4.4.2.1).
//!
//! The previous state is the one before the last change, however long ago. If it were the state at the last
//! announcement, nodes that were left out when the state changed would never learn of it, and the source's random
//! domains of 3 with a period of 1 s could not have reached 0.882.

use crate::LoadState;
use crate::period::Period;
use crate::rule::{Rule, RuleSpec};
use crate::turn::Turn;

pub(crate) const SPEC: RuleSpec = RuleSpec {
    form: "periodic:T",
    example: Rule::Periodic { period_ms: 1000 },
    sentence: "every T seconds a node tells what it is; long periods mean old news",
    is_of_source: true,
};

pub(crate) fn on_period(period: &mut Period, turn: &mut Turn<'_>, period_ms: u32) {
    period.tell(turn);
    period.set(turn, turn.now.plus_ms(period_ms.into()));
}

/// Whether the announcing node joins (`true`) or leaves (`false`) the list of receivers (table 3.1).
pub(crate) fn change(new: LoadState, old: LoadState) -> Option<bool> {
    match (new == LoadState::Receiver, old == LoadState::Receiver) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadState::{Neutral, Receiver, Sender};

    #[track_caller]
    fn check(new: LoadState, old: LoadState, expected: Option<bool>) {
        assert_eq!(change(new, old), expected);
    }

    #[test]
    fn the_list_changes_as_in_table_3_1() {
        check(Receiver, Neutral, Some(true));
        check(Receiver, Sender, Some(true));
        check(Neutral, Receiver, Some(false));
        check(Sender, Receiver, Some(false));
        check(Neutral, Sender, None);
        check(Sender, Neutral, None);
        check(Receiver, Receiver, None);
    }
}
