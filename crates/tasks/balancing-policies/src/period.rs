//! Schedule of a state that is announced again and again.
//!
//! # Invariants
//! - Only one timer is valid at a time, the newest.

use crate::action::TimerKind;
use crate::call_context::CallContext;
use crate::{Moment, PolicyMessage};

#[derive(Clone, Debug, Default)]
pub(crate) struct Period {
    number: u32,
    /// Time until the next announcement, in ms.
    pub(crate) ms: u32,
    pub(crate) told: Moment,
    due: Option<Moment>,
}

impl Period {
    /// Begins at a random moment of the first period, so that nodes that start together do not announce together.
    pub(crate) fn begin(&mut self, call: &mut CallContext<'_>, period_ms: u32) {
        if self.due.is_none() {
            self.ms = period_ms;
            let phase_ms = call.node.random.below(period_ms as usize) as u64;
            self.set(call, call.now.plus_ms(phase_ms));
        }
    }

    pub(crate) fn is_now(&self, number: u32) -> bool {
        self.number == number
    }

    pub(crate) fn is_due_before(&self, at: Moment) -> bool {
        self.due.is_some_and(|due| due <= at)
    }

    pub(crate) fn set(&mut self, call: &mut CallContext<'_>, at: Moment) {
        self.number = self.number.wrapping_add(1);
        self.due = Some(at);
        call.timer(TimerKind::Period, self.number, at);
    }

    /// Announces the state, and the one before it.
    pub(crate) fn tell(&mut self, call: &mut CallContext<'_>) {
        let (new, old) = (call.node.state, call.node.previous);
        self.told = call.now;
        call.broadcast(PolicyMessage::State { new, old });
    }
}
