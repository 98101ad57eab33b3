//! Composition: the time of a program from the times of its parts, by a max-plus evaluation of waiting between ranks.
//!
//! Every rank keeps a clock. Computation adds to it; a message takes the later of two clocks and adds the
//! time on the network. That is linear algebra over `(max, +)`, so events need not be processed in the order of time:
//! each rank runs until it needs something that another one has not done yet.
//!
//! The composition rules of the source follow from it (Laine 2003): `t(R) = i * sum_j t(I_j)` of a loop,
//! `t = (a + b) * i + (c + d) * i^2` of a nested one, `t = max(sum of master, sum of workers)` of a program,
//! and the cases of a master that sends to its workers: `t = alpha + p * t_send(n)` when the master is
//! ready first, `t = p * t_send(n)` otherwise.
//!
//! A message of `b` bytes takes `T(b) = 2 o + L + b G` (Alexandrov, Ionescu, Schauser, Scheiman 1995, "LogGP"), which
//! a ping-pong measures:
//!
//! - eager (short): the sender continues after `o + b G`; the receiver has the message at
//!   `max(own clock, sent + o + L) + b G + o`
//! - rendezvous (long, or synchronous): both continue at `max(send, receive) + T(b)`
//! - collectives: by the algorithm that a library chooses for the length and number of ranks, see [`collectives`]
//!
//! # Invariants
//! - Pure (I1): the same program and machine give the same times, whatever the order of evaluation.
//! - A clock never goes back; more computation, latency or bytes never make a program faster.
//! - Never hangs: ranks that wait for each other are [`ComposeError::Deadlock`], with their call sites.
//!
//! # Not here
//! Communicators other than the world, nonblocking collectives, receives from any rank: the first become messages, as
//! `export` writes them; the source of a receive from any rank must be known. Contention on links shared by several
//! pairs of ranks: SimGrid models it (`sintonia predict --engine smpi`).

pub mod collectives;
pub mod evaluate;
mod links;
pub mod machine;
pub mod network;
pub mod outcome;
mod path;
pub mod program;
pub mod trace;
pub mod unfold;

pub use crate::shape::SendMode;
pub use evaluate::{BlockedRank, ComposeError, evaluate};
pub use links::Links;
pub use machine::{Machine, MachineError};
pub use mpi_abi::CollectiveKind;
pub use network::Network;
pub use outcome::{ComposedTime, PathInterval, RankTime, RegionTime};
pub use program::{CallSite, Collective, ProgramBuilder, RankOperation, RankPrograms};
pub use trace::{TraceError, TraceReader};
pub use unfold::{Amount, Setting, UnfoldError, Unfolded, unfold};

#[cfg(test)]
mod tests;
