//! `samples.parquet`: call paths of each rank, with the number of times that a thread was found in them.

use crate::table::columns;
use std::sync::Arc;

/// Separator of the functions in [`SampleRow::call_path`].
pub const SEPARATOR: char = ';';

/// Samples of one rank in one call path.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// Index in [`Summary::worlds`](crate::Summary::worlds).
    pub world: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Functions from the outermost one to the one that was executed, separated by [`SEPARATOR`]; the last one is the
    /// MPI function for samples inside MPI.
    pub call_path: Arc<str>,
    /// [`CallSite::id`](crate::summary::CallSite::id) for samples inside MPI, if known.
    pub call_site: Option<u32>,
    /// Module of the last function.
    pub module: Arc<str>,
    /// Source file of the last function; empty if unknown.
    pub file: Arc<str>,
    /// Line that was sampled most; 0 if unknown.
    pub line: u32,
    /// Number of samples.
    pub samples: u64,
    /// Processor time that they stand for, in s.
    pub time_s: f64,
}

columns! {
    SampleRow = "sample";
    growing: [];
    world: u32, rank: u32, call_path: Arc<str>, call_site: Option<u32>, module: Arc<str>, file: Arc<str>, line: u32,
    samples: u64, time_s: f64,
}
