//! Thread of the tuner: hands it what the connections receive, and carries what it does to collectors and record.
//!
//! # Invariants
//! - Writing records to disk never waits for tunlets: events that arrive too fast are not delivered to them, and
//!   are counted. Answers and actions are always delivered.

use crate::{Shared, lock};
use events::tuning::TuningLine;
use events::{CallRecord, CodeAddress, FunctionKind};
use run_record::{TuningWriter, switch};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use symbols::Resolver;
use tuner::{NodeInput, Outlet, Tuner, TuningOptions};
use wire::{Records, SummaryBatch, ToCollector};

/// Longest time between two ticks of the conductor.
const TICK: Duration = Duration::from_millis(20);
/// The same where nothing is measured in the program: levers are decided by reports, which come five times a second.
const TICK_OF_LEVERS: Duration = Duration::from_millis(100);

/// Time between two looks at the user's switch.
const SWITCH_EVERY: Duration = Duration::from_millis(200);

/// Starts the thread, which ends when the inbox is closed and returns sentences about the tool's own problems.
pub(crate) fn start(
    (options, lines, switch): (TuningOptions, &Path, &Path),
    inbox: Arc<Inbox>,
    shared: &Arc<Shared>,
) -> io::Result<JoinHandle<Vec<String>>> {
    let clock = RunClock::new(shared.facts.started_s);
    let outlet = RunOutlet::new(Arc::clone(shared), lines);
    let tick = if options.plan.sites.is_empty() { TICK_OF_LEVERS } else { TICK };
    let tuner = Tuner::new(options, outlet, shared.facts.started_s, clock.now_s());
    let switch = Switch { path: switch.to_owned(), next: Instant::now(), is_on: true };
    let run = move || run(tuner, switch, &clock, (&inbox, tick));
    Builder::new().name("tuning".to_owned()).spawn(run)
}

/// Switch of the user: a word in a file of the record.
struct Switch {
    path: PathBuf,
    /// Time of the next look.
    next: Instant,
    is_on: bool,
}

impl Switch {
    /// Returns the new position, if it was changed.
    fn look(&mut self, now: Instant) -> Option<bool> {
        if now < self.next {
            return None;
        }
        self.next = now + SWITCH_EVERY;
        let is_on = switch::read(&self.path)?;
        (std::mem::replace(&mut self.is_on, is_on) != is_on).then_some(is_on)
    }
}

fn run(
    mut tuner: Tuner<RunOutlet>,
    mut switch: Switch,
    clock: &RunClock,
    (inbox, tick): (&Inbox, Duration),
) -> Vec<String> {
    loop {
        let batch = inbox.take(tick);
        if let Some(is_on) = switch.look(Instant::now()) {
            tuner.hear(clock.now_s(), String::new(), NodeInput::Switch { is_on });
        }
        for (node, input) in batch.inputs {
            tuner.hear(clock.now_s(), node, input);
        }
        tuner.pass_time(clock.now_s());
        if batch.is_last {
            let outlet = tuner.finish(clock.now_s(), batch.n_unheard);
            return outlet.problem.into_iter().collect();
        }
    }
}

/// Clock of a run, which never goes back.
struct RunClock {
    from: Instant,
    /// Seconds of the run at `from`.
    from_s: f64,
}

impl RunClock {
    /// Creates the clock of a run that started at `started_s`, in s since 1970.
    fn new(started_s: f64) -> Self {
        let (_, now_ns) = ring::clock::point();
        Self { from: Instant::now(), from_s: now_ns as f64 * 1e-9 - started_s }
    }

    fn now_s(&self) -> f64 {
        self.from_s + self.from.elapsed().as_secs_f64()
    }
}

/// Collectors and record of a run. An error of writing ends the recording of lines, not the run.
struct RunOutlet {
    shared: Arc<Shared>,
    lines: Option<TuningWriter>,
    /// Reason why lines are missing.
    problem: Option<String>,
    resolver: Resolver,
}

impl RunOutlet {
    fn new(shared: Arc<Shared>, lines: &Path) -> Self {
        let opened = TuningWriter::open(lines);
        let problem = opened.as_ref().err().map(ToString::to_string);
        Self { shared, lines: opened.ok(), problem, resolver: Resolver::new() }
    }
}

impl Outlet for RunOutlet {
    fn say(&self, node: &str, message: &ToCollector) -> bool {
        self.shared.say(node, message)
    }

    fn record(&mut self, line: TuningLine) {
        if let Some(lines) = &mut self.lines
            && let Err(error) = lines.append(&line)
        {
            let problem = || format!("decisions are missing in the record: {error}");
            self.problem.get_or_insert_with(problem);
        }
    }

    fn name(&mut self, address: &CodeAddress<'_>) -> String {
        let place = self.resolver.place_of_return(address);
        if place.line == 0 {
            place.function
        } else {
            format!("{} ({}:{})", place.function, place.file, place.line)
        }
    }
}

/// Maximum number of waiting event records, of 64 bytes each.
const N_EVENTS_MAX: usize = 1 << 18;
/// Maximum number of waiting batches of sums.
const N_BATCHES_MAX: usize = 1 << 12;

/// A queue in front of one thread.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(String, NodeInput)>,
    n_events: usize,
    n_batches: usize,
    n_unheard: u64,
    is_closed: bool,
}

/// Items taken from the queue.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The items with their nodes, in order of arrival.
    inputs: VecDeque<(String, NodeInput)>,
    /// Number of events that found no room since the start.
    n_unheard: u64,
    /// True if the queue is closed, so that no more items will come.
    is_last: bool,
}

impl Inbox {
    /// Adds an item other than records.
    pub(crate) fn push(&self, node: &str, input: NodeInput) {
        self.with(|state| state.waiting.push_back((node.to_owned(), input)));
        self.bell.notify_one();
    }

    /// Adds the records of functions and actions among `records`; events only while there is room.
    pub(crate) fn push_records(&self, node: &str, records: &Records) {
        let is_ours = |record: &&CallRecord| FunctionKind::Event as u16 <= record.kind;
        let mut own: Vec<CallRecord> = records.records.iter().filter(is_ours).copied().collect();
        if own.is_empty() {
            return;
        }
        self.with(|state| {
            if N_EVENTS_MAX < state.n_events + own.len() {
                let n_before = own.len();
                own.retain(|record| record.kind == FunctionKind::Action as u16);
                state.n_unheard += (n_before - own.len()) as u64;
            }
            if own.is_empty() {
                return;
            }
            state.n_events += own.len();
            let (process, thread, first) = (records.process, records.thread, records.first);
            let records = Records { process, thread, first, records: own };
            state.waiting.push_back((node.to_owned(), NodeInput::Records(records)));
        });
        self.bell.notify_one();
    }

    /// Adds sums while there is room.
    pub(crate) fn push_sums(&self, node: &str, mut batch: SummaryBatch) {
        // Only the file on disk needs the ranges of records.
        batch.ranges.clear();
        self.with(|state| {
            if state.n_batches < N_BATCHES_MAX {
                state.n_batches += 1;
                state.waiting.push_back((node.to_owned(), NodeInput::Sums(batch)));
            } else {
                state.n_unheard += batch.events.iter().map(|event| event.n).sum::<u64>();
            }
        });
        self.bell.notify_one();
    }

    /// Closes the queue: no more items will come.
    pub(crate) fn close(&self) {
        self.with(|state| state.is_closed = true);
        self.bell.notify_one();
    }

    /// Removes and returns all items; waits for one for at most `patience`.
    pub(crate) fn take(&self, patience: Duration) -> Batch {
        let state = lock(&self.state);
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        let (mut state, _) = self
            .bell
            .wait_timeout_while(state, patience, is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        (state.n_events, state.n_batches) = (0, 0);
        Batch {
            inputs: std::mem::take(&mut state.waiting),
            n_unheard: state.n_unheard,
            is_last: state.is_closed,
        }
    }

    fn with(&self, act: impl FnOnce(&mut State)) {
        act(&mut lock(&self.state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::ProcessKey;

    fn records(kind: FunctionKind, n_records: usize) -> Records {
        let record = CallRecord { kind: kind as u16, ..CallRecord::default() };
        let process = ProcessKey { pid: 1, started: 2 };
        Records { process, thread: 0, first: 0, records: vec![record; n_records] }
    }

    #[test]
    fn events_have_a_bound_and_actions_none() {
        let inbox = Inbox::default();
        inbox.push_records("n", &records(FunctionKind::Event, N_EVENTS_MAX));
        inbox.push_records("n", &records(FunctionKind::Event, 3));
        inbox.push_records("n", &records(FunctionKind::Action, 2));
        inbox.close();
        let batch = inbox.take(Duration::ZERO);
        let n_records = batch.inputs.iter().map(|(_, input)| match input {
            NodeInput::Records(records) => records.records.len(),
            _ => 0,
        });
        assert_eq!(n_records.collect::<Vec<_>>(), [N_EVENTS_MAX, 2]);
        assert_eq!((batch.n_unheard, batch.is_last), (3, true));
    }

    #[test]
    fn calls_are_not_for_tunlets() {
        let inbox = Inbox::default();
        let call = CallRecord::default();
        let calls = Records { records: vec![call], ..records(FunctionKind::Event, 0) };
        inbox.push_records("n", &calls);
        assert!(inbox.take(Duration::ZERO).inputs.is_empty());
    }
}
