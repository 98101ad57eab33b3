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
mod demand;
mod duration_histogram;
mod failures;
mod history;
mod job;
mod name;
mod node;
mod output;
mod protocol;
mod schedule;
mod submission;
mod task;
mod usage;

pub use archive::{OutcomeCount, OutcomeRange, OutcomeSummary, Retention};
pub use demand::{Bytes, Demand, DemandError, Resources, is_resource_name};
pub use duration_histogram::DurationHistogram;
pub use failures::{FailureRules, RETRY_DELAY_MS_MAX};
pub use history::{Explanation, HistoryEvent, TaskEvent};
pub use job::{JobAccount, JobStatus};
pub use name::{NameError, TaskName, TaskRange, check_node_name};
pub use node::{HistorySample, NodeCounters, NodeLoadState, NodeResources, NodeStatus, Presence};
pub use output::{Output, OutputNews, OutputPosition, OutputText, StreamNews};
pub use protocol::{
    ClientRequest, DaemonAnswer, N_SUBMIT_MAX, PROTOCOL_VERSION, RerunSelection, TaskFilter,
};
pub use schedule::{Dependency, DependencyKind, Schedule, ScheduleError};
pub use submission::{
    ArrayIndices, ArrayRange, OUTPUT_BYTES_MAX, Submission, SubmissionError, TaskLimits,
};
pub use task::{EndedTask, OutcomeFilter, TaskOutcome, TaskState, TaskStatus};
pub use usage::Usage;
