//! Why data could not be moved.

use mpi::MpiError;
use resizing::{PartitionError, PlanError};
use std::time::Duration;

/// Data were not moved. The state is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// Ranks do not register the same.
    #[error(
        "rank {rank} registers other data than rank {first}; let `State::data` register the same, in the same order, on every rank"
    )]
    Registered {
        /// Which rank of the bridge.
        rank: u32,
        /// The one that it is compared with.
        first: u32,
    },
    /// An object has another number of elements than its rows have.
    #[error(
        "`{name}` has other rows on rank {rank} than the objects registered before it, or parts of another length; give all as many rows"
    )]
    Rows {
        /// Which object, or which is the first of its group.
        name: &'static str,
        /// On which rank of the bridge.
        rank: u32,
    },
    /// All ranks together hold another number of rows than was said.
    #[error(
        "`{name}` has {held} rows on all ranks together, and `rows_of` says {said}; correct one of them"
    )]
    Total {
        /// The first object of its group.
        name: &'static str,
        /// What is held.
        held: u64,
        /// What was said.
        said: u64,
    },
    /// Rows are to be cut by the entries of a matrix, and there is none.
    #[error(
        "rows are cut by weights and no sparse matrix follows; register one, or cut them evenly"
    )]
    NoWeights,
    /// Rows cannot be cut so.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// Rows cannot be moved so.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A thread that makes memory did not.
    #[error(
        "there is no memory, or no thread to make it, for the data of the new size; use fewer ranks on a node"
    )]
    Memory,
    /// It took too long.
    #[error(
        "data were not moved within {} ms; see whether all ranks still run, or allow more time",
        waited.as_millis()
    )]
    Late {
        /// How long it was waited for.
        waited: Duration,
    },
    /// A call failed.
    #[error(transparent)]
    Mpi(#[from] MpiError),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results with a more aligned error are moved through the stack by instructions that fault, in release builds of
    /// compilers on LLVM 22 and older (record 0022): a lost rank took all others with it.
    #[test]
    fn an_error_is_aligned_as_a_word() {
        assert_eq!(align_of::<MoveError>(), align_of::<u64>());
    }
}
