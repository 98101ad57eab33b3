//! Table of links: which connections may become links, and the queues of their messages.

use crate::lock;
use std::collections::{HashMap, HashSet};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::unlinked::UnlinkedNodes;
use super::{ClusterKey, Hello, LinkError, LinkEvent, LinkOptions, OnEvent, Refusal, SendError};
use node_core::interface::NodeId;

/// Most peers whose last failure is remembered, so that it is reported once.
const N_TOLD_MAX: usize = 1024;
/// Most error messages about strangers that are reported; of further ones only the number is.
const N_STRANGERS_TOLD_MAX: usize = 64;

/// State that all threads of [`super::Links`] share.
pub(super) struct Common {
    pub(super) me: Hello,
    pub(super) key: ClusterKey,
    pub(super) options: LinkOptions,
    on_event: OnEvent,
    state: Mutex<State>,
    changed: Condvar,
    /// Held while a link is added or removed and reported, so that the reports come in that order.
    transition: Mutex<()>,
    /// Last reported failure of each peer.
    told: Mutex<HashMap<String, String>>,
    strangers: Mutex<StrangersTold>,
}

/// Reported connections that did not become links.
#[derive(Default)]
struct StrangersTold {
    sentences: HashSet<String>,
    /// Number of failures that were not reported.
    n_untold: u64,
}

#[derive(Default)]
struct State {
    links: HashMap<NodeId, Entry>,
    /// Addresses that are dialed, each with the number of the wish.
    targets: HashMap<String, u64>,
    /// Node that was last met at an address that was dialed.
    met: HashMap<String, NodeId>,
    unlinked: UnlinkedNodes,
    n_links_ever: u64,
    n_targets_ever: u64,
    closed: bool,
}

struct Entry {
    hello: Hello,
    number: u64,
    dialed: bool,
    queue: SyncSender<Vec<u8>>,
    n_queued_bytes: Arc<AtomicUsize>,
    stream: Arc<TcpStream>,
}

/// Way of a message to another node.
#[derive(Debug, PartialEq)]
pub(super) enum Way {
    /// The queue of a link.
    Link,
    /// It waits until a link is made.
    LinkToCome,
}

/// Admitted link, for the threads that read and write it.
pub(super) struct Admitted {
    pub(super) number: u64,
    pub(super) queue: Receiver<Vec<u8>>,
    pub(super) n_queued_bytes: Arc<AtomicUsize>,
}

impl Common {
    pub(super) fn new(me: Hello, key: ClusterKey, options: LinkOptions, on_event: OnEvent) -> Self {
        Self {
            me,
            key,
            options,
            on_event,
            state: Mutex::default(),
            changed: Condvar::new(),
            transition: Mutex::default(),
            told: Mutex::default(),
            strangers: Mutex::default(),
        }
    }

    /// Decides whether a peer may be linked, by a connection that this node `dialed` or else the peer.
    pub(super) fn judge(&self, hello: &Hello, dialed: bool) -> Result<(), Refusal> {
        lock(&self.state).judge(&self.me, hello, dialed)
    }

    /// Makes a connection the link to its peer, and reports it.
    pub(super) fn admit(
        &self,
        hello: &Hello,
        stream: Arc<TcpStream>,
        dialed: bool,
    ) -> Result<Admitted, Refusal> {
        let _transition = lock(&self.transition);
        let mut state = lock(&self.state);
        state.judge(&self.me, hello, dialed)?;
        let (queue, waiting) = sync_channel(self.options.n_queued_max);
        let n_queued_bytes = Arc::new(AtomicUsize::new(0));
        state.n_links_ever += 1;
        let number = state.n_links_ever;
        let entry = Entry {
            hello: hello.clone(),
            number,
            dialed,
            queue,
            n_queued_bytes: Arc::clone(&n_queued_bytes),
            stream,
        };
        for message in state.unlinked.take(hello.id()) {
            // All of it fits: the bounds are the same.
            entry.put(message, &self.options).ok();
        }
        if let Some(replaced) = state.links.insert(hello.id(), entry) {
            // The old connection may have ended already.
            replaced.stream.shutdown(Shutdown::Both).ok();
        }
        drop(state);
        self.changed.notify_all();
        lock(&self.told).remove(&hello.address);
        self.tell(LinkEvent::Up(hello.clone()));
        Ok(Admitted { number, queue: waiting, n_queued_bytes })
    }

    /// Removes a link that has ended, and reports that unless another one has replaced it.
    pub(super) fn end(&self, hello: &Hello, number: u64, error: LinkError) {
        let _transition = lock(&self.transition);
        let mut state = lock(&self.state);
        let is_current = state.links.get(&hello.id()).is_some_and(|entry| entry.number == number);
        if !is_current {
            return;
        }
        state.links.remove(&hello.id());
        let closed = state.closed;
        drop(state);
        self.changed.notify_all();
        if !closed {
            self.tell(LinkEvent::Down { name: hello.name.clone(), error });
        }
    }

    /// Puts a message into the queue of a link, or keeps it for a link to come.
    pub(super) fn send(&self, to: NodeId, bytes: Vec<u8>) -> Result<Way, SendError> {
        if self.options.message_bytes_max < bytes.len() {
            return Err(SendError::TooLong);
        }
        let mut state = lock(&self.state);
        match state.links.get(&to) {
            Some(entry) => entry.put(bytes, &self.options).map(|()| Way::Link),
            None => state.unlinked.hold(to, Some(bytes), &self.options).map(|()| Way::LinkToCome),
        }
    }

    /// Wishes for a link to a node, if there is none.
    pub(super) fn reach(&self, node: NodeId) {
        let mut state = lock(&self.state);
        if !state.links.contains_key(&node) {
            // A node without an address cannot be reached.
            state.unlinked.hold(node, None, &self.options).ok();
        }
    }

    pub(super) fn with_unlinked<T>(&self, change: impl FnOnce(&mut UnlinkedNodes) -> T) -> T {
        change(&mut lock(&self.state).unlinked)
    }

    /// Drops what waits for a link to a node, and reports that, unless there is a link by now.
    pub(super) fn unreached(&self, node: NodeId) {
        let _transition = lock(&self.transition);
        let mut state = lock(&self.state);
        if state.closed || state.links.contains_key(&node) {
            return;
        }
        state.unlinked.take(node);
        drop(state);
        self.tell(LinkEvent::Unreached(node));
    }

    pub(super) fn n_links(&self) -> usize {
        lock(&self.state).links.len()
    }

    pub(super) fn is_linked(&self, node: NodeId) -> bool {
        lock(&self.state).links.contains_key(&node)
    }

    /// Removes a link that both sides let go: what is in its queue is still sent.
    pub(super) fn rest(&self, hello: &Hello, number: u64) {
        let _transition = lock(&self.transition);
        let mut state = lock(&self.state);
        let is_current = state.links.get(&hello.id()).is_some_and(|entry| entry.number == number);
        if !is_current || state.closed {
            return;
        }
        state.links.remove(&hello.id());
        drop(state);
        self.changed.notify_all();
        self.tell(LinkEvent::Rested(hello.id()));
    }

    /// Notes which node was met at an address.
    pub(super) fn met(&self, address: &str, node: NodeId) {
        let mut state = lock(&self.state);
        if N_TOLD_MAX <= state.met.len() {
            state.met.clear();
        }
        state.met.insert(address.to_owned(), node);
    }

    /// Node that was last met at an address.
    pub(super) fn met_at(&self, address: &str) -> Option<NodeId> {
        lock(&self.state).met.get(address).copied()
    }

    pub(super) fn tell(&self, event: LinkEvent) {
        (self.on_event)(event);
    }

    /// Reports a failure unless the last one of this peer was the same.
    pub(super) fn tell_failure(&self, peer: &str, met: Option<NodeId>, error: LinkError) {
        let sentence = error.to_string();
        let mut told = lock(&self.told);
        if told.get(peer) == Some(&sentence) || lock(&self.state).closed {
            return;
        }
        if N_TOLD_MAX <= told.len() {
            told.clear();
        }
        told.insert(peer.to_owned(), sentence);
        drop(told);
        self.tell(LinkEvent::Failed { met, error });
    }

    /// Reports a connection that did not become a link: each message once, and not many in all, since any host can
    /// connect. Of further ones the number is reported whenever it has doubled.
    pub(super) fn tell_stranger(&self, error: LinkError) {
        let mut told = lock(&self.strangers);
        let sentence = error.to_string();
        if lock(&self.state).closed || told.sentences.contains(&sentence) {
            return;
        }
        let error = if told.sentences.len() < N_STRANGERS_TOLD_MAX {
            told.sentences.insert(sentence);
            error
        } else {
            told.n_untold += 1;
            if !told.n_untold.is_power_of_two() {
                return;
            }
            LinkError::Strangers(told.n_untold)
        };
        drop(told);
        self.tell(LinkEvent::Failed { met: None, error });
    }

    /// Adds an address that is to be dialed, and returns the number of that wish; none when it is there already.
    pub(super) fn add_target(&self, address: &str) -> Option<u64> {
        let mut state = lock(&self.state);
        if state.closed || state.targets.contains_key(address) {
            return None;
        }
        state.n_targets_ever += 1;
        let number = state.n_targets_ever;
        state.targets.insert(address.to_owned(), number);
        Some(number)
    }

    pub(super) fn forget_target(&self, address: &str) {
        lock(&self.state).targets.remove(address);
        self.changed.notify_all();
    }

    /// Waits for `pause`; returns false when the address is not to be dialed any more.
    pub(super) fn pause(&self, address: &str, number: u64, pause: Duration) -> bool {
        let deadline = Instant::now() + pause;
        let mut state = lock(&self.state);
        while state.wants(address, number) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.wait(state, left);
        }
        false
    }

    /// Waits while there is a link to this address, or to the peer that was met there; returns false when it is not
    /// to be dialed any more.
    pub(super) fn wait_for_need(&self, address: &str, number: u64, met: Option<NodeId>) -> bool {
        let mut state = lock(&self.state);
        while state.wants(address, number) {
            let linked = met.is_some_and(|id| state.links.contains_key(&id))
                || state.links.values().any(|entry| entry.hello.address == address);
            if !linked {
                return true;
            }
            state = self.wait(state, self.options.pause_max);
        }
        false
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, left: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until all queues are empty, or for this time.
    pub(super) fn flush(&self, within: Duration) {
        let deadline = Instant::now() + within;
        let waits = |entry: &Entry| 0 < entry.n_queued_bytes.load(Ordering::Relaxed);
        let any_waits =
            |state: &State| state.links.values().any(waits) || state.unlinked.holds_messages();
        while any_waits(&lock(&self.state)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        for entry in state.links.values() {
            entry.stream.shutdown(Shutdown::Both).ok();
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl Entry {
    fn put(&self, bytes: Vec<u8>, options: &LinkOptions) -> Result<(), SendError> {
        let n_bytes = bytes.len();
        let n_queued = self.n_queued_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        // One message always fits, however small the bound.
        if 0 < n_queued && options.queued_bytes_max < n_queued + n_bytes {
            self.n_queued_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
            return Err(SendError::Full);
        }
        self.queue.try_send(bytes).map_err(|error| {
            self.n_queued_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => SendError::Full,
                TrySendError::Disconnected(_) => SendError::NotLinked,
            }
        })
    }
}

impl State {
    fn wants(&self, address: &str, number: u64) -> bool {
        !self.closed && self.targets.get(address) == Some(&number)
    }

    fn judge(&self, me: &Hello, hello: &Hello, dialed: bool) -> Result<(), Refusal> {
        let taken = |by: &Hello| Refusal::NameTaken {
            name: hello.name.clone(),
            by: by.address.clone(),
            since: by.incarnation,
        };
        if hello.id() == me.id() {
            return Err(if hello == me { Refusal::Itself } else { taken(me) });
        }
        let Some(entry) = self.links.get(&hello.id()) else {
            let is_other = |it: &&Hello| it.name != hello.name || it.address != hello.address;
            let other = self.unlinked.known(hello.id()).filter(is_other);
            return other.map_or(Ok(()), |other| Err(taken(other)));
        };
        let same_place = entry.hello.name == hello.name && entry.hello.address == hello.address;
        if same_place && entry.hello.incarnation < hello.incarnation {
            // Restarted: two daemons cannot listen at one address.
            return Ok(());
        }
        if !same_place || entry.hello.incarnation != hello.incarnation {
            return Err(taken(&entry.hello));
        }
        let smaller_dialed = dialed == (me.name < hello.name);
        // The same side dialed again: it knows that the earlier link has ended, this side does not yet.
        if smaller_dialed || entry.dialed == dialed { Ok(()) } else { Err(Refusal::Linked) }
    }
}

#[cfg(test)]
mod tests;
