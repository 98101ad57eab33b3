//! Description of a message, as the library writes it.

use super::Mpi;
use crate::MpiError;
use std::ffi::{c_int, c_void};

/// Description of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedMessage {
    /// Rank of its sender.
    pub from: u32,
    /// Its tag.
    pub tag: u16,
    /// Length, in bytes.
    pub n_bytes: usize,
}

/// Memory for an `MPI_Status` of any library: the largest size, and sufficient alignment.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct Status(pub(crate) [u8; 32]);

impl Status {
    pub(crate) fn new() -> Self {
        Self([0; 32])
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    /// Returns the description that the library wrote.
    pub(crate) fn read(&self, mpi: &Mpi) -> Result<ArrivedMessage, MpiError> {
        let read = |offset: usize| {
            let bytes = self.0.get(offset..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| c_int::from_ne_bytes(*bytes))
        };
        let from = u32::try_from(read(mpi.layout.source_offset)).unwrap_or_default();
        let tag = u16::try_from(read(mpi.layout.tag_offset)).unwrap_or(u16::MAX);
        let n_bytes = match mpi.layout.bytes_received(&self.0) {
            Some(n_bytes) => usize::try_from(n_bytes).unwrap_or(usize::MAX),
            None => self.count(mpi)?,
        };
        Ok(ArrivedMessage { from, tag, n_bytes })
    }

    /// Asks the library for the length, where the layout does not reveal it.
    fn count(&self, mpi: &Mpi) -> Result<usize, MpiError> {
        let (mut n_bytes, from) = (0, (&raw const self.0).cast());
        // SAFETY: a status that the library wrote, and room for a count.
        let code = unsafe { (mpi.functions.get_count)(from, mpi.datatypes.byte, &raw mut n_bytes) };
        mpi.check("MPI_Get_count", code)?;
        Ok(usize::try_from(n_bytes).unwrap_or_default())
    }
}
