//! Variables of the program: whether they can be written, and reading and writing them at once.
#![allow(unsafe_code, reason = "reads and writes the program's variables")]

use super::problem::OrderError;
use events::ValueType;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A variable of the program that can be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    address: usize,
    kind: ValueType,
}

impl Variable {
    /// The variable at `address`, which lies in a loaded file that stays.
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

    /// Its bytes, the first one lowest.
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

    /// Gives it the lowest of `bits`: other threads see the old value or the new one, nothing between.
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

/// Whether the page of an address may be written, by the kernel's list; an aligned variable lies on one.
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
