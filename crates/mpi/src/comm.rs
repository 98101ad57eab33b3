//! The ranks of one group.

mod collective;

use crate::calls::{Line, Mpi, text, value};
use crate::watch::watched;
use crate::{Channel, MpiError, names};
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::Arc;

/// The ranks of one group, which send each other messages and do things together.
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
/// Messages and probes are methods of [`Channel`]. What all ranks do together all of them call, in the same order, and
/// with the same lengths and roots.
#[derive(Debug)]
pub struct Comm {
    channel: Channel,
}

impl Deref for Comm {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

impl Comm {
    /// All that were launched together, who all call this, in a communicator of our own.
    ///
    /// # Errors
    /// When another thread began MPI for itself, or the library refuses.
    pub fn world(mpi: &Arc<Mpi>) -> Result<Self, MpiError> {
        mpi.enter()?;
        let line = mpi.own_world()?;
        // All of the world have mapped what the library shares.
        names::remove();
        Self::new(mpi, line)
    }

    /// This process alone, in a communicator of our own.
    ///
    /// # Errors
    /// As [`world`](Self::world).
    pub fn own_self(mpi: &Arc<Mpi>) -> Result<Self, MpiError> {
        mpi.enter()?;
        Self::new(mpi, mpi.own_self()?)
    }

    pub(crate) fn new(mpi: &Arc<Mpi>, line: Line) -> Result<Self, MpiError> {
        Ok(Self { channel: Channel::new(mpi, line, None)? })
    }

    /// The same ranks once more, whose messages do not meet those of this communicator.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn duplicate(&self) -> Result<Self, MpiError> {
        self.mpi.enter()?;
        Self::new(&self.mpi, Line(self.mpi.duplicate(self.comm)?))
    }

    /// The ranks that say the same `color` (below 2³¹), in the order of their keys, and of their numbers where these
    /// are equal; none for who says none.
    ///
    /// # Errors
    /// When the library refuses.
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

    /// The ranks on the node of this one.
    ///
    /// # Errors
    /// When the library refuses.
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
        Self::new(&self.mpi, Line(part))
    }

    fn part(&self, part: usize) -> Result<Option<Self>, MpiError> {
        if part == value(self.mpi.constants.comm_null)? {
            return Ok(None);
        }
        self.mpi.return_errors(part)?;
        Self::new(&self.mpi, Line(part)).map(Some)
    }

    /// Gives the communicator back, together with its other ranks. Transfers under way still come to their end.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn free(self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a communicator of ours, which nobody else has, and which ends with this value.
        unsafe { self.mpi.free(Line(self.comm)) }
    }
}

impl Mpi {
    /// The name of the node that this process runs on.
    #[must_use]
    pub fn processor_name(&self) -> String {
        text(|bytes, n_bytes| {
            // SAFETY: room for the longest text of any library, and for its length.
            unsafe { (self.functions.get_processor_name)(bytes, n_bytes) }
        })
    }
}
