//! Decides when a batch system is asked for further nodes, and when nodes are given back.
//!
//! [`Rule::decide`] gets a [`Snapshot`] of nodes and jobs, and what was observed before ([`Memory`]); it returns
//! [`Decision`]s, each with its reason in a sentence. [`Jobs::update`] compares the jobs that were asked for with the queue of
//! the batch system.
//!
//! # Invariants
//! - Growing follows the fewest tasks that waited during a while, shrinking the most that waited during a longer one: a
//!   queue that comes and goes neither starts nor ends jobs.
//! - A job has a *slot*, a number that no other job has at the same time: its node's name and folder come from it, so that the
//!   next job of a slot goes on with the tasks that were submitted to the node of the last one.
//!
//! # Not here
//! Slurm's commands, files, and the loop that calls this (`task-client`).

mod decision;
mod job;
mod memory;
mod node;
mod rule;

pub use decision::{Action, Decision, Idleness};
pub use job::{Change, Job, Jobs, Queued, QueuedState, Stage};
pub use memory::{Failures, Memory};
pub use node::Node;
pub use rule::{Rule, Snapshot};
