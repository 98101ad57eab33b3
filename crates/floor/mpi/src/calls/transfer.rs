//! Messages of bytes, for callers that manage communicators and buffers themselves.
//!
//! # Not here
//! Messages of typed elements, with communicators that know their ranks: [`Comm`](crate::Comm).

use super::{ArrivedMessage, CommHandle, Mpi, Status};
use crate::MpiError;
use crate::functions::Handle;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

/// Address of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Communicator on which the rank is reached.
    pub comm: CommHandle,
    /// Rank in that communicator.
    pub rank: u32,
}

/// A message that can be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundMessage {
    /// Address of its sender.
    pub from: Address,
    /// Its tag.
    pub tag: u16,
    /// Length, in bytes.
    pub n_bytes: usize,
}

/// A message in transit, with its buffer.
///
/// When it is dropped before it is complete, the buffer is leaked, because the library may still use it.
#[derive(Debug)]
pub struct Transfer {
    request: Handle,
    bytes: ManuallyDrop<Vec<u8>>,
    n_bytes: usize,
    is_done: bool,
}

impl Transfer {
    /// Returns the buffer, if the transfer is complete.
    #[must_use]
    pub fn finished(mut self) -> Option<Vec<u8>> {
        if !self.is_done {
            return None;
        }
        let mut bytes = std::mem::take(&mut *self.bytes);
        // SAFETY: a send buffer is initialized throughout; a receive buffer has the capacity, and was
        // written, now that the transfer is complete.
        unsafe { bytes.set_len(self.n_bytes) };
        Some(bytes)
    }

    /// Returns the length, in bytes.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

impl Mpi {
    /// Starts to send `bytes`.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
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
                self.datatypes.byte,
                rank,
                tag,
                to.comm.0,
                &raw mut request,
            )
        };
        self.check("MPI_Isend", code)?;
        Ok(Transfer { request, bytes, n_bytes: n, is_done: false })
    }

    /// Starts to receive the message that was found into `bytes`.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn receive(&self, mut bytes: Vec<u8>, found: FoundMessage) -> Result<Transfer, MpiError> {
        bytes.clear();
        bytes.reserve(found.n_bytes);
        let n_bytes = length(found.n_bytes)?;
        let (rank, tag) = (c_int::try_from(found.from.rank).unwrap_or(0), c_int::from(found.tag));
        let mut bytes = ManuallyDrop::new(bytes);
        let mut request: Handle = 0;
        let (start, comm) = (bytes.as_mut_ptr().cast(), found.from.comm.0);
        // SAFETY: the buffer has room for `n_bytes`, and lives until the transfer is complete.
        let code = unsafe {
            (self.functions.irecv)(
                start,
                n_bytes,
                self.datatypes.byte,
                rank,
                tag,
                comm,
                &raw mut request,
            )
        };
        self.check("MPI_Irecv", code)?;
        Ok(Transfer { request, bytes, n_bytes: found.n_bytes, is_done: false })
    }

    /// Receives the message that was found at once; it should be so short that it has arrived completely.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn receive_now(&self, into: &mut Vec<u8>, found: FoundMessage) -> Result<(), MpiError> {
        into.clear();
        into.reserve(found.n_bytes);
        let n_bytes = length(found.n_bytes)?;
        let (rank, tag) = (c_int::try_from(found.from.rank).unwrap_or(0), c_int::from(found.tag));
        let ignored = self.constants.status_ignore as *mut c_void;
        let (start, comm) = (into.as_mut_ptr().cast(), found.from.comm.0);
        // SAFETY: there is room for `n_bytes`.
        let code = unsafe {
            (self.functions.recv)(start, n_bytes, self.datatypes.byte, rank, tag, comm, ignored)
        };
        self.check("MPI_Recv", code)?;
        // SAFETY: the capacity suffices, and the message that was found had this length and was written
        // there.
        unsafe { into.set_len(found.n_bytes) };
        Ok(())
    }

    /// Returns whether a transfer is complete; makes progress on all transfers of the process.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
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

    /// Returns a message that can be received on this communicator, if there is one.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn probe(&self, comm: CommHandle) -> Result<Option<FoundMessage>, MpiError> {
        let any = (self.constants.any_source, self.constants.any_tag);
        let found = self.probed(comm.0, any)?;
        let found = found.map(|ArrivedMessage { from: rank, tag, n_bytes }| FoundMessage {
            from: Address { comm, rank },
            tag,
            n_bytes,
        });
        Ok(found)
    }

    /// Returns a message from this source and with this tag that can be received on this communicator, if there is one.
    pub(crate) fn probed(
        &self,
        comm: Handle,
        (source, tag): (c_int, c_int),
    ) -> Result<Option<ArrivedMessage>, MpiError> {
        let (mut flag, mut status) = (0, Status::new());
        let to = status.as_mut_ptr();
        // SAFETY: a communicator of ours, and room for a flag and a status.
        let code = unsafe { (self.functions.iprobe)(source, tag, comm, &raw mut flag, to) };
        self.check("MPI_Iprobe", code)?;
        if flag == 0 { Ok(None) } else { self.arrival(&status).map(Some) }
    }
}

fn length(n_bytes: usize) -> Result<c_int, MpiError> {
    c_int::try_from(n_bytes).map_err(|_| MpiError::TooLong { n_bytes })
}
