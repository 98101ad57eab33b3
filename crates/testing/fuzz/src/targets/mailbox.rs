//! Target: the mailboxes between a process and its collector, as the program may overwrite them.

use super::folder::Folder;
use events::{Value, ValueType};
use ring::layout::{ANSWERS_OFFSET, CONTROL_OFFSET, N_RESERVED_REGIONS, ORDERS_OFFSET};
use ring::{Capacity, SegmentReader, SegmentWriter};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use wire::control::{ActionEffect, Location};
use wire::{Order, OrderAnswer};

/// Sends orders and answers and overwrites parts of the mailboxes in between. The bytes are steps: `0` sends an order,
/// `1` receives one, `2` sends an answer, `3` receives one, `4` replaces the collector by another one; others are
/// writes: a place (two bytes: the part, and the offset in it), the number of bytes (one), and these bytes.
pub(crate) fn run(bytes: &[u8]) {
    let folder = Folder::new("mailbox");
    let path = folder.path().join("1-2.segment");
    let capacity =
        Capacity { n_threads: 1, n_regions: N_RESERVED_REGIONS + 8, n_peers: 1, n_records: 0 };
    let segment = SegmentWriter::create(&path, capacity, 2).expect("room for a segment");
    segment.publish();
    step_by_step(bytes, &segment);
    // A writer never unmaps its memory; this gives it back.
    segment.detach();
}

fn step_by_step(bytes: &[u8], segment: &SegmentWriter) {
    let file = File::options().write(true).open(segment.path()).expect("our segment");
    let open = || SegmentReader::open(segment.path()).expect("our segment");
    let (mut orders, mut answers) = segment.open_control().expect("room for the mailboxes");
    let mut collector = open();
    let (mut down, mut up) = (Sent::default(), Sent::default());
    let mut rest = bytes;
    while let [step, after @ ..] = rest {
        rest = after;
        match step % 8 {
            0 => down.send(order, |order| {
                collector.orders().is_some_and(|mut mailbox| mailbox.push(order))
            }),
            1 => down.take(orders.pop()),
            2 => up.send(answer, |answer| answers.push(answer)),
            3 => up.take(collector.answers().and_then(|mut mailbox| mailbox.pop())),
            // After this, a message overwritten in between could arrive twice: the new collector starts from what it
            // finds.
            4 if down.is_intact && up.is_intact => collector = open(),
            _ => {
                let [part, at, n_bytes, value @ ..] = rest else { return };
                let n_bytes = usize::from(*n_bytes).min(value.len());
                let start = start_of(*part) + u64::from(*at);
                file.write_all_at(&value[..n_bytes], start).expect("inside");
                (down.is_intact, up.is_intact) = (false, false);
                rest = &value[n_bytes..];
            }
        }
    }
    down.take_all(|| orders.pop());
    up.take_all(|| collector.answers().and_then(|mut mailbox| mailbox.pop()));
}

/// Offsets of the numbers, and of the beginnings, ends and contents of orders and answers.
fn start_of(part: u8) -> u64 {
    let offset = match part {
        0..64 => CONTROL_OFFSET,
        64..128 => CONTROL_OFFSET + 128,
        128..192 => ORDERS_OFFSET + 256 * usize::from(part - 128),
        _ => ANSWERS_OFFSET + 256 * usize::from(part - 192),
    };
    offset as u64
}

/// Messages that were sent in one direction and not yet received.
struct Sent {
    waiting: VecDeque<Vec<u8>>,
    n: u64,
    /// True while nothing was overwritten.
    is_intact: bool,
}

impl Default for Sent {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), n: 0, is_intact: true }
    }
}

impl Sent {
    fn send(&mut self, make: fn(u64) -> Vec<u8>, push: impl FnOnce(&[u8]) -> bool) {
        let bytes = make(self.n);
        self.n += 1;
        if push(&bytes) {
            self.waiting.push_back(bytes);
        }
    }

    /// Checks that each message is received as it was sent, once and in order.
    fn take(&mut self, heard: Option<Vec<u8>>) {
        let Some(heard) = heard else {
            assert!(!self.is_intact || self.waiting.is_empty(), "what was sent is heard");
            return;
        };
        let at = self.waiting.iter().position(|sent| *sent == heard);
        let at = at.expect("what is heard was sent, and was not heard before");
        assert!(at == 0 || !self.is_intact, "in order");
        self.waiting.drain(..=at);
    }

    fn take_all(&mut self, mut pop: impl FnMut() -> Option<Vec<u8>>) {
        for _one in 0..=self.n {
            self.take(pop());
        }
        assert!(pop().is_none(), "a mailbox ends");
    }
}

fn order(n: u64) -> Vec<u8> {
    let change = ActionEffect::Set {
        at: Location { module: 0, address: 0x4000 + n },
        kind: ValueType::I32,
        value: Value::Int(i64::try_from(n).unwrap_or(0)),
    };
    let order = Order::Prepare {
        action: n,
        modules: Vec::new(),
        sync: (1, events::ProbePoint::Entry),
        change,
        repeats: false,
    };
    wire::to_bytes(&order).expect("an order has bytes")
}

fn answer(n: u64) -> Vec<u8> {
    let answer = OrderAnswer::Ready { action: n, n_hits: 3, old: 7, note: String::new() };
    wire::to_bytes(&answer).expect("an answer has bytes")
}
