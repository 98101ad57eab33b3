//! Packs waiting tasks into an offer.

use super::Receiver;
use crate::book::{JournalRecord, Task};
use crate::core::node::count;
use crate::core::turn::Turn;
use crate::interface::{
    ExecContext, FRAME_BYTES_MAX, InstanceId, NodeSpan, OfferedTask, OfferedWork, PeerMessage,
    SharedWork, Work,
};
use std::sync::Arc;
use task_api::{Demand, TaskOutcome};

/// Bytes after which an offer is full: one work of the greatest length still fits in on top.
const OFFER_BYTES_MAX: usize = FRAME_BYTES_MAX / 2;
/// Most tasks of an offer.
const N_TASKS_MAX: usize = 1000;
/// Bound on the bytes of one task without its work.
const TASK_BYTES: usize = 40;

/// Cores that a task asks for.
pub(super) fn n_cores_of(task: &Task) -> u32 {
    task.work.demand.as_ref().map_or(1, |demand| demand.cpus_min().max(1))
}

/// Packs waiting tasks into an offer as long as a message may be, for up to `n_cores` cores; `has_room` tells whether the
/// other node may have room for a task, where so many cores are left.
pub(super) fn pack(
    to: Receiver,
    n_cores: u32,
    has_room: impl Fn(Option<&Demand>, u32) -> bool,
    turn: &mut Turn<'_>,
) -> Packing {
    let mut packing = Packing::default();
    while packing.n_cores < n_cores
        && let n_left = n_cores - packing.n_cores
        && let Some(number) = turn.node.book.next_queued(|demand| has_room(demand, n_left))
        && let Some(task) = turn.node.book.task(number)
    {
        let instance = task.instance + 1;
        if !task.is_cancel_requested && !packing.add(InstanceId { number, instance }, task, None) {
            break;
        }
        if task.is_cancel_requested {
            turn.end_unrun(number, TaskOutcome::Canceled);
            continue;
        }
        note_given(to, InstanceId { number, instance }, turn);
    }
    packing
}

/// Packs a waiting task that has room on several nodes.
pub(super) fn pack_one(to: Receiver, number: u64, span: NodeSpan, turn: &mut Turn<'_>) -> Packing {
    let mut packing = Packing::default();
    if let Some(task) = turn.node.book.task(number).filter(|task| task.is_queued()) {
        let share = InstanceId { number, instance: task.instance + 1 };
        packing.add(share, task, Some(span));
        note_given(to, share, turn);
    }
    packing
}

fn note_given(to: Receiver, share: InstanceId, turn: &mut Turn<'_>) {
    let (Receiver { id: to, incarnation }, at_ms) = (to, turn.now.unix_ms);
    let InstanceId { number, instance } = share;
    turn.record(&JournalRecord::Given { number, instance, to, incarnation, at_ms });
    turn.node.book.unconfirm(number, turn.now.moment);
}

#[derive(Debug, Default)]
pub(super) struct Packing {
    arounds: Vec<Arc<ExecContext>>,
    works: Vec<Arc<Work>>,
    /// Positions of the works' surroundings.
    around_idxs: Vec<u32>,
    tasks: Vec<OfferedTask>,
    /// Cores that they ask for.
    pub(super) n_cores: u32,
    n_bytes: usize,
}

impl Packing {
    pub(super) fn n_tasks(&self) -> u32 {
        count(self.tasks.len())
    }

    pub(super) fn shares(&self) -> Vec<InstanceId> {
        self.tasks.iter().map(|task| task.share).collect()
    }

    /// Adds a task; returns whether there was room for it.
    fn add(&mut self, share: InstanceId, task: &Task, span: Option<NodeSpan>) -> bool {
        if OFFER_BYTES_MAX < self.n_bytes || N_TASKS_MAX <= self.tasks.len() {
            return false;
        }
        let work = &task.work;
        // Neighbors in the queue are mostly of the same submission.
        let known = self.works.iter().rposition(|known| Arc::ptr_eq(known, work));
        let work_idx = known.unwrap_or_else(|| self.add_work(work));
        let work_idx = count(work_idx);
        let input = task.input(share.number);
        self.n_bytes += TASK_BYTES + input.item.as_ref().map_or(0, String::len);
        self.n_cores += n_cores_of(task);
        self.tasks.push(OfferedTask { share, work_idx, input, span });
        true
    }

    /// The offer; `lasts_ms` tells how long the tasks of a work are expected to run.
    pub(super) fn into_message(
        self,
        (offer, incarnation): (u64, u64),
        lasts_ms: impl Fn(&Work) -> Option<u64>,
    ) -> PeerMessage {
        let works = self.works.iter().zip(&self.around_idxs).map(|(work, idx)| OfferedWork {
            work: SharedWork {
                title: work.title.as_deref().map(str::to_owned),
                words: work.words().to_owned(),
                around_idx: *idx,
            },
            demand: told_demand(work, lasts_ms(work)),
        });
        PeerMessage::Offer {
            offer,
            incarnation,
            arounds: self.arounds.iter().map(|around| (**around).clone()).collect(),
            works: works.collect(),
            tasks: self.tasks,
        }
    }

    fn add_work(&mut self, work: &Arc<Work>) -> usize {
        let known = self.arounds.iter().rposition(|known| Arc::ptr_eq(known, &work.around));
        let around_idx = known.unwrap_or_else(|| {
            self.n_bytes += n_bytes_of(&work.around);
            self.arounds.push(work.around.clone());
            self.arounds.len() - 1
        });
        self.n_bytes += work.words().len() + work.title.as_deref().map_or(0, str::len) + 16;
        self.around_idxs.push(count(around_idx));
        self.works.push(work.clone());
        self.works.len() - 1
    }
}

/// What the tasks of a work ask for, with the time that they are expected to run.
fn told_demand(work: &Work, lasts_ms: Option<u64>) -> Option<Demand> {
    let demand = work.demand.as_deref().cloned();
    match lasts_ms {
        None => demand,
        Some(_) => Some(Demand { expect_ms: lasts_ms, ..demand.unwrap_or_default() }),
    }
}

fn n_bytes_of(around: &ExecContext) -> usize {
    let variables = around.environment.iter().map(|(name, value)| name.len() + value.len() + 8);
    let folder = around.limits.output_folder.as_deref().map_or(0, str::len);
    variables.sum::<usize>() + around.folder.len() + folder + 32
}
