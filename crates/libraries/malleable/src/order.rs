//! Order that rank 0 gives to all ranks at a resize point, to be carried out at the next one.
//!
//! No rank waits for it: it was sent at the previous check, and has usually arrived long ago. Rank 0 sends it to each
//! rank, which takes some microseconds for a hundred ranks, every 10 ms.

use crate::protocol::ResizeAction;
use bytemuck::{Pod, Zeroable};

/// Part of the state that is written at the next check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Saving {
    /// Nothing.
    #[default]
    No,
    /// Variable data.
    Variable,
    /// All data.
    All,
}

/// All actions and all parts of the state, by their numbers in an order.
const ACTIONS: [ResizeAction; 5] = [
    ResizeAction::GoOn,
    ResizeAction::Start,
    ResizeAction::Move,
    ResizeAction::Switch,
    ResizeAction::GiveUp,
];
const SAVINGS: [Saving; 3] = [Saving::No, Saving::Variable, Saving::All];

const _: () = assert!(ACTIONS.len() == ResizeAction::GiveUp as usize + 1);
const _: () = assert!(SAVINGS.len() == Saving::All as usize + 1);

fn numbered<T: Copy + Default>(all: &[T], number: u32) -> T {
    all.get(number as usize).copied().unwrap_or_default()
}

/// Order in the form in which it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SentOrder {
    action: u32,
    /// Number of the resize that it concerns.
    pub(crate) serial: u32,
    /// Number of resize points from carrying it out to the next check.
    pub(crate) interval: u32,
    is_stuck: u32,
    saving: u32,
}

impl SentOrder {
    pub(crate) fn new(action: ResizeAction, serial: u16, interval: u32) -> Self {
        let action = action as u32;
        Self { action, serial: serial.into(), interval, is_stuck: 0, saving: 0 }
    }

    pub(crate) fn action(self) -> ResizeAction {
        numbered(&ACTIONS, self.action)
    }

    /// Marks the order as given because a rank may never return from the library.
    pub(crate) fn stuck(self) -> Self {
        Self { is_stuck: 1, ..self }
    }

    /// Adds that the state is saved first.
    pub(crate) fn saving(self, saving: Saving) -> Self {
        Self { saving: saving as u32, ..self }
    }

    /// Part of the state that is saved first.
    pub(crate) fn saved(self) -> Saving {
        numbered(&SAVINGS, self.saving)
    }

    pub(crate) fn is_stuck(self) -> bool {
        self.is_stuck == 1
    }

    pub(crate) fn serial(self) -> u16 {
        u16::try_from(self.serial).unwrap_or_default()
    }
}

/// Returns the number of resize points until the next check, a power of two, so that there is about one check in 10 ms.
pub(crate) fn interval(seconds_per_iteration: f64, before: u32) -> u32 {
    const LOOK_S: f64 = 0.010;
    const INTERVAL_MAX: u32 = 1 << 20;
    // The measurement may be wrong, so the interval grows step by step.
    let most = before.saturating_mul(2).clamp(1, INTERVAL_MAX);
    let doubled = std::iter::successors(Some(1_u32), |n| Some(n * 2));
    let may_be = |n: &u32| *n <= most && f64::from(*n) * seconds_per_iteration <= LOOK_S;
    doubled.take_while(may_be).last().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_heard_as_it_was_given() {
        for action in ACTIONS {
            let order = SentOrder::new(action, 7, 3);
            assert_eq!((order.action(), order.serial(), order.interval), (action, 7, 3));
            for saving in SAVINGS {
                assert_eq!(order.saving(saving).saved(), saving);
            }
        }
    }

    #[test]
    fn looks_are_rare() {
        assert_eq!(interval(0.002, 4), 4);
        assert_eq!(interval(0.003, 4), 2);
        assert_eq!(interval(0.5, 4), 1);
        assert_eq!(interval(0.000_001, 4), 8);
        assert_eq!(interval(0.0, 0), 1);
    }
}
