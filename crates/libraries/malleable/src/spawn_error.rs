//! Errors of starting and joining processes.

use mpi::MpiError;

/// Error from starting and joining processes.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    /// Processes could not be started.
    #[error("rank {rank} could not start processes: {why}")]
    Start { rank: u32, why: String },
    /// A companion launcher failed.
    #[error(
        "a launcher of their own brought no new ranks{place}: {why}; `--spawn tree` lets the program's own launcher start them"
    )]
    Companion { place: String, why: String },
    /// A rank did not answer.
    #[error("rank {rank} did not start its processes within {seconds} s")]
    Late { rank: u32, seconds: f64 },
    /// Rank 0 did not send the plan, or gave the resize up.
    #[error("rank 0 gave up the resize")]
    GivenUp,
    /// There is no thread that prepares the resize.
    #[error("{0}")]
    Thread(String),
    /// The end of processes that leave cannot be watched.
    #[error("the end of processes cannot be watched: {0}")]
    Watch(String),
    /// No method of moving data was given, and the trial of methods failed.
    #[error("a trial of ways to move data failed: {0}; name one with `--redistribution`")]
    Trial(String),
    /// An MPI call failed.
    #[error("{0}")]
    Mpi(#[from] MpiError),
}
