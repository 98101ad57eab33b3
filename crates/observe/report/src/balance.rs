//! Nodes that balance tasks, and their tasks: as text for a terminal, a live view, a web page, and metrics.
//!
//! Values of [`task_api`] go in, strings come out; times are arguments.
//!
//! # Invariants
//! - Names, titles and output of tasks never reach a terminal or a page as control characters or markup.
//! - History, moves and lists are bounded.

pub mod live;

mod history;
mod jobs;
mod metrics;
mod nodes;
mod page;
mod tasks;

pub use history::{ClusterSample, History, Move, NodeSample};
pub use jobs::jobs;
pub use metrics::metrics;
pub use nodes::{node_resources, nodes};
pub use page::{PageState, Queues, page};
pub use tasks::{ended, explanation, tasks};
