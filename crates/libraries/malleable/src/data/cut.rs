//! Partitions of rows among ranks.

use resize_plan::{Partition, PartitionError};

/// Rule that partitions rows among any number of ranks.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// Blocks of equal length.
    Even,
    /// Blocks with equal numbers of entries of the group's first sparse matrix.
    Weighted,
    /// Blocks of equal length, whose bounds are multiples of this number of rows.
    Aligned(u64),
    /// Blocks of this length, dealt round-robin.
    Cyclic(u64),
    /// Rectangles of a field; its cells are the rows.
    Blocks2d {
        /// Number of columns of the field.
        n_columns: u64,
    },
    /// Blocks whose bounds, one more than parts, this function returns for a number of rows and of parts.
    Given(fn(u64, u32) -> Vec<u64>),
}

impl Cut {
    /// Encodes the rule as its kind and its parameter; the same on all ranks, except for a parameter that a new
    /// rank does not know yet.
    pub(crate) const fn encode(self) -> [u64; 2] {
        match self {
            Self::Even => [0, 0],
            Self::Weighted => [1, 0],
            Self::Aligned(block_rows) => [2, block_rows],
            Self::Cyclic(block_rows) => [3, block_rows],
            Self::Blocks2d { n_columns } => [4, n_columns],
            Self::Given(_) => [5, 0],
        }
    }

    /// The same rule with its parameter as another rank knows it.
    pub(crate) const fn informed(self, number: u64) -> Self {
        match self {
            Self::Aligned(_) => Self::Aligned(number),
            Self::Cyclic(_) => Self::Cyclic(number),
            Self::Blocks2d { .. } => Self::Blocks2d { n_columns: number },
            Self::Even | Self::Weighted | Self::Given(_) => self,
        }
    }

    /// Returns whether each part is one block, so that the lengths of the parts define the partition.
    pub(crate) const fn is_blocks(self) -> bool {
        !matches!(self, Self::Cyclic(_) | Self::Blocks2d { .. })
    }

    /// Partitions rows into `n_parts`. The weighted partition is computed elsewhere; here it is even blocks.
    ///
    /// # Errors
    /// [`PartitionError`] if there are no parts, or the bounds are not valid.
    pub fn partition(self, n_rows: u64, n_parts: u32) -> Result<Partition, PartitionError> {
        match self {
            Self::Even | Self::Weighted => Partition::even(n_rows, n_parts),
            Self::Aligned(block_rows) => Partition::aligned(n_rows, n_parts, block_rows),
            Self::Cyclic(block_rows) => Partition::cyclic(n_rows, n_parts, block_rows),
            Self::Blocks2d { n_columns } => {
                let n_fields = n_rows.checked_div(n_columns).unwrap_or(0);
                Partition::blocks_2d(n_fields, n_columns, n_parts)
            }
            Self::Given(bounds) => Partition::given(bounds(n_rows, n_parts)),
        }
    }
}
