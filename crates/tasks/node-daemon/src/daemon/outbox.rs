//! Keeps decisions of the core until they can be handed out.
//!
//! # Invariants
//! - Nothing that depends on a record is sent before the journal reports that the record is written.

use super::DaemonError;
use super::record_batch::RecordBatch;
use crate::client_socket::ClientSocket;
use crate::journal::{Durability, Writer};
use crate::keeper::Keeper;
use crate::members::Cluster;
use balancing_policies::Moment;
use node_core::book::{Book, JournalRecord};
use node_core::interface::{Attempt, ClientId, CoreTimer, KeeperOrder, NodeId, Out, PeerMessage};
use std::collections::{BTreeMap, VecDeque};
use task_api::{DaemonAnswer, Presence};

/// Number of ends at which the keeper is told to forget them, unless it gets another order before.
const N_FORGET: usize = 64;
/// Longest time until then, in ms.
const FORGET_MS: u64 = 100;

/// Message that is sent when the disk has what it depends on.
#[derive(Debug)]
enum Later {
    Send(NodeId, PeerMessage),
    Answer(ClientId, DaemonAnswer),
    Forget(Vec<Attempt>),
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
    records: RecordBatch,
    n_durable: u64,
    later: VecDeque<(u64, Later)>,
    orders: Orders,
    forget: Vec<Attempt>,
    forgot: Moment,
    /// Timers of the core, by the time when they are due and then by when they were requested.
    timers: BTreeMap<(Moment, u64), CoreTimer>,
    n_timers: u64,
    pub(super) leaves: bool,
}

impl Outbox {
    pub(super) fn new(edges: Edges, orders: Orders, records: RecordBatch) -> Self {
        Self {
            edges,
            keeper: None,
            records,
            n_durable: 0,
            later: VecDeque::new(),
            orders,
            forget: Vec::new(),
            forgot: Moment(0),
            timers: BTreeMap::new(),
            n_timers: 0,
            leaves: false,
        }
    }

    /// Removes the next timer that is due.
    pub(super) fn due(&mut self, now: Moment) -> Option<CoreTimer> {
        let first = self.timers.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Moment at which something has to be done even if nothing arrives.
    pub(super) fn wakes_at(&self) -> Option<Moment> {
        let timer = self.timers.first_key_value().map(|((at, _), _)| *at);
        let forget = (!self.forget.is_empty()).then(|| self.forgot.plus_ms(FORGET_MS));
        [timer, self.records.due(), forget].into_iter().flatten().min()
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
        let said = self.later.is_empty() && self.n_durable == self.records.n_records();
        said && self.forget.is_empty() && self.keeper.is_none()
    }

    /// Hands out everything that can be handed out.
    pub(super) fn hand_out(&mut self, now: Moment) -> Result<(), DaemonError> {
        self.records.check()?;
        while self.later.front().is_some_and(|(n_records, _)| *n_records <= self.n_durable)
            && let Some((_, later)) = self.later.pop_front()
        {
            self.deliver(later);
        }
        self.order(now);
        self.records.write(now, &self.edges.writer, self.edges.durability);
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

    /// Compacts the journal, if that is worthwhile.
    pub(super) fn compact(&mut self, book: &mut Book) -> Result<(), DaemonError> {
        Ok(self.records.compact(book, &self.edges.writer)?)
    }

    fn later(&mut self, later: Later) {
        if self.records.n_records() <= self.n_durable && self.later.is_empty() {
            self.deliver(later);
        } else {
            self.later.push_back((self.records.n_records(), later));
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
        self.records.write_last(&self.edges.writer);
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

    fn answer(&mut self, client: ClientId, answer: DaemonAnswer) {
        self.later(Later::Answer(client, answer));
    }

    fn keeper(&mut self, order: KeeperOrder) {
        match order {
            KeeperOrder::Forget(attempts) => self.later(Later::Forget(attempts)),
            _ => self.orders.push(order),
        }
    }

    fn timer(&mut self, timer: CoreTimer, at: Moment) {
        self.n_timers += 1;
        self.timers.insert((at, self.n_timers), timer);
    }

    fn presence(&mut self, presence: Presence) {
        if let Some(cluster) = &self.edges.cluster {
            cluster.presence(presence);
        }
    }

    fn append(&mut self, record: &JournalRecord) {
        self.records.append(record);
    }

    fn leave(&mut self) {
        self.leaves = true;
    }
}

/// Orders for the keeper, in their order, until they may be sent.
///
/// No task of this node starts with a number that might be given out again: its start waits until the journal's
/// mark, or the journal itself, holds the number. It need not be on disk: the operating system has it.
#[derive(Debug)]
pub(super) struct Orders {
    me: NodeId,
    /// Numbers below this one are not given out again.
    assigned_below: u64,
    waiting: Vec<KeeperOrder>,
}

impl Orders {
    pub(super) fn new(me: NodeId, assigned_below: u64) -> Self {
        Self { me, assigned_below, waiting: Vec::new() }
    }

    pub(super) fn push(&mut self, order: KeeperOrder) {
        self.waiting.push(order);
    }

    /// Raises the bound below which numbers are not given out again.
    pub(super) fn reserved(&mut self, assigned_below: u64) {
        self.assigned_below = self.assigned_below.max(assigned_below);
    }

    /// Drops all orders, since the keeper has gone.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Removes the orders that need not wait any more.
    pub(super) fn ready(&mut self) -> Vec<KeeperOrder> {
        let n_ready = self.waiting.iter().position(|order| self.must_wait(order));
        let n_ready = n_ready.unwrap_or(self.waiting.len());
        self.waiting.drain(..n_ready).collect()
    }

    fn must_wait(&self, order: &KeeperOrder) -> bool {
        let KeeperOrder::Start(job) = order else { return false };
        let task = job.attempt.task;
        task.home == self.me && self.assigned_below <= task.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node_core::interface::{Allocation, Job, Killed, TaskInput, TaskKey, Work};
    use std::sync::Arc;

    fn attempt(home: u32, number: u64) -> Attempt {
        Attempt { task: TaskKey { home: NodeId(home), number }, instance: 1 }
    }

    fn start(home: u32, number: u64) -> KeeperOrder {
        KeeperOrder::Start(Box::new(Job {
            attempt: attempt(home, number),
            name: format!("alpha.{number}"),
            work: Arc::new(Work::from_words(None, "true".into(), Arc::default())),
            input: TaskInput::default(),
            allocation: Allocation::default(),
            lease_until: None,
            n_at_once: None,
        }))
    }

    /// Fault: a task ran before anything recorded that its number was given out. A daemon that was killed at this
    /// moment gave the number out again.
    #[test]
    fn no_task_starts_by_a_number_that_might_be_given_out_again() {
        let mut orders = Orders::new(NodeId(1), 3);
        let kill = KeeperOrder::Kill { attempt: attempt(1, 2), because: Killed::Canceled };
        let all = [start(1, 1), start(1, 2), start(2, 9), start(1, 3), kill, start(1, 4)];
        all.iter().for_each(|order| orders.push(order.clone()));
        assert_eq!(orders.ready(), all[..3]);
        assert_eq!(orders.ready(), []);
        orders.reserved(4);
        assert_eq!(orders.ready(), all[3..5]);
        orders.reserved(2);
        assert_eq!(orders.ready(), []);
        orders.clear();
        orders.reserved(9);
        assert_eq!(orders.ready(), [], "a keeper that is gone is told nothing");
    }
}
