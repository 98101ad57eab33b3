//! Arrays that are sent piece by piece, at the pace of both sides.
//!
//! Pieces between two ranks arrive in the order in which they are sent.
//!
//! # Invariants
//! - Arrays that are sent from or received into stay allocated while pieces are in transit; they are leaked when their
//!   owner is dropped before, because the library may still use them.

use crate::calls::Mpi;
use crate::functions::Handle;
use crate::memory::{Memory, SharedBuffer};
use crate::{CommBase, MpiError};
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Pieces of arrays in transit to other ranks.
pub struct PieceSender {
    mpi: Arc<Mpi>,
    arrays: ManuallyDrop<Vec<SharedBuffer>>,
    pending: PendingByPeer,
}

/// Pieces of arrays in transit from other ranks.
pub struct PieceReceiver {
    mpi: Arc<Mpi>,
    arrays: ManuallyDrop<Vec<Box<dyn Memory>>>,
    pending: PendingByPeer,
}

/// A part of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayPiece {
    /// Index of the array.
    pub array: usize,
    /// Offset of the first byte.
    pub start: usize,
    /// Length in bytes, below 2³¹.
    pub n_bytes: usize,
}

/// Transfers in progress, each with the other rank.
type PendingByPeer = Vec<(u32, Handle)>;

impl PieceSender {
    /// Creates a feed of these arrays.
    #[must_use]
    pub fn of(mpi: &Arc<Mpi>, arrays: Vec<SharedBuffer>) -> Self {
        Self { mpi: Arc::clone(mpi), arrays: ManuallyDrop::new(arrays), pending: Vec::new() }
    }

    /// Starts to send a part (`MPI_Isend`).
    ///
    /// # Errors
    /// When there is no such rank or part, or an MPI call fails.
    pub fn send(
        &mut self,
        base: &CommBase,
        part: ArrayPiece,
        to: u32,
        tag: u16,
    ) -> Result<(), MpiError> {
        let rank = base.peer(to)?;
        let bytes = self.arrays.get(part.array).map_or(&[][..], |lent| (**lent).as_ref());
        let n = part.check(bytes.len())?;
        let (start, mut request) = (bytes[part.start..].as_ptr().cast(), 0);
        let (send, tag) = (self.mpi.functions.isend, c_int::from(tag));
        // SAFETY: bytes of an array that is kept until they are sent.
        let code = unsafe {
            send(start, n, self.mpi.datatypes.byte, rank, tag, base.handle(), &raw mut request)
        };
        self.mpi.check("MPI_Isend", code)?;
        self.pending.push((to, request));
        Ok(())
    }

    /// Returns the number of pieces in transit to a rank, as of the last test.
    #[must_use]
    pub fn n_open(&self, to: u32) -> usize {
        self.pending.iter().filter(|(rank, _)| *rank == to).count()
    }

    /// Tests all pieces; returns whether none is in transit.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn is_complete(&mut self) -> Result<bool, MpiError> {
        keep_open(&self.mpi, &mut self.pending)
    }
}

impl PieceReceiver {
    /// Creates an intake into these arrays.
    #[must_use]
    pub fn of(mpi: &Arc<Mpi>, arrays: Vec<Box<dyn Memory>>) -> Self {
        Self { mpi: Arc::clone(mpi), arrays: ManuallyDrop::new(arrays), pending: Vec::new() }
    }

    /// Starts to receive a part (`MPI_Irecv`).
    ///
    /// # Errors
    /// When there is no such rank or part, or an MPI call fails.
    pub fn receive(
        &mut self,
        base: &CommBase,
        part: ArrayPiece,
        from: u32,
        tag: u16,
    ) -> Result<(), MpiError> {
        let rank = base.peer(from)?;
        let array = self.arrays.get_mut(part.array);
        let bytes = array.map_or(&mut [][..], |memory| (**memory).as_mut());
        let n = part.check(bytes.len())?;
        let (start, mut request) = (bytes[part.start..].as_mut_ptr().cast(), 0);
        let (receive, tag) = (self.mpi.functions.irecv, c_int::from(tag));
        // SAFETY: room in an array that is kept until the bytes are received.
        let code = unsafe {
            receive(start, n, self.mpi.datatypes.byte, rank, tag, base.handle(), &raw mut request)
        };
        self.mpi.check("MPI_Irecv", code)?;
        self.pending.push((from, request));
        Ok(())
    }

    /// Returns the number of pieces in transit from a rank, as of the last test.
    #[must_use]
    pub fn n_open(&self, from: u32) -> usize {
        self.pending.iter().filter(|(rank, _)| *rank == from).count()
    }

    /// Tests all pieces; returns whether none is in transit.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn is_complete(&mut self) -> Result<bool, MpiError> {
        keep_open(&self.mpi, &mut self.pending)
    }

    /// Returns the arrays, if the intake [is complete](Self::is_complete).
    #[must_use]
    pub fn finished(mut self) -> Option<Vec<Box<dyn Memory>>> {
        self.pending.is_empty().then(|| std::mem::take(&mut *self.arrays))
    }
}

impl Drop for PieceSender {
    fn drop(&mut self) {
        if self.pending.is_empty() {
            self.arrays.clear();
        }
    }
}

impl Drop for PieceReceiver {
    fn drop(&mut self) {
        if self.pending.is_empty() {
            self.arrays.clear();
        }
    }
}

/// Keeps the transfers that are not complete; returns whether there are none.
fn keep_open(mpi: &Mpi, pending: &mut PendingByPeer) -> Result<bool, MpiError> {
    mpi.enter()?;
    let mut left = Vec::with_capacity(pending.len());
    for (rank, request) in std::mem::take(pending) {
        left.extend(mpi.unless_complete(request)?.map(|request| (rank, request)));
    }
    *pending = left;
    Ok(pending.is_empty())
}

impl ArrayPiece {
    /// Returns its length, if it fits an array of this many bytes.
    fn check(self, n_bytes: usize) -> Result<c_int, MpiError> {
        let wanted = self.start.saturating_add(self.n_bytes);
        if n_bytes < wanted {
            return Err(MpiError::Length { call: "a piece", given: n_bytes, wanted });
        }
        c_int::try_from(self.n_bytes).map_err(|_| MpiError::TooLong { n_bytes: self.n_bytes })
    }
}
