//! Keeps decisions of the core until they can be handed out.
//!
//! # Invariants
//! - Nothing that depends on a record is sent before the journal reports that the record is written.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use balancing_policies::Moment;
use task_api::{Answer, Presence};

use super::DaemonError;
use super::orders::Orders;
use crate::client_socket::ClientSocket;
use crate::journal::{Durability, Encoder, FormatError, JournalPosition, Writer};
use crate::keeper::Keeper;
use crate::members::Cluster;
use node_core::book::{Book, JournalRecord};
use node_core::interface::{Attempt, ClientId, CoreTimer, KeeperOrder, NodeId, Out, PeerMessage};

/// Length in bytes below which a journal is not compacted.
const COMPACT_BYTES_MIN: u64 = 32 << 20;

/// Least time between two groups of records, in ms, unless many wait: it bounds both the wait for the disk and the
/// rate of its writes.
const GROUP_MS: u64 = 5;
/// Number of waiting records at which they are written at once.
const N_RECORDS_MANY: u64 = 256;
/// Number of ends at which the keeper is told to forget them, unless it gets another order before.
const N_FORGET: usize = 64;
/// Longest time until then, in ms.
const FORGET_MS: u64 = 100;

/// Message that is sent when the disk has what it depends on.
#[derive(Debug)]
enum Later {
    Send(NodeId, PeerMessage),
    Answer(ClientId, Answer),
    Forget(Vec<Attempt>),
}

/// Timer of the core, ordered by the time when it is due and then by when it was requested.
#[derive(Debug)]
struct Alarm {
    at: Moment,
    order: u64,
    timer: CoreTimer,
}

/// Receivers of what is handed out.
pub(super) struct Edges {
    pub(super) writer: Writer,
    pub(super) client_socket: ClientSocket,
    pub(super) cluster: Option<Cluster>,
    pub(super) durability: Durability,
}

/// Everything that waits to be handed out.
pub(super) struct Outbox {
    edges: Edges,
    keeper: Option<Keeper>,
    encoder: Encoder,
    bytes: Vec<u8>,
    n_records: u64,
    /// Number of the next task.
    next: u64,
    /// Number of records that were handed to the journal; below, the time of the last hand-over.
    n_handed: u64,
    handed: Moment,
    n_durable: u64,
    later: VecDeque<(u64, Later)>,
    orders: Orders,
    forget: Vec<Attempt>,
    forgot: Moment,
    alarms: BinaryHeap<Reverse<Alarm>>,
    n_alarms: u64,
    /// Length of the journal in bytes; below, its length when it was last compacted.
    n_bytes: u64,
    n_bytes_anew: u64,
    failed: Option<FormatError>,
    pub(super) leaves: bool,
}

impl Outbox {
    pub(super) fn new(
        (edges, orders): (Edges, Orders),
        (encoder, n_bytes): (Encoder, u64),
        next: u64,
    ) -> Self {
        Self {
            edges,
            keeper: None,
            encoder,
            bytes: Vec::new(),
            n_records: 0,
            next,
            n_handed: 0,
            handed: Moment(0),
            n_durable: 0,
            later: VecDeque::new(),
            orders,
            forget: Vec::new(),
            forgot: Moment(0),
            alarms: BinaryHeap::new(),
            n_alarms: 0,
            n_bytes,
            n_bytes_anew: 0,
            failed: None,
            leaves: false,
        }
    }

    /// Removes the next timer that is due.
    pub(super) fn due(&mut self, now: Moment) -> Option<CoreTimer> {
        if now < self.next_at()? {
            return None;
        }
        self.alarms.pop().map(|Reverse(alarm)| alarm.timer)
    }

    /// Moment of the next timer.
    fn next_at(&self) -> Option<Moment> {
        self.alarms.peek().map(|Reverse(alarm)| alarm.at)
    }

    /// Moment at which something has to be done even if nothing arrives.
    pub(super) fn wakes_at(&self) -> Option<Moment> {
        let group = (!self.bytes.is_empty()).then(|| self.handed.plus_ms(GROUP_MS));
        let forget = (!self.forget.is_empty()).then(|| self.forgot.plus_ms(FORGET_MS));
        [self.next_at(), group, forget].into_iter().flatten().min()
    }

    /// Number of messages between nodes that were dropped.
    pub(super) fn n_dropped(&self) -> u64 {
        self.edges.cluster.as_ref().map_or(0, Cluster::n_dropped)
    }

    /// Notes that so many records are written, so that what depends on them can be sent. Numbers below
    /// `assigned_below` are not given out again.
    pub(super) fn durable(&mut self, n_records: u64, assigned_below: u64) {
        self.n_durable = n_records;
        self.orders.reserved(assigned_below);
    }

    pub(super) fn use_keeper(&mut self, keeper: Keeper) {
        self.keeper = Some(keeper);
    }

    /// Forgets the keeper, which has gone, and the orders for it.
    pub(super) fn forget_keeper(&mut self) {
        self.keeper = None;
        self.orders.clear();
    }

    /// Returns whether everything was sent, and the keeper has left.
    pub(super) fn is_clear(&self) -> bool {
        let said = self.later.is_empty() && self.n_durable == self.n_records;
        said && self.forget.is_empty() && self.keeper.is_none()
    }

    /// Hands out everything that can be handed out.
    pub(super) fn hand_out(&mut self, now: Moment) -> Result<(), DaemonError> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        while self.later.front().is_some_and(|(n_records, _)| *n_records <= self.n_durable)
            && let Some((_, later)) = self.later.pop_front()
        {
            self.deliver(later);
        }
        self.order(now);
        self.write(now);
        Ok(())
    }

    /// Sends orders to the keeper. Each batch costs both sides more than its contents.
    fn order(&mut self, now: Moment) {
        let long_ago = self.forgot.plus_ms(FORGET_MS) <= now && !self.forget.is_empty();
        let mut orders = self.orders.ready();
        if orders.is_empty() && self.forget.len() < N_FORGET && !long_ago {
            return;
        }
        if !self.forget.is_empty() {
            orders.push(KeeperOrder::Forget(std::mem::take(&mut self.forget)));
        }
        self.forgot = now;
        if let Some(keeper) = &self.keeper {
            // A keeper that has gone has said so, or will: the orders are then void.
            keeper.send(&orders).ok();
        }
    }

    /// Hands records to the journal, when they are due.
    fn write(&mut self, now: Moment) {
        let many = N_RECORDS_MANY <= self.n_records - self.n_handed;
        let is_due =
            self.handed.plus_ms(GROUP_MS) <= now || self.edges.durability != Durability::Batch;
        if self.bytes.is_empty() || !(many || is_due) {
            return;
        }
        let n_bytes = self.bytes.len() as u64;
        self.handed = now;
        let position = self.position(&self.encoder);
        self.edges.writer.append(&mut self.bytes, position);
        if self.bytes.is_empty() {
            self.n_bytes += n_bytes;
            self.n_handed = self.n_records;
        }
    }

    /// Compacts the journal, if that is worthwhile.
    pub(super) fn compact(&mut self, book: &mut Book) -> Result<(), DaemonError> {
        let limit = COMPACT_BYTES_MIN.max(2 * self.n_bytes_anew);
        if self.n_bytes < limit || !self.bytes.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut encoder = self.encoder.clone();
        let mut failed = None;
        book.snapshot(|record| failed = encoder.encode(record, &mut bytes).err().or(failed.take()));
        if let Some(error) = failed {
            return Err(error.into());
        }
        let n_bytes = bytes.len() as u64;
        let position = self.position(&encoder);
        if self.edges.writer.replace(bytes, self.encoder.sequence(), position) {
            self.encoder = encoder;
            self.n_bytes = n_bytes;
            self.n_bytes_anew = n_bytes;
        }
        Ok(())
    }

    fn position(&self, encoder: &Encoder) -> JournalPosition {
        JournalPosition { n_records: self.n_records, sequence: encoder.sequence(), next: self.next }
    }

    fn later(&mut self, later: Later) {
        if self.n_records <= self.n_durable && self.later.is_empty() {
            self.deliver(later);
        } else {
            self.later.push_back((self.n_records, later));
        }
    }

    fn deliver(&mut self, later: Later) {
        match later {
            Later::Send(to, message) => self.say_to_node(to, &message),
            Later::Answer(client, answer) => self.edges.client_socket.answer(client, answer),
            Later::Forget(attempts) => self.forget.extend(attempts),
        }
    }

    /// A message that cannot be sent is lost, and repeated later.
    fn say_to_node(&mut self, to: NodeId, message: &PeerMessage) {
        if let Some(cluster) = &self.edges.cluster {
            cluster.send(to, message).ok();
        }
    }
}

impl Drop for Outbox {
    /// Writes the remaining records, whatever ends the daemon: they contain the numbers of tasks that were started.
    fn drop(&mut self) {
        let position = self.position(&self.encoder);
        self.edges.writer.append_last(std::mem::take(&mut self.bytes), position);
    }
}

impl Out for Outbox {
    fn send(&mut self, to: NodeId, message: PeerMessage) {
        if message.needs_disk() {
            self.later(Later::Send(to, message));
        } else {
            self.say_to_node(to, &message);
        }
    }

    fn answer(&mut self, client: ClientId, answer: Answer) {
        self.later(Later::Answer(client, answer));
    }

    fn keeper(&mut self, order: KeeperOrder) {
        match order {
            KeeperOrder::Forget(attempts) => self.later(Later::Forget(attempts)),
            _ => self.orders.push(order),
        }
    }

    fn timer(&mut self, timer: CoreTimer, at: Moment) {
        self.n_alarms += 1;
        self.alarms.push(Reverse(Alarm { at, order: self.n_alarms, timer }));
    }

    fn presence(&mut self, presence: Presence) {
        if let Some(cluster) = &self.edges.cluster {
            cluster.presence(presence);
        }
    }

    fn append(&mut self, record: &JournalRecord) {
        match self.encoder.encode(record, &mut self.bytes) {
            Ok(()) => self.n_records += 1,
            Err(error) => self.failed = Some(error),
        }
        self.next = self.next.max(record.number_max().saturating_add(1));
    }

    fn leave(&mut self) {
        self.leaves = true;
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
