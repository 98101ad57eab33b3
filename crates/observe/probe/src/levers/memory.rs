//! Memory of glibc's `malloc`: freed blocks stay in the process instead of going back to the system at once, so that the
//! next allocation finds them without page faults.
//!
//! glibc tells its limits to nobody. The one above which a block is mapped by itself, which adapts to the program, is
//! found by trying before it is changed, so that it can be set back; from then on it is fixed.
//!
//! # Invariants
//! - A limit that the program sets by `mallopt` is its own, before, while and after memory is kept.
#![allow(unsafe_code, reason = "asks the allocator")]

use super::limits;
use crate::{monitoring, next};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering};

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

/// Least memory, in bytes, that has to be free below the limits of the process: a block and what is taken at a time.
const ROOM_BYTES_MIN: u64 = (MMAP_BYTES_MAX + PAD_BYTES) as u64;
/// Limits of `malloc` that may be changed.
const PARAMETERS: [c_int; 3] = [libc::M_TRIM_THRESHOLD, libc::M_TOP_PAD, libc::M_MMAP_THRESHOLD];
/// No value of a limit.
const UNSET: i64 = i64::MAX;

/// Limit in bytes that was found; 0 before.
static FOUND_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Free memory in bytes that may be kept now.
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Values that the program has given to [`PARAMETERS`].
static OF_PROGRAM: [AtomicI64; PARAMETERS.len()] =
    [const { AtomicI64::new(UNSET) }; PARAMETERS.len()];

type Mallopt = unsafe extern "C" fn(c_int, c_int) -> c_int;

/// Notes limits that the program sets.
///
/// # Safety
/// glibc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mallopt(parameter: c_int, value: c_int) -> c_int {
    let is_done = real(parameter, value);
    if let Some(position) = PARAMETERS.iter().position(|known| *known == parameter)
        && is_done != 0
    {
        OF_PROGRAM[position].store(value.into(), Ordering::Relaxed);
    }
    is_done
}

/// Calls the next definition of `mallopt` after ours; returns 0 if there is none.
fn real(parameter: c_int, value: c_int) -> c_int {
    // SAFETY: null, or a function of this name and type; null becomes `None`.
    let real = unsafe { std::mem::transmute::<*mut c_void, Option<Mallopt>>(real_address()) };
    // SAFETY: takes its own lock.
    real.map_or(0, |real| unsafe { real(parameter, value) })
}

fn real_address() -> *mut c_void {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut address = REAL.load(Ordering::Relaxed);
    if address.is_null() {
        address = next::global_symbol(c"mallopt");
        REAL.store(address, Ordering::Relaxed);
    }
    address
}

/// Returns whether `malloc` is that of glibc, and at its own settings.
pub(super) fn applies() -> Result<(), String> {
    let own = [libc::malloc as *const c_void, real_address().cast_const()];
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
    if let Some((name, _)) = own {
        return Err(format!("`{}` sets it already", name.to_string_lossy()));
    }
    if OF_PROGRAM.iter().any(|value| value.load(Ordering::Relaxed) != UNSET) {
        return Err("the program sets it already (`mallopt`)".to_owned());
    }
    limits::room(ROOM_BYTES_MIN).map(|_| ())
}

/// Sentence about what is not as before when memory is no longer kept; else empty.
pub(super) fn note(keeps: bool) -> String {
    let found = FOUND_BYTES.load(Ordering::Relaxed);
    if keeps || found == 0 {
        return String::new();
    }
    let attached = if monitoring::is_attached() {
        ", and what the program had set by `mallopt` before it was attached to is not known"
    } else {
        ""
    };
    let kib = found >> 10;
    format!(
        "`malloc` maps blocks of {kib} KiB and more by themselves, as before, but no longer adapts that size{attached}"
    )
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
        give_back();
        return;
    }
    // From here on the limits no longer adapt, so that looking for one does not move it.
    keep(kept_bytes());
    if FOUND_BYTES.load(Ordering::Relaxed) == 0 {
        FOUND_BYTES.store(mapped_from(), Ordering::Relaxed);
    }
    option(libc::M_TOP_PAD, PAD_BYTES);
    option(libc::M_MMAP_THRESHOLD, MMAP_BYTES_MAX);
}

/// Keeps less where less room is left.
pub(super) fn renew() {
    let bytes = kept_bytes();
    if bytes < KEPT_BYTES.load(Ordering::Relaxed) / 2 {
        keep(bytes);
        give_back();
    }
}

fn keep(bytes: usize) {
    KEPT_BYTES.store(bytes, Ordering::Relaxed);
    option(libc::M_TRIM_THRESHOLD, bytes);
}

/// Gives free memory back to the system.
fn give_back() {
    // SAFETY: glibc's own function (`applies`), which takes its own locks.
    unsafe { libc::malloc_trim(BYTES_AT_START) };
}

/// Sets a limit, unless the program has set it.
fn option(parameter: c_int, bytes: usize) {
    let position = PARAMETERS.iter().position(|known| *known == parameter);
    let of_program = position.map_or(UNSET, |idx| OF_PROGRAM[idx].load(Ordering::Relaxed));
    if of_program == UNSET {
        real(parameter, c_int::try_from(bytes).unwrap_or(c_int::MAX));
    }
}

/// Free memory to keep: a share of what this node has left, and no more than the limits of the process allow, in bytes.
fn kept_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = kib.unwrap_or_default().saturating_mul(1024) / 4 / n_cores;
    let room = limits::room(0).unwrap_or(0);
    usize::try_from(share.min(KEPT_BYTES_MAX).min(room))
        .unwrap_or(BYTES_AT_START)
        .max(BYTES_AT_START)
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
