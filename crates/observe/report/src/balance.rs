//! Nodes that balance tasks, and their tasks: as text for a terminal, a live view, a web page, and metrics.
//!
//! Values of [`task_api`] go in, strings come out; times are arguments.
//!
//! # Invariants
//! - Names, titles and output of tasks never reach a terminal or a page as control characters or markup.
//! - History, moves and lists are bounded.
//!
//! # Not here
//! Queries to the daemon, and serving the page (`task-client`, `node-daemon`).

pub mod live;

mod explain;
mod history;
mod metrics;
mod nodes;
mod page;
mod state;
mod tasks;

pub use explain::explanation;
pub use history::{History, Move, Point, Sample};
pub use metrics::metrics;
pub use nodes::nodes;
pub use page::page;
pub use state::{PageState, Queues};
pub use tasks::{ended, tasks};
