//! Variables of the program: check that they are writable, atomic loads and stores.
#![allow(unsafe_code, reason = "reads and writes the program's variables")]

use super::problem::OrderError;
use events::ValueType;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Writable variable of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    address: usize,
    kind: ValueType,
}

impl Variable {
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
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| {
        let mut words = line.split(' ');
        let (range, rights) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let bounds = range.split_once('-').and_then(|(start, end)| {
            let hex = |text| usize::from_str_radix(text, 16).ok();
            Some(hex(start)?..hex(end)?)
        });
        rights.starts_with("rw") && bounds.is_some_and(|bounds| bounds.contains(&address))
    })
}
