//! Errors of moving data.

use mpi::MpiError;
use resize_plan::{PartitionError, PlanError};
use std::time::Duration;

/// Error from moving data. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// Ranks registered different data.
    #[error(
        "rank {rank} registers other data than rank {first}; let `State::data` register the same, in the same order, on every rank"
    )]
    Registered {
        /// Rank of the bridge.
        rank: u32,
        /// Rank that it is compared with.
        first: u32,
    },
    /// The number of elements does not match the rows.
    #[error(
        "`{name}` has other rows on rank {rank} than the objects registered before it, or parts of another length; give all as many rows"
    )]
    Rows {
        /// Object, or the first one of its group.
        name: &'static str,
        /// Rank of the bridge.
        rank: u32,
    },
    /// The ranks together hold another number of rows than was declared.
    #[error(
        "`{name}` has {held} rows on all ranks together, and `rows_of` says {said}; correct one of them"
    )]
    Total {
        /// First object of the group.
        name: &'static str,
        /// Number of rows held.
        held: u64,
        /// Number of rows declared.
        said: u64,
    },
    /// Rows are partitioned by the entries of a matrix, but there is none.
    #[error(
        "rows are cut by weights and none of different lengths follow; register a sparse matrix or uneven rows, or cut them evenly"
    )]
    NoWeights,
    /// Rows cannot be partitioned this way.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// Rows cannot be moved this way.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Memory for new data could not be allocated.
    #[error(
        "there is no memory, or no thread to make it, for the data of the new size; use fewer ranks on a node"
    )]
    Memory,
    /// Moving took too long.
    #[error(
        "data were not moved within {} ms; see whether all ranks still run, or allow more time",
        waited.as_millis()
    )]
    Late {
        /// Time waited.
        waited: Duration,
    },
    /// An MPI call failed.
    #[error(transparent)]
    Mpi(#[from] MpiError),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results with a more aligned error are moved through the stack by instructions that fault, in release builds of
    /// compilers on LLVM 22 and older (decision 0022): a lost rank took all others with it.
    #[test]
    fn an_error_is_aligned_as_a_word() {
        assert_eq!(align_of::<MoveError>(), align_of::<u64>());
    }
}
