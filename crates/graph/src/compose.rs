//! Composition: the time of a program from the times of its parts, by a max-plus evaluation of who waits for whom.
//!
//! Every rank keeps a clock. Computation adds to it; a message takes the later of two clocks and adds the
//! time on the network. That is linear algebra over `(max, +)`, so it needs no events in the order of time:
//! each rank runs until it needs what another one has not done yet.
//!
//! What the source composes by rules falls out of it (Laine 2003): `t(R) = i * sum_j t(I_j)` of a loop,
//! `t = (a + b) * i + (c + d) * i^2` of a nested one, `t = max(sum of master, sum of workers)` of a program,
//! and the three cases of a master that sends to its workers: `t = alpha + p * t_send(n)` when it is
//! there first, `t = p * t_send(n)` otherwise.
//!
//! A message of `b` bytes takes `T(b) = 2 o + L + b G` (Alexandrov, Ionescu, Schauser, Scheiman 1995, "LogGP"), which
//! is what a ping-pong measures:
//!
//! - eager (short): the sender goes on after `o + b G`; the receiver has it at
//!   `max(own clock, sent + o + L) + b G + o`
//! - rendezvous (long, or synchronous): both go on at `max(send, receive) + T(b)`
//! - collectives: by the algorithm that a library chooses for this length and number of ranks, see [`collectives`]
//!
//! # Invariants
//! - Pure (I1): the same program and machine give the same times, whatever the order of evaluation.
//! - A clock never goes back; more computation, latency or bytes never make a program faster.
//! - Never hangs: ranks that wait for each other are [`ComposeError::Deadlock`], with their call sites.
//!
//! # Not here
//! Communicators other than the world, non-blocking collectives, receives from any rank: the first come as
//! messages, as `export` writes them; what a receive from any rank got must be known. Links that several
//! pairs of ranks share: SimGrid knows them (`sintonia predict --engine smpi`).

pub mod collectives;
pub mod evaluate;
pub mod machine;
pub mod network;
pub mod outcome;
mod path;
pub mod program;
pub mod trace;
pub mod unfold;

pub use evaluate::{ComposeError, Standing, evaluate};
pub use machine::{Machine, MachineError};
pub use network::Network;
pub use outcome::{Leg, Outcome, RankTime, RegionTime};
pub use program::{Collective, Kind, Operation, Place, Program, ProgramBuilder, SendMode};
pub use trace::{TraceError, TraceReader};
pub use unfold::{Amount, Setting, UnfoldError, Unfolded, unfold};

#[cfg(test)]
mod tests;
