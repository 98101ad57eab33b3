//! Policies that decide which tasks a worker gets next, and how many.
//!
//! `M` tasks are dealt to `N` workers in *chunks*; a worker that returns one gets the next. With `R` tasks
//! left, mean `mu` and deviation `sigma` of the computing time per task, and `h` the overhead of a chunk
//! beside computing:
//!
//! | name | chunk | source |
//! |---|---|---|
//! | `static` | `M/N` | |
//! | `ss` | 1 | |
//! | `fsc` | `(sqrt(2)*M*h / (sigma*N*sqrt(ln N)))^(2/3)` | Kruskal and Weiss 1985 |
//! | `gss` | `R/N` | Polychronopoulos and Kuck 1987 |
//! | `tss` | from `M/(2N)` to 1 in equal steps | Tzen and Ni 1993 |
//! | `fac` | `R/(x*N)` in batches of `N`, `x` from `sigma/mu` and `R` | Hummel, Schonberg and Flynn 1992 |
//! | `fac2` | `M/(2N)`, then half in every batch of `N` | Hummel, Schonberg and Flynn 1992 |
//! | `dpf` | a fixed share of what is left, in batches of `N` | Martínez 2010 |
//! | `daf` | `R/(x_j*N)` in batches of `N`, `x_0 = 1 + sigma*sqrt(N/2)/mu`, `x_j = 2 + sigma*sqrt(N/2)/mu` | Martínez 2010 |
//! | `awf-b` | half of what is left in every batch, by the workers' speeds | Cariño and Banicescu 2008 |
//! | `awf-c` | `R/(2N)` by the workers' speeds | Cariño and Banicescu 2008 |
//! | `best` | see [`best`] | |
//!
//! Sizes are rounded up, except where a source says otherwise.
//!
//! # Invariants
//! - Pure (I1) and deterministic: the same requests and completions in the same order give the same sizes.
//! - [`ChunkScheduler`] deals every task once, and again only tasks that were given back.
//! - Measured values may be any number: an invalid time is ignored.
//!
//! # Not here
//! Messages and threads (`master-worker`), simulated time (`simulator`), the decision to change the policy of a
//! running program (`tunlets`).

mod chunk_scheduler;
mod policy;
mod registry;
mod spread;
mod task_set;

pub mod adjusting;
pub mod best;
mod factoring;
mod fixed_size;
mod guided;
mod halving;
pub mod predictive;
mod self_scheduling;
mod static_split;
mod trapezoid;
mod weighted_batches;
mod weighted_chunks;

mod batch;
mod guarded;
mod performance;
mod rounding;

pub use chunk_scheduler::ChunkScheduler;
pub use policy::{ChunkRequest, Completed, Policy, Settings, Work};
pub use registry::{PolicySpec, UnknownPolicy, all, by_name};
pub use spread::{Spread, WeightedMoments};
pub use task_set::TaskSet;
