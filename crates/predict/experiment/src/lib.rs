//! Experiments: a program is run over a grid of its parameters, and the times of its regions are recorded.
//!
//! A [`Plan`] describes the runs; [`schedule::runs`] puts its repetitions into a random order; [`regions`] turns
//! the observations of a run into measurements; a [`Journal`] lets an interrupted experiment resume.
//!
//! ```
//! use experiment::Plan;
//!
//! let plan = Plan::read(r#"
//!     command = "mpirun -n {p + 1} ./matmul {n}"
//!     where = "p <= n"
//!     [parameters]
//!     n = [1, 200]
//!     p = [1, 2]
//! "#)?;
//! let points = plan.points()?;
//! assert_eq!(points.len(), 3);
//! assert_eq!(plan.words(&points[2], None)?, ["mpirun", "-n", "3", "./matmul", "200"]);
//! # Ok::<(), experiment::PlanError>(())
//! ```
//!
//! # Invariants
//! - Pure (I1): no clock, file, socket, thread or environment; the same plan gives the same runs in the same order.
//! - Nothing in a plan is ignored: an unknown field is an error.
//!
//! # Not here
//! Starting runs and writing files (`campaign`); fitting models to the measurements (`fitting`); parsing expressions
//! (`expression`).

pub mod call_paths;
pub mod journal;
pub mod noise;
pub mod plan;
pub mod regions;
pub mod schedule;
mod template;

pub use expression::ExpressionError;
pub use journal::Journal;
pub use plan::{GridPoint, Plan, PlanError};
pub use regions::Measurement;

/// Expression over the parameters of an experiment: `p + 1`, `p <= n and n % p == 0`.
pub type Expression = expression::Expression<f64>;
