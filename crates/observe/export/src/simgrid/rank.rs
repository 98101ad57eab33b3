//! The actions of one rank, in a file of its own.

use super::NonblockingPlace;
use super::Notes;
use super::collectives::{Collectives, MatchedCollective};
use crate::error::ExportError;
use crate::lanes::{LaneKey, Lanes, is_call, operation};
use crate::messages::{End, MessageEnds};
use models::{CallEffect, Flow, Interpreter};
use mpi_abi::CollectiveKind::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Exscan, Gather, Gatherv,
    Reduce, ReduceScatter, Scan, Scatter, Scatterv,
};
use mpi_abi::{Class, Mode, Operation};
use run_record::{Event, FileError};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Number of bytes buffered before they are appended to the rank's file.
const BUFFER_BYTES: usize = 1 << 16;

/// Data shared by all ranks.
pub(super) struct World {
    pub(super) flops_per_s: f64,
    pub(super) start_ns: u64,
    pub(super) lanes: Lanes,
    pub(super) messages: MessageEnds,
    pub(super) collectives: Collectives,
    pub(super) nonblocking: NonblockingPlace,
}

/// Writer of one rank's file, which is open only while appending, since there may be many ranks.
pub(super) struct RankWriter {
    rank: u32,
    path: PathBuf,
    text: String,
    interpreter: Interpreter,
    /// Lane of its first thread; the next end of a message in it is `next_end`.
    lane: Option<usize>,
    next_end: usize,
    /// Number of collective calls so far, by communicator.
    joined: HashMap<u32, usize>,
    /// Nonblocking collectives that were started, by request, and their numbers in their communicators.
    started: VecDeque<(u64, u32, usize, Event)>,
    /// `wait` lines to be written when a request completes.
    pending: HashMap<u64, VecDeque<String>>,
    /// `wait` line for the sending half of a send-receive whose receiving half is still to come.
    half: Option<String>,
    /// Time at which the last call returned.
    end_ns: u64,
    compute_ns: u64,
}

impl RankWriter {
    pub(super) fn create(
        dir: &Path,
        rank: u32,
        world_number: u32,
        world: &World,
    ) -> Result<Self, FileError> {
        let path = dir.join(format!("rank-{rank}.txt"));
        File::create(&path).map_err(|e| FileError::new(&path, e))?;
        let key = LaneKey { world: world_number, rank, thread: 0 };
        Ok(Self {
            rank,
            path,
            text: format!("{rank} init\n"),
            interpreter: Interpreter::default(),
            lane: world.lanes.keys.binary_search(&key).ok(),
            next_end: 0,
            joined: HashMap::new(),
            started: VecDeque::new(),
            pending: HashMap::new(),
            half: None,
            end_ns: world.start_ns,
            compute_ns: 0,
        })
    }

    /// Processes the next row of the rank's first thread.
    pub(super) fn read(
        &mut self,
        event: &Event,
        world: &World,
        notes: &mut Notes,
    ) -> Result<(), ExportError> {
        let Some(operation) = operation(event) else { return Ok(()) };
        if is_call(event) {
            self.put_half();
        }
        if self.end_ns < event.end_ns {
            self.compute_ns += event.start_ns.saturating_sub(self.end_ns);
            self.end_ns = event.end_ns;
        }
        let mut actions = Vec::new();
        self.interpreter.read(event, |action| actions.push(action));
        if actions.is_empty() && is_call(event) && !waits_or_starts(operation) {
            self.count_as_computation(event, notes);
        }
        for action in actions {
            self.act(action, event, world, notes);
        }
        if BUFFER_BYTES <= self.text.len() {
            self.flush()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self, world: &World, notes: &mut Notes) -> Result<(), ExportError> {
        self.put_half();
        self.put_started(self.started.len(), world, notes);
        self.put_compute(world.flops_per_s);
        let rank = self.rank;
        self.put(format_args!("{rank} finalize"));
        self.flush()
    }

    fn act(&mut self, action: CallEffect, event: &Event, world: &World, notes: &mut Notes) {
        match action {
            CallEffect::Send { .. } | CallEffect::Receive(_) | CallEffect::StartReceive { .. } => {
                let end = self.lane.and_then(|lane| world.messages.ends[lane].get(self.next_end));
                self.next_end += 1;
                match end.and_then(|end| Message::of(end, world)) {
                    Some(message) => {
                        self.put_compute(world.flops_per_s);
                        self.put_message(&message, action, event);
                    }
                    None if end.is_none_or(End::is_nothing) => (),
                    None => notes.n_unmatched += 1,
                }
            }
            CallEffect::Complete { request, .. } => {
                if let Some(at) = self.started.iter().position(|(of, ..)| *of == request) {
                    self.put_started(at + 1, world, notes);
                }
                let waits = self.pending.get_mut(&request);
                if let Some(wait) = waits.and_then(VecDeque::pop_front) {
                    self.put_compute(world.flops_per_s);
                    self.put(format_args!("{wait}"));
                }
            }
            CallEffect::Collective { communicator, request, .. } => {
                let joined = self.joined.entry(communicator).or_default();
                let nth = *joined;
                *joined += 1;
                let place = if request == 0 { NonblockingPlace::Start } else { world.nonblocking };
                if let (Some(operation), true) = (operation(event), request != 0) {
                    notes.nonblocking(operation.name.as_str(), place);
                }
                match place {
                    NonblockingPlace::Start => {
                        self.put_started(self.started.len(), world, notes);
                        self.put_collective((communicator, nth), event, world, notes);
                    }
                    NonblockingPlace::Completion => {
                        self.started.push_back((request, communicator, nth, *event));
                    }
                    NonblockingPlace::Nowhere => self.count_as_computation(event, notes),
                }
            }
        }
    }

    fn put_message(&mut self, message: &Message, action: CallEffect, event: &Event) {
        let (rank, Message { peer, tag, bytes }) = (self.rank, *message);
        match action {
            CallEffect::StartReceive { request, .. } => {
                self.put(format_args!("{rank} irecv {peer} {tag} {bytes}"));
                // A send may share its request with others, a receive never does.
                let wait = format!("{rank} wait {peer} {rank} {tag}");
                self.pending.insert(request, VecDeque::from([wait]));
            }
            CallEffect::Receive(_) => {
                self.put(format_args!("{rank} recv {peer} {tag} {bytes}"));
                self.put_half();
            }
            CallEffect::Send { .. } if is(event, &["Send", "Ssend", "Rsend"]) => {
                self.put(format_args!("{rank} send {peer} {tag} {bytes}"));
            }
            CallEffect::Send { request, .. } => {
                self.put(format_args!("{rank} isend {peer} {tag} {bytes}"));
                let wait = format!("{rank} wait {rank} {peer} {tag}");
                if is(event, &["Sendrecv", "Sendrecv_replace"]) {
                    self.half = Some(wait);
                } else if request != 0 {
                    self.pending.entry(request).or_default().push_back(wait);
                }
            }
            CallEffect::Complete { .. } | CallEffect::Collective { .. } => (),
        }
    }

    fn put_half(&mut self) {
        if let Some(wait) = self.half.take() {
            self.put(format_args!("{wait}"));
        }
    }

    /// Writes the first of the nonblocking collectives that were started: in their order, since a replay has only
    /// blocking ones.
    fn put_started(&mut self, n: usize, world: &World, notes: &mut Notes) {
        for _ in 0..n {
            let Some((_, communicator, nth, event)) = self.started.pop_front() else { return };
            self.put_collective((communicator, nth), &event, world, notes);
        }
    }

    fn put_collective(
        &mut self,
        (communicator, nth): (u32, usize),
        event: &Event,
        world: &World,
        notes: &mut Notes,
    ) {
        let Some(call) = world.collectives.matched(communicator, nth) else {
            return self.count_as_computation(event, notes);
        };
        self.put_compute(world.flops_per_s);
        if communicator == 0 {
            notes.n_even += u64::from(is_even(&call));
            let line = of_world(&call, self.rank, event.bytes);
            return self.put(format_args!("{line}"));
        }
        for line in of_part(&call, self.rank, replay_tag(communicator, COLLECTIVE)) {
            self.put(format_args!("{line}"));
        }
        if let Some(operation) = operation(event) {
            *notes.of_parts.entry(operation.name.as_str()).or_default() += 1;
        }
    }

    /// Counts the time inside a call as computation.
    fn count_as_computation(&mut self, event: &Event, notes: &mut Notes) {
        let Some(operation) = operation(event) else { return };
        if operation.class != Class::Environment {
            self.compute_ns += event.end_ns.saturating_sub(event.start_ns);
            *notes.as_computation.entry(operation.name.as_str()).or_default() += 1;
        }
    }

    fn put_compute(&mut self, flops_per_s: f64) {
        let compute_ns = std::mem::take(&mut self.compute_ns);
        if 0 < compute_ns {
            let (rank, flops) = (self.rank, compute_ns as f64 * 1e-9 * flops_per_s);
            self.put(format_args!("{rank} compute {flops:.0}"));
        }
    }

    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("text grows without failing");
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let append = || {
            let mut file = OpenOptions::new().append(true).open(&self.path)?;
            file.write_all(self.text.as_bytes())
        };
        append().map_err(|e| FileError::new(&self.path, e))?;
        self.text.clear();
        Ok(())
    }
}

/// Message of which both ends are in the replay.
#[derive(Clone, Copy)]
struct Message {
    peer: u32,
    tag: u32,
    /// Size given by the sender.
    bytes: u64,
}

impl Message {
    fn of(end: &End, world: &World) -> Option<Self> {
        let (lane, at) = end.partner?;
        let key = world.lanes.keys.get(lane as usize)?;
        let partner = world.messages.ends.get(lane as usize)?.get(at as usize)?;
        let send = if end.is_send { end } else { partner };
        (key.thread == 0).then_some(Self {
            peer: key.rank,
            tag: replay_tag(send.message.communicator, send.message.tag.unwrap_or(0)),
            bytes: send.bytes,
        })
    }
}

/// Placeholder for the tag of messages that replace a collective.
const COLLECTIVE: u32 = u32::MAX;

/// Returns a tag that encodes the communicator, since a replay knows only one. Two communicators are unlikely
/// to get the same tag; that would only merge their message orders.
fn replay_tag(communicator: u32, tag: u32) -> u32 {
    if communicator == 0 {
        return tag & 0x3fff_ffff;
    }
    let mixed =
        communicator.wrapping_mul(0x9e37_79b1).rotate_left(15) ^ tag.wrapping_mul(0x85eb_ca6b);
    0x4000_0000 | (mixed & 0x3fff_ffff)
}

/// Returns whether the call only waits for others, or prepares or starts something that is written elsewhere.
fn waits_or_starts(operation: &Operation) -> bool {
    matches!(operation.class, Class::PointToPoint | Class::Completion)
        || matches!(operation.mode, Mode::Persistent | Mode::Partitioned)
}

/// Returns whether the operation is one of these.
fn is(event: &Event, stems: &[&str]) -> bool {
    operation(event).is_some_and(|operation| stems.contains(&operation.stem.as_str()))
}

/// Returns the action of a call on the whole world.
fn of_world(call: &MatchedCollective<'_>, rank: u32, own_bytes: u64) -> String {
    let MatchedCollective { kind, bytes, shares, .. } = *call;
    let root = match call.flow {
        Flow::FromRoot(root) | Flow::ToRoot(root) => root,
        Flow::All => 0,
    };
    let share = count(bytes);
    let arguments = match kind {
        Bcast => format!(" {bytes} {root}"),
        Reduce => format!(" {bytes} 0 {root}"),
        Allreduce | Scan | Exscan => format!(" {bytes} 0"),
        Gather | Scatter => format!(" {share} {share} {root}"),
        Allgather | Alltoall => format!(" {share} {share}"),
        Gatherv => format!(" {} {} {root}", count(own_bytes), list(shares)),
        Allgatherv => format!(" {} {}", count(own_bytes), list(shares)),
        Scatterv => scatterv(shares, root, rank),
        ReduceScatter => format!(" {} 0", list(&vec![bytes; call.members.len()])),
        Alltoallv => alltoallv(shares, own_bytes),
        Barrier => String::new(),
    };
    format!("{rank} {}{arguments}", kind.name())
}

/// Returns whether a replay gives all ranks the same amount even if the program did not.
fn is_even(call: &MatchedCollective<'_>) -> bool {
    matches!(call.kind, ReduceScatter | Alltoallv)
}

/// Returns the messages of a call on part of the world, which a replay does not know: messages between one member (the
/// root, or otherwise the first) and all others, which preserves who waits for whom.
fn of_part(call: &MatchedCollective<'_>, rank: u32, tag: u32) -> Vec<String> {
    let MatchedCollective { bytes, members, .. } = *call;
    let (center, gathers, spreads) = match call.flow {
        Flow::All => (members.first().copied().unwrap_or(rank), true, true),
        Flow::FromRoot(root) => (root, false, true),
        Flow::ToRoot(root) => (root, true, false),
    };
    let is_center = rank == center;
    let others = || {
        let others = if is_center { members.iter().copied().collect() } else { vec![center] };
        others.into_iter().filter(move |other| *other != rank)
    };
    let lines = |action: &'static str| {
        others().map(move |other| format!("{rank} {action} {other} {tag} {bytes}"))
    };
    let towards = lines(if is_center { "recv" } else { "send" }).filter(|_| gathers);
    let back = lines(if is_center { "send" } else { "recv" }).filter(|_| spreads);
    towards.chain(back).collect()
}

/// Limits a byte count to the 31 bits that a replay uses in these actions.
fn count(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(i32::MAX.cast_unsigned())
}

fn list(shares: &[u64]) -> String {
    let shares: Vec<String> = shares.iter().map(|bytes| count(*bytes).to_string()).collect();
    shares.join(" ")
}

/// Returns the arguments of `scatterv`: the root's own share is its total minus the others' shares.
fn scatterv(shares: &[u64], root: u32, rank: u32) -> String {
    let mut shares = shares.to_vec();
    let others: u64 = (0_u32..).zip(&shares).filter(|(r, _)| *r != root).map(|(_, b)| *b).sum();
    if let Some(own) = shares.get_mut(root as usize) {
        *own = own.saturating_sub(others);
    }
    let own = shares.get(rank as usize).copied().unwrap_or(0);
    format!(" {} {} {root}", list(&shares), count(own))
}

/// Returns the arguments of `alltoallv`, in which each rank sends equal shares to all.
fn alltoallv(shares: &[u64], bytes: u64) -> String {
    let n_ranks = (shares.len() as u64).max(1);
    let sent = vec![bytes / n_ranks; shares.len()];
    let received: Vec<u64> = shares.iter().map(|bytes| bytes / n_ranks).collect();
    let (n_sent, n_received) = (sent.iter().sum(), received.iter().sum());
    format!(" {} {} {} {}", count(n_sent), list(&sent), count(n_received), list(&received))
}
