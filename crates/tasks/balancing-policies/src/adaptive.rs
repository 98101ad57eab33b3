//! `adaptive:MIN:MAX`: like `periodic`, with a period that follows how fast states change.
//!
//! A change is announced as soon as MIN seconds have passed since the last announcement. While nothing changes,
//! each announcement comes after twice as long as the one before, up to MAX: a heartbeat that makes up for lost
//! messages.

use crate::LoadState;
use crate::call_context::CallContext;
use crate::period::Period;
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::sender_initiated::SenderRule;

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "adaptive",
    form: "adaptive[:MIN:MAX]",
    example: "adaptive:0.5:30",
    sentence: "announces a change within MIN seconds, an unchanged state less and less often, at least every MAX seconds",
    is_of_source: false,
    parameters: Parameters::Periods { default: "0.5:30" },
    initiative: Initiative::Sender(|[min_ms, max_ms]| {
        Box::new(Adaptive { period: Period::default(), min_ms, max_ms })
    }),
};

#[derive(Debug)]
struct Adaptive {
    period: Period,
    min_ms: u32,
    max_ms: u32,
}

impl SenderRule for Adaptive {
    fn begin(&mut self, call: &mut CallContext<'_>) {
        self.period.begin(call, self.min_ms);
    }

    /// Schedules an early announcement.
    fn on_change(&mut self, call: &mut CallContext<'_>) {
        let (new, old) = (call.node.state, call.node.previous);
        if (new == LoadState::Receiver) == (old == LoadState::Receiver) {
            return;
        }
        self.period.ms = self.min_ms;
        let soon = self.period.told.plus_ms(self.min_ms.into()).max(call.now);
        if !self.period.is_due_before(soon) {
            self.period.set(call, soon);
        }
    }

    fn on_period(&mut self, call: &mut CallContext<'_>, number: u32) {
        if !self.period.is_now(number) {
            return;
        }
        self.period.tell(call);
        let wait_ms = self.period.ms;
        self.period.ms = wait_ms.saturating_mul(2).min(self.max_ms);
        self.period.set(call, call.now.plus_ms(wait_ms.into()));
    }

    fn is_eager(&self) -> bool {
        true
    }
}
