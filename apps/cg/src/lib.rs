//! Conjugate gradients for sparse linear systems, on ranks that hold blocks of rows.
//!
//! Read or generate a matrix, then iterate: the directions of all ranks are gathered, each rank multiplies its rows
//! with them, and two sums go over all ranks (Hestenes and Stiefel 1952).
//!
//! # Invariants
//! - With [`Settings::is_reproducible`] the solution is the same, bit for bit, on any number of ranks.
//! - A generated matrix is the same on any number of ranks.
//! - No `unsafe`.

#![forbid(unsafe_code)]

mod blocks;
mod csr;
mod group;

mod generate;
mod market;
mod symmetry;
mod vector;

mod begin;
mod solver;
mod state;

mod arguments;
mod error;
mod report;
mod run;

pub use arguments::{Arguments, Source, USAGE};
pub use begin::of_ones;
pub use blocks::{BLOCK_ROWS, block_sums, n_blocks, owner, rows_of};
pub use csr::multiply;
pub use error::{CgError, MarketError};
pub use generate::{Generator, MODELS, Model};
pub use group::{Alone, Group};
pub use market::{read as read_market, write as write_market};
pub use report::Report;
pub use run::run;
pub use solver::{Cg, Settings};
pub use vector::{read as read_vector, write as write_vector};
