//! Errors of a malleable program.

use crate::causes::with_causes;
use crate::checkpoint::CheckpointError;
use crate::control::ControlError;
use crate::decision::DecisionError;
use crate::moving::MoveError;
use crate::record::RecordError;
use mpi::MpiError;
use option_table::ArgumentError;
use std::fmt;

/// Error after which a malleable program cannot continue. A failed resize is not one: see
/// [`Malleable::resizes`](crate::Malleable::resizes).
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is not valid.
    #[error("the options are wrong")]
    Options(#[from] ArgumentError),
    /// An MPI call failed.
    #[error("the ranks cannot communicate")]
    Mpi(#[from] MpiError),
    /// Data cannot be moved.
    #[error("data cannot be moved to other ranks")]
    Move(#[from] MoveError),
    /// The record cannot be written.
    #[error("resizes cannot be recorded")]
    Record(#[from] RecordError),
    /// The control folder cannot be used.
    #[error("resize requests cannot be received")]
    Control(#[from] ControlError),
    /// The model cannot be used.
    #[error("the resize model cannot be used")]
    Decision(#[from] DecisionError),
    /// The checkpoint cannot be used.
    #[error("the program cannot go on from its checkpoint")]
    Checkpoint(#[from] CheckpointError),
    /// A new rank could not join the others.
    #[error("this new rank cannot join the others: {why}; see the output of rank 0")]
    Join {
        /// Cause.
        why: String,
    },
    /// Rank 0 is silent.
    #[error(
        "rank 0 said nothing for {seconds:.0} s; see its output, or allow more time with `--deadline`"
    )]
    Silent {
        /// Time waited, in seconds.
        seconds: f64,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&with_causes(self))
    }
}
