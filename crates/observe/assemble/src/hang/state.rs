//! State of each rank of a world: in which call it waits, for what, and since when.

use crate::roster::{RankProcess, operation_name};
use crate::sites::AddressBook;
use crate::summarize::call_in_words;
use events::call::{ANY_PEER, OUTSIDE_WORLD};
use events::{Awaited, AwaitedRequest, CommunicatorKey, InCall, OperationId};
use mpi_abi::{Class, Mode, Operation, ParameterKind};
use run_record::summary::CallSite;
use std::collections::HashMap;
use wire::{ProcessReport, ThreadReport, ThreadState};

/// A process that ended this much earlier than the last one had ended before the others were stopped, in s.
const ENDED_BEFORE_S: f64 = 3.0;

/// Time since the last call that only looked within which a rank polls, in s.
const POLLED_S: f64 = 0.5;

/// World at one moment.
#[derive(Debug)]
pub(super) struct WorldState {
    /// Its observed ranks, in order.
    pub(super) ranks: Vec<RankState>,
    /// World ranks by [`CommunicatorKey::id`].
    pub(super) communicators: HashMap<u32, Vec<u32>>,
    /// Whether all ranks were observed from their start, so that their collective calls have the same numbers.
    pub(super) has_numbers: bool,
}

/// Rank at one moment.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    pub(super) rank: u32,
    pub(super) doing: Doing,
    /// Time since which it has done so, in s.
    pub(super) since_s: f64,
    /// Collective calls entered: number, and the last one in words.
    pub(super) collectives: HashMap<CommunicatorKey, (u64, String)>,
    /// Messages sent to a rank, with the tag of the last, and those received from it.
    pub(super) messages: HashMap<u32, Messages>,
}

/// Messages with another rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Messages {
    pub(super) n_sent: u64,
    pub(super) last_tag: i32,
    pub(super) n_received: u64,
}

/// State of a rank.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// In an MPI call.
    Waiting(Wait),
    /// Outside MPI since this call, if any; the kernel says whether it runs.
    Computing { after: Option<String>, state: Option<ThreadState> },
    /// Stopped by a signal or a debugger, in this MPI call or outside MPI.
    Stopped { inside: Option<String> },
    /// In calls that only look for messages or completion, the last of which is this one.
    Polling(String),
    /// In `MPI_Finalize`, or past it.
    Finalizing,
    /// Ended without `MPI_Finalize` before the others.
    Ended,
    /// Has not called MPI since it is watched.
    Unseen,
}

/// Call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) operation: &'static Operation,
    /// The call in words, with its place.
    pub(super) words: String,
    /// What it waits for. Where one of several would do (`MPI_Waitany`), none has come, or it would not wait.
    pub(super) needs: Vec<Need>,
    /// Root and number of elements of a collective call.
    pub(super) root: i32,
    pub(super) count: i64,
}

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Need {
    /// A message on a communicator; from any rank if none is given, with any tag if it is negative.
    Message { from: Option<u32>, tag: i32, on: CommunicatorKey },
    /// Receipt of a message.
    Receipt { by: u32, tag: i32, on: CommunicatorKey },
    /// The other members in this collective call, by its number on the communicator.
    Collective { communicator: CommunicatorKey, number: u64 },
}

/// Names of call sites, by the addresses of a process.
pub(super) struct CallSiteNames<'a> {
    pub(super) book: &'a AddressBook,
    pub(super) call_sites: &'a [CallSite],
}

impl CallSiteNames<'_> {
    fn words(&self, call: InCall) -> String {
        let site = self.book.site(call.address, call.operation);
        let site = site.and_then(|site| self.call_sites.get(site));
        site.map_or_else(|| operation_name(call.operation).to_owned(), call_in_words)
    }
}

/// Returns the state of a world. Ranks that ended long before the last one ended by themselves.
pub(super) fn of_world(
    ranks: &[(RankProcess<'_>, CallSiteNames<'_>)],
    is_attached: bool,
) -> Option<WorldState> {
    let first = ranks.first()?.0.report;
    let end_s = |rank: &RankProcess<'_>| rank.clock.ns_at(rank.report.now) as f64 * 1e-9;
    let last_s = ranks.iter().map(|(rank, _)| end_s(rank)).fold(f64::MIN, f64::max);
    let mut communicators = HashMap::from([(0, (0..first.size).collect())]);
    for report in ranks.iter().map(|(rank, _)| rank.report) {
        for communicator in &report.communicators {
            let entry = communicators.entry(communicator.id.0);
            entry.or_insert_with(|| communicator.world_ranks.clone());
        }
    }
    let states = ranks.iter().map(|(rank, names)| {
        let is_early = rank.report.gone && end_s(rank) + ENDED_BEFORE_S < last_s;
        rank_state(rank, names, &communicators, is_early)
    });
    let ranks = states.collect();
    Some(WorldState { ranks, communicators, has_numbers: !is_attached })
}

fn rank_state(
    rank: &RankProcess<'_>,
    names: &CallSiteNames<'_>,
    communicators: &HashMap<u32, Vec<u32>>,
    is_early: bool,
) -> RankState {
    let report = rank.report;
    let collectives = report.collectives.iter().map(|calls| {
        let last = InCall { operation: calls.operation, address: calls.address };
        (calls.communicator, (calls.n_calls, names.words(last)))
    });
    let since = |ticks: u64| rank.clock.seconds(report.now.0.saturating_sub(ticks));
    let thread = rank.main_thread();
    let mut since_s = thread.map_or(0.0, |thread| since(thread.since.0));
    let doing = match thread {
        _ if report.finalizing && !report.left => {
            since_s = report.finalize_begin.map_or(0.0, |begin| since(begin.0));
            Doing::Finalizing
        }
        _ if is_early => Doing::Ended,
        Some(thread) => doing(report, thread, names, communicators),
        None => Doing::Unseen,
    };
    RankState {
        rank: report.rank.0,
        doing,
        since_s,
        collectives: collectives.collect(),
        messages: messages(report),
    }
}

fn messages(report: &ProcessReport) -> HashMap<u32, Messages> {
    let mut messages: HashMap<u32, Messages> = HashMap::new();
    for (peer, traffic) in report.threads.iter().flat_map(|thread| &thread.peers) {
        let sum = messages.entry(*peer).or_default();
        sum.n_sent += traffic.n_sent;
        sum.n_received += traffic.n_received;
        if traffic.n_sent != 0 {
            sum.last_tag = traffic.last_tag;
        }
    }
    messages
}

fn doing(
    report: &ProcessReport,
    thread: &ThreadReport,
    names: &CallSiteNames<'_>,
    communicators: &HashMap<u32, Vec<u32>>,
) -> Doing {
    let computing = || Doing::Computing {
        after: thread.last_call.map(|call| names.words(call)),
        state: thread.state,
    };
    if thread.state == Some(ThreadState::Stopped) {
        return Doing::Stopped { inside: thread.in_call.map(|call| names.words(call)) };
    }
    let last = thread.in_call.or(thread.last_call);
    let operation = last.and_then(|call| mpi_abi::operation(OperationId(call.operation)));
    let (Some(last), Some(operation)) = (last, operation) else { return computing() };
    let since_s = report.clock.seconds(report.now.0.saturating_sub(thread.since.0));
    if only_looks(operation) && since_s < POLLED_S {
        return Doing::Polling(names.words(last));
    }
    let Some(call) = thread.in_call else { return computing() };
    let nothing = Awaited::default();
    let awaited = thread.awaited.as_ref().unwrap_or(&nothing);
    let arguments = Arguments { report, awaited, communicators };
    Doing::Waiting(Wait {
        operation,
        words: names.words(call),
        needs: arguments.needs(operation),
        root: if operation.root().is_some() { awaited.peer } else { -1 },
        count: awaited.count,
    })
}

/// Arguments of the call in progress of a process.
struct Arguments<'a> {
    report: &'a ProcessReport,
    awaited: &'a Awaited,
    communicators: &'a HashMap<u32, Vec<u32>>,
}

impl Arguments<'_> {
    fn needs(&self, operation: &Operation) -> Vec<Need> {
        let Awaited { peer, tag, source, source_tag, requests, .. } = self.awaited;
        let (sends, receives) =
            (operation.named("dest").is_some(), operation.named("source").is_some());
        match (operation.class, operation.mode) {
            (Class::PointToPoint, Mode::Blocking) if sends && receives => self
                .receipt(*peer, *tag)
                .into_iter()
                .chain(self.message(*source, *source_tag))
                .collect(),
            (Class::PointToPoint, Mode::Blocking) if sends => {
                self.receipt(*peer, *tag).into_iter().collect()
            }
            (Class::PointToPoint, Mode::Blocking) if receives => {
                self.message(*peer, *tag).into_iter().collect()
            }
            (Class::Completion, Mode::Blocking) if operation.completes.is_some() => {
                requests.iter().filter_map(|request| self.request(request)).collect()
            }
            _ if is_collective(operation) => {
                self.collective(self.awaited.communicator).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the world rank of a rank in the call's communicator.
    fn world_rank(&self, peer: i32) -> Option<u32> {
        let members = self.communicators.get(&self.awaited.communicator.id)?;
        let rank = members.get(usize::try_from(peer).ok()?)?;
        Some(*rank).filter(|rank| *rank != u32::MAX)
    }

    fn receipt(&self, peer: i32, tag: i32) -> Option<Need> {
        Some(Need::Receipt { by: self.world_rank(peer)?, tag, on: self.awaited.communicator })
    }

    fn message(&self, peer: i32, tag: i32) -> Option<Need> {
        let from = if peer == ANY_PEER { None } else { Some(self.world_rank(peer)?) };
        Some(Need::Message { from, tag, on: self.awaited.communicator })
    }

    fn request(&self, request: &AwaitedRequest) -> Option<Need> {
        let operation = mpi_abi::operation(OperationId(request.operation))?;
        if operation.class != Class::PointToPoint {
            return self.collective(request.communicator);
        }
        let (peer, tag, on) = (request.peer, request.tag, request.communicator);
        if operation.named("dest").is_some() {
            return Some(Need::Receipt { by: u32::try_from(peer).ok()?, tag, on });
        }
        match peer {
            ANY_PEER => Some(Need::Message { from: None, tag, on }),
            OUTSIDE_WORLD => None,
            _ => Some(Need::Message { from: Some(u32::try_from(peer).ok()?), tag, on }),
        }
    }

    fn collective(&self, communicator: CommunicatorKey) -> Option<Need> {
        if communicator == CommunicatorKey::UNKNOWN {
            return None;
        }
        let mut calls = self.report.collectives.iter();
        let calls = calls.find(|calls| calls.communicator == communicator)?;
        Some(Need::Collective { communicator, number: calls.n_calls })
    }
}

/// Returns whether the operation checks for messages or completion, and returns at once.
fn only_looks(operation: &Operation) -> bool {
    operation.mode == Mode::Nonblocking
        && (operation.class == Class::Completion
            || matches!(operation.stem.as_str(), "Iprobe" | "Improbe"))
}

/// Returns whether the operation is one of all members of a communicator that it names (`probe/build/awaited.rs`).
pub(super) fn is_collective(operation: &Operation) -> bool {
    if operation.position(ParameterKind::Comm).is_none() {
        return false;
    }
    match operation.class {
        Class::Collective
        | Class::Neighborhood
        | Class::OneSided
        | Class::Io
        | Class::Communicator => operation.stem != "Comm_create_group",
        Class::Process => operation.root().is_some(),
        _ => false,
    }
}
