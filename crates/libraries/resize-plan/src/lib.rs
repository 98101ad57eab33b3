//! Rules for resizing a running program: placement of new processes, redistribution of rows, and payoff.
//!
//! A program of `P` *sources* becomes one of `H` *targets*. Its distributed data are rows; a [`Partition`] assigns them
//! to parts before and after, and a [`MovePlan`] is the moves between the two. With the strategy *merge* some sources
//! become targets, and [`stay()`] chooses which, so that as little as possible moves. [`place()`] finds nodes for new
//! processes. [`payoff`] judges whether the resize is worth its cost.
//!
//! ```
//! use resize_plan::{MovePlan, Partition, RowBytes, TargetProcess, stay};
//!
//! let sources = Partition::even(1200, 4)?;
//! let targets = Partition::even(1200, 6)?;
//! let plan = MovePlan::between(&sources, &targets)?;
//! let bytes = RowBytes::Each(8);
//! // All four continue, and two processes are new.
//! let seats = stay(&plan, &bytes, &[false; 4])?;
//! assert_eq!(seats.iter().filter(|seat| **seat == TargetProcess::New).count(), 2);
//! // The two new processes get a third of the rows; no other row moves.
//! assert_eq!(plan.bytes_moved(&bytes, &seats), 1200 * 8 / 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//! - Pure (I1) and deterministic: every process computes the same plan by itself.
//! - A plan moves every row once.

mod partition;
mod place;
mod plan;
mod stay;

pub mod payoff;
pub mod queue;

pub use partition::{Partition, PartitionError};
pub use place::{JobNode, PlaceError, Placement, place, place_where_found};
pub use plan::{Move, MovePlan, PairBytes, PlanError, RowBytes, TargetProcess};
pub use stay::{StayError, stay};
