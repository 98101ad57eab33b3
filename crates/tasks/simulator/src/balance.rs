//! Simulates independent tasks on the nodes of a cluster that the rules of balancing distribute.
//!
//! Each node runs a [`balancing_policies::Balance`], the very code of the node daemon, driven by discrete events: tasks that
//! arrive, start and end, messages, measurements, timers, nodes that fail and return. The tasks of a node share its
//! cores: with more tasks than cores, each gets its part of them.
//!
//! # Invariants
//! - Deterministic: a scenario, its seed included, has one outcome, on every machine.
//! - No event allocates; memory grows with the number of nodes, waiting tasks and messages under way.
//! - Every task ends once, unless the node that it waits at fails and never comes back.
//!
//! # Not here
//! Rules (`balancing-policies`), the journal and leases of real tasks (`node-daemon`).

mod central;
mod failing;
mod node;
mod outcome;
mod processor_sharing;
mod queue;
mod run;
mod scenario;
mod tasks;
mod trace;

pub use central::{central_asked_s, central_s};
pub use outcome::{ScenarioResults, SimulationProgress};
pub use run::simulate;
pub use scenario::{
    Arrivals, Detection, Durations, Entries, N_NODES_MAX, N_TASKS_MAX, NodeNetwork, NodeOutage,
    Scenario, ScenarioError, TracedTask,
};
pub(crate) use tasks::nanoseconds;
pub use trace::{Trace, TraceError};
