//! Puts starts and ends of computing together to chunks, and chunks to iterations.
//!
//! # Invariants
//! - Bounded: chunks that no iteration takes are forgotten, the oldest first.

use crate::lookup::median;
use crate::tunlet::IterationNews;
use events::Rank;
use models::master_worker::transfer::Transfer;
use std::collections::{HashMap, VecDeque};

/// Chunks kept that belong to no finished iteration.
const N_WAITING_MAX: usize = 100_000;

/// A chunk that a worker has computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) rank: Rank,
    pub(super) batch: i128,
    pub(super) n_tasks: f64,
    pub(super) start_s: f64,
    pub(super) end_s: f64,
}

impl Chunk {
    pub(super) fn time_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// The chunks of an iteration in the order in which they were dealt.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub(super) chunks: Vec<Chunk>,
    pub(super) n_tasks: f64,
    /// The workers, in the order of their ranks.
    pub(super) ranks: Vec<Rank>,
    /// Time per unit of work.
    pub(super) work_s: f64,
    pub(super) duration_s: f64,
}

/// Chunks on the way.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    started: HashMap<(Rank, u32), f64>,
    done: VecDeque<Chunk>,
}

impl Chunks {
    pub(super) fn start(&mut self, rank: Rank, thread: u32, time_s: f64) {
        self.started.insert((rank, thread), time_s);
    }

    /// The chunk that ends; none whose start was not seen.
    pub(super) fn end(&mut self, thread: u32, mut chunk: Chunk) -> Option<Chunk> {
        chunk.start_s = self.started.remove(&(chunk.rank, thread))?;
        if chunk.n_tasks <= 0.0 || chunk.end_s < chunk.start_s {
            return None;
        }
        if self.done.len() == N_WAITING_MAX {
            self.done.pop_front();
        }
        self.done.push_back(chunk);
        Some(chunk)
    }

    /// Chunks of no finished iteration.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Chunk> + Clone {
        self.done.iter()
    }

    /// Tasks of the chunks that an iteration has so far.
    pub(super) fn n_tasks_in(&self, news: &IterationNews) -> f64 {
        self.done.iter().filter(|chunk| is_in(chunk, news)).map(|chunk| chunk.n_tasks).sum()
    }

    /// Takes the chunks of an iteration out, and forgets older ones.
    pub(super) fn take(&mut self, news: &IterationNews) -> Option<Iteration> {
        let (mut mine, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.done)
            .into_iter()
            .filter(|chunk| news.end_s - news.duration_s <= middle_s(chunk))
            .partition(|chunk| is_in(chunk, news));
        self.done = later.into();
        mine.sort_by(|a, b| a.batch.cmp(&b.batch).then(a.start_s.total_cmp(&b.start_s)));
        let mut ranks: Vec<Rank> = mine.iter().map(|chunk| chunk.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let work_s = if news.work > 0.0 { news.duration_s / news.work } else { news.duration_s };
        (!mine.is_empty()).then(|| Iteration {
            n_tasks: mine.iter().map(|chunk| chunk.n_tasks).sum(),
            chunks: mine,
            ranks,
            work_s,
            duration_s: news.duration_s,
        })
    }
}

fn middle_s(chunk: &Chunk) -> f64 {
    f64::midpoint(chunk.start_s, chunk.end_s)
}

fn is_in(chunk: &Chunk, news: &IterationNews) -> bool {
    let middle_s = middle_s(chunk);
    news.end_s - news.duration_s <= middle_s && middle_s <= news.end_s
}

impl Iteration {
    /// What dealing a chunk of so many tasks costs: a round trip between worker and master.
    ///
    /// Seen as the pause of a worker between two chunks; and, of the first chunks, which the master sends
    /// one after the other, as twice the time from one start to the next.
    pub(super) fn learn_pauses(&self, pauses: &mut Transfer) {
        let mut last: HashMap<Rank, &Chunk> = HashMap::new();
        let (mut between, mut first) = (Vec::new(), Vec::new());
        for chunk in &self.chunks {
            match last.insert(chunk.rank, chunk) {
                Some(before) => {
                    let n_tasks = f64::midpoint(before.n_tasks, chunk.n_tasks);
                    between.push((n_tasks, chunk.start_s - before.end_s));
                }
                None => first.push((chunk.start_s, chunk.n_tasks)),
            }
        }
        first.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = first.windows(2).map(|two| (two[1].1, 2.0 * (two[1].0 - two[0].0))).collect();
        add_medians(between, pauses);
        add_medians(first, pauses);
    }
}

/// Adds the medians of a few groups of like size, since single pauses may be long for other reasons.
fn add_medians(mut seen: Vec<(f64, f64)>, pauses: &mut Transfer) {
    const N_GROUPS: usize = 4;
    seen.retain(|(_, pause_s)| 0.0 <= *pause_s);
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    for group in seen.chunks(seen.len().div_ceil(N_GROUPS).max(1)) {
        let tasks = median(group.iter().map(|(n, _)| *n).collect());
        pauses.add(tasks, median(group.iter().map(|(_, pause_s)| *pause_s).collect()));
    }
}
