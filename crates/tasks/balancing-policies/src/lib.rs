//! Rules by which the nodes of a cluster share independent tasks: which node takes which task.
//!
//! Each node has a [`Balance`], a state machine without clock, network or tasks. Its driver (the node daemon, or
//! the simulator) reports events to it, and carries out the actions that it returns:
//!
//! ```
//! use balancing_policies::{
//!     Balance, DriverAction, Members, Moment, NodeId, NodeLoad, Peer, Policy, PolicyMessage,
//! };
//! use std::sync::Arc;
//!
//! let peer = |id| Peer { id: NodeId(id), incarnation: 0, n_cores: 1, speed: 1.0 };
//! let members = Arc::new(Members::new([peer(0), peer(1)]));
//! let mut balance = Balance::new(NodeId(0), Policy::DEFAULT, 1);
//! let mut out = Vec::new();
//! balance.on_peers(Moment(0), &members, &mut out);
//!
//! // One task runs here and one waits: node 1 is told, once.
//! let load = NodeLoad { n_running: 1, n_queued: 1, n_cores: 1, speed: 1.0 };
//! balance.on_measurement(Moment(0), load, &mut out);
//! let message = PolicyMessage::Subscribe { n_queued: 1 };
//! assert_eq!(out[0], DriverAction::Send { to: NodeId(1), message });
//!
//! // It has room, and comes for the task.
//! out.clear();
//! let message = PolicyMessage::Pull { operation: 7, n_tasks_max: 1 };
//! balance.on_message(Moment(5), NodeId(1), message, &mut out);
//! assert_eq!(out[1], DriverAction::Move { to: NodeId(1), n_tasks: 1 });
//! ```
//!
//! [`rule`] lists the rules; a [`Policy`] is a rule and a [`Domain`]. Source of the state, information, initiation
//! and location rules: J. thesis 2012, chapters 3 and 4.
//!
//! # Invariants
//! - Pure (I1) and deterministic: the same calls give the same actions.
//! - Messages may be lost, doubled, late or from strangers: every operation ends at its time limit.
//! - A node never gives more tasks than wait there, and sends nothing to itself or to strangers.
//! - Every list has a bound; dropped entries are counted.
//!
//! # Not here
//! Tasks themselves and their leases (`node-daemon`), simulated time (`simulator`).

mod action;
mod asks;
mod balance;
mod domain;
mod members;
mod message;
mod policy;
pub mod round_trip;
mod rule;
mod snapshot;
mod state;
mod types;

mod adaptive;
mod event;
mod forwarding;
mod on_demand;
mod periodic;
mod power_of_two;
mod stealing;
mod subscription;

mod call_context;
mod exchange;
mod offers;
mod operation;
mod period;
mod receiver_initiated;
mod receivers;
mod repeat_visitors;
mod sender_initiated;
mod subscribers;

pub use action::{DriverAction, Timer};
pub use balance::Balance;
pub use domain::{Domain, DomainError};
pub use members::{Members, Peer};
pub use message::{MessageError, PolicyMessage};
pub use policy::{Policy, PolicyError};
pub use rule::{Rule, RuleError, RuleSpec};
pub use snapshot::{
    BalanceSnapshot, N_NAMED_MAX, OngoingOperation, OperationEnd, OperationOutcome, PolicyCounters,
};
pub use state::LoadState;
pub use types::{Moment, NodeId, NodeLoad};
