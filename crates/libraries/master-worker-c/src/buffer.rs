//! Buffer into which functions of a program write what is sent or saved.

use crate::abi::{MW_OK, mw_bytes};
use crate::bytes::{Aligned, Blob, slice};
use crate::failure;
use core::ffi::{c_int, c_void};
use std::ptr;

/// Output of a function: passed to it empty, and valid until it returns.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
#[derive(Default)]
pub struct mw_buffer {
    own: Aligned,
    lent: Option<mw_bytes>,
    /// True if anything was written, even if no bytes.
    is_written: bool,
}

impl mw_buffer {
    /// Returns what was written; `None` when nothing was.
    pub(crate) fn into_blob(self) -> Option<Blob> {
        let blob = self.lent.map_or(Blob::Own(self.own), Blob::Lent);
        self.is_written.then_some(blob)
    }

    /// Turns lent bytes into a copy, to which more is appended.
    fn settle(&mut self) -> Option<&mut Aligned> {
        self.is_written = true;
        if let Some(lent) = self.lent.take() {
            // SAFETY: the program lent them within this call of its function.
            self.own.append(unsafe { slice(lent) })?;
        }
        Some(&mut self.own)
    }
}

/// Appends `n_bytes` zero bytes, and returns where to write them. The first such block is aligned for every
/// number; the pointer is valid until the next call for this buffer. Null when memory is short.
///
/// # Safety
/// `buffer` is the one that was passed to the running function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_reserve(buffer: *mut mw_buffer, n_bytes: usize) -> *mut c_void {
    // SAFETY: by the condition of this function; no other code uses the buffer meanwhile.
    let buffer = unsafe { buffer.as_mut() };
    let room = buffer.and_then(|buffer| buffer.settle()?.grow(n_bytes));
    room.map_or(ptr::null_mut(), <*mut u8>::cast)
}

/// Appends a copy of these bytes. Returns 0, or `MW_MISUSE` when a pointer is null or memory is short.
///
/// # Safety
/// `buffer` is the one that was passed to the running function, and `data` holds `n_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_write(
    buffer: *mut mw_buffer,
    data: *const c_void,
    n_bytes: usize,
) -> c_int {
    if data.is_null() && n_bytes != 0 {
        return failure::misuse("`mw_write` got no data");
    }
    // SAFETY: by the condition of this function; no other code uses the buffer meanwhile.
    let buffer = unsafe { buffer.as_mut() };
    // SAFETY: by the condition of this function.
    let bytes = unsafe { slice(mw_bytes { data, n_bytes }) };
    match buffer.and_then(|buffer| buffer.settle()?.append(bytes)) {
        Some(()) => MW_OK,
        None => failure::misuse("`mw_write` got no buffer, or memory is short"),
    }
}

/// Like `mw_write`, without a copy when nothing else is written to this buffer: the bytes are sent from where
/// they lie. They must not change until the same function is called again; those of `shared` not until others
/// replace them or the run ends.
///
/// # Safety
/// As for `mw_write`, and the bytes stay for so long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_lend(
    buffer: *mut mw_buffer,
    data: *const c_void,
    n_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function; no other code uses the buffer meanwhile.
    match unsafe { buffer.as_mut() } {
        Some(buffer) if !buffer.is_written && !data.is_null() => {
            buffer.lent = Some(mw_bytes { data, n_bytes });
            buffer.is_written = true;
            MW_OK
        }
        // SAFETY: by the condition of this function.
        _ => unsafe { mw_write(buffer, data, n_bytes) },
    }
}
