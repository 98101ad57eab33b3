//! The MPI call that a thread is in.

use super::ThreadWriter;
use crate::layout::LEFT;
use std::sync::atomic::Ordering;

impl ThreadWriter {
    /// Marks that the thread entered `operation`.
    #[inline(always)]
    pub fn enter(&self, operation: u16, address: u64, ticks: u64) {
        self.header.in_address.store(address, Ordering::Relaxed);
        self.header.since_ticks.store(ticks, Ordering::Relaxed);
        self.header.in_operation.store(u32::from(operation) + 1, Ordering::Relaxed);
    }

    /// Marks that the thread left MPI.
    #[inline(always)]
    pub fn leave(&self, ticks: u64) {
        let operation = self.header.in_operation.load(Ordering::Relaxed);
        self.header.in_operation.store(operation | LEFT, Ordering::Relaxed);
        self.header.since_ticks.store(ticks, Ordering::Relaxed);
    }

    /// Returns the operation that the thread is in, and the ticks when it entered it.
    #[inline(always)]
    pub fn call_in_progress(&self) -> Option<(u16, u64)> {
        let operation = self.header.in_operation.load(Ordering::Relaxed);
        if operation & LEFT != 0 {
            return None;
        }
        let operation = operation.checked_sub(1)?;
        Some((u16::try_from(operation).ok()?, self.header.since_ticks.load(Ordering::Relaxed)))
    }
}
