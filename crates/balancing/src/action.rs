//! What a rule wants done: a message, a move of tasks, a later call.

use crate::{Message, Moment, NodeId};

/// One thing that the driver does, in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this message, or lose it: no rule relies on its coming.
    Send {
        /// To whom; never the node itself, always a member.
        to: NodeId,
        /// What.
        message: Message,
    },
    /// Take so many tasks out of the queue and hand them over. What became of it is told to
    /// [`Balance::on_moved`](crate::Balance::on_moved).
    Move {
        /// To whom; never the node itself, always a member.
        to: NodeId,
        /// How many, never more than wait.
        n_tasks: u32,
    },
    /// Call [`Balance::on_timer`](crate::Balance::on_timer) at that moment or soon after.
    Timer {
        /// Given back then.
        timer: Timer,
        /// When.
        at: Moment,
    },
}

/// A call that a rule wants later. One that is no longer wanted is called all the same, and does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timer {
    pub(crate) kind: TimerKind,
    /// Which one of its kind: only the newest counts.
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TimerKind {
    /// The state is told again.
    Period,
    /// An operation ends, whoever has answered.
    Operation,
    /// More nodes are told that tasks wait.
    Wave,
    /// A pull ends without an answer, or the next may begin.
    Pull,
}
