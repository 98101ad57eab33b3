//! How rows are divided among the ranks.

use resizing::{Partition, PartitionError};

/// How rows are divided among any number of ranks.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// In blocks of equal length.
    Even,
    /// In blocks of as many entries of the group's first sparse matrix.
    Weighted,
    /// In blocks of equal length, whose bounds are multiples of this.
    Aligned(u64),
    /// In blocks of this length, dealt in turns.
    Cyclic(u64),
    /// Rows are the cells of a field with so many columns, which is cut into rectangles.
    Blocks2d {
        /// Columns of the field.
        n_columns: u64,
    },
    /// In blocks whose bounds, one more than parts, this function gives for a number of rows and one of parts.
    Given(fn(u64, u32) -> Vec<u64>),
}

impl Cut {
    /// A number for each kind, and what goes with it: the same on all ranks, but what a new one does not know yet.
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

    /// This cut, with what goes with it as another rank knows it.
    pub(crate) const fn informed(self, number: u64) -> Self {
        match self {
            Self::Aligned(_) => Self::Aligned(number),
            Self::Cyclic(_) => Self::Cyclic(number),
            Self::Blocks2d { .. } => Self::Blocks2d { n_columns: number },
            Self::Even | Self::Weighted | Self::Given(_) => self,
        }
    }

    /// Whether each part is one block, so that the lengths of the parts say it all.
    pub(crate) const fn is_blocks(self) -> bool {
        !matches!(self, Self::Cyclic(_) | Self::Blocks2d { .. })
    }

    /// The partition into `n_parts`. Where rows have weights, it is known elsewhere, and these are even blocks.
    ///
    /// # Errors
    /// [`PartitionError`] where there are no parts, or bounds are none.
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
