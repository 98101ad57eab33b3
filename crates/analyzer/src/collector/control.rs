//! Orders down to a process and answers up, through the mailboxes in its segment.

use super::link::Connection;
use events::ProcessKey;
use ring::SegmentReader;
use ring::control::ORDER_BYTES_MAX;
use std::collections::VecDeque;
use wire::{Answer, Order, ToAnalyzer};

/// Bytes of orders that wait for room in a mailbox, at most.
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Answers sent in one go.
const N_ANSWERS_MAX: usize = 1024;

/// What is on its way to a process.
#[derive(Debug, Default)]
pub(crate) struct Control {
    waiting: VecDeque<Vec<u8>>,
    n_bytes: usize,
}

impl Control {
    /// Takes an order. One that finds no room, or never fits, is dropped: who gave it waits for the answer
    /// only so long.
    pub(crate) fn take_order(&mut self, order: &Order) {
        let Ok(bytes) = wire::to_bytes(order) else { return };
        let fits = bytes.len() <= ORDER_BYTES_MAX;
        if fits && self.n_bytes + bytes.len() <= WAITING_BYTES_MAX {
            self.n_bytes += bytes.len();
            self.waiting.push_back(bytes);
        }
    }

    /// Whether orders wait.
    pub(crate) fn has_orders(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The process is gone.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
        self.n_bytes = 0;
    }

    /// Puts orders into the mailbox until it is full.
    pub(crate) fn pass_orders(&mut self, segment: &SegmentReader) {
        if self.waiting.is_empty() {
            return;
        }
        // A process that does not listen yet may soon: it is in `MPI_Init`.
        let Some(mut mailbox) = segment.orders() else { return };
        while let Some(order) = self.waiting.pop_front() {
            if !mailbox.push(&order) {
                self.waiting.push_front(order);
                return;
            }
            self.n_bytes -= order.len();
        }
    }

    /// Sends what the process answered, as far as the connection has room; the rest stays in the mailbox.
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
            // What is not understood is of another version, and not answered.
            if let Ok(answer) = wire::decode::<Answer>(&bytes) {
                connection.send(&ToAnalyzer::Answer { process, answer }).ok();
            }
        }
    }
}
