//! Actions that a rule asks of its driver: send a message, move tasks, call back later.

use crate::{Moment, NodeId, PolicyMessage};

/// Action for the driver, which does them in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverAction {
    /// Send this message; it may be lost, since no rule relies on its arrival.
    Send {
        /// Receiver; never the node itself, always a member.
        to: NodeId,
        /// The message.
        message: PolicyMessage,
    },
    /// Take tasks out of the queue and hand them over, then report the result to
    /// [`Balance::on_moved`](crate::Balance::on_moved).
    Move {
        /// Receiver; never the node itself, always a member.
        to: NodeId,
        /// Number of tasks, never more than wait.
        n_tasks: u32,
    },
    /// Call [`Balance::on_timer`](crate::Balance::on_timer) at that moment or soon after.
    Timer {
        /// Argument of that call.
        timer: Timer,
        /// Moment of the call.
        at: Moment,
    },
}

/// Later call that a rule asks for. The driver also makes calls that are out of date; they have no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timer {
    pub(crate) kind: TimerKind,
    /// Number among the timers of its kind: only the newest has an effect.
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TimerKind {
    /// The state is sent again.
    Period,
    /// An operation ends, even without all answers.
    Operation,
    /// More nodes are told that tasks wait.
    Wave,
    /// A pull ends without an answer, or the next one may begin.
    Pull,
}
