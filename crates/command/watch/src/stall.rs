//! Notices that a running program stands still, and tells why, once for each time.
//!
//! Progress is an MPI call that returned, other than one that only looks (`MPI_Test`, `MPI_Iprobe`). Without
//! `--stalled` a program is said to stand still only when all ranks are inside MPI calls that wait and none has returned
//! from one for a minute: a program may compute for as long as it likes.
//!
//! # Not here
//! The explanation (`assemble`).

use crate::stack;
use assemble::explain_waits;
use collector::place::node_name;
use events::{OperationId, ProcessKey, Ticks};
use mpi_abi::{Class, Mode, Operation};
use report::terminal::{hang_text, seconds};
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::summary::Hang;
use server::Server;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use symbols::Resolver;
use user_io::print::warn;
use wire::ProcessReport;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time without progress of ranks that are all inside MPI after which they are said to stand still, in s.
const CERTAIN_S: f64 = 60.0;

/// Time in which no rank has called MPI at all after which it is told where they are, in s.
const UNSEEN_S: f64 = 10.0;
/// Ranks on this node of which it is told where they are.
const N_PLACES_MAX: usize = 8;

/// Watch for a program that stands still.
#[derive(Debug)]
pub(crate) struct StallWatch<'a> {
    server: &'a Server,
    facts: RunFacts,
    /// Time without progress after which a program stands still, wherever its ranks are.
    after_s: Option<f64>,
    progress: HashMap<(String, ProcessKey), Progress>,
    next_look: Instant,
    is_told: bool,
    /// Sentences about the present standstill.
    sentences: Vec<String>,
}

/// Progress of a process.
#[derive(Clone, Copy, Debug)]
struct Progress {
    n_calls: u64,
    since: Ticks,
}

/// State of all processes at a look.
#[derive(Clone, Copy, Debug)]
struct Standstill {
    n_processes: usize,
    /// Time since the last progress of any, in s.
    stood_s: f64,
    /// Whether all are inside calls that wait for other ranks.
    are_inside: bool,
    /// Whether none has called MPI since it is watched.
    are_unseen: bool,
}

impl<'a> StallWatch<'a> {
    pub(crate) fn new(server: &'a Server, facts: &RunFacts, after_s: Option<f64>) -> Self {
        let (progress, next_look) = (HashMap::new(), Instant::now());
        let facts = facts.clone();
        let sentences = Vec::new();
        Self { server, facts, after_s, progress, next_look, is_told: false, sentences }
    }

    /// Explains the standstill that began, if one did since the last call.
    pub(crate) fn news(&mut self) -> Option<(f64, Hang)> {
        if Instant::now() < self.next_look {
            return None;
        }
        self.next_look = Instant::now() + LOOK_EVERY;
        let state = self.look();
        let is_certain = state.are_inside && CERTAIN_S <= state.stood_s;
        let is_certain = is_certain || state.are_unseen && UNSEEN_S <= state.stood_s;
        let is_asked = self.after_s.is_some_and(|after_s| after_s <= state.stood_s);
        let is_standing = state.n_processes != 0 && (is_certain || is_asked);
        if !is_standing || std::mem::replace(&mut self.is_told, true) {
            self.is_told &= is_standing;
            return None;
        }
        Some((state.stood_s, self.explanation().unwrap_or_default()))
    }

    /// Tells of a standstill that began.
    pub(crate) fn tell(&mut self) {
        if let Some((stood_s, hang)) = self.news() {
            warn(&stands_still(stood_s));
            if !hang.ranks.is_empty() {
                user_io::eprint!("{}", hang_text(&hang));
            }
            self.places().iter().for_each(|place| user_io::eprint!("  {place}\n"));
        }
    }

    /// Returns sentences about the standstill that lasts; none while the program goes on.
    pub(crate) fn standing(&mut self) -> Vec<String> {
        if let Some((stood_s, hang)) = self.news() {
            let first = format!("{}.", stands_still(stood_s));
            self.sentences = std::iter::once(first).chain(hang.sentences).collect();
        }
        if !self.is_told {
            self.sentences.clear();
        }
        self.sentences.clone()
    }

    /// Explains for whom ranks wait at this moment.
    pub(crate) fn explanation(&self) -> Option<Hang> {
        let measured = MeasuredRun { processes: self.server.processes(), ..MeasuredRun::default() };
        explain_waits(&measured, &self.facts, &mut Resolver::new())
    }

    /// Returns sentences about ranks on this node that are outside MPI, or in a call that was not seen.
    fn places(&self) -> Vec<String> {
        let node = node_name();
        let mut outside = Vec::new();
        self.server.each_process(|report| {
            let main = report.threads.iter().find(|thread| thread.idx == report.main_thread);
            let is_open = !report.gone && !report.finalizing;
            if report.node == node && is_open && main.is_none_or(|main| main.in_call.is_none()) {
                let tid = main.map_or(report.key.pid, |main| main.tid);
                outside.push((report.rank.0, report.key.pid, tid));
            }
        });
        outside.sort_unstable();
        let mut resolver = Resolver::new();
        let place = |(rank, pid, tid): (u32, u32, u32)| {
            let place = stack::place(pid.cast_signed(), tid.cast_signed(), &mut resolver)?;
            Some(format!("Rank {rank} (process {pid}) is {place}."))
        };
        outside.into_iter().take(N_PLACES_MAX).filter_map(place).collect()
    }

    fn look(&mut self) -> Standstill {
        let mut state = Standstill {
            n_processes: 0,
            stood_s: f64::INFINITY,
            are_inside: true,
            are_unseen: true,
        };
        let progress = &mut self.progress;
        self.server.each_process(|report| {
            if report.gone || report.finalizing {
                return;
            }
            let key = (report.node.clone(), report.key);
            let n_calls = n_calls(report);
            let known = progress.entry(key).or_insert(Progress { n_calls, since: report.now });
            if known.n_calls != n_calls {
                *known = Progress { n_calls, since: report.now };
            }
            let stood = report.now.0.saturating_sub(known.since.0);
            state.n_processes += 1;
            state.stood_s = state.stood_s.min(report.clock.seconds(stood));
            state.are_inside &= is_inside(report);
            state.are_unseen &= report.threads.is_empty();
        });
        state
    }
}

/// Returns the sentence that introduces the explanation.
pub(crate) fn stands_still(stood_s: f64) -> String {
    let stood = seconds(stood_s);
    format!("the program stands still: no MPI call of any rank has returned for {stood}")
}

/// Returns the number of calls that returned and did not only look.
fn n_calls(report: &ProcessReport) -> u64 {
    let regions = report.threads.iter().flat_map(|thread| &thread.regions);
    let is_progress = |number: u16| operation(number).is_none_or(|found| !only_looks(found));
    let counted = regions.filter(|region| is_progress(region.operation));
    counted.map(|region| region.n_calls).fold(0, u64::wrapping_add)
}

fn operation(number: u16) -> Option<&'static Operation> {
    mpi_abi::operation(OperationId(number))
}

fn only_looks(operation: &Operation) -> bool {
    operation.mode == Mode::Nonblocking
        && (operation.class == Class::Completion
            || matches!(operation.stem.as_str(), "Iprobe" | "Improbe"))
}

/// Returns whether the thread that called `MPI_Init` is in a call that waits for other ranks of the program.
fn is_inside(report: &ProcessReport) -> bool {
    let main = report.threads.iter().find(|thread| thread.idx == report.main_thread);
    let call = main.and_then(|thread| thread.in_call);
    call.and_then(|call| operation(call.operation)).is_some_and(|operation| {
        operation.mode == Mode::Blocking
            && !matches!(operation.class, Class::Io | Class::Process | Class::Environment)
    })
}

/// Thread that tells of standstills while the command runs.
#[derive(Debug)]
pub(crate) struct Teller<'scope> {
    thread: Option<ScopedJoinHandle<'scope, ()>>,
    /// Dropped to end the thread.
    stop: Sender<()>,
}

impl<'scope> Teller<'scope> {
    /// Starts the thread; if the system has none left, nothing is told.
    pub(crate) fn start<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        mut watch: StallWatch<'env>,
    ) -> Self {
        let (stop, stopped) = channel();
        let tell = move || {
            // A panic is printed by its hook, and costs the explanation only.
            let told = catch_unwind(AssertUnwindSafe(|| tell_until(&stopped, &mut watch)));
            drop(told);
        };
        let thread = Builder::new().name("stall".to_owned()).spawn_scoped(scope, tell).ok();
        Self { thread, stop }
    }

    /// Ends the thread.
    pub(crate) fn end(self) {
        drop(self.stop);
        if let Some(thread) = self.thread {
            thread.join().ok();
        }
    }
}

fn tell_until(stopped: &Receiver<()>, watch: &mut StallWatch<'_>) {
    while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        watch.tell();
    }
}
