//! Communicators of one group of ranks.

mod collective;

use crate::calls::{CommHandle, Mpi};
use crate::functions::{text, value};
use crate::watch::watched;
use crate::{CommBase, MpiError, names};
use std::ffi::c_int;
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
        self.part(part)
    }

    /// Returns the ranks on the same node as this one.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn split_by_node(&self) -> Result<Self, MpiError> {
        self.mpi.enter()?;
        let kind = self.mpi.constants.comm_type_shared;
        let info = value(self.mpi.constants.info_null)?;
        let mut part = 0;
        let split = || {
            // SAFETY: a communicator of ours, and room for a handle.
            unsafe {
                (self.mpi.collectives.comm_split_type)(self.comm, kind, 0, info, &raw mut part)
            }
        };
        let code = watched("MPI_Comm_split_type", split);
        self.mpi.check("MPI_Comm_split_type", code)?;
        self.mpi.return_errors(part)?;
        Self::new(&self.mpi, CommHandle(part))
    }

    fn part(&self, part: usize) -> Result<Option<Self>, MpiError> {
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
