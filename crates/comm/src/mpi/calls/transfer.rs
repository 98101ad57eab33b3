//! Messages.

use super::Mpi;
use crate::CommError;
use crate::mpi::functions::Handle;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

/// A rank in a communicator, which may be one between two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Of ours.
    pub(crate) comm: Handle,
    /// Its number there.
    pub(crate) rank: u32,
}

/// A message that waits to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its sender.
    pub(crate) from: Address,
    /// Its tag.
    pub(crate) tag: u16,
    /// Its length.
    pub(crate) n_bytes: usize,
}

/// A message on its way, with its buffer.
///
/// When it is dropped on the way, the buffer stays allocated for good: the library may still use it.
#[derive(Debug)]
pub(crate) struct Transfer {
    request: Handle,
    bytes: ManuallyDrop<Vec<u8>>,
    n_bytes: usize,
    is_done: bool,
}

impl Transfer {
    /// Gives the buffer back when the transfer is complete.
    pub(crate) fn finished(mut self) -> Option<Vec<u8>> {
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
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

/// As large as the largest `MPI_Status`, and aligned as all.
#[repr(C, align(8))]
struct Status([u8; 32]);

impl Mpi {
    /// Starts to send `bytes`.
    pub(crate) fn send(
        &self,
        bytes: Vec<u8>,
        to: Address,
        tag: u16,
    ) -> Result<Transfer, CommError> {
        let n = bytes.len();
        let n_bytes = length(n)?;
        let (rank, tag) = (c_int::try_from(to.rank).unwrap_or(c_int::MAX), c_int::from(tag));
        let bytes = ManuallyDrop::new(bytes);
        let mut request: Handle = 0;
        let start = bytes.as_ptr().cast();
        // SAFETY: the buffer has `n_bytes`, and lives until the transfer is complete.
        let code = unsafe {
            (self.functions.isend)(start, n_bytes, self.byte, rank, tag, to.comm, &raw mut request)
        };
        self.check("MPI_Isend", code)?;
        Ok(Transfer { request, bytes, n_bytes: n, is_done: false })
    }

    /// Starts to receive the message that was found, into `bytes`.
    pub(crate) fn receive(&self, mut bytes: Vec<u8>, found: Found) -> Result<Transfer, CommError> {
        bytes.clear();
        bytes.reserve(found.n_bytes);
        let n_bytes = length(found.n_bytes)?;
        let (rank, tag) = (c_int::try_from(found.from.rank).unwrap_or(0), c_int::from(found.tag));
        let mut bytes = ManuallyDrop::new(bytes);
        let mut request: Handle = 0;
        let (start, comm) = (bytes.as_mut_ptr().cast(), found.from.comm);
        // SAFETY: the buffer has room for `n_bytes`, and lives until the transfer is complete.
        let code = unsafe {
            (self.functions.irecv)(start, n_bytes, self.byte, rank, tag, comm, &raw mut request)
        };
        self.check("MPI_Irecv", code)?;
        Ok(Transfer { request, bytes, n_bytes: found.n_bytes, is_done: false })
    }

    /// Receives the message that was found, which should be so short that it has arrived as a whole.
    pub(crate) fn receive_now(&self, into: &mut Vec<u8>, found: Found) -> Result<(), CommError> {
        into.clear();
        into.reserve(found.n_bytes);
        let n_bytes = length(found.n_bytes)?;
        let (rank, tag) = (c_int::try_from(found.from.rank).unwrap_or(0), c_int::from(found.tag));
        let ignored = self.constants.status_ignore as *mut c_void;
        let (start, comm) = (into.as_mut_ptr().cast(), found.from.comm);
        // SAFETY: there is room for `n_bytes`.
        let code =
            unsafe { (self.functions.recv)(start, n_bytes, self.byte, rank, tag, comm, ignored) };
        self.check("MPI_Recv", code)?;
        // SAFETY: there is room, and the message that was found had this length and was written there.
        unsafe { into.set_len(found.n_bytes) };
        Ok(())
    }

    /// Whether a transfer is complete; looks after all others of the process too.
    pub(crate) fn is_complete(&self, transfer: &mut Transfer) -> Result<bool, CommError> {
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

    /// A message that waits to be received in this communicator.
    pub(crate) fn probe(&self, comm: Handle) -> Result<Option<Found>, CommError> {
        let source = self.constants.any_source;
        let (mut flag, mut status) = (0, Status([0; 32]));
        let (any_tag, to) = (self.constants.any_tag, (&raw mut status).cast());
        // SAFETY: a communicator of ours, and room for a flag and a status.
        let code = unsafe { (self.functions.iprobe)(source, any_tag, comm, &raw mut flag, to) };
        self.check("MPI_Iprobe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        self.found(comm, &status).map(Some)
    }

    fn found(&self, comm: Handle, status: &Status) -> Result<Found, CommError> {
        let read = |offset: usize| {
            let bytes = status.0.get(offset..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| c_int::from_ne_bytes(*bytes))
        };
        let rank = u32::try_from(read(self.layout.source_offset)).unwrap_or_default();
        let tag = u16::try_from(read(self.layout.tag_offset)).unwrap_or(u16::MAX);
        let n_bytes = match self.layout.bytes_received(&status.0) {
            Some(n_bytes) => usize::try_from(n_bytes).unwrap_or(usize::MAX),
            None => self.count(status)?,
        };
        Ok(Found { from: Address { comm, rank }, tag, n_bytes })
    }

    /// The length that a status tells only to the library.
    fn count(&self, status: &Status) -> Result<usize, CommError> {
        let mut n_bytes = 0;
        let from = (&raw const *status).cast();
        // SAFETY: a status that the library wrote, and room for a count.
        let code = unsafe { (self.functions.get_count)(from, self.byte, &raw mut n_bytes) };
        self.check("MPI_Get_count", code)?;
        Ok(usize::try_from(n_bytes).unwrap_or_default())
    }
}

fn length(n_bytes: usize) -> Result<c_int, CommError> {
    c_int::try_from(n_bytes).map_err(|_| CommError::TooLong { n_bytes })
}
