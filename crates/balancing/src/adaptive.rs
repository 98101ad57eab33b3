//! `adaptive:MIN:MAX`: like `periodic`, with a period that follows how fast states change.
//!
//! A change is announced as soon as MIN seconds have passed since the last announcement. While nothing changes,
//! each announcement comes after twice as long as the one before, up to MAX: a heartbeat that makes up for lost
//! messages.

use crate::LoadState;
use crate::period::Period;
use crate::rule::{Rule, RuleSpec};
use crate::turn::Turn;

pub(crate) const SPEC: RuleSpec = RuleSpec {
    form: "adaptive[:MIN:MAX]",
    example: Rule::Adaptive { min_ms: 500, max_ms: 30_000 },
    sentence: "a change is told within MIN seconds, an unchanged state ever more rarely, after MAX at last",
    is_of_source: false,
};

pub(crate) fn on_period(period: &mut Period, turn: &mut Turn<'_>, max_ms: u32) {
    period.tell(turn);
    let wait_ms = period.ms;
    period.ms = wait_ms.saturating_mul(2).min(max_ms);
    period.set(turn, turn.now.plus_ms(wait_ms.into()));
}

/// Schedules an early announcement after a change of state.
pub(crate) fn on_change(period: &mut Period, turn: &mut Turn<'_>, min_ms: u32) {
    let (new, old) = (turn.node.state, turn.node.previous);
    if (new == LoadState::Receiver) == (old == LoadState::Receiver) {
        return;
    }
    period.ms = min_ms;
    let soon = period.told.plus_ms(min_ms.into()).max(turn.now);
    if !period.is_due_before(soon) {
        period.set(turn, soon);
    }
}
