//! Pairs starts and ends of computing into chunks, groups chunks into iterations, and learns costs of messages.
//!
//! # Invariants
//! - Bounded: chunks that belong to no iteration are dropped, oldest first.

use crate::tunlet::IterationNews;
use events::Rank;
use models::master_worker::transfer::TransferLine;
use statistics::median;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Maximum number of chunks kept that belong to no finished iteration.
const N_WAITING_MAX: usize = 100_000;

/// Assumed cost of dealing one chunk to the master until it has been measured, in s.
const USUAL_S: f64 = 50e-6;

/// A chunk that a worker has computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComputedChunk {
    pub(crate) rank: Rank,
    pub(crate) batch: i128,
    pub(crate) n_tasks: f64,
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
}

impl ComputedChunk {
    pub(crate) fn time_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// Chunks of one iteration, in the order in which they were dealt.
#[derive(Clone, Debug)]
pub(crate) struct IterationChunks {
    pub(crate) chunks: Vec<ComputedChunk>,
    pub(crate) n_tasks: f64,
    /// Workers in ascending rank order.
    pub(crate) ranks: Vec<Rank>,
    /// Iteration time per unit of work.
    pub(crate) work_s: f64,
    pub(crate) duration_s: f64,
}

impl IterationChunks {
    /// Returns the excess of the busiest worker's computing time over the mean: the gain of a perfect split.
    pub(crate) fn uneven_s(&self) -> f64 {
        let mut busy_s: HashMap<Rank, f64> = HashMap::new();
        for chunk in &self.chunks {
            *busy_s.entry(chunk.rank).or_default() += chunk.time_s();
        }
        let longest_s = busy_s.values().copied().fold(0.0, f64::max);
        longest_s - busy_s.values().sum::<f64>() / busy_s.len().max(1) as f64
    }
}

/// Started chunks, finished chunks that are not yet assigned to an iteration, and iterations that wait for theirs.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    pending: VecDeque<IterationNews>,
    started: HashMap<(Rank, u32), f64>,
    done: VecDeque<ComputedChunk>,
}

impl Chunks {
    pub(crate) fn start(&mut self, rank: Rank, thread: u32, time_s: f64) {
        self.started.insert((rank, thread), time_s);
    }

    /// Completes a chunk and returns it; `None` if its start was not seen.
    pub(crate) fn end(&mut self, thread: u32, mut chunk: ComputedChunk) -> Option<ComputedChunk> {
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

    /// Returns the chunks of no finished iteration.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &ComputedChunk> + Clone {
        self.done.iter()
    }

    /// Adds an iteration that has ended; some of its chunks may still arrive.
    pub(crate) fn end_iteration(&mut self, news: IterationNews) {
        self.pending.push_back(news);
    }

    /// Removes and returns the next iteration whose chunks have all arrived: one with all its work (true), or one that
    /// another iteration follows (false; its work may be unknown, or some of its chunks unseen).
    pub(crate) fn next_iteration(
        &mut self,
        is_work_known: impl Fn(&IterationNews) -> bool,
    ) -> Option<(IterationNews, bool)> {
        let news = *self.pending.front()?;
        let is_complete = is_work_known(&news) && news.work <= self.n_tasks_in(&news) + 0.5;
        if !is_complete && self.pending.len() < 2 {
            return None;
        }
        self.pending.pop_front();
        Some((news, is_complete))
    }

    /// Returns the number of tasks in the chunks seen so far of this iteration.
    fn n_tasks_in(&self, news: &IterationNews) -> f64 {
        self.done.iter().filter(|chunk| is_in(chunk, news)).map(|chunk| chunk.n_tasks).sum()
    }

    /// Removes and returns the chunks of an iteration, and drops older ones.
    pub(crate) fn take(&mut self, news: &IterationNews) -> Option<IterationChunks> {
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
        (!mine.is_empty()).then(|| IterationChunks {
            n_tasks: mine.iter().map(|chunk| chunk.n_tasks).sum(),
            chunks: mine,
            ranks,
            work_s,
            duration_s: news.duration_s,
        })
    }
}

fn middle_s(chunk: &ComputedChunk) -> f64 {
    f64::midpoint(chunk.start_s, chunk.end_s)
}

fn is_in(chunk: &ComputedChunk, news: &IterationNews) -> bool {
    let middle_s = middle_s(chunk);
    news.end_s - news.duration_s <= middle_s && middle_s <= news.end_s
}

/// Costs of dealing, as functions of the number of tasks in a chunk.
#[derive(Debug)]
pub(crate) struct DealingCosts {
    /// Time for which the master is busy.
    pub(crate) service: Costs,
    /// Time for which a worker waits between two chunks while the master is free.
    pub(crate) pause: Costs,
}

impl Default for DealingCosts {
    fn default() -> Self {
        // Most pauses are longer, because the master is busy with another worker.
        Self { service: Costs::new(USUAL_S, 0.5), pause: Costs::new(2.0 * USUAL_S, 0.25) }
    }
}

impl DealingCosts {
    /// Learns the costs from an iteration. The master is busy from the start of one worker's first chunk to the
    /// start of the next worker's, since it sends the first chunks one after the other. Pauses are measured
    /// between two chunks of the same worker.
    pub(crate) fn learn(&mut self, iteration: &IterationChunks) {
        let mut last: HashMap<Rank, &ComputedChunk> = HashMap::new();
        let (mut between, mut first) = (Vec::new(), Vec::new());
        for chunk in &iteration.chunks {
            match last.insert(chunk.rank, chunk) {
                Some(before) => {
                    let n_tasks = f64::midpoint(before.n_tasks, chunk.n_tasks);
                    between.push((n_tasks, chunk.start_s - before.end_s));
                }
                None => first.push((chunk.start_s, chunk.n_tasks)),
            }
        }
        first.sort_by(|a, b| a.0.total_cmp(&b.0));
        let services = first.windows(2).map(|two| (two[1].1, two[1].0 - two[0].0));
        let services: Vec<_> = services.collect();
        let service_s = median(services.iter().map(|(_, time_s)| *time_s)).unwrap_or(0.0);
        if let Some((n_tasks, _)) = services.first() {
            self.service.add(*n_tasks, service_s);
        }
        for (n_tasks, pause_s) in between {
            self.pause.add(n_tasks, pause_s);
        }
    }
}

const N_SIZES_MAX: usize = 32;
const N_MESSAGES_MAX: usize = 16;
/// Sizes in a class differ by less than this factor.
const CLASS: f64 = 1.2;

/// Costs of messages by size, learned from the newest messages of each size.
///
/// A program in a steady state sends messages of one size only. To keep what was learned from other sizes,
/// sizes are kept apart: each class holds a few of its newest messages, and one of them represents it. Sizes and
/// messages per size are bounded; the least recently seen size is dropped first.
#[derive(Debug)]
pub(crate) struct Costs {
    anchor_s: f64,
    /// Quantile of the message that represents its size: 0 for the fastest, 1 for the slowest.
    rank: f64,
    sizes: BTreeMap<i64, Size>,
    n_seen: u64,
}

#[derive(Debug, Default)]
struct Size {
    messages: VecDeque<(f64, f64)>,
    last_seen: u64,
}

impl Costs {
    pub(crate) fn new(anchor_s: f64, rank: f64) -> Self {
        Self { anchor_s, rank, sizes: BTreeMap::new(), n_seen: 0 }
    }

    /// Adds the time of a message of this size; negative times, from unsynchronized clocks, are ignored.
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm is small")]
    pub(crate) fn add(&mut self, size: f64, time_s: f64) {
        if !(0.0 <= size && 0.0 <= time_s) {
            return;
        }
        self.n_seen += 1;
        let class = (size.max(1.0).ln() / CLASS.ln()).round() as i64;
        let known = self.sizes.entry(class).or_default();
        known.last_seen = self.n_seen;
        known.messages.push_back((size, time_s));
        if N_MESSAGES_MAX < known.messages.len() {
            known.messages.pop_front();
        }
        if N_SIZES_MAX < self.sizes.len() {
            let oldest = self.sizes.iter().min_by_key(|(_, size)| size.last_seen);
            if let Some(class) = oldest.map(|(class, _)| *class) {
                self.sizes.remove(&class);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the line through the representative messages.
    pub(crate) fn fit(&self) -> TransferLine {
        let mut fit = TransferLine::new(self.anchor_s, N_SIZES_MAX);
        for size in self.sizes.values() {
            let mut messages: Vec<_> = size.messages.iter().copied().collect();
            messages.sort_by(|a, b| a.1.total_cmp(&b.1));
            #[expect(clippy::cast_possible_truncation, reason = "at most the messages of a size")]
            #[expect(clippy::cast_sign_loss, reason = "a rank is not negative")]
            let at = (self.rank * (messages.len() - 1) as f64).round() as usize;
            let (size, time_s) = messages[at];
            fit.add(size, time_s);
        }
        fit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_no_longer_seen_is_remembered() {
        let mut costs = Costs::new(1e-6, 0.5);
        costs.add(1000.0, 2e-4);
        for _ in 0..1000 {
            costs.add(2000.0, 3e-4);
        }
        let cost = costs.fit().cost();
        assert!((cost.latency_s - 1e-4).abs() < 1e-9, "{cost:?}");
    }

    #[test]
    fn sizes_and_messages_are_bounded() {
        let mut costs = Costs::new(1e-6, 0.5);
        for n in 0..10_000 {
            costs.add(1.1_f64.powi(n % 500), 1e-3);
        }
        assert_eq!(costs.sizes.len(), N_SIZES_MAX);
        assert!(costs.sizes.values().all(|size| size.messages.len() <= N_MESSAGES_MAX));
    }
}
