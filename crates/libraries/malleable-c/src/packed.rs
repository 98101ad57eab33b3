//! Rows that are structures of the program: its functions write them as bytes, and make them of bytes.

use crate::abi::{malleable_pack, malleable_unpack};
use core::ffi::c_void;
use malleable::Data;
use std::ptr;

/// Rows with the program's functions, and their bytes while they are moved or saved.
pub(crate) struct PackedRows {
    pack: malleable_pack,
    unpack: malleable_unpack,
    context: *mut c_void,
    /// Number of bytes of each row.
    lengths: Vec<u32>,
    bytes: Vec<u8>,
}

impl PackedRows {
    /// # Safety
    /// The functions do with this context what the header says, as long as the library may call them.
    pub(crate) unsafe fn by(
        pack: malleable_pack,
        unpack: malleable_unpack,
        context: *mut c_void,
    ) -> Self {
        Self { pack, unpack, context, lengths: Vec::new(), bytes: Vec::new() }
    }

    /// Number of rows that have arrived.
    pub(crate) fn n_rows(&self) -> usize {
        self.lengths.len()
    }

    /// Writes the rows of this rank as bytes.
    pub(crate) fn pack(&mut self, n_rows: u64) {
        let Some(pack) = self.pack else { return };
        let n_bytes = |row| {
            // SAFETY: by the condition of `by`.
            let n_bytes = unsafe { pack(row, ptr::null_mut(), self.context) };
            u32::try_from(n_bytes).expect("a row has less than 4 GiB")
        };
        self.lengths = (0..n_rows).map(n_bytes).collect();
        self.bytes = vec![0; self.lengths.iter().map(|length| *length as usize).sum()];
        let mut room = self.bytes.as_mut_slice();
        for (row, length) in (0..).zip(&self.lengths) {
            let (own, behind) = room.split_at_mut(*length as usize);
            // SAFETY: by the condition of `by`: there is room for as many bytes as the function has wanted.
            unsafe { pack(row, own.as_mut_ptr().cast(), self.context) };
            room = behind;
        }
    }

    /// Hands the rows that have arrived to the program.
    pub(crate) fn unpack(&mut self) {
        let mut rest = self.bytes.as_slice();
        for (row, length) in (0..).zip(&self.lengths) {
            let (own, behind) = rest.split_at(*length as usize);
            if let Some(unpack) = self.unpack {
                // SAFETY: by the condition of `by`.
                unsafe { unpack(row, own.as_ptr().cast(), own.len(), self.context) };
            }
            rest = behind;
        }
        self.clear();
    }

    /// Drops the bytes.
    pub(crate) fn clear(&mut self) {
        (self.lengths, self.bytes) = (Vec::new(), Vec::new());
    }

    /// Registers the rows: those just packed, or `n_own` rows of no bytes where only their number counts.
    pub(crate) fn register<'a>(
        &'a mut self,
        name: &'static str,
        n_own: usize,
        data: &mut Data<'a>,
    ) {
        if self.bytes.is_empty() {
            self.lengths = vec![0; n_own];
        }
        data.uneven_rows(name, &mut self.lengths, &mut self.bytes);
    }
}
