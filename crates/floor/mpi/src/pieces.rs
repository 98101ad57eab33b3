//! Arrays that are sent piece by piece, at the pace of both sides.
//!
//! Pieces between two ranks arrive in the order in which they are sent.

use crate::calls::Mpi;
use crate::elements::count;
use crate::error::within;
use crate::functions::Handle;
use crate::memory::{Memory, SharedBuffer};
use crate::request::keep_open;
use crate::{CommBase, MpiError};
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Pieces of arrays in transit to other ranks.
pub type PieceSender = PieceTransfers<SharedBuffer>;

/// Pieces of arrays in transit from other ranks.
pub type PieceReceiver = PieceTransfers<Box<dyn Memory>>;

/// Pieces of arrays in transit.
///
/// # Invariants
/// - The arrays stay allocated while pieces are in transit; they are leaked when this is dropped before, because the
///   library may still use them.
pub struct PieceTransfers<A> {
    mpi: Arc<Mpi>,
    arrays: ManuallyDrop<Vec<A>>,
    /// Transfers in progress, each with the other rank.
    pending: Vec<(u32, Handle)>,
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

impl<A> PieceTransfers<A> {
    /// Creates transfers from or into these arrays.
    #[must_use]
    pub fn of(mpi: &Arc<Mpi>, arrays: Vec<A>) -> Self {
        Self { mpi: Arc::clone(mpi), arrays: ManuallyDrop::new(arrays), pending: Vec::new() }
    }

    /// Returns the number of pieces in transit to or from a rank, as of the last test.
    #[must_use]
    pub fn n_open(&self, other: u32) -> usize {
        self.pending.iter().filter(|(rank, _)| *rank == other).count()
    }

    /// Tests all pieces; returns whether none is in transit.
    ///
    /// # Errors
    /// When an MPI call fails, or a rank is gone.
    pub fn is_complete(&mut self) -> Result<bool, MpiError> {
        keep_open(&self.mpi, &mut self.pending, |(_, request)| request)
    }

    /// Returns the arrays, if all transfers [are complete](Self::is_complete).
    #[must_use]
    pub fn finished(mut self) -> Option<Vec<A>> {
        self.pending.is_empty().then(|| std::mem::take(&mut *self.arrays))
    }
}

impl PieceSender {
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
}

impl PieceReceiver {
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
}

impl<A> Drop for PieceTransfers<A> {
    fn drop(&mut self) {
        if self.pending.is_empty() {
            self.arrays.clear();
        }
    }
}

impl ArrayPiece {
    /// Returns its length, if it fits an array of this many bytes.
    fn check(self, n_bytes: usize) -> Result<c_int, MpiError> {
        within("a piece", (self.start, self.n_bytes), n_bytes)?;
        count(self.n_bytes)
    }
}
