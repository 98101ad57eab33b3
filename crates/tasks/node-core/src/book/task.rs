//! Task of a book, small as long as it waits.

use std::sync::Arc;

use balancing_policies::{Moment, NodeId};
use task_api::{Output, TaskOutcome, TaskState, Usage};

use super::note::{Note, NotedEvent};
use super::record::{EndRecord, Retry};
use crate::attempt::{TaskInput, Work};

/// Most notes that are kept of a task.
const N_NOTES_MAX: usize = 24;
/// Index that stands for none.
const NO_INDEX: u64 = u64::MAX;

/// Task, as its home keeps it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "reasons to wait are independent of each other")]
pub struct Task {
    /// Work that the task runs.
    pub work: Arc<Work>,
    array_index: u64,
    /// Time of submission, in ms since 1970.
    pub submitted_ms: u64,
    /// Number of times that it was given out to run.
    pub instance: u32,
    node: NodeId,
    pub(super) n_lost: u16,
    /// State of the task.
    pub state: TaskState,
    /// True if a user asked to cancel the task.
    pub is_cancel_requested: bool,
    /// True if records of the task may be missing, so that it may run elsewhere.
    pub is_uncertain: bool,
    /// True if the task waits before it is tried again.
    pub is_delayed: bool,
    /// True if a user has to release the task before it may run.
    pub is_held: bool,
    /// True if the task waits for others.
    pub is_blocked: bool,
    more: Option<Box<More>>,
}

/// Parts that a task needs only after its first event.
#[derive(Clone, Debug, Default)]
struct More {
    notes: Vec<Note>,
    n_dropped_notes: u32,
    end: Option<End>,
    delay: Option<Box<Delay>>,
}

/// Failed attempts, and the end of the delay before the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    retry: Retry,
    until: Moment,
}

#[derive(Clone, Debug)]
struct End {
    started_ms: Option<u64>,
    ended_ms: u64,
    outcome: TaskOutcome,
    output: Option<Box<Output>>,
    usage: Usage,
}

impl Task {
    pub(super) fn new(work: Arc<Work>, array_index: Option<u64>, submitted_ms: u64) -> Self {
        let schedule = work.terms.as_ref().map(|terms| &terms.schedule);
        let is_held = schedule.is_some_and(|schedule| schedule.is_held);
        let is_blocked = schedule.is_some_and(|schedule| !schedule.after.is_empty());
        Self {
            work,
            array_index: array_index.unwrap_or(NO_INDEX),
            submitted_ms,
            instance: 0,
            node: NodeId(0),
            n_lost: 0,
            state: TaskState::Queued,
            is_cancel_requested: false,
            is_uncertain: false,
            is_delayed: false,
            is_held,
            is_blocked,
            more: None,
        }
    }

    /// Index in its array, where it belongs to one.
    pub fn array_index(&self) -> Option<u64> {
        (self.array_index != NO_INDEX).then_some(self.array_index)
    }

    /// Index and text of the task, which has this number.
    pub fn input(&self, number: u64) -> TaskInput {
        let item = self.work.terms.as_ref().and_then(|terms| terms.item(number));
        TaskInput { array_index: self.array_index(), item: item.map(str::to_owned) }
    }

    /// Node that the task is offered to, that holds it, runs it or ran it.
    pub fn node(&self) -> Option<NodeId> {
        (self.state != TaskState::Queued).then_some(self.node)
    }

    /// Returns whether the task waits here, and may be run.
    pub fn is_queued(&self) -> bool {
        let has_to_wait = self.is_uncertain || self.is_delayed || self.is_held || self.is_blocked;
        self.waits() && !has_to_wait
    }

    /// Returns whether the task waits here, as far as is known.
    pub fn waits(&self) -> bool {
        self.state == TaskState::Queued
    }

    /// Returns whether the task runs, or another node may run it.
    pub fn is_active(&self) -> bool {
        matches!(self.state, TaskState::Offered | TaskState::Leased | TaskState::Running)
    }

    /// Returns whether the task has ended.
    pub fn is_over(&self) -> bool {
        self.state == TaskState::Ended
    }

    /// Time of the last start, in ms since 1970.
    pub fn started_ms(&self) -> Option<u64> {
        let more = self.more.as_ref()?;
        if let Some(end) = &more.end {
            return end.started_ms;
        }
        let start = |note: &Note| matches!(note.what, NotedEvent::Started(_)).then_some(note.at_ms);
        let runs = matches!(self.state, TaskState::Running | TaskState::Leased);
        runs.then(|| more.notes.iter().rev().find_map(start)).flatten()
    }

    /// Time of the end, in ms since 1970, if it has ended.
    pub fn ended_ms(&self) -> Option<u64> {
        Some(self.more.as_ref()?.end.as_ref()?.ended_ms)
    }

    /// Outcome, if it has ended.
    pub fn outcome(&self) -> Option<&TaskOutcome> {
        Some(&self.more.as_ref()?.end.as_ref()?.outcome)
    }

    /// Output, as far as it is kept.
    pub fn output(&self) -> Option<&Output> {
        self.more.as_ref()?.end.as_ref()?.output.as_deref()
    }

    /// What it has used, when it has ended.
    pub fn usage(&self) -> Option<Usage> {
        Some(self.more.as_ref()?.end.as_ref()?.usage)
    }

    /// Time in ms that it ran, if it has ended by itself.
    pub(super) fn ran_ms(&self) -> Option<u64> {
        let End { started_ms, ended_ms, outcome, .. } = self.more.as_ref()?.end.as_ref()?;
        let by_itself = matches!(outcome, TaskOutcome::Exit(_) | TaskOutcome::Signal(_));
        Some(ended_ms.saturating_sub((*started_ms)?)).filter(|_| by_itself)
    }

    /// Notes of the task, and the number of notes that are no longer kept.
    pub fn notes(&self) -> (&[Note], u32) {
        self.more.as_ref().map_or((&[], 0), |more| (&more.notes, more.n_dropped_notes))
    }

    /// Attempts that failed and after which the task was or is tried again.
    pub fn failed(&self) -> Retry {
        self.known_delay().map_or_else(Retry::default, |delay| delay.retry)
    }

    /// End of the delay before the task is tried again, while that lasts.
    pub fn delayed_until(&self) -> Option<Moment> {
        self.known_delay().filter(|_| self.is_delayed).map(|delay| delay.until)
    }

    fn known_delay(&self) -> Option<&Delay> {
        self.more.as_ref()?.delay.as_deref()
    }

    fn delay_mut(&mut self) -> &mut Delay {
        self.more.get_or_insert_default().delay.get_or_insert_default()
    }

    pub(super) fn fail(&mut self, retry: Retry) {
        self.is_delayed = 0 < retry.delay_ms;
        *self.delay_mut() = Delay { retry, until: Moment(0) };
    }

    pub(super) fn delay(&mut self, until: Moment) {
        self.delay_mut().until = until;
    }

    pub(super) fn end_delay(&mut self) {
        self.is_delayed = false;
        self.delay_mut().retry.delay_ms = 0;
    }

    pub(super) fn n_output_bytes(&self) -> usize {
        self.output().map_or(0, Output::n_bytes)
    }

    pub(super) fn place(&mut self, state: TaskState, node: NodeId, instance: u32) {
        self.state = state;
        self.node = node;
        self.instance = self.instance.max(instance);
    }

    pub(super) fn note(&mut self, at_ms: u64, what: NotedEvent) {
        let more = self.more.get_or_insert_default();
        if more.notes.len() == N_NOTES_MAX {
            more.notes.remove(0);
            more.n_dropped_notes = more.n_dropped_notes.saturating_add(1);
        }
        if more.notes.capacity() == 0 {
            // Most tasks are started once, and nothing else happens to them.
            more.notes.reserve_exact(1);
        }
        more.notes.push(Note { at_ms, what });
    }

    /// Replaces all notes.
    pub(super) fn tell(&mut self, notes: &[Note], n_dropped_notes: u32) {
        let more = self.more.get_or_insert_default();
        let first = notes.len().saturating_sub(N_NOTES_MAX);
        more.notes = notes[first..].to_vec();
        more.n_dropped_notes = n_dropped_notes;
    }

    pub(super) fn tried(&mut self, instance: u32, n_lost: u16) {
        self.instance = self.instance.max(instance);
        self.n_lost = self.n_lost.max(n_lost);
    }

    /// Counts a lost attempt, and returns whether no more are allowed.
    pub(super) fn count_loss(&mut self) -> bool {
        self.n_lost = self.n_lost.saturating_add(1);
        self.work.around.limits.n_starts_max <= u32::from(self.n_lost)
    }

    pub(super) fn request_cancel(&mut self, at_ms: u64) {
        if !self.is_cancel_requested {
            self.is_cancel_requested = true;
            self.note(at_ms, NotedEvent::CancelWished);
        }
    }

    pub(super) fn end(&mut self, end: &EndRecord) {
        self.place(TaskState::Ended, end.node, end.instance);
        self.more.get_or_insert_default().end = Some(End {
            started_ms: end.started_ms,
            ended_ms: end.ended_ms,
            outcome: end.outcome.clone(),
            output: some_output(&end.output),
            usage: end.usage,
        });
    }

    /// Drops the output, and returns the number of its bytes.
    pub(super) fn drop_output(&mut self) -> usize {
        let n_bytes = self.n_output_bytes();
        if let Some(end) = self.more.as_mut().and_then(|more| more.end.as_mut())
            && let Some(output) = &mut end.output
        {
            **output = Output {
                n_dropped_bytes: output.n_dropped_bytes.saturating_add(n_bytes as u64),
                ..Output::default()
            };
        }
        n_bytes
    }
}

/// Output of a task; `None` where it wrote nothing.
fn some_output(output: &Output) -> Option<Box<Output>> {
    let silent = output.n_bytes() == 0 && output.n_dropped_bytes == 0;
    (!silent).then(|| Box::new(output.clone()))
}
