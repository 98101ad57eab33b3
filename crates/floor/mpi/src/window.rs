//! Windows: memory that other ranks read by one-sided operations.
//!
//! A rank exposes data, and other ranks read them when they need them. Where the library reads another process's
//! memory directly, the exposing rank continues to compute undisturbed.
//!
//! # Invariants
//! - Exposed memory lives as long as the window, and memory read into as long as the [`Fetch`].

use crate::calls::Mpi;
use crate::elements::count;
use crate::error::within;
use crate::functions::{Handle, value};
use crate::memory::{Memory, SharedBuffer};
use crate::request::keep_open;
use crate::{Comm, MpiError};
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Memory of all ranks of a communicator, which all of them may read.
///
/// When it is dropped without being closed, its memory is leaked.
pub struct Window {
    mpi: Arc<Mpi>,
    window: Handle,
    exposed: ManuallyDrop<Option<SharedBuffer>>,
    /// Number of bytes that each rank exposes.
    n_bytes: Vec<usize>,
}

/// Reads from a window, in progress.
///
/// When it is dropped before it is complete, its memory is leaked.
pub struct Fetch {
    mpi: Arc<Mpi>,
    memory: ManuallyDrop<Box<dyn Memory>>,
    requests: Vec<Handle>,
}

impl Window {
    /// Exposes bytes, or nothing; collective.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn expose(comm: &Comm, exposed: Option<SharedBuffer>) -> Result<Self, MpiError> {
        let bytes = exposed.as_ref().map_or(&[][..], |lent| (**lent).as_ref());
        let n_bytes = comm.allgather(&[bytes.len()])?;
        let mpi = Arc::clone(comm.mpi());
        let info = value(mpi.constants.info_null)?;
        let start = if bytes.is_empty() { 0 } else { bytes.as_ptr() as usize };
        let (length, mut window) = (bytes.len().cast_signed(), 0);
        let create = mpi.exchanges.win_create;
        // SAFETY: bytes that the window keeps and that nothing changes; the window is not written to either, only read.
        let code =
            unsafe { create(start as *mut _, length, 1, info, comm.handle(), &raw mut window) };
        mpi.check("MPI_Win_create", code)?;
        let exposed = ManuallyDrop::new(exposed);
        let window = Self { mpi, window, exposed, n_bytes };
        window.lock()?;
        Ok(window)
    }

    fn lock(&self) -> Result<(), MpiError> {
        let handler = value(self.mpi.constants.errors_return)?;
        // SAFETY: a window of ours and a predefined error handler.
        let code = unsafe { (self.mpi.exchanges.win_set_errhandler)(self.window, handler) };
        self.mpi.check("MPI_Win_set_errhandler", code)?;
        // SAFETY: a window of ours, which is locked once.
        let code = unsafe { (self.mpi.exchanges.win_lock_all)(0, self.window) };
        self.mpi.check("MPI_Win_lock_all", code)
    }

    /// Starts to read `n_bytes` of rank `from` at its offset `there` into offset `here` of the fetch's memory
    /// (`MPI_Rget`).
    ///
    /// # Errors
    /// When there is no such rank, a range exceeds its memory, or an MPI call fails.
    pub fn get(
        &self,
        fetch: &mut Fetch,
        here: usize,
        (from, there): (u32, usize),
        n_bytes: usize,
    ) -> Result<(), MpiError> {
        self.mpi.enter()?;
        let n_ranks = u32::try_from(self.n_bytes.len()).unwrap_or(u32::MAX);
        let exposed = self.n_bytes.get(from as usize).copied();
        let exposed = exposed.ok_or(MpiError::NoRank { rank: from, n_ranks })?;
        within("MPI_Rget", (there, n_bytes), exposed)?;
        let bytes = (**fetch.memory).as_mut();
        within("MPI_Rget", (here, n_bytes), bytes.len())?;
        let to = bytes[here..].as_mut_ptr().cast();
        let rank = c_int::try_from(from).unwrap_or(c_int::MAX);
        let (n, byte, there) = (count(n_bytes)?, self.mpi.datatypes.byte, there.cast_signed());
        let mut request = 0;
        let get = self.mpi.exchanges.rget;
        // SAFETY: this many bytes are exposed there, and there is room for them here as long as the fetch lives.
        let code = unsafe { get(to, n, byte, rank, there, n, byte, self.window, &raw mut request) };
        self.mpi.check("MPI_Rget", code)?;
        fetch.requests.push(request);
        Ok(())
    }

    /// Ends the window, when no rank reads from it any more; collective.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn close(mut self) -> Result<(), MpiError> {
        self.mpi.enter()?;
        // SAFETY: a window of ours, which was locked.
        let code = unsafe { (self.mpi.exchanges.win_unlock_all)(self.window) };
        self.mpi.check("MPI_Win_unlock_all", code)?;
        // SAFETY: a window of ours, which ends with this value.
        let code = unsafe { (self.mpi.exchanges.win_free)(&raw mut self.window) };
        self.mpi.check("MPI_Win_free", code)?;
        drop(self.exposed.take());
        Ok(())
    }
}

impl Fetch {
    /// Creates a fetch into this memory, without reads.
    #[must_use]
    pub fn into(mpi: &Arc<Mpi>, memory: Box<dyn Memory>) -> Self {
        Self { mpi: Arc::clone(mpi), memory: ManuallyDrop::new(memory), requests: Vec::new() }
    }

    /// Returns whether all reads are complete.
    ///
    /// # Errors
    /// When an MPI call fails.
    pub fn is_complete(&mut self) -> Result<bool, MpiError> {
        keep_open(&self.mpi, &mut self.requests, |request| request)
    }

    /// Returns the number of reads that were not complete at the last test.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.requests.len()
    }

    /// Returns the memory, if the fetch [is complete](Self::is_complete).
    #[must_use]
    pub fn finished(self) -> Option<Box<dyn Memory>> {
        let memory = ManuallyDrop::into_inner(self.memory);
        if self.requests.is_empty() {
            return Some(memory);
        }
        std::mem::forget(memory);
        None
    }
}
