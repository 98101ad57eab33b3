//! Memory of glibc's `malloc`: freed blocks stay in the process instead of going back to the system at once, so that the
//! next allocation finds them without page faults.
//!
//! glibc tells its limits to nobody. The one above which a block is mapped by itself, which adapts to the program, is
//! found by trying before it is changed, so that it can be set back.
#![allow(unsafe_code, reason = "asks the allocator")]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest size in bytes from which on glibc lets blocks be mapped by themselves.
const MMAP_BYTES_MAX: usize = 32 << 20;
/// Size in bytes from which on blocks are mapped by themselves at the start of a process; also the limits of trimming
/// and of padding then.
const BYTES_AT_START: usize = 128 << 10;
/// Memory taken from the system at a time, in bytes.
const PAD_BYTES: usize = 16 << 20;
/// Largest amount of free memory that is kept, in bytes.
const KEPT_BYTES_MAX: u64 = 1 << 30;
/// Step, in bytes, in which the limit is looked for.
const STEP_BYTES: usize = 4096;
/// Bit in the word before a block that is mapped by itself.
const IS_MAPPED: usize = 2;

/// Limit in bytes that was found; 0 before.
static FOUND_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns whether `malloc` is that of glibc, and at its own settings.
pub(super) fn applies() -> Result<(), String> {
    let own = [libc::malloc as *const c_void, libc::mallopt as *const c_void];
    let library = file_at(libc::gnu_get_libc_version as *const c_void);
    if library.is_none() || own.iter().any(|function| file_at(*function) != library) {
        return Err("its `malloc` is not that of the C library".to_owned());
    }
    let is_setting = |name: &str, value: &str| {
        name.starts_with("MALLOC_") && name.ends_with('_')
            || name == "GLIBC_TUNABLES" && value.split(':').any(is_limit)
    };
    let mut variables = std::env::vars_os();
    let own = variables
        .find(|(name, value)| is_setting(&name.to_string_lossy(), &value.to_string_lossy()));
    own.map_or(Ok(()), |(name, _)| Err(format!("`{}` sets it already", name.to_string_lossy())))
}

/// Returns whether a tunable sets limits of `malloc`; huge pages are beside them.
fn is_limit(tunable: &str) -> bool {
    tunable.starts_with("glibc.malloc") && !tunable.starts_with("glibc.malloc.hugetlb=")
}

/// Load address of the file that holds the code at an address.
fn file_at(address: *const c_void) -> Option<usize> {
    let mut facts = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: fills the facts.
    let found = unsafe { libc::dladdr(address, facts.as_mut_ptr()) };
    // SAFETY: zeros are valid facts, too.
    let facts = unsafe { facts.assume_init() };
    (found != 0).then_some(facts.dli_fbase.addr())
}

/// Lets freed memory stay, or go as it was found.
pub(super) fn set(keeps: bool) {
    if !keeps {
        let found = FOUND_BYTES.load(Ordering::Relaxed);
        // As glibc itself chooses it, once blocks of this size were mapped.
        let trim = if found <= BYTES_AT_START { BYTES_AT_START } else { 2 * found };
        option(libc::M_TRIM_THRESHOLD, trim);
        option(libc::M_TOP_PAD, BYTES_AT_START);
        option(libc::M_MMAP_THRESHOLD, found.clamp(1, MMAP_BYTES_MAX));
        return;
    }
    // From here on the limits no longer adapt, so that looking for one does not move it.
    option(libc::M_TRIM_THRESHOLD, kept_bytes());
    if FOUND_BYTES.load(Ordering::Relaxed) == 0 {
        FOUND_BYTES.store(mapped_from(), Ordering::Relaxed);
    }
    option(libc::M_TOP_PAD, PAD_BYTES);
    option(libc::M_MMAP_THRESHOLD, MMAP_BYTES_MAX);
}

fn option(parameter: c_int, bytes: usize) {
    let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: glibc's own function (`applies`), which takes its own lock.
    unsafe { libc::mallopt(parameter, value) };
}

/// Free memory to keep: a share of what this node has left, in bytes.
fn kept_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = kib.unwrap_or_default().saturating_mul(1024) / 4 / n_cores;
    usize::try_from(share.min(KEPT_BYTES_MAX)).unwrap_or(BYTES_AT_START).max(BYTES_AT_START)
}

/// Returns the size in bytes from which on blocks are mapped by themselves.
fn mapped_from() -> usize {
    let (mut low, mut high) = (0, MMAP_BYTES_MAX);
    while STEP_BYTES < high - low {
        let middle = usize::midpoint(low, high);
        if is_mapped(middle) { high = middle } else { low = middle }
    }
    high
}

fn is_mapped(n_bytes: usize) -> bool {
    // The compiler knows `malloc`: unless the block goes where it cannot follow, it leaves the call out.
    // SAFETY: a block of our own.
    let block = std::hint::black_box(unsafe { libc::malloc(n_bytes) });
    if block.is_null() {
        return true;
    }
    // SAFETY: glibc keeps the size of a block, with its flags, in the word before it.
    let word = unsafe { block.cast::<usize>().sub(1) };
    // SAFETY: as above.
    let size = unsafe { word.read_volatile() };
    // SAFETY: allocated above.
    unsafe { libc::free(block) };
    size & IS_MAPPED != 0
}

/// Version of the C library.
#[cfg(test)]
fn version() -> String {
    // SAFETY: returns a constant text.
    let text = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: as above.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_kept_and_then_mapped_again() {
        assert_eq!(applies(), Ok(()), "glibc {}", version());
        let n_bytes = 8 << 20;
        set(true);
        assert!(!is_mapped(n_bytes));
        let found = FOUND_BYTES.load(Ordering::Relaxed);
        assert!((1..=MMAP_BYTES_MAX).contains(&found));
        set(false);
        assert!(found < MMAP_BYTES_MAX, "blocks of {found} bytes were not mapped before");
        // Kept memory still serves blocks; larger ones are mapped again.
        assert!(is_mapped(2 * MMAP_BYTES_MAX));
    }
}
