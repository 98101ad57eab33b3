//! One task of a book, small as long as it waits.

use std::sync::Arc;

use balanced::{Outcome, Output, TaskState};
use serde::{Deserialize, Serialize};

use super::{EndRecord, Reason, some_output};
use crate::core::words::{NodeId, Work};

/// Most notes that are kept of a task.
const N_NOTES_MAX: usize = 24;
/// No task has this index.
const NO_INDEX: u64 = u64::MAX;

/// A task, by its home.
#[derive(Clone, Debug)]
pub struct Task {
    work: Arc<Work>,
    array_index: u64,
    submitted_ms: u64,
    instance: u32,
    node: NodeId,
    n_lost: u16,
    state: TaskState,
    cancel_wished: bool,
    doubted: bool,
    more: Option<Box<More>>,
}

/// What only tasks have to which something happened.
#[derive(Clone, Debug, Default)]
struct More {
    notes: Vec<Note>,
    n_dropped_notes: u32,
    end: Option<End>,
}

#[derive(Clone, Debug)]
struct End {
    started_ms: Option<u64>,
    ended_ms: u64,
    outcome: Outcome,
    output: Option<Box<Output>>,
}

/// Something that happened to a task, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at_ms: u64,
    /// What.
    pub what: Noted,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Noted {
    /// It was offered to a node.
    Offered(NodeId),
    /// The node took it.
    Moved(NodeId),
    /// It was started there.
    Started(NodeId),
    /// It waits again.
    Back(Reason),
    /// Somebody wants it to end.
    CancelWished,
}

impl Task {
    pub(super) fn new(work: Arc<Work>, array_index: Option<u64>, submitted_ms: u64) -> Self {
        Self {
            work,
            array_index: array_index.unwrap_or(NO_INDEX),
            submitted_ms,
            instance: 0,
            node: NodeId(0),
            n_lost: 0,
            state: TaskState::Queued,
            cancel_wished: false,
            doubted: false,
            more: None,
        }
    }

    /// What it runs.
    #[must_use]
    pub fn work(&self) -> &Arc<Work> {
        &self.work
    }

    /// Its index, where it is of an array.
    #[must_use]
    pub fn array_index(&self) -> Option<u64> {
        (self.array_index != NO_INDEX).then_some(self.array_index)
    }

    /// When it was submitted.
    #[must_use]
    pub fn submitted_ms(&self) -> u64 {
        self.submitted_ms
    }

    /// How often it was given out to be run.
    #[must_use]
    pub fn instance(&self) -> u32 {
        self.instance
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.state
    }

    /// The node that it is offered to, that holds it, runs it or ran it.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        (self.state != TaskState::Queued).then_some(self.node)
    }

    /// Whether it waits here, and may be run.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.waits() && !self.doubted
    }

    /// Whether it waits here, as far as is known.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.state == TaskState::Queued
    }

    /// Whether records of it may be missing, so that it may run elsewhere.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == TaskState::Ended
    }

    /// Whether somebody wants it to end.
    #[must_use]
    pub fn is_cancel_wished(&self) -> bool {
        self.cancel_wished
    }

    /// When it was started last.
    #[must_use]
    pub fn started_ms(&self) -> Option<u64> {
        let more = self.more.as_ref()?;
        if let Some(end) = &more.end {
            return end.started_ms;
        }
        let start = |note: &Note| matches!(note.what, Noted::Started(_)).then_some(note.at_ms);
        let runs = matches!(self.state, TaskState::Running | TaskState::Leased);
        runs.then(|| more.notes.iter().rev().find_map(start)).flatten()
    }

    /// When it ended, if it has.
    #[must_use]
    pub fn ended_ms(&self) -> Option<u64> {
        Some(self.more.as_ref()?.end.as_ref()?.ended_ms)
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        Some(&self.more.as_ref()?.end.as_ref()?.outcome)
    }

    /// What it wrote, as far as that is kept.
    #[must_use]
    pub fn output(&self) -> Option<&Output> {
        self.more.as_ref()?.end.as_ref()?.output.as_deref()
    }

    /// What happened to it, and how much of that is no longer kept.
    #[must_use]
    pub fn notes(&self) -> (&[Note], u32) {
        self.more.as_ref().map_or((&[], 0), |more| (&more.notes, more.n_dropped_notes))
    }

    pub(super) fn doubt(&mut self, doubted: bool) {
        self.doubted = doubted;
    }

    pub(super) fn n_output_bytes(&self) -> usize {
        self.output().map_or(0, Output::n_bytes)
    }

    pub(super) fn place(&mut self, state: TaskState, node: NodeId, instance: u32) {
        self.state = state;
        self.node = node;
        self.instance = self.instance.max(instance);
    }

    pub(super) fn note(&mut self, at_ms: u64, what: Noted) {
        let more = self.more.get_or_insert_default();
        if more.notes.len() == N_NOTES_MAX {
            more.notes.remove(0);
            more.n_dropped_notes = more.n_dropped_notes.saturating_add(1);
        }
        if more.notes.capacity() == 0 {
            // Most tasks are started once, and that is all.
            more.notes.reserve_exact(1);
        }
        more.notes.push(Note { at_ms, what });
    }

    /// This is what has happened to it, whatever was noted before.
    pub(super) fn tell(&mut self, notes: &[Note], n_dropped_notes: u32) {
        let more = self.more.get_or_insert_default();
        let first = notes.len().saturating_sub(N_NOTES_MAX);
        more.notes = notes[first..].to_vec();
        more.n_dropped_notes = n_dropped_notes;
    }

    pub(super) fn n_lost(&self) -> u16 {
        self.n_lost
    }

    pub(super) fn tried(&mut self, instance: u32, n_lost: u16) {
        self.instance = self.instance.max(instance);
        self.n_lost = self.n_lost.max(n_lost);
    }

    /// Counts that an attempt was lost, and says whether that was one too many.
    pub(super) fn count_loss(&mut self) -> bool {
        self.n_lost = self.n_lost.saturating_add(1);
        self.work.around.limits.n_starts_max <= u32::from(self.n_lost)
    }

    pub(super) fn wish_cancel(&mut self, at_ms: u64) {
        if !self.cancel_wished {
            self.cancel_wished = true;
            self.note(at_ms, Noted::CancelWished);
        }
    }

    pub(super) fn end(&mut self, end: &EndRecord) {
        self.place(TaskState::Ended, end.node, end.instance);
        self.more.get_or_insert_default().end = Some(End {
            started_ms: end.started_ms,
            ended_ms: end.ended_ms,
            outcome: end.outcome.clone(),
            output: some_output(&end.output),
        });
    }

    pub(super) fn drop_output(&mut self) {
        if let Some(end) = self.more.as_mut().and_then(|more| more.end.as_mut())
            && let Some(output) = &mut end.output
        {
            let n_bytes = output.n_bytes() as u64;
            **output = Output {
                n_dropped_bytes: output.n_dropped_bytes.saturating_add(n_bytes),
                ..Output::default()
            };
        }
    }
}
