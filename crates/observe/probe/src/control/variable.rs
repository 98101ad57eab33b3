//! A number in the memory of the program, and what became of a change of it.
//!
//! # Invariants
//! - A store is one instruction: other threads see the old value or the new one, nothing between.
#![allow(unsafe_code, reason = "reads and writes memory of the program")]

use super::problem::OrderError;
use events::ValueType;
use instrument::Mappings;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Outcome of a change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChangeOutcome {
    /// Value before; 0 if there is none.
    pub(crate) old: u64,
    /// Value after, or the return value of the called function.
    pub(crate) new: u64,
    /// 0, or an `errno` of the system.
    pub(crate) failure: i32,
}

/// Writable variable of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    address: usize,
    kind: ValueType,
}

impl Variable {
    /// A variable that was found to be mapped, writable and aligned at this moment.
    pub(super) fn found(address: usize, kind: ValueType) -> Self {
        Self { address, kind }
    }

    /// Checks the variable at `address`, which lies in a loaded file that stays loaded.
    pub(crate) fn new(address: usize, kind: ValueType) -> Result<Self, OrderError> {
        let n_bytes = kind.n_bytes();
        if !address.is_multiple_of(n_bytes) {
            return Err(OrderError::Unaligned { address, n_bytes });
        }
        if !is_writable(address) {
            return Err(OrderError::ReadOnly { address });
        }
        Ok(Self { address, kind })
    }

    /// Loads its bytes, the first byte lowest.
    pub(crate) fn load(self) -> u64 {
        let place = std::ptr::with_exposed_provenance_mut::<u8>(self.address);
        match self.kind.n_bytes() {
            // SAFETY: a mapped variable of this size, aligned to it (`new`).
            1 => unsafe { AtomicU8::from_ptr(place) }.load(Ordering::SeqCst).into(),
            // SAFETY: as above.
            2 => unsafe { AtomicU16::from_ptr(place.cast()) }.load(Ordering::SeqCst).into(),
            // SAFETY: as above.
            4 => unsafe { AtomicU32::from_ptr(place.cast()) }.load(Ordering::SeqCst).into(),
            // SAFETY: as above.
            _ => unsafe { AtomicU64::from_ptr(place.cast()) }.load(Ordering::SeqCst),
        }
    }

    /// Stores the lowest bytes of `bits`: other threads see the old value or the new one, nothing between.
    #[expect(clippy::cast_possible_truncation, reason = "takes the lowest bytes")]
    pub(crate) fn store(self, bits: u64) {
        let place = std::ptr::with_exposed_provenance_mut::<u8>(self.address);
        let order = Ordering::SeqCst;
        match self.kind.n_bytes() {
            // SAFETY: a mapped, writable variable of this size, aligned to it (`new`).
            1 => unsafe { AtomicU8::from_ptr(place) }.store(bits as u8, order),
            // SAFETY: as above.
            2 => unsafe { AtomicU16::from_ptr(place.cast()) }.store(bits as u16, order),
            // SAFETY: as above.
            4 => unsafe { AtomicU32::from_ptr(place.cast()) }.store(bits as u32, order),
            // SAFETY: as above.
            _ => unsafe { AtomicU64::from_ptr(place.cast()) }.store(bits, order),
        }
    }
}

/// Returns whether the page of an address is writable, by the kernel's list; an aligned variable lies on one page.
fn is_writable(address: usize) -> bool {
    const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
    let protection = Mappings::read().protection(address);
    protection.is_some_and(|protection| protection & READ_WRITE == READ_WRITE)
}
