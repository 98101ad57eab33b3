//! Independent tasks on the nodes of a cluster, shared out by rules.
//!
//! Each node runs a [`balancing::Balance`], the very code of the node daemon, driven by discrete events: tasks that
//! come, begin and end, messages, measurements, timers, nodes that fail and return. The tasks of a node share its
//! cores: with more tasks than cores, each gets its part of them.
//!
//! # Invariants
//! - Deterministic: a scenario, its seed included, has one outcome, on every machine.
//! - No event allocates; memory grows with nodes, waiting tasks and messages on their way.
//! - Every task ends once, unless the scenario takes the node that it waits at away for ever.
//!
//! # Not here
//! Rules (`balancing`), the journal and leases of real tasks (`balancer`).

mod central;
mod failing;
mod machine;
mod node;
mod outcome;
mod queue;
mod run;
mod scenario;
mod tally;
mod tasks;

pub use central::central_s;
pub use outcome::{Outcome, Progress};
pub use run::simulate;
pub use scenario::{
    Arrivals, Detection, Durations, Entries, Failure, N_NODES_MAX, N_TASKS_MAX, Network, Scenario,
    ScenarioError,
};
