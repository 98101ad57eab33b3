//! Communicators of one group of ranks.

use crate::calls::{CommHandle, Mpi};
use crate::elements::{Elements, start_of, start_of_room};
use crate::error::wanted;
use crate::functions::{text, value};
use crate::watch::watched;
use crate::{CommBase, MpiError, Number, Op, names};
use bytemuck::Pod;
use std::ffi::{c_int, c_void};
use std::ops::Deref;
use std::sync::Arc;

/// One group of ranks, which exchange messages and take part in collective operations.
///
/// ```no_run
/// use mpi::{Comm, Mpi, Op};
///
/// let world = Comm::world(&Mpi::init()?)?;
/// let mut sums = [f64::from(world.rank()), 1.0];
/// world.allreduce(Op::Sum, &mut sums)?;
/// assert_eq!(sums[1], f64::from(world.size()));
/// world.mpi().close();
/// # Ok::<(), mpi::MpiError>(())
/// ```
///
/// Messages and probes are methods of [`CommBase`]. Collective methods must be called by all ranks, in the same order
/// and with the same lengths and roots.
#[derive(Debug)]
pub struct Comm {
    base: CommBase,
}

impl Deref for Comm {
    type Target = CommBase;

    fn deref(&self) -> &CommBase {
        &self.base
    }
}

impl Comm {
    /// Returns all ranks that were launched together, in a communicator of its own; collective.
    ///
    /// # Errors
    /// When another thread owns MPI, or an MPI call fails.
    pub fn world(mpi: &Arc<Mpi>) -> Result<Self, MpiError> {
        mpi.enter()?;
        let comm = mpi.own_world()?;
        // All ranks of the world have mapped the library's shared memory.
        names::remove();
        Self::new(mpi, comm)
    }

    /// Returns this process alone, in a communicator of its own.
    ///
    /// # Errors
    /// As [`world`](Self::world).
    pub fn own_self(mpi: &Arc<Mpi>) -> Result<Self, MpiError> {
        mpi.enter()?;
        Self::new(mpi, mpi.own_self()?)
    }

    pub(crate) fn new(mpi: &Arc<Mpi>, comm: CommHandle) -> Result<Self, MpiError> {
        Ok(Self { base: CommBase::new(mpi, comm, None)? })
    }

    /// Returns a duplicate with the same ranks and separate messages.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn duplicate(&self) -> Result<Self, MpiError> {
        self.mpi.enter()?;
        Self::new(&self.mpi, CommHandle(self.mpi.duplicate(self.comm)?))
    }

    /// Splits the group: returns the ranks with the same `color` (below 2³¹), ordered by key and, for equal keys, by
    /// rank; `None` for a rank without a color.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>, MpiError> {
        self.mpi.enter()?;
        let color = color.map(|color| c_int::try_from(color).unwrap_or(c_int::MAX));
        let color = color.unwrap_or(self.mpi.constants.undefined);
        let mut part = 0;
        let split = || {
            // SAFETY: a communicator of ours, and room for a handle.
            unsafe { (self.mpi.collectives.comm_split)(self.comm, color, key, &raw mut part) }
        };
        let code = watched("MPI_Comm_split", split);
        self.mpi.check("MPI_Comm_split", code)?;
        if part == value(self.mpi.constants.comm_null)? {
            return Ok(None);
        }
        self.mpi.return_errors(part)?;
        Self::new(&self.mpi, CommHandle(part)).map(Some)
    }

    /// Frees the communicator; collective. Transfers in progress still complete.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn free(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a communicator of ours without another owner, which ends with this value.
        unsafe { self.mpi.free(CommHandle(self.comm)) }
    }
}

/// Blocking collective operations: each rank waits for the others as MPI does, by polling and without a deadline.
impl Comm {
    /// Broadcasts the elements of `root`; all ranks have equally many.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn broadcast<T: Pod>(&self, values: &mut [T], root: u32) -> Result<(), MpiError> {
        let (root, moved) = (self.peer(root)?, self.mpi.datatypes.elements::<T>(values.len())?);
        let Elements { n, datatype, .. } = moved;
        let start = start_of_room(values);
        // SAFETY: the values are `n` of the datatype, and are borrowed mutably during the call.
        let code = unsafe { (self.mpi.collectives.bcast)(start, n, datatype, root, self.comm) };
        self.mpi.check("MPI_Bcast", code)
    }

    /// Combines the numbers of all ranks elementwise; all have equally many.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn allreduce<T: Number>(&self, op: Op, values: &mut [T]) -> Result<(), MpiError> {
        self.mpi.enter()?;
        let (datatype, op) = (self.mpi.datatypes.datatype_of::<T>()?, self.operation(op)?);
        let in_place = self.mpi.constants.in_place as *const c_void;
        for piece in values.chunks_mut(self.mpi.datatypes.count_max()) {
            let n = c_int::try_from(piece.len()).unwrap_or(c_int::MAX);
            let start = start_of_room(piece);
            // SAFETY: `n` numbers of this datatype, which are borrowed mutably during the call.
            let code = unsafe {
                (self.mpi.collectives.allreduce)(in_place, start, n, datatype, op, self.comm)
            };
            self.mpi.check("MPI_Allreduce", code)?;
        }
        Ok(())
    }

    /// Gathers the elements of all ranks in rank order at `root`; all have equally many.
    ///
    /// # Errors
    /// When there is no such rank, or an MPI call fails.
    pub fn gather<T: Pod>(&self, own: &[T], root: u32) -> Result<Option<Vec<T>>, MpiError> {
        let (number, part) = (self.peer(root)?, self.mpi.datatypes.elements::<T>(own.len())?);
        let Elements { n, datatype, .. } = part;
        let is_root = root == self.rank();
        let n_all = if is_root { own.len() * self.size() as usize } else { 0 };
        let mut all = vec![T::zeroed(); n_all];
        let (from, to) = (start_of(own), start_of_room(&mut all));
        // SAFETY: this rank has `n` elements of the datatype; the root has room for as many from each rank.
        let code = unsafe {
            (self.mpi.collectives.gather)(from, n, datatype, to, n, datatype, number, self.comm)
        };
        self.mpi.check("MPI_Gather", code)?;
        Ok(is_root.then_some(all))
    }

    /// Gathers the elements of all ranks in rank order on all ranks; all have equally many.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn allgather<T: Pod>(&self, own: &[T]) -> Result<Vec<T>, MpiError> {
        self.mpi.enter()?;
        let part = self.mpi.datatypes.elements::<T>(own.len())?;
        let Elements { n, datatype, .. } = part;
        let mut all = vec![T::zeroed(); own.len() * self.size() as usize];
        let (from, to) = (start_of(own), start_of_room(&mut all));
        // SAFETY: this rank has `n` elements of the datatype, and there is room for as many from each rank.
        let code = unsafe {
            (self.mpi.collectives.allgather)(from, n, datatype, to, n, datatype, self.comm)
        };
        self.mpi.check("MPI_Allgather", code)?;
        Ok(all)
    }

    /// Gathers the elements of all ranks in rank order on all ranks; `counts`, equal on all, has the number of each
    /// rank.
    ///
    /// # Errors
    /// When the lengths of `own` and `all` do not match `counts`, or an MPI call fails.
    pub fn allgather_rows<T: Pod>(
        &self,
        own: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<(), MpiError> {
        const CALL: &str = "MPI_Allgatherv";
        self.mpi.enter()?;
        wanted(CALL, counts.len(), self.size() as usize)?;
        wanted(CALL, own.len(), counts[self.rank() as usize])?;
        let n_all: usize = counts.iter().sum();
        wanted(CALL, all.len(), n_all)?;
        if self.mpi.datatypes.count_max() < n_all {
            return self.allgather_by_turns(own, counts, all);
        }
        let number = |n: usize| c_int::try_from(n).unwrap_or(c_int::MAX);
        let lengths: Vec<c_int> = counts.iter().map(|n| number(*n)).collect();
        let ends = counts.iter().scan(0, |end, n| {
            *end += n;
            Some(number(*end - n))
        });
        let starts: Vec<c_int> = ends.collect();
        let (from, n, datatype) = (
            start_of(own),
            number(own.len()),
            self.mpi.datatypes.datatype_of_width(size_of::<T>())?,
        );
        let (to, lengths, starts) = (start_of_room(all), lengths.as_ptr(), starts.as_ptr());
        let gather = self.mpi.collectives.allgatherv;
        // SAFETY: this rank has `n` elements, there is room for those of all ranks, and both lists have an entry for
        // each rank.
        let code = unsafe { gather(from, n, datatype, to, lengths, starts, datatype, self.comm) };
        self.mpi.check(CALL, code)
    }

    /// Does the same for more elements than MPI can count, by a broadcast from each rank.
    fn allgather_by_turns<T: Pod>(
        &self,
        own: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<(), MpiError> {
        let mut rest = all;
        for (root, n) in (0..).zip(counts) {
            let (part, behind) = rest.split_at_mut(*n);
            if root == self.rank() {
                part.copy_from_slice(own);
            }
            self.broadcast(part, root)?;
            rest = behind;
        }
        Ok(())
    }

    pub(crate) fn operation(&self, op: Op) -> Result<usize, MpiError> {
        let constants = self.mpi.constants;
        value(match op {
            Op::Sum => constants.sum,
            Op::Min => constants.min,
            Op::Max => constants.max,
        })
    }
}

impl Mpi {
    /// Returns the name of the node that this process runs on.
    #[must_use]
    pub fn processor_name(&self) -> String {
        text(|bytes, n_bytes| {
            // SAFETY: room for the longest text of any library, and for its length.
            unsafe { (self.functions.get_processor_name)(bytes, n_bytes) }
        })
    }
}
