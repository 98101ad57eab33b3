//! Transfers in the background.

use crate::calls::Mpi;
use crate::functions::Handle;
use crate::message::Status;
use crate::pause::Pause;
use crate::{MpiError, elements::Handles};
use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A transfer in the background, or several that are waited for together, with the memory that they use.
///
/// MPI moves on when it is called, by whomever: most libraries do little or nothing between [`test`](Self::test)s.
///
/// # Invariants
/// - The memory is given back when all is complete. Who drops the request before loses the memory for good, since the
///   library may still read and write it.
#[must_use = "the memory is lost when the request is dropped before it is complete"]
pub struct Request<B> {
    mpi: Arc<Mpi>,
    call: &'static str,
    open: Vec<Open>,
    failed: Option<MpiError>,
    /// Until it is given back.
    kept: Option<Kept<B>>,
}

/// One transfer under way.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) handle: Handle,
    /// The length that is to be received, where that is known.
    pub(crate) n_bytes: Option<usize>,
}

/// What must stay until all is complete.
pub(crate) struct Kept<B> {
    pub(crate) buffers: B,
    pub(crate) lists: Vec<Vec<c_int>>,
    pub(crate) handles: Vec<Handles>,
    /// To be freed then.
    pub(crate) datatypes: Vec<Handle>,
}

impl<B> Kept<B> {
    pub(crate) fn new(buffers: B) -> Self {
        Self { buffers, lists: Vec::new(), handles: Vec::new(), datatypes: Vec::new() }
    }
}

impl<B> Request<B> {
    /// Of transfers that were begun, with what they use.
    pub(crate) fn new(mpi: &Arc<Mpi>, call: &'static str, open: Vec<Open>, kept: Kept<B>) -> Self {
        Self { mpi: Arc::clone(mpi), call, open, failed: None, kept: Some(kept) }
    }

    /// Adds a transfer, and the datatype made for it.
    pub(crate) fn add(&mut self, open: Open, datatype: Option<Handle>) {
        self.open.push(open);
        if let Some(kept) = &mut self.kept {
            kept.datatypes.extend(datatype);
        }
    }

    /// Whether the call that begins a transfer succeeded. If not, what was begun before is not waited for.
    pub(crate) fn begun(&mut self, code: c_int) -> Result<(), MpiError> {
        let begun = self.mpi.check(self.call, code);
        self.failed = begun.clone().err();
        begun
    }

    /// Whether all is complete; moves on what is under way in this process.
    ///
    /// # Errors
    /// When a transfer failed, or received another length than there was room for. The memory is lost then.
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
        for at in (0..self.open.len()).rev() {
            let Some(open) = self.open.get_mut(at) else { break };
            let (mut flag, mut status) = (0, Status::new());
            let (request, to) = (&raw mut open.handle, status.as_mut_ptr());
            // SAFETY: a request that was not completed before, and room for a flag and a status.
            let code = unsafe { (self.mpi.functions.test)(request, &raw mut flag, to) };
            self.mpi.check(self.call, code)?;
            if flag == 0 {
                continue;
            }
            let wanted = self.open.swap_remove(at).n_bytes;
            let given = wanted.map(|_| self.mpi.arrival(&status)).transpose()?;
            if let (Some(wanted), Some(arrival)) = (wanted, given) {
                crate::error::wanted(self.call, arrival.n_bytes, wanted)?;
            }
        }
        Ok(self.open.is_empty())
    }

    /// Waits until all is complete, at most so long; whether it is. It gives way to others, and then sleeps between
    /// looks.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait(&mut self, at_most: Duration) -> Result<bool, MpiError> {
        let mut pause = Pause::at_most(at_most);
        while !self.test()? {
            if !pause.pause() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until all is complete, and gives the memory back.
    ///
    /// # Errors
    /// [`MpiError::Late`] when it is not complete in time, and as [`test`](Self::test). The memory is lost then: who
    /// wants to wait further calls [`wait`](Self::wait).
    pub fn finish(mut self, at_most: Duration) -> Result<B, MpiError> {
        if self.wait(at_most)?
            && let Some(buffers) = self.give_back()
        {
            return Ok(buffers);
        }
        Err(MpiError::Late { call: self.call, waited: at_most })
    }

    /// The memory of a request that is complete. When it is not, the memory is lost.
    #[must_use]
    pub fn finished(mut self) -> Option<B> {
        self.give_back()
    }

    /// Frees what is needed no more, once.
    fn give_back(&mut self) -> Option<B> {
        let kept = self.kept.take_if(|_| self.open.is_empty() && self.failed.is_none())?;
        for mut datatype in kept.datatypes {
            // There is nobody to tell; the end of MPI frees it as well.
            self.mpi.free_datatype(&mut datatype).unwrap_or_default();
        }
        Some(kept.buffers)
    }
}

impl<B> Drop for Request<B> {
    fn drop(&mut self) {
        drop(self.give_back());
        // The library may still use what is not complete.
        std::mem::forget(self.kept.take());
    }
}

impl<B> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, open, failed, .. } = self;
        f.debug_struct("Request")
            .field("call", call)
            .field("n_open", &open.len())
            .field("failed", failed)
            .finish_non_exhaustive()
    }
}
