//! The words of a cluster that shares out its tasks, as people and scripts see them.
//!
//! A client sends a [`Request`] to the daemon of its node and hears [`Answer`]s; both are JSON. Tasks are
//! known by a [`TaskName`], which says where they were submitted and which of that node's tasks they are.
//!
//! # Invariants
//! - Pure: no clock, file, socket or thread. Times are milliseconds since 1970, by the clock of the node
//!   that says them.
//! - What is added later has a default, so that an older client understands a newer daemon.
//!
//! # Not here
//! Rules of balancing (`balancing`); what nodes say to each other, and sockets (`balancer`).

mod base64;
mod name;
mod node;
mod output;
mod past;
mod story;
mod submission;
mod talk;
mod task;

pub use name::{NameError, TaskName, TaskRange, check_node_name};
pub use node::{Counts, LoadWord, NodeStatus, Presence};
pub use output::{Output, Text};
pub use past::{EndedRun, Kept, OutcomeCount, Past};
pub use story::{Explanation, Step, What};
pub use submission::{ArrayRange, Limits, OUTPUT_BYTES_MAX, Submission, SubmissionError};
pub use talk::{Answer, Request, TALK_VERSION, TaskFilter};
pub use task::{EndedTask, Outcome, TaskState, TaskStatus};
