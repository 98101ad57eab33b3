//! Nodes that share out tasks, and their tasks: as text for a terminal, as a live view, as a web page, and as metrics.
//!
//! Words of [`balanced`] go in, strings come out; times are arguments.
//!
//! # Invariants
//! - Names, titles and output of tasks never reach a terminal or a page as control or markup.
//! - History, moves and lists have a bound.
//!
//! # Not here
//! Asking the daemon, and serving the page (`cli`, `balancer`).

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
