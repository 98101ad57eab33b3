//! Live view of a run: efficiencies, ranks, calls and the program's output, refreshed every interval, in a
//! terminal with at least 60 columns and 15 lines; or one line per interval for a pipe.
//!
//! The caller measures and creates [`Snapshot`]s; [`LiveState`] holds the state of the view and processes keys;
//! [`draw`] draws on any ratatui frame; [`LiveScreen`] is a real terminal.
//!
//! # Invariants
//! - The terminal is restored when the screen is stopped, dropped, or the program panics.
//! - Without color, the view carries the same information: color only repeats words and bars.
//! - History and output are bounded.
//!
//! # Not here
//! Measuring, and the fate of the program when the view is closed (`watch`).

mod draw;
mod plain;
mod screen;
mod snapshot;
mod state;

pub use draw::draw;
pub(crate) use draw::{colored, dim, strong};
pub use plain::plain_line;
pub use screen::{LiveError, LiveScreen};
pub use snapshot::{OperationRate, RankNow, Snapshot};
pub use state::{KeyEffect, LiveState, Tab};
