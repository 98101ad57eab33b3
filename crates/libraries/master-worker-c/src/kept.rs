//! Bytes that a program keeps beyond the function that it got them in: they stay where they arrived.

use crate::abi::mw_bytes;
use crate::bytes::{Aligned, Blob};
use core::ffi::c_void;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Memory of a message.
pub(crate) enum Kept {
    Own(Aligned),
    Received(Vec<u8>, usize),
}

impl Kept {
    fn start(&mut self) -> *mut c_void {
        match self {
            Self::Own(bytes) => bytes.as_mut_ptr().cast(),
            Self::Received(buffer, start) => {
                buffer.get_mut(*start..).unwrap_or_default().as_mut_ptr().cast()
            }
        }
    }
}

thread_local! {
    /// Message that the running function of the program got.
    static PASSED: RefCell<Option<Blob>> = const { RefCell::new(None) };
}

/// Messages that programs keep, by their addresses.
static KEPT: Mutex<BTreeMap<usize, Kept>> = Mutex::new(BTreeMap::new());

/// Calls a function of the program with a message, which it may keep.
pub(crate) fn passing<R>(message: Blob, call: impl FnOnce(mw_bytes) -> R) -> R {
    let bytes = message.as_bytes();
    let before = PASSED.replace(Some(message));
    let result = call(bytes);
    PASSED.set(before);
    result
}

/// Keeps the `input` of the running `worker_work` or the `result` of the running `master_recover`: its bytes stay where
/// they are, may be changed, and belong to the program until `mw_release`. Returns `data`, or null when the bytes cannot
/// be kept, as those of short messages may not; then copy them.
#[unsafe(no_mangle)]
pub extern "C" fn mw_keep(data: *const c_void) -> *mut c_void {
    PASSED.with_borrow_mut(|passed| {
        if !passed.as_ref().is_some_and(|message| ptr::eq(message.as_bytes().data, data)) {
            return ptr::null_mut();
        }
        let mut kept = match passed.take() {
            Some(Blob::Own(bytes)) if !bytes.as_slice().is_empty() => Kept::Own(bytes),
            Some(Blob::Received(buffer, start)) => Kept::Received(buffer, start),
            other => {
                *passed = other;
                return ptr::null_mut();
            }
        };
        let start = kept.start();
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(start.addr(), kept);
        start
    })
}

/// Gives back what `mw_keep` returned; null is ignored. May be called from any thread.
#[unsafe(no_mangle)]
pub extern "C" fn mw_release(data: *mut c_void) {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).remove(&data.addr());
}
