//! Tables, charts and units of numbers for people, on a terminal and in a picture.
//!
//! ```
//! use display::{table::Table, units};
//!
//! let ranks = [("node01", 0.25), ("node02", 75.0)];
//! let table = Table::new(ranks).left("node", |rank| rank.0).right("time", |rank| units::seconds(rank.1));
//! assert_eq!(table.to_string(), "node      time\nnode01  250 ms\nnode02  75.0 s\n");
//! ```
//!
//! # Not here
//! Detection of a terminal, its width and its colors (`user-io`); the pages of runs and clusters (`report`).

pub mod bars;
pub mod chart;
pub mod ink;
pub mod table;
pub mod text;
pub mod units;
