//! Messages of bytes, for who looks after lines and buffers itself.
//!
//! # Not here
//! Messages of numbers, with communicators that know their ranks: [`Comm`](crate::Comm).

use super::{Line, Mpi};
use crate::MpiError;
use crate::functions::Handle;
use crate::message::{Arrival, Status};
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

/// A rank that can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// By which it is reached.
    pub line: Line,
    /// Its number there.
    pub rank: u32,
}

/// A message that waits to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its sender.
    pub from: Address,
    /// Its tag.
    pub tag: u16,
    /// Its length.
    pub n_bytes: usize,
}

/// A message on its way, with its buffer.
///
/// When it is dropped on the way, the buffer stays allocated for good: the library may still use it.
#[derive(Debug)]
pub struct Transfer {
    request: Handle,
    bytes: ManuallyDrop<Vec<u8>>,
    n_bytes: usize,
    is_done: bool,
}

impl Transfer {
    /// Gives the buffer back when the transfer is complete.
    #[must_use]
    pub fn finished(mut self) -> Option<Vec<u8>> {
        if !self.is_done {
            return None;
        }
        let mut bytes = std::mem::take(&mut *self.bytes);
        // SAFETY: of the bytes that are sent all are there; those that are received have room, and were
        // written now that the transfer is complete.
        unsafe { bytes.set_len(self.n_bytes) };
        Some(bytes)
    }

    /// Its length.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

impl Mpi {
    /// Starts to send `bytes`.
    ///
    /// # Errors
    /// When the library refuses, or the other rank is gone.
    pub fn send(&self, bytes: Vec<u8>, to: Address, tag: u16) -> Result<Transfer, MpiError> {
        let n = bytes.len();
        let n_bytes = length(n)?;
        let (rank, tag) = (c_int::try_from(to.rank).unwrap_or(c_int::MAX), c_int::from(tag));
        let bytes = ManuallyDrop::new(bytes);
        let mut request: Handle = 0;
        let start = bytes.as_ptr().cast();
        // SAFETY: the buffer has `n_bytes`, and lives until the transfer is complete.
        let code = unsafe {
            (self.functions.isend)(
                start,
                n_bytes,
                self.byte,
                rank,
                tag,
                to.line.0,
                &raw mut request,
            )
        };
        self.check("MPI_Isend", code)?;
        Ok(Transfer { request, bytes, n_bytes: n, is_done: false })
    }

    /// Starts to receive the message that was found, into `bytes`.
    ///
    /// # Errors
    /// When the library refuses, or the other rank is gone.
    pub fn receive(&self, mut bytes: Vec<u8>, found: Found) -> Result<Transfer, MpiError> {
        bytes.clear();
        bytes.reserve(found.n_bytes);
        let n_bytes = length(found.n_bytes)?;
        let (rank, tag) = (c_int::try_from(found.from.rank).unwrap_or(0), c_int::from(found.tag));
        let mut bytes = ManuallyDrop::new(bytes);
        let mut request: Handle = 0;
        let (start, comm) = (bytes.as_mut_ptr().cast(), found.from.line.0);
        // SAFETY: the buffer has room for `n_bytes`, and lives until the transfer is complete.
        let code = unsafe {
            (self.functions.irecv)(start, n_bytes, self.byte, rank, tag, comm, &raw mut request)
        };
        self.check("MPI_Irecv", code)?;
        Ok(Transfer { request, bytes, n_bytes: found.n_bytes, is_done: false })
    }

    /// Receives the message that was found, which should be so short that it has arrived as a whole.
    ///
    /// # Errors
    /// When the library refuses, or the other rank is gone.
    pub fn receive_now(&self, into: &mut Vec<u8>, found: Found) -> Result<(), MpiError> {
        into.clear();
        into.reserve(found.n_bytes);
        let n_bytes = length(found.n_bytes)?;
        let (rank, tag) = (c_int::try_from(found.from.rank).unwrap_or(0), c_int::from(found.tag));
        let ignored = self.constants.status_ignore as *mut c_void;
        let (start, comm) = (into.as_mut_ptr().cast(), found.from.line.0);
        // SAFETY: there is room for `n_bytes`.
        let code =
            unsafe { (self.functions.recv)(start, n_bytes, self.byte, rank, tag, comm, ignored) };
        self.check("MPI_Recv", code)?;
        // SAFETY: there is room, and the message that was found had this length and was written there.
        unsafe { into.set_len(found.n_bytes) };
        Ok(())
    }

    /// Whether a transfer is complete; looks after all others of the process too.
    ///
    /// # Errors
    /// When the library refuses, or the other rank is gone.
    pub fn is_complete(&self, transfer: &mut Transfer) -> Result<bool, MpiError> {
        if !transfer.is_done {
            let mut flag = 0;
            let ignored = self.constants.status_ignore as *mut c_void;
            // SAFETY: a request that was not completed before, and room for a flag.
            let code =
                unsafe { (self.functions.test)(&raw mut transfer.request, &raw mut flag, ignored) };
            self.check("MPI_Test", code)?;
            transfer.is_done = flag != 0;
        }
        Ok(transfer.is_done)
    }

    /// A message that waits to be received from this line.
    ///
    /// # Errors
    /// When the library refuses, or a rank is gone.
    pub fn probe(&self, line: Line) -> Result<Option<Found>, MpiError> {
        let source = self.constants.any_source;
        let (mut flag, mut status) = (0, Status::new());
        let (any_tag, to) = (self.constants.any_tag, status.as_mut_ptr());
        // SAFETY: a communicator of ours, and room for a flag and a status.
        let code = unsafe { (self.functions.iprobe)(source, any_tag, line.0, &raw mut flag, to) };
        self.check("MPI_Iprobe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        let Arrival { from, tag, n_bytes } = self.arrival(&status)?;
        Ok(Some(Found { from: Address { line, rank: from }, tag, n_bytes }))
    }
}

fn length(n_bytes: usize) -> Result<c_int, MpiError> {
    c_int::try_from(n_bytes).map_err(|_| MpiError::TooLong { n_bytes })
}
