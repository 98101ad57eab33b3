//! What the runs of a program teach for the next one: levers to begin with, settings to try, and when to keep them.
//!
//! ```text
//! facts      what a run used: memory, page faults, sizes of messages, MPI-IO, traffic      facts.rs
//! candidates settings of the launch for which these facts give a reason                     candidates.rs
//! plan       what the next run begins with, and the one candidate that it tries             plan.rs
//! verdict    runs with and without a candidate, compared                                    verdict.rs
//! profile    all that is kept of a program on a machine                                     profile.rs
//! ```
//!
//! # Invariants
//! - At most one setting is on trial in a run.
//! - A candidate is kept only if each run with it was faster than all runs without it: one that has no effect is kept
//!   in a few percent of all histories, however run times scatter.
//!
//! # Not here
//! Files, environment variables and the record of a run (`watch`); trials inside of a run (`tunlets`).

mod advice;
mod candidates;
mod facts;
mod learn;
mod levers;
mod plan;
mod profile;
mod rank_order;
mod verdict;

pub use candidates::{Setting, Variable};
pub use facts::{Facts, FileUse, Message};
pub use learn::Ended;
pub use levers::{LearntLever, LeverTrial, LeverVerdict};
pub use plan::Plan;
pub use profile::{Candidate, CandidateState, FORMAT_VERSION, Key, Machine, Profile, Run, Size};
pub use rank_order::{RankOrder, rank_order};
pub use verdict::Figures;
