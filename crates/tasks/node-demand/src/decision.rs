//! Decisions and their reasons.

use serde::Serialize;

/// Decision with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is to be done.
    pub action: Action,
    /// Reason, as a part of a sentence.
    pub why: String,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Submit a job for this slot.
    Submit {
        /// The slot.
        slot: u32,
    },
    /// Make the daemons of the job of this slot leave; the job ends with them.
    Leave {
        /// The slot.
        slot: u32,
    },
    /// Cancel the job of this slot, which has no daemon in the cluster.
    Cancel {
        /// The slot.
        slot: u32,
    },
    /// Submit nothing.
    Nothing(Idleness),
}

/// Kind of reason for submitting nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idleness {
    /// No task waits.
    NothingWaits,
    /// Tasks have not waited for long.
    JustWaits,
    /// Cores that are free or were asked for suffice.
    Enough,
    /// The tasks that wait will soon have run.
    DrainsSoon,
    /// Nodes like these have not helped the tasks that wait.
    NoHelp,
    /// There are as many nodes as are allowed.
    AtMost,
    /// Enough jobs wait in the batch system's queue.
    Backlog,
    /// The last job failed; the next one is tried later.
    BackOff,
    /// The batch system does not answer.
    NoAnswer,
}

impl Decision {
    pub(crate) fn new(action: Action, why: impl Into<String>) -> Self {
        Self { action, why: why.into() }
    }

    pub(crate) fn nothing(idleness: Idleness, why: impl Into<String>) -> Self {
        Self::new(Action::Nothing(idleness), why)
    }
}
