//! State of a program, registered by data class.
//!
//! | | replicated: every rank has all of it | distributed: each rank has its rows |
//! |---|---|---|
//! | constant | [`Data::constant`], [`Data::constant_list`] | [`Data::constant_rows`], [`Data::constant_csr`] |
//! | variable | [`Data::variable`], [`Data::variable_list`] | [`Data::rows`], [`Data::uneven_rows`] |
//!
//! Constant data move while the program computes, variable data while it stands still (I. Martín-Álvarez, M. I.
//! Castillo, J. I. Aliaga, D. Andrade, "Incorporación de la maleabilidad en un método iterativo", table of data
//! classes).
//!
//! # Invariants
//! - Registered data are read before a resize, and written only when the resize is certain.

mod slot;

use crate::Csr;
use bytemuck::Pod;
use mpi::{Comm, MpiError};
use resize_plan::{Partition, PartitionError};
use slot::{Own, SharedArray, Single};
use std::sync::Arc;

pub use slot::{Allocate, Memory, ReplicatedBytes, RowLengths, SharedBuffer, Slot, StableBytes};

/// State of a program; every rank holds a part of it.
pub trait State {
    /// Registers the objects of the state: always the same ones in the same order, on every rank, including new ranks
    /// that hold nothing yet.
    fn data<'a>(&'a mut self, data: &mut Data<'a>);

    /// Makes what depends on the present ranks: communicators derived from `comm`, windows, files, lists of neighbors,
    /// ghost cells. All present ranks call it together, with their data: at the first resize point of the program, and
    /// after every resize, new ranks too. So nothing of it need be made before the loop.
    ///
    /// # Errors
    /// If MPI fails: the program then ends.
    fn size_begins(&mut self, comm: &Comm) -> Result<(), MpiError> {
        let _ranks = comm;
        Ok(())
    }

    /// Frees what [`size_begins`](Self::size_begins) made. All ranks call it together before a resize, also those that
    /// leave: MPI keeps a process that has left until its windows and files are freed. Not called at the end of the
    /// program.
    ///
    /// # Errors
    /// If MPI fails: the program then ends.
    fn size_ends(&mut self, comm: &Comm) -> Result<(), MpiError> {
        let _ranks = comm;
        Ok(())
    }

    /// Writes rows that are structures of the program, such as lists or trees, into registered arrays, for which
    /// [`Data::uneven_rows`] has room. Called before variable data are read: for a resize, and for a checkpoint.
    fn pack(&mut self) {}

    /// Makes the structures of the program from the registered arrays, after they have arrived.
    fn unpack(&mut self) {}
}

/// Registered objects. Names are for messages and records.
#[derive(Default)]
pub struct Data<'a> {
    pub(crate) replicated: Vec<Replicated<'a>>,
    pub(crate) groups: Vec<PartitionGroup<'a>>,
}

/// Whether data change between iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Data that never change.
    Constant,
    /// Data that may change.
    Variable,
}

/// Object of which every rank holds all.
pub(crate) struct Replicated<'a> {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) words: Box<dyn ReplicatedBytes + 'a>,
}

/// Objects whose rows are partitioned in the same way.
pub(crate) struct PartitionGroup<'a> {
    pub(crate) n_rows: u64,
    pub(crate) cut: Cut,
    pub(crate) objects: Vec<DistributedObject<'a>>,
}

/// Object of which each rank holds its rows.
pub(crate) struct DistributedObject<'a> {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) rows: Rows<'a>,
}

/// Layout of an object's rows in arrays.
pub(crate) enum Rows<'a> {
    /// One array, with `n_per_row` elements for each row.
    Even { n_per_row: usize, array: Box<dyn Slot + 'a> },
    /// Lengths of the rows, and arrays with that many elements per row.
    Uneven { lengths: Box<dyn RowLengths + 'a>, arrays: Vec<Box<dyn Slot + 'a>> },
}

impl<'a> Data<'a> {
    /// Lets a state register its objects.
    pub fn of(state: &'a mut impl State) -> Self {
        let mut data = Self::default();
        state.data(&mut data);
        data
    }

    /// Registers a constant that every rank has.
    pub fn constant<T: Pod>(&mut self, name: &'static str, value: &'a mut T) {
        self.foreign_words(name, Class::Constant, Box::new(Single(value)));
    }

    /// Registers a variable that has the same value on every rank.
    pub fn variable<T: Pod>(&mut self, name: &'static str, value: &'a mut T) {
        self.foreign_words(name, Class::Variable, Box::new(Single(value)));
    }

    /// Registers a list of constants that every rank has.
    pub fn constant_list<T: Pod>(&mut self, name: &'static str, list: &'a mut Vec<T>) {
        self.foreign_words(name, Class::Constant, Box::new(list));
    }

    /// Registers a list of variables that are the same on every rank. Its length may change.
    pub fn variable_list<T: Pod>(&mut self, name: &'static str, list: &'a mut Vec<T>) {
        self.foreign_words(name, Class::Variable, Box::new(list));
    }

    /// Begins a group of objects of `n_rows` rows, which are registered next, and sets how these are partitioned. A new
    /// rank need not know `n_rows`.
    pub fn rows_of(&mut self, n_rows: u64, cut: Cut) {
        self.groups.push(PartitionGroup { n_rows, cut, objects: Vec::new() });
    }

    /// Registers the rows of a constant sparse matrix.
    pub fn constant_csr<T: Pod + Send + Sync, C: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        csr: &'a mut Csr<T, C>,
    ) {
        let (columns, values) = (SharedArray(&mut csr.columns), SharedArray(&mut csr.values));
        let lengths = Box::new(SharedArray(&mut csr.lengths));
        let arrays: Vec<Box<dyn Slot + 'a>> = vec![Box::new(columns), Box::new(values)];
        self.foreign_uneven(name, Class::Constant, lengths, arrays);
    }

    /// Registers a constant array with one element for each row.
    pub fn constant_rows<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        rows: &'a mut Arc<[T]>,
    ) {
        self.constant_rows_wide(name, 1, rows);
    }

    /// Registers a constant array with `n_per_row` elements for each row.
    pub fn constant_rows_wide<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        n_per_row: usize,
        rows: &'a mut Arc<[T]>,
    ) {
        let array = Box::new(SharedArray(rows));
        self.object(name, Class::Constant, Rows::Even { n_per_row, array });
    }

    /// Registers a variable array with one element for each row.
    pub fn rows<T: Pod + Send + Sync>(&mut self, name: &'static str, rows: &'a mut Vec<T>) {
        self.rows_wide(name, 1, rows);
    }

    /// Registers a variable array with `n_per_row` elements for each row.
    pub fn rows_wide<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        n_per_row: usize,
        rows: &'a mut Vec<T>,
    ) {
        let array = Box::new(Own::of(rows));
        self.object(name, Class::Variable, Rows::Even { n_per_row, array });
    }

    /// Registers a variable array whose rows have different numbers of elements, such as the particles of cells:
    /// `lengths` has the number of each row, of all rows of this rank. Both may change in every iteration.
    pub fn uneven_rows<T: Pod + Send + Sync>(
        &mut self,
        name: &'static str,
        lengths: &'a mut Vec<u32>,
        elements: &'a mut Vec<T>,
    ) {
        let (lengths, elements) = (Box::new(Own::of(lengths)), Box::new(Own::of(elements)));
        self.foreign_uneven(name, Class::Variable, lengths, vec![elements]);
    }

    /// Registers a replicated object in memory of another language.
    pub fn foreign_words(
        &mut self,
        name: &'static str,
        class: Class,
        words: Box<dyn ReplicatedBytes + 'a>,
    ) {
        self.replicated.push(Replicated { name, class, words });
    }

    /// Registers an array with one element for each row, in memory of another language.
    pub fn foreign_rows(&mut self, name: &'static str, class: Class, array: Box<dyn Slot + 'a>) {
        self.object(name, class, Rows::Even { n_per_row: 1, array });
    }

    /// Registers rows of different lengths, with one element in each of the arrays for every entry, in memory of another
    /// language.
    pub fn foreign_uneven(
        &mut self,
        name: &'static str,
        class: Class,
        lengths: Box<dyn RowLengths + 'a>,
        arrays: Vec<Box<dyn Slot + 'a>>,
    ) {
        self.object(name, class, Rows::Uneven { lengths, arrays });
    }

    fn object(&mut self, name: &'static str, class: Class, rows: Rows<'a>) {
        // Rows outside any group get a group of 0 rows, which is refused when they are moved.
        if self.groups.is_empty() {
            self.rows_of(0, Cut::Even);
        }
        if let Some(group) = self.groups.last_mut() {
            group.objects.push(DistributedObject { name, class, rows });
        }
    }
}

/// Rule that partitions rows among any number of ranks.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// Blocks of equal length.
    Even,
    /// Blocks with equal numbers of entries of the group's first object with rows of different lengths.
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
    /// Cuboids of a body; its cells are the rows.
    Blocks3d {
        /// Number of rows of each plane.
        n_rows: u32,
        /// Number of columns.
        n_columns: u32,
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
            Self::Blocks3d { n_rows, n_columns } => [6, (n_rows as u64) << 32 | n_columns as u64],
        }
    }

    /// The same rule with its parameter as another rank knows it.
    pub(crate) const fn informed(self, number: u64) -> Self {
        match self {
            Self::Aligned(_) => Self::Aligned(number),
            Self::Cyclic(_) => Self::Cyclic(number),
            Self::Blocks2d { .. } => Self::Blocks2d { n_columns: number },
            Self::Blocks3d { .. } => Self::plane(number),
            Self::Even | Self::Weighted | Self::Given(_) => self,
        }
    }

    /// Cuboids of a body whose planes this parameter describes.
    #[expect(clippy::cast_possible_truncation, reason = "each half of the parameter is a number")]
    const fn plane(number: u64) -> Self {
        Self::Blocks3d { n_rows: (number >> 32) as u32, n_columns: number as u32 }
    }

    /// Returns whether each part is one block, so that the lengths of the parts define the partition.
    #[must_use]
    pub const fn is_blocks(self) -> bool {
        !matches!(self, Self::Cyclic(_) | Self::Blocks2d { .. } | Self::Blocks3d { .. })
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
            Self::Blocks3d { n_rows: lines, n_columns } => {
                let n_planes = n_rows.checked_div(u64::from(lines) * u64::from(n_columns));
                let extents = [n_planes.unwrap_or(0), lines.into(), n_columns.into()];
                Partition::blocks_3d(extents, n_parts)
            }
            Self::Given(bounds) => Partition::given(bounds(n_rows, n_parts)),
        }
    }
}
