//! Numbers that are set through pointers: of what an argument points to, or a pointer variable.
//!
//! # Invariants
//! - A pointer that is null or leads nowhere is survived: memory is read by a system call that fails instead of faulting,
//!   and written only where another one found that it can be. That is affordable, since only the passages that change
//!   something do it.
//! - The value that was found in an object before the first change is given back to that object, and to no other.
//!
//! # Not here
//! Attributes of events behind pointers, which no system call reads (`instrument::capture`).
#![allow(unsafe_code, reason = "asks the system about memory")]

use super::modules::Modules;
use super::problem::OrderError;
use super::variable::{ChangeOutcome, Variable};
use events::ValueType;
use instrument::{N_WAY_STEPS_MAX, Passage, Way, WayStart};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wire::control;

const PAGE_BYTES: usize = 4096;
/// Advice that makes the pages of a range writable, as writing to them would (Linux 5.14).
const MADV_POPULATE_WRITE: i32 = 23;

/// Object in which a number was changed last.
#[derive(Debug, Default)]
struct Object {
    /// Address of the number; 0 before the first change.
    address: AtomicUsize,
    /// Value that was found there first, as the bits of its type.
    first: AtomicU64,
}

/// Objects by the ways to their numbers.
#[derive(Debug, Default)]
pub(crate) struct Objects(HashMap<control::Way, Arc<Object>>);

/// Number at the end of a way through pointers.
#[derive(Debug)]
pub(crate) struct ReachedNumber {
    way: Way,
    kind: ValueType,
    object: Arc<Object>,
}

/// Translates a way to addresses of this process.
pub(super) fn way_here(way: &control::Way, modules: &Modules) -> Result<Way, OrderError> {
    let start = match way.start {
        control::WayStart::Argument(number) => WayStart::Argument(number),
        control::WayStart::Variable(at) => WayStart::Address(modules.data(at, size_of::<usize>())?),
    };
    const { assert!(N_WAY_STEPS_MAX == control::N_WAY_STEPS_MAX, "one length of a way") };
    Ok(Way { start, n_steps: way.n_steps, offsets: way.offsets })
}

impl ReachedNumber {
    /// Finds where the way begins, and checks that memory can be looked at.
    pub(crate) fn find(
        way: &control::Way,
        kind: ValueType,
        modules: &Modules,
        objects: &mut Objects,
    ) -> Result<Self, OrderError> {
        let here = way_here(way, modules)?;
        let own = 1_u64;
        if read(std::ptr::from_ref(&own).addr(), size_of::<u64>()) != Ok(own) {
            let errno = read(std::ptr::from_ref(&own).addr(), 8).err().unwrap_or(libc::ENOSYS);
            return Err(OrderError::NotReadable { errno });
        }
        let object = Arc::clone(objects.0.entry(*way).or_default());
        Ok(Self { way: here, kind, object })
    }

    /// Sets the number at a passage; `None` if the way leads to no number there, or not to the object that gets its own
    /// value back.
    pub(crate) fn set(&self, passage: Option<&Passage<'_>>, bits: u64) -> Option<ChangeOutcome> {
        let address = self.address(passage)?;
        let old = read(address, self.kind.n_bytes()).ok()?;
        let known = self.object.address.load(Ordering::Relaxed);
        let gives_back = known != 0 && bits == self.object.first.load(Ordering::Relaxed);
        if gives_back && address != known {
            return None;
        }
        let refused = |failure| Some(ChangeOutcome { old, new: old, failure });
        if !address.is_multiple_of(self.kind.n_bytes()) {
            return refused(libc::EINVAL);
        }
        let stored = make_writable(address).and_then(|can_be_stored| {
            if can_be_stored {
                Variable::found(address, self.kind).store(bits);
                return Ok(());
            }
            write(address, bits, self.kind.n_bytes())
        });
        if let Err(errno) = stored {
            return refused(errno);
        }
        if address != known {
            self.object.address.store(address, Ordering::Relaxed);
            self.object.first.store(old, Ordering::Relaxed);
        }
        Some(ChangeOutcome { old, new: bits, failure: 0 })
    }

    /// Follows the way; `None` if a pointer on it is null or leads nowhere.
    fn address(&self, passage: Option<&Passage<'_>>) -> Option<usize> {
        let mut address = match self.way.start {
            WayStart::Argument(number) => usize::try_from(passage?.argument(number)?).ok()?,
            WayStart::Address(address) => address,
        };
        let (last, before) = self.way.offsets().split_last()?;
        for offset in before {
            let at = beyond(address, *offset)?;
            address = usize::try_from(read(at, size_of::<usize>()).ok()?).ok()?;
        }
        beyond(address, *last)
    }
}

fn beyond(address: usize, offset: i32) -> Option<usize> {
    let offset = isize::try_from(offset).ok()?;
    (address != 0).then_some(address)?.checked_add_signed(offset)
}

/// Reads up to eight bytes of this process, the first byte lowest.
///
/// # Errors
/// The system's error number if they are not mapped.
fn read(address: usize, n_bytes: usize) -> Result<u64, i32> {
    let mut bits = 0_u64;
    let n_bytes = n_bytes.min(size_of::<u64>());
    let own = libc::iovec { iov_base: (&raw mut bits).cast(), iov_len: n_bytes };
    let place = std::ptr::with_exposed_provenance_mut(address);
    let there = libc::iovec { iov_base: place, iov_len: n_bytes };
    let pid = libc::pid_t::try_from(std::process::id()).unwrap_or_default();
    // SAFETY: writes into `bits` alone; the system checks the other address.
    let n_read = unsafe { libc::process_vm_readv(pid, &raw const own, 1, &raw const there, 1, 0) };
    if usize::try_from(n_read) == Ok(n_bytes) { Ok(bits) } else { Err(last_error()) }
}

/// Makes sure that the page of an address can be written to, without changing it; false if the system cannot tell.
fn make_writable(address: usize) -> Result<bool, i32> {
    let page = std::ptr::with_exposed_provenance_mut(address & !(PAGE_BYTES - 1));
    // SAFETY: changes nothing in the page; the system checks the address.
    if unsafe { libc::madvise(page, PAGE_BYTES, MADV_POPULATE_WRITE) } == 0 {
        return Ok(true);
    }
    match last_error() {
        // An older system, or memory that it does not populate.
        libc::EINVAL => Ok(false),
        errno => Err(errno),
    }
}

/// Writes by a system call, which fails where a store would fault.
fn write(address: usize, mut bits: u64, n_bytes: usize) -> Result<(), i32> {
    let own = libc::iovec { iov_base: (&raw mut bits).cast(), iov_len: n_bytes };
    let place = std::ptr::with_exposed_provenance_mut(address);
    let there = libc::iovec { iov_base: place, iov_len: n_bytes };
    let pid = libc::pid_t::try_from(std::process::id()).unwrap_or_default();
    // SAFETY: reads `bits` alone; the system checks the other address.
    let n_written =
        unsafe { libc::process_vm_writev(pid, &raw const own, 1, &raw const there, 1, 0) };
    if usize::try_from(n_written) == Ok(n_bytes) { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(start: usize, offsets: &[i32], kind: ValueType) -> ReachedNumber {
        let mut all = [0; N_WAY_STEPS_MAX];
        all[..offsets.len()].copy_from_slice(offsets);
        let n_steps = u8::try_from(offsets.len()).unwrap();
        let way = Way { start: WayStart::Address(start), n_steps, offsets: all };
        ReachedNumber { way, kind, object: Arc::default() }
    }

    #[test]
    fn a_number_behind_pointers_is_set_and_given_back_to_its_object_alone() {
        let (mut one, mut other) = (Box::new([7_i64, 1]), Box::new([9_i64, 2]));
        let mut pointer: u64 = (&raw mut *one).expose_provenance() as u64;
        let start = (&raw mut pointer).expose_provenance();
        let reached = number(start, &[0, 8], ValueType::I64);
        let outcome = reached.set(None, 5).unwrap();
        assert_eq!((outcome.old, outcome.new, outcome.failure, one[1]), (1, 5, 0, 5));
        pointer = (&raw mut *other).expose_provenance() as u64;
        std::hint::black_box(&mut pointer);
        assert!(reached.set(None, 1).is_none(), "another object");
        assert_eq!(*other, [9, 2]);
        pointer = (&raw mut *one).expose_provenance() as u64;
        std::hint::black_box(&mut pointer);
        assert_eq!(reached.set(None, 1).unwrap().failure, 0);
        assert_eq!(*one, [7, 1]);
        other[0] = 0;
    }

    #[test]
    fn what_leads_nowhere_is_survived() {
        for wild in [0_u64, 16, 0x6000_0000_0000, u64::MAX] {
            let mut pointer = wild;
            let start = (&raw mut pointer).expose_provenance();
            assert!(number(start, &[0, 8], ValueType::I64).set(None, 5).is_none(), "{wild:#x}");
            assert!(number(start, &[0, 0, 8], ValueType::I64).set(None, 5).is_none(), "{wild:#x}");
        }
    }

    #[test]
    fn what_must_not_be_written_is_left_alone() {
        static FIXED: u64 = 3;
        let mut pointer = (&raw const FIXED).expose_provenance() as u64;
        let start = (&raw mut pointer).expose_provenance();
        let outcome = number(start, &[0, 0], ValueType::U64).set(None, 5).unwrap();
        assert_ne!(outcome.failure, 0);
        assert_eq!((outcome.new, std::hint::black_box(&FIXED)), (3, &3));
        let mut bytes = [0_u64; 2];
        pointer = (&raw mut bytes).expose_provenance() as u64 + 1;
        std::hint::black_box(&mut pointer);
        let outcome = number(start, &[0, 0], ValueType::U64).set(None, 5).unwrap();
        assert_eq!((outcome.failure, bytes), (libc::EINVAL, [0, 0]));
    }
}
