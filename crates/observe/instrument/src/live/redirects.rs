//! Map from code addresses to the addresses to continue at, read in signal handlers.
//!
//! # Invariants
//! - A lookup takes no lock and does not allocate, and may interrupt an insertion.
//! - An entry is permanent: its target has the effect of the code at the address.
//! - Tables double; outgrown tables stay, because a handler may still read them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const N_FIRST: usize = 1024;
const N_TABLES: usize = 32;

/// Addresses with targets; one writer at a time.
#[derive(Debug)]
pub(super) struct Redirects {
    tables: [OnceLock<Box<[Slot]>>; N_TABLES],
    current: AtomicUsize,
    n_used: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    /// 0 while the slot is free.
    address: AtomicUsize,
    target: AtomicUsize,
}

impl Redirects {
    pub(super) const fn new() -> Self {
        Self {
            tables: [const { OnceLock::new() }; N_TABLES],
            current: AtomicUsize::new(0),
            n_used: AtomicUsize::new(0),
        }
    }

    /// Returns the address to continue at; async-signal-safe.
    pub(super) fn target(&self, address: usize) -> Option<usize> {
        let table = self.tables.get(self.current.load(Ordering::Acquire))?.get()?;
        let slot = place(table, address)?;
        (slot.address.load(Ordering::Acquire) == address)
            .then(|| slot.target.load(Ordering::Acquire))
    }

    /// Inserts a target. The caller makes sure that no other thread inserts.
    pub(super) fn insert(&self, address: usize, target: usize) {
        let n_used = self.n_used.load(Ordering::Relaxed);
        let mut current = self.current.load(Ordering::Relaxed);
        if N_FIRST << current <= 2 * n_used && current + 1 < N_TABLES {
            self.grow(current);
            current += 1;
        }
        if put(self.table(current), address, target) {
            self.n_used.store(n_used + 1, Ordering::Relaxed);
        }
    }

    fn grow(&self, current: usize) {
        let larger = self.table(current + 1);
        for slot in self.table(current) {
            let address = slot.address.load(Ordering::Relaxed);
            if address != 0 {
                put(larger, address, slot.target.load(Ordering::Relaxed));
            }
        }
        self.current.store(current + 1, Ordering::Release);
    }

    fn table(&self, idx: usize) -> &[Slot] {
        self.tables[idx].get_or_init(|| (0..N_FIRST << idx).map(|_| Slot::default()).collect())
    }
}

/// Inserts an entry; returns true if the address is new.
fn put(table: &[Slot], address: usize, target: usize) -> bool {
    let Some(slot) = place(table, address) else { return false };
    slot.target.store(target, Ordering::Release);
    slot.address.swap(address, Ordering::Release) == 0
}

/// Returns the slot of an address, or the free slot for it; tables are never full.
fn place(table: &[Slot], address: usize) -> Option<&Slot> {
    // Multiplicative hashing: neighboring functions spread over the whole table.
    let first = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    (0..table.len()).map(|step| &table[(first + step) % table.len()]).find(|slot| {
        let found = slot.address.load(Ordering::Acquire);
        found == 0 || found == address
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_keeps_its_latest_target_while_tables_grow() {
        let redirects = Redirects::new();
        for round in 1..=2 {
            for number in 1..=5_000 {
                redirects.insert(number * 16, number + round);
            }
        }
        for number in 1..=5_000 {
            assert_eq!(redirects.target(number * 16), Some(number + 2));
            assert_eq!(redirects.target(number * 16 + 1), None);
        }
    }

    #[test]
    fn an_empty_table_has_no_targets() {
        assert_eq!(Redirects::new().target(64), None);
    }
}
