//! Variables and functions through which tuning tools observe and control a master/worker program.
//!
//! A tool stops the program at the entry or exit of a function, reads variables, and writes the shares
//! and the number of workers while the program runs. So they have names that no compiler mangles, and
//! the functions are never inlined. `master-worker.toml` describes them; every executable carries it, so
//! that `sintonia run --tunlet NAME` needs no other description.
//!
//! # Invariants
//! - Variables are read and written as atomics, of the types that C has: debug information says
//!   `i32` and `f64`, nothing wrapped.
//! - At most one run of a process holds them ([`claim`]); others run without.
//!
//! # Not here
//! Effect of the values on dealing (`master-worker`).

mod asked;
mod description;
mod functions;
mod variables;

pub use asked::{asked_for_report, forget_report};
pub use description::DESCRIPTION;
pub use functions::{iteration, new_batch, received, send, work};
pub use variables::{Claim, Variable, claim};
