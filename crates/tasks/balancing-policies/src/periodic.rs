//! `periodic:T`: every T seconds a node announces its state and its previous state (J. thesis 2012, 4.4.2.1).
//!
//! The previous state is the one before the last change, however long ago. If it were the state at the last
//! announcement, nodes that were left out when the state changed would never learn of it, and the source's random
//! domains of 3 with a period of 1 s could not have reached 0.882.

use crate::LoadState;
use crate::call_context::CallContext;
use crate::period::Period;
use crate::rule::{Initiative, Parameters, RuleSpec};
use crate::sender_initiated::SenderRule;

pub(crate) static SPEC: RuleSpec = RuleSpec {
    name: "periodic",
    form: "periodic:T",
    example: "periodic:1",
    sentence: "announces the state every T seconds; long periods mean outdated information",
    is_of_source: true,
    parameters: Parameters::Period,
    initiative: Initiative::Sender(|[period_ms, _]| {
        Box::new(Periodic { period: Period::default(), period_ms })
    }),
};

#[derive(Debug)]
struct Periodic {
    period: Period,
    period_ms: u32,
}

impl SenderRule for Periodic {
    fn begin(&mut self, call: &mut CallContext<'_>) {
        self.period.begin(call, self.period_ms);
    }

    fn on_period(&mut self, call: &mut CallContext<'_>, number: u32) {
        if self.period.is_now(number) {
            self.period.tell(call);
            self.period.set(call, call.now.plus_ms(self.period_ms.into()));
        }
    }

    /// Table 3.1.
    fn listing(&self, new: LoadState, old: LoadState) -> Option<bool> {
        match (new == LoadState::Receiver, old == LoadState::Receiver) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadState::{Neutral, Receiver, Sender};

    #[track_caller]
    fn check(new: LoadState, old: LoadState, expected: Option<bool>) {
        let rule = Periodic { period: Period::default(), period_ms: 1 };
        assert_eq!(rule.listing(new, old), expected);
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
