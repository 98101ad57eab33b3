//! Bytes from C as messages: sent from where they lie, read where they arrived.

use crate::abi::mw_bytes;
use master_worker::{Message, MessageError};
use std::ptr;

/// Size in bytes below which copying is cheaper than keeping the buffer.
const TAKEN_BYTES_MIN: usize = 4096;

/// Unit of memory with the largest alignment of C's numbers.
type Unit = u128;

/// Bytes whose start is aligned for every number of C.
#[derive(Clone, Default)]
pub(crate) struct Aligned {
    units: Vec<Unit>,
    n_bytes: usize,
}

impl Aligned {
    /// Appends `n_bytes` zero bytes, and returns where they start; `None` when memory is short.
    pub(crate) fn grow(&mut self, n_bytes: usize) -> Option<*mut u8> {
        let start = self.n_bytes;
        let end = start.checked_add(n_bytes)?;
        let n_units = end.div_ceil(size_of::<Unit>());
        self.units.try_reserve(n_units.saturating_sub(self.units.len())).ok()?;
        self.units.resize(n_units.max(self.units.len()), 0);
        self.n_bytes = end;
        bytemuck::cast_slice_mut(&mut self.units).get_mut(start..).map(<[u8]>::as_mut_ptr)
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Option<()> {
        let start = self.n_bytes;
        self.grow(bytes.len())?;
        bytemuck::cast_slice_mut(&mut self.units)
            .get_mut(start..self.n_bytes)?
            .copy_from_slice(bytes);
        Some(())
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        bytemuck::cast_slice(&self.units).get(..self.n_bytes).unwrap_or_default()
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.units.as_mut_ptr().cast()
    }
}

impl From<&[u8]> for Aligned {
    fn from(bytes: &[u8]) -> Self {
        let mut units = vec![0; bytes.len().div_ceil(size_of::<Unit>())];
        bytemuck::cast_slice_mut(&mut units)[..bytes.len()].copy_from_slice(bytes);
        Self { units, n_bytes: bytes.len() }
    }
}

/// Message from or to C.
pub(crate) enum Blob {
    Own(Aligned),
    /// Memory of the program, which leaves it unchanged until it is sent.
    Lent(mw_bytes),
    /// Buffer, and the position in it from which the bytes lie; they are aligned.
    Received(Vec<u8>, usize),
    /// No bytes, because the program failed to write them: the message cannot be sent.
    Refused,
}

impl Blob {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes.as_slice(),
            // SAFETY: the program that lent the bytes has promised to leave them until a later call, when
            // this blob is gone.
            Self::Lent(bytes) => unsafe { slice(*bytes) },
            Self::Received(buffer, start) => buffer.get(*start..).unwrap_or_default(),
            Self::Refused => &[],
        }
    }

    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused)
    }

    /// Returns the bytes in the form of the C interface.
    pub(crate) fn as_bytes(&self) -> mw_bytes {
        let bytes = self.as_slice();
        mw_bytes { data: bytes.as_ptr().cast(), n_bytes: bytes.len() }
    }
}

/// Returns the bytes as a slice.
///
/// # Safety
/// The bytes must live as long as the slice is used; the pointer does not matter when there are none.
pub(crate) unsafe fn slice<'a>(bytes: mw_bytes) -> &'a [u8] {
    if bytes.n_bytes == 0 || bytes.data.is_null() {
        return &[];
    }
    // SAFETY: by the condition of this function.
    unsafe { std::slice::from_raw_parts(bytes.data.cast(), bytes.n_bytes) }
}

impl Default for Blob {
    fn default() -> Self {
        Self::Lent(mw_bytes { data: ptr::null(), n_bytes: 0 })
    }
}

impl Message for Blob {
    fn bytes<'a>(&'a self, _scratch: &'a mut Vec<u8>) -> Result<&'a [u8], MessageError> {
        if self.is_refused() {
            return Err(MessageError::Length { type_name: "mw_buffer", n_bytes: 0 });
        }
        Ok(self.as_slice())
    }

    fn from_bytes(buffer: &mut Vec<u8>, start: usize) -> Result<Self, MessageError> {
        let bytes = buffer.get(start..).unwrap_or_default();
        let is_aligned = bytes.as_ptr().cast::<Unit>().is_aligned();
        if bytes.len() < TAKEN_BYTES_MIN || !is_aligned {
            return Ok(Self::Own(bytes.into()));
        }
        Ok(Self::Received(std::mem::take(buffer), start))
    }
}
