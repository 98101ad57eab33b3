//! Requests: transfers in the background.

use crate::MpiError;
use crate::calls::{Mpi, Status};
use crate::functions::{Handle, Handles};
use crate::pause::Pause;
use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One or several background transfers that complete together, with the memory that they use.
///
/// MPI makes progress when it is called, by any thread: most libraries do little or nothing between
/// [`test`](Self::test)s.
///
/// # Invariants
/// - The memory is returned when all transfers are complete. When the request is dropped before, the memory is
///   leaked, because the library may still read and write it.
#[must_use = "the memory is lost when the request is dropped before it is complete"]
pub struct Request<B> {
    mpi: Arc<Mpi>,
    call: &'static str,
    pending: Vec<PendingTransfer>,
    failed: Option<MpiError>,
    /// Memory in use; `None` once it is returned.
    held: Option<HeldMemory<B>>,
}

/// One transfer in progress.
#[derive(Debug)]
pub(crate) struct PendingTransfer {
    pub(crate) handle: Handle,
    /// Expected length in bytes, where it is known.
    pub(crate) n_bytes: Option<usize>,
}

/// Memory that must stay until all transfers are complete.
pub(crate) struct HeldMemory<B> {
    pub(crate) buffers: B,
    pub(crate) lists: Vec<Vec<c_int>>,
    pub(crate) handles: Vec<Handles>,
    /// Datatypes to be freed then.
    pub(crate) datatypes: Vec<Handle>,
}

impl<B> HeldMemory<B> {
    pub(crate) fn new(buffers: B) -> Self {
        Self { buffers, lists: Vec::new(), handles: Vec::new(), datatypes: Vec::new() }
    }
}

impl<B> Request<B> {
    /// Creates a request of transfers that were started, with the memory that they use.
    pub(crate) fn new(
        mpi: &Arc<Mpi>,
        call: &'static str,
        pending: Vec<PendingTransfer>,
        held: HeldMemory<B>,
    ) -> Self {
        Self { mpi: Arc::clone(mpi), call, pending, failed: None, held: Some(held) }
    }

    /// Adds a transfer, and the datatype created for it.
    pub(crate) fn add(&mut self, pending: PendingTransfer, datatype: Option<Handle>) {
        self.pending.push(pending);
        if let Some(held) = &mut self.held {
            held.datatypes.extend(datatype);
        }
    }

    /// Checks the return code of a call that starts a transfer. On failure, earlier transfers are not waited for.
    pub(crate) fn begun(&mut self, code: c_int) -> Result<(), MpiError> {
        let begun = self.mpi.check(self.call, code);
        self.failed = begun.clone().err();
        begun
    }

    /// Returns whether all transfers are complete; makes progress on all transfers of this process.
    ///
    /// # Errors
    /// When a transfer failed, or received another length than expected. The memory is leaked then.
    pub fn test(&mut self) -> Result<bool, MpiError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let looked = self.look();
        if let Err(error) = &looked {
            self.failed = Some(error.clone());
        }
        looked
    }

    fn look(&mut self) -> Result<bool, MpiError> {
        self.mpi.enter()?;
        for at in (0..self.pending.len()).rev() {
            let Some(pending) = self.pending.get_mut(at) else { break };
            let (mut flag, mut status) = (0, Status::new());
            let (request, to) = (&raw mut pending.handle, status.as_mut_ptr());
            // SAFETY: a request that was not completed before, and room for a flag and a status.
            let code = unsafe { (self.mpi.functions.test)(request, &raw mut flag, to) };
            self.mpi.check(self.call, code)?;
            if flag == 0 {
                continue;
            }
            let wanted = self.pending.swap_remove(at).n_bytes;
            let given = wanted.map(|_| self.mpi.arrival(&status)).transpose()?;
            if let (Some(wanted), Some(arrival)) = (wanted, given) {
                crate::error::wanted(self.call, arrival.n_bytes, wanted)?;
            }
        }
        Ok(self.pending.is_empty())
    }

    /// Waits until all transfers are complete, at most so long; returns whether they are. The wait yields to other
    /// threads at first, and sleeps between polls later.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait(&mut self, at_most: Duration) -> Result<bool, MpiError> {
        let mut pause = Pause::at_most(at_most);
        while !self.test()? {
            if !pause.pause(Pause::SLEEP_MAX) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until all transfers are complete, and returns the memory.
    ///
    /// # Errors
    /// [`MpiError::Late`] when they are not complete in time, and as [`test`](Self::test). The memory is leaked then:
    /// a caller that may wait again uses [`wait`](Self::wait).
    pub fn finish(mut self, at_most: Duration) -> Result<B, MpiError> {
        if self.wait(at_most)?
            && let Some(buffers) = self.give_back()
        {
            return Ok(buffers);
        }
        Err(MpiError::Late { call: self.call, waited: at_most })
    }

    /// Returns the memory of a complete request. Otherwise the memory is leaked.
    #[must_use]
    pub fn finished(mut self) -> Option<B> {
        self.give_back()
    }

    /// Returns the buffers and frees the rest, once.
    fn give_back(&mut self) -> Option<B> {
        let held = self.held.take_if(|_| self.pending.is_empty() && self.failed.is_none())?;
        for mut datatype in held.datatypes {
            // The error cannot be reported; finalizing MPI frees the datatype as well.
            self.mpi.datatypes.free_datatype(&mut datatype).unwrap_or_default();
        }
        Some(held.buffers)
    }
}

impl<B> Drop for Request<B> {
    fn drop(&mut self) {
        drop(self.give_back());
        // The library may still use what is not complete.
        std::mem::forget(self.held.take());
    }
}

impl<B> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, pending, failed, .. } = self;
        f.debug_struct("Request")
            .field("call", call)
            .field("n_open", &pending.len())
            .field("failed", failed)
            .finish_non_exhaustive()
    }
}
