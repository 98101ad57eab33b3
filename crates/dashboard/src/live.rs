//! The view while a run goes on: efficiencies, ranks, calls and the program's output, refreshed every
//! interval, in a terminal of 60 columns and 15 lines or more; or one line an interval for a pipe.
//!
//! The caller measures and makes [`Snapshot`]s; [`LiveState`] holds what is shown and obeys keys; [`draw`]
//! puts it on any ratatui frame; [`LiveScreen`] is a real terminal.
//!
//! # Invariants
//! - The terminal is restored when the screen is stopped, dropped, or the program panics.
//! - Without color the view says the same: color only repeats what words and bars say.
//! - History and output kept are bounded.
//!
//! # Not here
//! Measuring, and what becomes of the program when the view is left (`cli`).

mod draw;
mod plain;
mod screen;
mod snapshot;
mod state;

pub use draw::draw;
pub use plain::plain_line;
pub use screen::{LiveError, LiveScreen};
pub use snapshot::{OperationRate, RankNow, Snapshot};
pub use state::{KeyEffect, LiveState, Tab};
