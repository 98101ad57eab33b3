//! File of samples that a process takes of itself: registers and the top of the stack, in slots.
//!
//! Written by signal handlers of any thread, read by the collector. A full file drops samples and counts them.
//!
//! # Invariants
//! - Writing a sample takes no lock and no memory, and is safe in a signal handler.
//! - A slot is written by one thread, then read by one reader, then free again.

use crate::layout::Shared;
use crate::mapping::{Mapping, SegmentError, size_limit_bytes};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Extension of the file, beside its process's segment.
pub const SUFFIX: &str = "samples";
/// Number of registers in a sample: AX BX CX DX SI DI BP SP IP, R8 to R15.
pub const N_REGISTERS: usize = 17;
/// Maximum number of bytes of stack in a sample.
pub const STACK_BYTES: usize = 8 << 10;

/// `SINTSAM` and the version of the layout.
const MAGIC: u64 = u64::from_le_bytes(*b"SINTSAM\x01");
/// Number of slots; at 99 samples per second, enough for 40 threads between two readings.
const N_SLOTS: usize = 256;
const HEADER_BYTES: usize = 4096;
const FILE_BYTES: usize = HEADER_BYTES + N_SLOTS * size_of::<Slot>();

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const FULL: u32 = 2;

#[repr(C)]
struct Header {
    magic: AtomicU64,
    /// Slots that were asked for so far.
    next: AtomicU64,
    n_lost: AtomicU64,
    /// [`Refusal`] as a number; 0 if samples are taken.
    refusal: AtomicU32,
    padding: AtomicU32,
}

#[repr(C)]
struct Slot {
    state: AtomicU32,
    n_stack: AtomicU32,
    registers: [AtomicU64; N_REGISTERS],
    stack: [AtomicU64; STACK_BYTES / 8],
}

// SAFETY: both consist of atomics.
unsafe impl Shared for Header {}
// SAFETY: as above.
unsafe impl Shared for Slot {}

/// Reason why a process takes no samples of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The program uses all signals.
    NoSignal = 1,
    /// The program took our signal for itself.
    SignalTaken = 2,
    /// The system gave no timer or no thread.
    NoTimer = 3,
}

impl Refusal {
    /// Returns the reason as a part of a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoSignal => "the program uses all signals that could be used for sampling",
            Self::SignalTaken => "the program took the signal used for sampling for itself",
            Self::NoTimer => "the system gave no timer or no thread for sampling",
        }
    }
}

/// Writing side. Its mapping stays for the rest of the process.
#[derive(Debug)]
pub struct SampleWriter(Mapping);

impl SampleWriter {
    /// Creates the file with all its memory.
    ///
    /// # Errors
    /// There is no room for it, or it cannot be created.
    pub fn create(path: &Path) -> Result<Self, SegmentError> {
        if size_limit_bytes() < FILE_BYTES as u64 {
            return Err(SegmentError::Limited(path.into()));
        }
        let mapping = Mapping::create(path, FILE_BYTES)?;
        mapping.reserve(0, FILE_BYTES).map_err(|source| {
            let _gone = std::fs::remove_file(path);
            mapping.cannot_reserve(source)
        })?;
        mapping.keep_from_children();
        header(&mapping).magic.store(MAGIC, Ordering::Release);
        Ok(Self(mapping))
    }

    /// Tells the reader why there are no samples.
    pub fn refuse(&self, refusal: Refusal) {
        header(&self.0).refusal.store(refusal as u32, Ordering::Release);
    }

    /// Adds a sample. `copy_stack` fills the given memory with the stack from the stack pointer upwards, and returns
    /// the number of bytes that it could copy.
    pub fn add(
        &self,
        registers: &[u64; N_REGISTERS],
        copy_stack: impl FnOnce(*mut u8, usize) -> usize,
    ) {
        let header = header(&self.0);
        let number = header.next.fetch_add(1, Ordering::Relaxed);
        let slot = slot(&self.0, usize::try_from(number % N_SLOTS as u64).unwrap_or_default());
        let claimed =
            slot.state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed);
        if claimed.is_err() {
            header.n_lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        for (place, value) in slot.registers.iter().zip(registers) {
            place.store(*value, Ordering::Relaxed);
        }
        let n_stack = copy_stack(slot.stack.as_ptr().cast_mut().cast(), STACK_BYTES);
        slot.n_stack.store(u32::try_from(n_stack).unwrap_or_default(), Ordering::Relaxed);
        slot.state.store(FULL, Ordering::Release);
    }
}

/// Reading side.
#[derive(Debug)]
pub struct SampleReader {
    mapping: Mapping,
    stack: Vec<u8>,
}

impl SampleReader {
    /// Opens the file of a process; `None` if there is none that is complete.
    pub fn open(path: &Path) -> Option<Self> {
        let mapping = Mapping::open(path).ok()?;
        let is_whole = mapping.len == FILE_BYTES && mapping.is_readable(0, FILE_BYTES);
        let is_known = is_whole && header(&mapping).magic.load(Ordering::Acquire) == MAGIC;
        is_known.then(|| Self { mapping, stack: Vec::with_capacity(STACK_BYTES) })
    }

    /// Calls `take` with registers and stack of each new sample.
    pub fn read(&mut self, mut take: impl FnMut(&[u64; N_REGISTERS], &[u8])) {
        for idx in 0..N_SLOTS {
            let slot = slot(&self.mapping, idx);
            if slot.state.load(Ordering::Acquire) != FULL {
                continue;
            }
            let mut registers = [0; N_REGISTERS];
            for (value, place) in registers.iter_mut().zip(&slot.registers) {
                *value = place.load(Ordering::Relaxed);
            }
            // The program may overwrite any number.
            let n_stack = (slot.n_stack.load(Ordering::Relaxed) as usize).min(STACK_BYTES);
            self.stack.clear();
            let words = slot.stack.iter().take(n_stack / 8);
            words.for_each(|word| {
                self.stack.extend(word.load(Ordering::Relaxed).to_ne_bytes());
            });
            slot.state.store(FREE, Ordering::Release);
            take(&registers, &self.stack);
        }
    }

    /// Returns the number of samples that found no room.
    #[must_use]
    pub fn n_lost(&self) -> u64 {
        header(&self.mapping).n_lost.load(Ordering::Relaxed)
    }

    /// Returns the reason why there are no samples, or no more.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        let all = [Refusal::NoSignal, Refusal::SignalTaken, Refusal::NoTimer];
        let number = header(&self.mapping).refusal.load(Ordering::Acquire);
        all.into_iter().find(|refusal| *refusal as u32 == number)
    }
}

fn header(mapping: &Mapping) -> &Header {
    mapping.shared(0)
}

fn slot(mapping: &Mapping, idx: usize) -> &Slot {
    mapping.shared(HEADER_BYTES + idx * size_of::<Slot>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(writer: &SampleWriter, ip: u64, stack: &[u8]) {
        let mut registers = [0; N_REGISTERS];
        registers[8] = ip;
        writer.add(&registers, |to, _| {
            // SAFETY: the place has room for more.
            unsafe { std::ptr::copy_nonoverlapping(stack.as_ptr(), to, stack.len()) };
            stack.len()
        });
    }

    #[test]
    fn samples_are_read_once_and_lost_ones_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.samples");
        assert!(SampleReader::open(&path).is_none());
        let writer = SampleWriter::create(&path).unwrap();
        let mut reader = SampleReader::open(&path).unwrap();
        for ip in 0..N_SLOTS as u64 + 3 {
            add(&writer, ip, &[7; 16]);
        }
        let mut seen = Vec::new();
        reader.read(|registers, stack| seen.push((registers[8], stack.to_vec())));
        assert_eq!(seen.len(), N_SLOTS);
        assert!(seen.contains(&(5, vec![7; 16])));
        assert_eq!(reader.n_lost(), 3);
        reader.read(|_, _| seen.clear());
        assert_eq!(seen.len(), N_SLOTS);
        add(&writer, 9, &[]);
        reader.read(|_, stack| assert!(stack.is_empty()));
        assert_eq!(reader.refusal(), None);
        writer.refuse(Refusal::SignalTaken);
        assert_eq!(reader.refusal(), Some(Refusal::SignalTaken));
    }
}
