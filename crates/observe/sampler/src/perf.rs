//! Performance events of a thread: opening one, and reading its samples from the memory shared with the kernel.
//!
//! Source: `perf_event_open(2)`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Samples per second of a thread's processor time; no multiple of the rates at which programs do something.
pub(crate) const SAMPLES_PER_S: u64 = 99;

const PAGE_BYTES: usize = 4096;
/// Places in the first page of the shared memory.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// Sizes of the shared memory behind its first page, and of the piece of stack in a sample, largest first: users other
/// than root may have half a megabyte per processor in all.
const SIZES: [(usize, u32); 3] = [(64, 16 << 10), (16, 8 << 10), (4, 4 << 10)];

/// Registers in a sample, in the order of their numbers: AX BX CX DX SI DI BP SP IP, R8 to R15.
const REGISTERS: u64 = 0x1ff | 0xff << 16;
/// Number of registers in a sample.
pub(crate) const N_REGISTERS: usize = 17;

const WITH_REGISTERS: u64 = 1 << 12;
const WITH_STACK: u64 = 1 << 13;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const HEADER_BYTES: usize = 8;

const KIND_SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const IS_FREQUENCY: u64 = 1 << 10;
const IS_WATERMARK: u64 = 1 << 14;
const CLOSE_ON_EXEC: u64 = 8;

/// Reason why a thread cannot be sampled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfError {
    /// The system refuses it to this user.
    #[error(
        "the system does not allow it (`kernel.perf_event_paranoid` is above 2, or a container forbids `perf_event_open`)"
    )]
    Forbidden,
    /// The thread has ended.
    #[error("the thread has ended")]
    Ended,
    /// The limit on locked memory or on open files is reached.
    #[error(
        "no room for samples of a further thread; see `kernel.perf_event_mlock_kb` and `ulimit -l -n`"
    )]
    NoRoom,
    /// Another failure of the system.
    #[error("`perf_event_open` failed: {0}")]
    System(#[source] io::Error),
}

impl PerfError {
    fn last() -> Self {
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => Self::Forbidden,
            Some(libc::ESRCH) => Self::Ended,
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => Self::NoRoom,
            _ => Self::System(error),
        }
    }
}

/// `struct perf_event_attr` up to version 5.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    n_bytes: u32,
    event: u64,
    frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wake_after_bytes: u32,
    breakpoint: u32,
    config: [u64; 2],
    branches: u64,
    registers: u64,
    stack_bytes: u32,
    clock: i32,
    registers_of_kernel: u64,
    aux_watermark: u32,
    n_frames_max: u16,
    reserved: u16,
}

#[expect(clippy::cast_possible_truncation, reason = "it is 112")]
const ATTRIBUTE_BYTES: u32 = size_of::<Attributes>() as u32;

/// Event that samples a thread.
#[derive(Debug)]
pub(crate) struct ThreadEvent {
    /// Keeps the event open.
    _event: OwnedFd,
    shared: SharedMemory,
    record: Vec<u8>,
    /// Samples that found no room.
    pub(crate) n_lost: u64,
}

/// Registers and stack of a thread at one moment.
#[derive(Debug)]
pub(crate) struct RawSample<'a> {
    pub(crate) registers: [u64; N_REGISTERS],
    /// Memory from the stack pointer upwards.
    pub(crate) stack: &'a [u8],
}

/// Returns whether the processor's counters can be read here: virtual machines often hide them.
///
/// # Errors
/// Where the system does not let this user try.
pub fn has_hardware_counters() -> Result<bool, PerfError> {
    const KIND_HARDWARE: u32 = 0;
    const INSTRUCTIONS: u64 = 1;
    let attributes = Attributes {
        kind: KIND_HARDWARE,
        n_bytes: ATTRIBUTE_BYTES,
        event: INSTRUCTIONS,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    match open_event(&attributes, 0) {
        Ok(_event) => Ok(true),
        Err(PerfError::System(error)) if is_no_event(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether an error says that there is no such event on this machine.
fn is_no_event(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP))
}

impl ThreadEvent {
    /// Starts to sample a thread, with time in the kernel if the system allows that.
    pub(crate) fn open(tid: i32) -> Result<Self, PerfError> {
        let mut refused = PerfError::NoRoom;
        for (n_pages, stack_bytes) in SIZES {
            let event = open(tid, stack_bytes, 0).or_else(|error| match error {
                PerfError::Forbidden => open(tid, stack_bytes, EXCLUDE_KERNEL),
                other => Err(other),
            })?;
            match SharedMemory::of(&event, n_pages) {
                Ok(shared) => {
                    return Ok(Self { _event: event, shared, record: Vec::new(), n_lost: 0 });
                }
                Err(PerfError::Forbidden) => {}
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Calls `take` for each new sample.
    pub(crate) fn read(&mut self, mut take: impl FnMut(&RawSample<'_>)) {
        let (mut at, head) = (self.shared.tail(), self.shared.head());
        while HEADER_BYTES as u64 <= head.wrapping_sub(at) {
            let header = self.shared.header(at);
            let n_bytes = usize::from(header.n_bytes);
            if n_bytes < HEADER_BYTES || head.wrapping_sub(at) < n_bytes as u64 {
                at = head;
                break;
            }
            self.record.clear();
            self.shared.copy(at + HEADER_BYTES as u64, n_bytes - HEADER_BYTES, &mut self.record);
            match header.kind {
                RECORD_SAMPLE => drop(parse(&self.record).map(|sample| take(&sample))),
                RECORD_LOST => self.n_lost += word(&self.record, 8).unwrap_or_default(),
                _ => {}
            }
            at += n_bytes as u64;
        }
        self.shared.release(at);
    }
}

fn open(tid: i32, stack_bytes: u32, flags: u64) -> Result<OwnedFd, PerfError> {
    let attributes = Attributes {
        kind: KIND_SOFTWARE,
        n_bytes: ATTRIBUTE_BYTES,
        event: TASK_CLOCK,
        frequency: SAMPLES_PER_S,
        sample_type: WITH_REGISTERS | WITH_STACK,
        flags: EXCLUDE_HYPERVISOR | IS_FREQUENCY | IS_WATERMARK | flags,
        // Nobody waits for samples: they are read at fixed times.
        wake_after_bytes: u32::MAX,
        registers: REGISTERS,
        stack_bytes,
        ..Attributes::default()
    };
    open_event(&attributes, tid)
}

fn open_event(attributes: &Attributes, tid: i32) -> Result<OwnedFd, PerfError> {
    let place = &raw const *attributes;
    // SAFETY: the attributes are a struct of the stated length, which the call only reads.
    let event =
        unsafe { libc::syscall(libc::SYS_perf_event_open, place, tid, -1, -1, CLOSE_ON_EXEC) };
    let Some(event) = i32::try_from(event).ok().filter(|event| 0 <= *event) else {
        return Err(PerfError::last());
    };
    // SAFETY: the descriptor is new, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
}

/// Returns the sample in a record; `None` if the thread has no user registers, as a thread of the kernel.
fn parse(record: &[u8]) -> Option<RawSample<'_>> {
    const STACK_AT: usize = 8 * (N_REGISTERS + 2);
    const ABI_64: u64 = 2;
    if word(record, 0)? != ABI_64 {
        return None;
    }
    let mut registers = [0; N_REGISTERS];
    for (idx, register) in registers.iter_mut().enumerate() {
        *register = word(record, 8 * (idx + 1))?;
    }
    let n_reserved = usize::try_from(word(record, STACK_AT - 8)?).ok()?;
    // The kernel tells behind the stack how much of it could be copied.
    let end = STACK_AT.checked_add(n_reserved)?;
    let n_copied = if n_reserved == 0 { 0 } else { usize::try_from(word(record, end)?).ok()? };
    let stack = record.get(STACK_AT..end)?;
    Some(RawSample { registers, stack: stack.get(..n_copied)? })
}

/// Returns the number at `at`.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(word.try_into().ok()?))
}

/// Header of a record.
struct RecordHeader {
    kind: u32,
    n_bytes: u16,
}

/// Memory of an event that the kernel writes: a page with positions, and a ring of records.
#[derive(Debug)]
struct SharedMemory {
    start: NonNull<u8>,
    /// Length of the ring, a power of two.
    n_bytes: usize,
}

// SAFETY: the mapping belongs to no thread; positions in it are atomics.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    fn of(event: &OwnedFd, n_pages: usize) -> Result<Self, PerfError> {
        let n_bytes = n_pages * PAGE_BYTES;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (null, fd) = (std::ptr::null_mut(), event.as_raw_fd());
        let n_mapped = n_bytes + PAGE_BYTES;
        // SAFETY: a new mapping at a place that the system chooses touches no other memory.
        let start = unsafe { libc::mmap(null, n_mapped, access, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(PerfError::last());
        }
        let start = NonNull::new(start.cast()).ok_or(PerfError::NoRoom)?;
        Ok(Self { start, n_bytes })
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both positions lie in the first page.
        let place = unsafe { self.start.add(at) }.cast::<AtomicU64>();
        // SAFETY: the place is aligned, mapped as long as `self` lives, and written as one word by both sides.
        unsafe { place.as_ref() }
    }

    /// Returns the number of bytes that the kernel has written so far.
    fn head(&self) -> u64 {
        self.position(HEAD_AT).load(Ordering::Acquire)
    }

    /// Returns the number of bytes that were read so far.
    fn tail(&self) -> u64 {
        self.position(TAIL_AT).load(Ordering::Relaxed)
    }

    /// Lets the kernel reuse everything before `up_to`.
    fn release(&self, up_to: u64) {
        self.position(TAIL_AT).store(up_to, Ordering::Release);
    }

    fn header(&self, at: u64) -> RecordHeader {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        self.copy(at, HEADER_BYTES, &mut bytes);
        let header = word(&bytes, 0).unwrap_or_default();
        let [k0, k1, k2, k3, _, _, n0, n1] = header.to_ne_bytes();
        RecordHeader {
            kind: u32::from_ne_bytes([k0, k1, k2, k3]),
            n_bytes: u16::from_ne_bytes([n0, n1]),
        }
    }

    /// Appends `n_bytes` bytes from position `at` of the ring.
    fn copy(&self, at: u64, n_bytes: usize, to: &mut Vec<u8>) {
        // The remainder is less than a length in memory.
        let first = usize::try_from(at % self.n_bytes as u64).unwrap_or_default();
        let n_to_end = n_bytes.min(self.n_bytes - first);
        for (from, n_bytes) in [(first, n_to_end), (0, n_bytes - n_to_end)] {
            // SAFETY: the piece lies in the ring, behind the first page.
            let start = unsafe { self.start.add(PAGE_BYTES + from) };
            // SAFETY: the kernel does not write between tail and head, where the piece lies.
            to.extend_from_slice(unsafe { std::slice::from_raw_parts(start.as_ptr(), n_bytes) });
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let n_mapped = self.n_bytes + PAGE_BYTES;
        // SAFETY: the mapping was made with this length, and nobody refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), n_mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(abi: u64, stack: &[u8], n_copied: u64) -> Vec<u8> {
        let registers = (1..=N_REGISTERS as u64).collect::<Vec<_>>();
        let before = [vec![abi], registers, vec![stack.len() as u64]].concat();
        let mut bytes: Vec<u8> = before.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(stack);
        bytes.extend(n_copied.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_sample_has_the_stack_that_was_copied() {
        let bytes = record(2, &[7; 32], 24);
        let sample = parse(&bytes).unwrap();
        assert_eq!(sample.registers[0], 1);
        assert_eq!(sample.registers[16], 17);
        assert_eq!(sample.stack, [7; 24]);
    }

    #[test]
    fn a_damaged_sample_is_left_out() {
        assert!(parse(&record(0, &[7; 32], 24)).is_none());
        assert!(parse(&record(2, &[7; 32], 40)).is_none());
        let bytes = record(2, &[7; 32], 24);
        for end in 0..bytes.len() {
            assert!(parse(&bytes[..end]).is_none(), "{end}");
        }
    }
}
