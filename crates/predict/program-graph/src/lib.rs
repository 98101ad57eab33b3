//! The graph of an MPI program: the actions of each role of its ranks, their order, and how often they happen.
//!
//! It is the DP*Graph+ of Laine 2003 ("Desenvolvimento de Modelos para Predição de Desempenho de Programas
//! Paralelos MPI"): local computation, loops with their number of iterations, conditionals, and every MPI
//! operation by its mode, with numbered regions, and the coarser T-Graph* that shows regions, forks and joins only.
//!
//! ```
//! let text = "int main() { int me; MPI_Comm_rank(MPI_COMM_WORLD, &me);\n\
//!     for (int i = 1; i < n; i++)\n\
//!         if (me == 0) MPI_Send(a, n, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);\n\
//!         else MPI_Recv(a, n, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, &status); }";
//! let graph = program_graph::read(&[program_graph::SourceFile { name: "pass.c", text }])?;
//! assert_eq!(graph.roles[0].name, "master");
//! assert_eq!(graph.roles[1].ranks, "ranks 1-");
//! # Ok::<(), program_graph::SourceError>(())
//! ```
//!
//! # Invariants
//! - Pure: texts and numbers in, a graph, SVG or JSON out.
//! - A part of a source that is not understood becomes a warning with its place; the rest is read.
//!
//! # Not here
//! Files and the command line (`prediction`); the record of a run (`run-record`); times of regions (`fitting`).

pub mod compose;
mod draw;
mod expr;
mod json;
mod recorded;
mod regions;
mod shape;
mod source;

pub use draw::{View, draw};
pub use expr::{Expr, Operator};
pub use json::{FORMAT_VERSION, json};
pub use recorded::{RecordedRun, RecordedSite, Segment, from_run, overlay};
pub use regions::roman;
pub use shape::{
    Arm, Branch, Compute, DataTransfer, Expansion, Graph, GraphNode, GraphNodeKind, InlinedCall,
    Jump, JumpKind, Loop, Mpi, NodeMeasurements, Origin, Repeat, Role, SendMode, Side,
    SourceLocation, Warning,
};
pub use source::{SourceError, SourceFile, read};
