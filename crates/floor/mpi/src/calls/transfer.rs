//! Messages of bytes, for callers that manage communicators and buffers themselves.
//!
//! # Not here
//! Messages of typed elements, with communicators that know their ranks: [`Comm`](crate::Comm).

use super::{ArrivedMessage, CommHandle, Mpi, Status};
use crate::MpiError;
use crate::elements::count;
use crate::functions::Handle;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;

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

impl FoundMessage {
    /// Returns a message that can be received on this communicator, if there is one.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn probe(mpi: &Mpi, comm: CommHandle) -> Result<Option<Self>, MpiError> {
        let found = probed(mpi, comm.0, (mpi.constants.any_source, mpi.constants.any_tag))?;
        Ok(found.map(|ArrivedMessage { from: rank, tag, n_bytes }| {
            let from = Address { comm, rank };
            Self { from, tag, n_bytes }
        }))
    }

    /// Receives the message at once; it should be so short that it has arrived completely.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn receive_now(self, mpi: &Mpi, into: &mut Vec<u8>) -> Result<(), MpiError> {
        into.clear();
        into.reserve(self.n_bytes);
        let (n_bytes, rank, tag) = (count(self.n_bytes)?, number(self.from.rank), self.tag.into());
        let ignored = mpi.constants.status_ignore as *mut c_void;
        let (start, byte, comm) = (into.as_mut_ptr().cast(), mpi.datatypes.byte, self.from.comm.0);
        // SAFETY: there is room for `n_bytes`.
        let code = unsafe { (mpi.functions.recv)(start, n_bytes, byte, rank, tag, comm, ignored) };
        mpi.check("MPI_Recv", code)?;
        // SAFETY: the capacity suffices, and the message that was found had this length and was written
        // there.
        unsafe { into.set_len(self.n_bytes) };
        Ok(())
    }
}

/// A message in transit, with its buffer.
///
/// When it is dropped before it is complete, the buffer is leaked, because the library may still use it.
#[derive(Debug)]
pub struct Transfer {
    request: Handle,
    bytes: ManuallyDrop<Bytes>,
    n_bytes: usize,
    is_done: bool,
}

/// Buffer of a message in transit.
#[derive(Debug)]
enum Bytes {
    Own(Vec<u8>),
    /// One buffer of several messages.
    Shared(Arc<Vec<u8>>),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl Transfer {
    /// Starts to send `bytes`.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn send(mpi: &Mpi, bytes: Vec<u8>, to: Address, tag: u16) -> Result<Self, MpiError> {
        Self::send_bytes(mpi, Bytes::Own(bytes), to, tag)
    }

    /// Starts to send `bytes`, which other messages may send as well.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn send_shared(
        mpi: &Mpi,
        bytes: Arc<Vec<u8>>,
        to: Address,
        tag: u16,
    ) -> Result<Self, MpiError> {
        Self::send_bytes(mpi, Bytes::Shared(bytes), to, tag)
    }

    fn send_bytes(mpi: &Mpi, bytes: Bytes, to: Address, tag: u16) -> Result<Self, MpiError> {
        let n_bytes = bytes.as_slice().len();
        let (n, rank, tag) = (count(n_bytes)?, number(to.rank), tag.into());
        let bytes = ManuallyDrop::new(bytes);
        let (start, byte, mut request) = (bytes.as_slice().as_ptr().cast(), mpi.datatypes.byte, 0);
        let isend = mpi.functions.isend;
        // SAFETY: the buffer has `n` bytes, and lives until the transfer is complete.
        let code = unsafe { isend(start, n, byte, rank, tag, to.comm.0, &raw mut request) };
        mpi.check("MPI_Isend", code)?;
        Ok(Self { request, bytes, n_bytes, is_done: false })
    }

    /// Starts to receive the message that was found into `bytes`.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn receive(mpi: &Mpi, bytes: Vec<u8>, found: FoundMessage) -> Result<Self, MpiError> {
        let FoundMessage { from: Address { comm, rank }, tag, n_bytes } = found;
        let (n, rank, tag) = (count(n_bytes)?, number(rank), tag.into());
        let mut bytes = bytes;
        bytes.clear();
        bytes.reserve(n_bytes);
        // The buffer stays where it is when the vector is moved.
        let (start, byte, mut request) = (bytes.as_mut_ptr().cast(), mpi.datatypes.byte, 0);
        let bytes = ManuallyDrop::new(Bytes::Own(bytes));
        let irecv = mpi.functions.irecv;
        // SAFETY: the buffer has room for `n` bytes, and lives until the transfer is complete.
        let code = unsafe { irecv(start, n, byte, rank, tag, comm.0, &raw mut request) };
        mpi.check("MPI_Irecv", code)?;
        Ok(Self { request, bytes, n_bytes, is_done: false })
    }

    /// Returns whether the transfer is complete; makes progress on all transfers of the process.
    ///
    /// # Errors
    /// When an MPI call fails, or the other rank is gone.
    pub fn is_complete(&mut self, mpi: &Mpi) -> Result<bool, MpiError> {
        if !self.is_done {
            let mut flag = 0;
            let ignored = mpi.constants.status_ignore as *mut c_void;
            // SAFETY: a request that was not completed before, and room for a flag.
            let code =
                unsafe { (mpi.functions.test)(&raw mut self.request, &raw mut flag, ignored) };
            mpi.check("MPI_Test", code)?;
            self.is_done = flag != 0;
        }
        Ok(self.is_done)
    }

    /// Returns the buffer, if the transfer is complete and no other message shares it.
    #[must_use]
    pub fn finished(mut self) -> Option<Vec<u8>> {
        if !self.is_done {
            return None;
        }
        let mut bytes = match std::mem::replace(&mut *self.bytes, Bytes::Own(Vec::new())) {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(_) => return None,
        };
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

/// Returns a message from this source and with this tag that can be received on this communicator, if there is one.
pub(crate) fn probed(
    mpi: &Mpi,
    comm: Handle,
    (source, tag): (c_int, c_int),
) -> Result<Option<ArrivedMessage>, MpiError> {
    let (mut flag, mut status) = (0, Status::new());
    let to = status.as_mut_ptr();
    // SAFETY: a communicator of ours, and room for a flag and a status.
    let code = unsafe { (mpi.functions.iprobe)(source, tag, comm, &raw mut flag, to) };
    mpi.check("MPI_Iprobe", code)?;
    if flag == 0 { Ok(None) } else { status.read(mpi).map(Some) }
}

/// Returns a rank as MPI numbers it.
fn number(rank: u32) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}
