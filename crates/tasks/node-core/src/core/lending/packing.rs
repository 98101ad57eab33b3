//! Packs tasks into an offer: each work and each surroundings once, as many as fit into a message.

use std::sync::Arc;

use crate::book::Task;
use crate::core::node::count;
use crate::interface::{
    ExecContext, FRAME_BYTES_MAX, InstanceId, OfferedTask, PeerMessage, SharedWork, Work,
};

/// Bytes after which an offer is full: one work of the greatest length still fits in on top.
const OFFER_BYTES_MAX: usize = FRAME_BYTES_MAX / 2;
/// Most tasks of an offer.
const N_TASKS_MAX: usize = 1000;
/// Bound on the bytes of one task without its work.
const TASK_BYTES: usize = 40;

#[derive(Debug, Default)]
pub(super) struct Packing {
    arounds: Vec<Arc<ExecContext>>,
    works: Vec<Arc<Work>>,
    /// Positions of the works' surroundings.
    around_idxs: Vec<u32>,
    tasks: Vec<OfferedTask>,
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
    pub(super) fn add(&mut self, share: InstanceId, task: &Task) -> bool {
        if OFFER_BYTES_MAX < self.n_bytes || N_TASKS_MAX <= self.tasks.len() {
            return false;
        }
        let work = task.work();
        // Neighbors in the queue are mostly of the same submission.
        let known = self.works.iter().rposition(|known| Arc::ptr_eq(known, work));
        let work_idx = known.unwrap_or_else(|| self.add_work(work));
        let work_idx = count(work_idx);
        self.tasks.push(OfferedTask { share, work_idx, array_index: task.array_index() });
        self.n_bytes += TASK_BYTES;
        true
    }

    pub(super) fn into_message(self, offer: u64, incarnation: u64) -> PeerMessage {
        let works = self.works.iter().zip(&self.around_idxs).map(|(work, idx)| SharedWork {
            title: work.title.as_deref().map(str::to_owned),
            words: work.words().to_owned(),
            around_idx: *idx,
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

fn n_bytes_of(around: &ExecContext) -> usize {
    let variables = around.environment.iter().map(|(name, value)| name.len() + value.len() + 8);
    let folder = around.limits.output_folder.as_deref().map_or(0, str::len);
    variables.sum::<usize>() + around.folder.len() + folder + 32
}
