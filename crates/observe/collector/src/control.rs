//! Transport of orders to a process and of its answers, through the mailboxes in its segment.

use super::link::Connection;
use events::ProcessKey;
use ring::SegmentReader;
use ring::control::ORDER_BYTES_MAX;
use std::collections::VecDeque;
use wire::{Answer, Order, ToAnalyzer};

/// Maximum total size, in bytes, of orders waiting for room in a mailbox.
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Maximum number of answers sent per call.
const N_ANSWERS_MAX: usize = 1024;

/// Queue of orders to a process.
#[derive(Debug, Default)]
pub(crate) struct Control {
    waiting: VecDeque<Vec<u8>>,
    n_bytes: usize,
}

impl Control {
    /// Queues an order. An order that finds no room, or is too large, is dropped: its sender waits for the answer
    /// only for a limited time.
    pub(crate) fn take_order(&mut self, order: &Order) {
        let Ok(bytes) = wire::to_bytes(order) else { return };
        let fits = bytes.len() <= ORDER_BYTES_MAX;
        if fits && self.n_bytes + bytes.len() <= WAITING_BYTES_MAX {
            self.n_bytes += bytes.len();
            self.waiting.push_back(bytes);
        }
    }

    /// Returns whether orders are queued.
    pub(crate) fn has_orders(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Drops all orders of a process that has ended.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
        self.n_bytes = 0;
    }

    /// Puts orders into the mailbox until it is full.
    pub(crate) fn pass_orders(&mut self, segment: &SegmentReader) {
        if self.waiting.is_empty() {
            return;
        }
        // A process without a mailbox may open it soon: it is in `MPI_Init`.
        let Some(mut mailbox) = segment.orders() else { return };
        while let Some(order) = self.waiting.pop_front() {
            if !mailbox.push(&order) {
                self.waiting.push_front(order);
                return;
            }
            self.n_bytes -= order.len();
        }
    }

    /// Sends the answers of the process while the connection has room; the rest stay in the mailbox.
    pub(crate) fn send_answers(
        &self,
        segment: &SegmentReader,
        process: ProcessKey,
        connection: &mut Connection,
    ) {
        let Some(mut mailbox) = segment.answers() else { return };
        for _answer in 0..N_ANSWERS_MAX {
            if !connection.has_room() {
                return;
            }
            let Some(bytes) = mailbox.pop() else { return };
            // An answer that cannot be decoded comes from another version, and is dropped.
            if let Ok(answer) = wire::decode::<Answer>(&bytes) {
                connection.send(&ToAnalyzer::Answer { process, answer }).ok();
            }
        }
    }
}
