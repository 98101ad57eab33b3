//! Arrays from `malloc`, so that the program can free them, and arrays in containers of the program, which are read only.

use malleable::places::{Memory, StableBytes};
use std::any::Any;
use std::ptr;

/// Bytes from `malloc`, owned by this value unless they are those of a container.
pub(crate) struct Array {
    start: *mut u8,
    n_bytes: usize,
    is_borrowed: bool,
}

// SAFETY: this is the only owner of its bytes, like a box of them.
unsafe impl Send for Array {}
// SAFETY: a shared array is only read.
unsafe impl Sync for Array {}

impl Array {
    /// Allocates zeros. Where memory is short, the array is empty, as if nothing had been requested: then
    /// `n_bytes` is 0.
    pub(crate) fn zeros(n_bytes: usize) -> Self {
        // SAFETY: `calloc` takes any numbers; a program may free its result even if that is null.
        let start = unsafe { libc::calloc(n_bytes.max(1), 1) }.cast::<u8>();
        Self { start, n_bytes: if start.is_null() { 0 } else { n_bytes }, is_borrowed: false }
    }

    /// Borrows the bytes of a container, which only keeps them.
    ///
    /// # Safety
    /// `start` points to `n_bytes` bytes, which stay where they are as long as this value exists; or it is null and
    /// there are none.
    pub(crate) unsafe fn borrow(start: *mut u8, n_bytes: usize) -> Self {
        Self { start, n_bytes: if start.is_null() { 0 } else { n_bytes }, is_borrowed: true }
    }

    /// Adopts an array that the program gives away.
    ///
    /// # Safety
    /// `start` points to `n_bytes` bytes from `malloc`; or it is null and there are none.
    pub(crate) unsafe fn adopt(start: *mut u8, n_bytes: usize) -> Self {
        Self { start, n_bytes: if start.is_null() { 0 } else { n_bytes }, is_borrowed: false }
    }

    pub(crate) fn copy_of(other: &Self) -> Self {
        let mut copy = Self::zeros(other.n_bytes);
        let n_bytes = copy.n_bytes;
        copy.as_mut().copy_from_slice(&other.as_ref()[..n_bytes]);
        copy
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Gives the array back to the program, which frees it.
    pub(crate) fn into_raw(mut self) -> *mut u8 {
        std::mem::replace(&mut self.start, ptr::null_mut())
    }
}

impl AsRef<[u8]> for Array {
    fn as_ref(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: `start` points to `n_bytes` bytes, and nothing changes them while this is shared.
        unsafe { std::slice::from_raw_parts(self.start, self.n_bytes) }
    }
}

impl AsMut<[u8]> for Array {
    fn as_mut(&mut self) -> &mut [u8] {
        if self.start.is_null() {
            return &mut [];
        }
        // SAFETY: `start` points to `n_bytes` bytes, and this is the only owner.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.n_bytes) }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.is_borrowed {
            return;
        }
        // SAFETY: the pointer comes from `malloc`, or is null, and has no other owner.
        unsafe { libc::free(self.start.cast()) }
    }
}

// SAFETY: nothing frees or changes the bytes behind an `Arc`: the program gave them away.
unsafe impl StableBytes for Array {}

// SAFETY: the bytes come from `malloc`, so they stay where they are, and this is their only owner.
unsafe impl Memory for Array {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
