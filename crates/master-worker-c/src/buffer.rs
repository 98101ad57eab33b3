//! Where the functions of a program write what is sent or saved.

use crate::abi::{MW_OK, mw_bytes};
use crate::bytes::{Aligned, Blob, slice};
use crate::failure;
use core::ffi::{c_int, c_void};
use std::ptr;

/// What a function writes: it is passed one, empty, and it is over when the function returns.
#[allow(non_camel_case_types, reason = "the name is that of the C header")]
#[derive(Default)]
pub struct mw_buffer {
    own: Aligned,
    lent: Option<mw_bytes>,
    /// Whether anything was written, if only no bytes.
    is_written: bool,
}

impl mw_buffer {
    /// What was written; `None` when nothing was.
    pub(crate) fn into_blob(self) -> Option<Blob> {
        let blob = self.lent.map_or(Blob::Own(self.own), Blob::Lent);
        self.is_written.then_some(blob)
    }

    /// What follows is ours.
    fn settle(&mut self) -> Option<&mut Aligned> {
        self.is_written = true;
        if let Some(lent) = self.lent.take() {
            // SAFETY: the program lent them within this call of its function.
            self.own.append(unsafe { slice(lent) })?;
        }
        Some(&mut self.own)
    }
}

/// Room for so many more bytes, zero at first; write there. It is aligned for every number when it is the first,
/// and is valid until the next call for this buffer. Null when memory is short.
///
/// # Safety
/// `buffer` is the one that the running function was passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_reserve(buffer: *mut mw_buffer, n_bytes: usize) -> *mut c_void {
    // SAFETY: by the condition of this function; nobody else has it meanwhile.
    let buffer = unsafe { buffer.as_mut() };
    let room = buffer.and_then(|buffer| buffer.settle()?.grow(n_bytes));
    room.map_or(ptr::null_mut(), <*mut u8>::cast)
}

/// Adds a copy of these bytes. 0, or `MW_MISUSE` when a pointer is null or memory is short.
///
/// # Safety
/// `buffer` is the one that the running function was passed, and there are so many bytes at `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_write(
    buffer: *mut mw_buffer,
    data: *const c_void,
    n_bytes: usize,
) -> c_int {
    if data.is_null() && n_bytes != 0 {
        return failure::misuse("`mw_write` got no data");
    }
    // SAFETY: by the condition of this function; nobody else has it meanwhile.
    let buffer = unsafe { buffer.as_mut() };
    // SAFETY: by the condition of this function.
    let bytes = unsafe { slice(mw_bytes { data, n_bytes }) };
    match buffer.and_then(|buffer| buffer.settle()?.append(bytes)) {
        Some(()) => MW_OK,
        None => failure::misuse("`mw_write` got no buffer, or memory is short"),
    }
}

/// As `mw_write`, without a copy when nothing else is written to this buffer: the bytes are sent from where they
/// lie. They must not change until the same function is called again; those of `shared` not until others replace
/// them or the run ends.
///
/// # Safety
/// As for `mw_write`, and the bytes stay for so long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_lend(
    buffer: *mut mw_buffer,
    data: *const c_void,
    n_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function; nobody else has it meanwhile.
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
