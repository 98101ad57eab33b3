//! Private memory in the monitored process, straight from the system: a thread may need it anywhere
//! in the program, even inside the program's allocator.

use std::ptr::NonNull;

/// Allocates `n_words` words of zeros; `None` when the system has no memory.
pub(crate) fn words(n_words: usize) -> Option<&'static mut [u32]> {
    let start = bytes(n_words * size_of::<u32>())?.cast::<u32>();
    // SAFETY: fresh pages of this length, zeroed, with no other reference.
    Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), n_words) })
}

/// Frees words allocated by [`words`].
pub(crate) fn give_back(words: &'static mut [u32]) {
    if let (Some(start), 1..) = (NonNull::new(words.as_mut_ptr()), words.len()) {
        // SAFETY: made by `words`, and the only reference to it ends here.
        unsafe { free(start.cast(), size_of_val(words)) };
    }
}

/// Allocates whole pages of zeros of at least `n_bytes`; `None` when the system has no memory.
pub fn bytes(n_bytes: usize) -> Option<NonNull<u8>> {
    let (rights, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping of its own at an address the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), n_bytes, rights, kind, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

/// Frees memory allocated by [`bytes`].
///
/// # Safety
/// `start` comes from [`bytes`] with this length, and nothing refers to it any more.
pub unsafe fn free(start: NonNull<u8>, n_bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(start.as_ptr().cast(), n_bytes) };
}
