//! Queue of future events, ordered by time, and by arrival for equal times.
//!
//! The heap holds 16 bytes for each event, so that most of it stays in the caches; the events themselves lie in a
//! table.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of a key: a time of up to 2 years in ns, a running number, and the event's position in the table.
const SLOT_BITS: u32 = 28;
const NUMBER_BITS: u32 = 44;

#[derive(Debug)]
pub(super) struct NodeQueue<E> {
    heap: BinaryHeap<Reverse<u128>>,
    events: Vec<E>,
    free: Vec<u32>,
    number: u64,
}

impl<E: Copy> NodeQueue<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), events: Vec::new(), free: Vec::new(), number: 0 }
    }

    /// Adds an event.
    ///
    /// # Panics
    /// With more than 268 million events at once.
    pub(super) fn push(&mut self, at_ns: u64, event: E) {
        let slot = if let Some(slot) = self.free.pop() {
            self.events[slot as usize] = event;
            slot
        } else {
            self.events.push(event);
            u32::try_from(self.events.len() - 1).expect("bounded by the memory of this machine")
        };
        assert!(slot < 1 << SLOT_BITS, "more events at once than a key can number");
        self.number += 1;
        let number = u128::from(self.number) & ((1 << NUMBER_BITS) - 1);
        let key = u128::from(at_ns) << (SLOT_BITS + NUMBER_BITS) | number << SLOT_BITS;
        self.heap.push(Reverse(key | u128::from(slot)));
    }

    pub(super) fn pop(&mut self) -> Option<(u64, E)> {
        let Reverse(key) = self.heap.pop()?;
        let slot = u32::try_from(key & ((1 << SLOT_BITS) - 1)).expect("masked to its bits");
        let at_ns =
            u64::try_from(key >> (SLOT_BITS + NUMBER_BITS)).expect("the bits that are left");
        self.free.push(slot);
        Some((at_ns, self.events[slot as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times_and_coming() {
        let mut queue = NodeQueue::new();
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(at, event);
        }
        assert_eq!(queue.pop(), Some((3, 'a')));
        queue.push(u64::MAX >> 8, 'z');
        queue.push(4, 'x');
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest[..4], [(3, 'b'), (4, 'x'), (5, 'c'), (5, 'd')]);
        assert_eq!(rest[4], (u64::MAX >> 8, 'z'));
    }
}
