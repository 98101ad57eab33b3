//! Members thread, which maintains the table of nodes: takes news of links and gossip, dials, and sends records.

use super::{Announced, ClusterEvent, ClusterOptions, GOSSIP, OnEvent, Shared};
use crate::links::{Hello, LinkError, LinkEvent, Links, Refusal};
use crate::lock;
use node_core::interface::{Member, NodeId};
use node_core::membership_table::{MembershipTable, NodeRecord, Participation};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};
use std::{fs, io};
use task_api::Presence;

/// Time between two looks when no message arrives.
const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// Time after which all records are sent again to one of the linked nodes, in case a message was dropped.
const REPEATS_EVERY: Duration = Duration::from_secs(5);
/// Time for which a name has to be refused until it counts as taken: by then links to a daemon that died are gone.
const TAKEN_AFTER: Duration = Duration::from_secs(6);
/// Most records of one message.
const N_RECORDS_AT_ONCE: usize = 1024;

/// Message to the thread.
#[derive(Debug)]
pub(super) enum MembershipEvent {
    Link(LinkEvent),
    Gossip {
        from: NodeId,
        records: Vec<NodeRecord>,
    },
    /// The values that this node announces may have changed.
    Look,
    /// The thread has to end; it answers when everything was sent.
    End(SyncSender<()>),
}

pub(super) struct MembershipThread {
    table: MembershipTable,
    links: Arc<Links>,
    shared: Arc<Shared>,
    on_event: OnEvent,
    peers: Vec<String>,
    meeting: Option<Meeting>,
    linked: BTreeSet<NodeId>,
    dialed: BTreeSet<String>,
    told: Vec<Member>,
    began: Instant,
    looked: Instant,
    repeated: Instant,
    n_repeats: usize,
    /// Time since when a node refuses this one's name, and the error message.
    refused: Option<(Instant, String)>,
}

impl MembershipThread {
    pub(super) fn new(
        me: Hello,
        options: ClusterOptions,
        links: Arc<Links>,
        shared: Arc<Shared>,
        on_event: OnEvent,
    ) -> Self {
        let now = Instant::now();
        let meeting =
            options.settings.meeting.map(|folder| Meeting::new(folder, &me.name, &me.address));
        let me = NodeRecord {
            name: me.name,
            address: me.address,
            incarnation: me.incarnation,
            revision: 1,
            n_cores: options.measurement.n_cores,
            capacity: options.capacity.clone(),
            speed: options.measurement.speed,
            standing: Participation::Here,
        };
        Self {
            table: MembershipTable::new(me),
            links,
            shared,
            on_event,
            peers: options.settings.peers,
            meeting,
            linked: BTreeSet::new(),
            dialed: BTreeSet::new(),
            told: Vec::new(),
            began: now,
            looked: now,
            repeated: now,
            n_repeats: 0,
            refused: None,
        }
    }

    pub(super) fn run(mut self, incoming: &Receiver<MembershipEvent>) {
        self.look();
        loop {
            match incoming.recv_timeout(LOOKS_EVERY.saturating_sub(self.looked.elapsed())) {
                Ok(MembershipEvent::Link(event)) => self.on_link(event),
                Ok(MembershipEvent::Gossip { from, records }) => {
                    let news = self.table.merge_all(records, self.now_ms());
                    self.tell_nodes(&news, Some(from));
                }
                Ok(MembershipEvent::Look) => self.announce(),
                Ok(MembershipEvent::End(done)) => {
                    self.announce();
                    // The receiver may have stopped waiting.
                    done.send(()).ok();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if LOOKS_EVERY <= self.looked.elapsed() {
                self.look();
            }
            self.dial();
            self.tell_core();
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn on_link(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Up(hello) => {
                let now_ms = self.now_ms();
                self.table.linked(&hello.name, &hello.address, hello.incarnation, now_ms);
                self.linked.insert(hello.id());
                self.refused = None;
                self.tell_node(hello.id(), &self.table.records_for_new_link());
            }
            LinkEvent::Down { name, error } => {
                self.table.unlinked(&name, self.now_ms());
                let id = node_core::interface::node_id(&name);
                self.linked.remove(&id);
                if !self.table.has_left(id) {
                    (self.on_event)(ClusterEvent::Warning(error.to_string()));
                }
            }
            LinkEvent::Failed { met, error } => {
                self.note_refusal(&error);
                if !self.is_expected(met, &error) {
                    (self.on_event)(ClusterEvent::Warning(error.to_string()));
                }
            }
            // Such messages go to the core directly.
            LinkEvent::Message { .. } => {}
        }
    }

    /// Returns whether a failure is no news, since the node left in good order. An address that the user named is
    /// dialed all the same: the node may be started again, and may know no other node.
    fn is_expected(&self, met: Option<NodeId>, error: &LinkError) -> bool {
        let (LinkError::Unreachable { peer, .. }
        | LinkError::HungUp(peer)
        | LinkError::Ended { peer, .. }) = error
        else {
            return false;
        };
        self.table.has_left_from(peer) || met.is_some_and(|node| self.table.has_left(node))
    }

    /// Notes that this node's name was refused, if this daemon is the later one of the two: it has to give way.
    fn note_refusal(&mut self, error: &LinkError) {
        if let LinkError::Refused { refusal: Refusal::NameTaken { since, .. }, .. } = error
            && *since < self.table.me().incarnation
            && self.refused.is_none()
        {
            self.refused = Some((Instant::now(), error.to_string()));
        }
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        self.announce();
        self.table.forget(self.now_ms());
        if let Some((_, sentence)) = self.refused.take_if(|(at, _)| TAKEN_AFTER <= at.elapsed()) {
            (self.on_event)(ClusterEvent::NameTaken(sentence));
        }
        if let Some(meeting) = &mut self.meeting
            && let Err(error) = meeting.look(&mut self.peers)
        {
            (self.on_event)(ClusterEvent::Warning(error.to_string()));
        }
        if REPEATS_EVERY <= self.repeated.elapsed() && !self.linked.is_empty() {
            self.repeated = Instant::now();
            self.n_repeats += 1;
            if let Some(&next) = self.linked.iter().nth(self.n_repeats % self.linked.len()) {
                self.tell_node(next, &self.table.records_for_new_link());
            }
        }
    }

    fn announce(&mut self) {
        let Announced { presence, measurement } = *lock(&self.shared.announced);
        let standing = match presence {
            Presence::Up | Presence::Silent => Participation::Here,
            Presence::Stopping => Participation::Stopping,
            Presence::Left => Participation::Left,
        };
        if self.table.set_own(standing, measurement) {
            self.tell_nodes(&[self.table.me().clone()], None);
        }
    }

    /// Dials all nodes that should be linked, and stops dialing all others.
    fn dial(&mut self) {
        let here = self.table.addresses().chain(self.peers.iter().map(String::as_str));
        let wanted: BTreeSet<String> = here.map(str::to_owned).collect();
        wanted.difference(&self.dialed).for_each(|address| self.links.dial(address));
        self.dialed.difference(&wanted).for_each(|address| self.links.forget(address));
        self.dialed = wanted;
    }

    fn tell_core(&mut self) {
        let members = self.table.members();
        if members != self.told {
            self.told.clone_from(&members);
            (self.on_event)(ClusterEvent::Members(members));
        }
    }

    fn tell_nodes(&self, records: &[NodeRecord], except: Option<NodeId>) {
        let others = self.linked.iter().filter(|&&id| Some(id) != except);
        others.for_each(|&id| self.tell_node(id, records));
    }

    fn tell_node(&self, to: NodeId, records: &[NodeRecord]) {
        for records in records.chunks(N_RECORDS_AT_ONCE) {
            let gossip = postcard::to_stdvec(records).unwrap_or_default();
            // A lost message is repeated later.
            self.links.send(to, [&[GOSSIP], gossip.as_slice()].concat()).ok();
        }
    }
}

/// Time for which the folder is read at every look: most nodes write their files within the first minute. Below,
/// the time between two looks afterwards.
const SOON: Duration = Duration::from_secs(60);
const SELDOM: Duration = Duration::from_secs(10);
const ENDING: &str = "node";
const N_BYTES_MAX: usize = 512;
const N_FILES_MAX: usize = 8192;

/// Error: nodes cannot meet in the folder.
#[derive(Debug, thiserror::Error)]
#[error("nodes cannot meet in `{}`; check that it is a folder that all nodes can write to", folder.display())]
struct MeetingError {
    folder: PathBuf,
    source: io::Error,
}

/// A node's place in a folder that all nodes of a cluster see, where each writes its address: for launchers that start
/// many daemons at once and tell none where the others are, such as `mpirun`. Dropping it removes its file.
#[derive(Debug)]
struct Meeting {
    folder: PathBuf,
    name: String,
    address: String,
    began: Instant,
    looked: Option<Instant>,
    failed: bool,
}

impl Meeting {
    fn new(folder: PathBuf, name: &str, address: &str) -> Self {
        let (name, address) = (name.to_owned(), address.to_owned());
        Self { folder, name, address, began: Instant::now(), looked: None, failed: false }
    }

    /// Adds the addresses of other nodes, once each; first writes its own. Repeated failures are reported once.
    fn look(&mut self, peers: &mut Vec<String>) -> Result<(), MeetingError> {
        let too_soon = |looked: Instant| SOON < self.began.elapsed() && looked.elapsed() < SELDOM;
        if self.looked.is_some_and(too_soon) {
            return Ok(());
        }
        let first = self.looked.is_none();
        self.looked = Some(Instant::now());
        let met =
            if first || self.failed { self.write() } else { Ok(()) }.and_then(|()| self.read());
        let again = self.failed;
        self.failed = met.is_err();
        match met {
            Ok(addresses) => {
                for address in addresses {
                    if address != self.address && !peers.contains(&address) {
                        peers.push(address);
                    }
                }
                Ok(())
            }
            Err(_) if again => Ok(()),
            Err(source) => Err(MeetingError { folder: self.folder.clone(), source }),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.{ENDING}", self.name))
    }

    /// Writes this node's file so that others read it as a whole or not at all.
    fn write(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        files::replace(&self.path(), self.address.as_bytes())
    }

    fn read(&self) -> io::Result<Vec<String>> {
        let mut addresses = Vec::new();
        for entry in fs::read_dir(&self.folder)?.take(N_FILES_MAX) {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            // A node that leaves removes its file between the two steps.
            let Ok(text) = fs::read_to_string(path) else { continue };
            if text.len() <= N_BYTES_MAX && text.contains(':') {
                addresses.push(text.trim().to_owned());
            }
        }
        addresses.sort_unstable();
        Ok(addresses)
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // If it cannot be removed, others dial the address in vain.
        fs::remove_file(self.path()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_find_each_other_and_are_gone_when_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let meet =
            |name: &str| Meeting::new(folder.path().join("here"), name, &format!("{name}:1"));
        let (mut a, mut b) = (meet("a"), meet("b"));
        let mut peers = vec!["seed:1".to_owned()];
        a.look(&mut peers).unwrap();
        assert_eq!(peers, ["seed:1"]);
        b.look(&mut Vec::new()).unwrap();
        a.look(&mut peers).unwrap();
        a.look(&mut peers).unwrap();
        assert_eq!(peers, ["seed:1", "b:1"]);
        drop((a, b));
        assert_eq!(fs::read_dir(folder.path().join("here")).unwrap().count(), 0);
    }

    #[test]
    fn a_place_that_is_no_folder_is_complained_of_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut a = Meeting::new(file.path().to_owned(), "a", "a:1");
        let error = a.look(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("nodes cannot meet in `"), "{error}");
        a.look(&mut Vec::new()).unwrap();
    }
}
