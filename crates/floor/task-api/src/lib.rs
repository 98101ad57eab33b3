//! Vocabulary of a cluster that balances tasks between its nodes, as users and scripts see it.
//!
//! A client sends a [`ClientRequest`] to the daemon of its node and receives [`DaemonAnswer`]s; both are JSON. A
//! [`TaskName`] identifies a task by the node that it was submitted to and its number there.
//!
//! # Invariants
//! - Pure: no clock, file, socket or thread. Times are milliseconds since 1970, by the clock of the node that
//!   reports them.
//! - Fields added later have a default, so that an older client understands a newer daemon.
//!
//! # Not here
//! Rules of balancing (`balancing-policies`); messages between nodes, and sockets (`node-daemon`).

mod archive;
mod failures;
mod history;
mod name;
mod node;
mod output;
mod protocol;
mod submission;
mod task;

pub use archive::{OutcomeCount, OutcomeRange, OutcomeSummary, Retention};
pub use failures::{FailureRules, RETRY_DELAY_MS_MAX};
pub use history::{Explanation, HistoryEvent, TaskEvent};
pub use name::{NameError, TaskName, TaskRange, check_node_name};
pub use node::{NodeCounters, NodeLoadState, NodeStatus, Presence};
pub use output::{Output, OutputText};
pub use protocol::{ClientRequest, DaemonAnswer, PROTOCOL_VERSION, RerunSelection, TaskFilter};
pub use submission::{ArrayRange, OUTPUT_BYTES_MAX, Submission, SubmissionError, TaskLimits};
pub use task::{EndedTask, OutcomeFilter, TaskOutcome, TaskState, TaskStatus};
