//! Records of a process: read in order, sent individually or summed, acknowledged.

use super::Observed;
use crate::plan::{Delivery, Milestone, ReadProgress};
use events::CallRecord;
use ring::ThreadView;
use wire::Records;
use wire::sum_builder::{Calls, SumBatchBuilder, ThreadInput};

/// Divisor of the ring size: sums over that many records are sent at once, since their space is occupied until then.
const LONG_SHARE: u64 = 4;

/// Thread with the progress of its records.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) progress: ReadProgress,
    pub(super) calls: Calls,
    /// Number of dropped records when ring space was last released.
    n_dropped: u64,
}

impl Observed {
    /// Resumes a thread after the sums that the analyzer has: records before `end`, with the calls open at that point.
    pub(crate) fn resume(&mut self, thread: u32, end: u64, open: Vec<(u32, u64)>) {
        let Some(view) = self.segment.threads().find(|view| view.idx() == thread) else { return };
        let following = following(&mut self.threads, view);
        following.calls.resume(following.progress.sent, end, open);
    }

    /// Rewinds so that unacknowledged records are read again.
    pub(crate) fn reread(&mut self) {
        for thread in &mut self.threads {
            thread.progress.rewind();
            thread.calls = Calls::default();
        }
    }

    /// Returns whether the next records may be awaited, or ring space is short.
    pub(crate) fn is_prompt(&self) -> bool {
        self.is_prompt || self.request.is_empty() || self.stage.reached != Milestone::Running
    }

    /// Returns the fill of the fullest ring with records to be handed over, 0 to 1.
    pub(crate) fn fill(&mut self) -> f64 {
        let n_records = f64::from(self.segment.capacity().n_records);
        if n_records == 0.0 {
            return 0.0;
        }
        let threads = &mut self.threads;
        self.segment
            .threads()
            .map(|thread| {
                let sent = following(threads, thread).progress.sent;
                thread.n_written().saturating_sub(sent) as f64 / n_records
            })
            .fold(0.0, f64::max)
    }

    /// Returns whether all records are safe elsewhere.
    pub(crate) fn is_drained(&mut self) -> bool {
        let threads = &mut self.threads;
        self.segment
            .threads()
            .all(|thread| thread.n_written() <= following(threads, thread).progress.acknowledged)
    }

    /// Returns the next records to deliver individually, whatever their kind; they count as sent.
    pub(crate) fn next_records(&mut self) -> Option<Records> {
        for view in self.segment.threads() {
            let progress = &mut following(&mut self.threads, view).progress;
            let Some((first, records)) = unread(view, progress) else { continue };
            progress.hand_over(first + records.len() as u64);
            return Some(Records { process: self.key, thread: view.idx(), first, records });
        }
        None
    }

    /// Reads on in some thread: sums what is wanted as sums, and passes the rest to `hand_over`; returns false without
    /// records.
    pub(crate) fn read_on(
        &mut self,
        builder: &mut SumBatchBuilder,
        mut hand_over: impl FnMut(Records),
    ) -> bool {
        if self.request.is_empty() {
            return self.next_records().map(hand_over).is_some();
        }
        let n_records = u64::from(self.segment.capacity().n_records);
        for view in self.segment.threads() {
            let following = following(&mut self.threads, view);
            let Following { progress, calls, .. } = following;
            let Some((first, mut records)) = unread(view, progress) else { continue };
            let (process, thread) = (self.key, view.idx());
            let (request, passed) = (&self.request, &mut self.passed);
            let is_ended = self.stage.reached == Milestone::Gone;
            let n_records_long = n_records / LONG_SHARE;
            let input =
                ThreadInput { process, thread, request, calls, passed, is_ended, n_records_long };
            let result = builder.read(input, first, &records);
            if result.n_read == 0 {
                continue;
            }
            progress.skip(first + result.n_read as u64);
            if result.is_in_batch {
                progress.add_up(progress.sent);
            }
            self.is_prompt |= !result.kept.is_empty();
            let n_read = result.n_read;
            for run in result.kept {
                progress.hand_over(first + run.end as u64);
                let first = first + run.start as u64;
                let is_all = run == (0..n_read);
                let records =
                    if is_all { std::mem::take(&mut records) } else { records[run].to_vec() };
                hand_over(Records { process, thread, first, records });
            }
            free(view, following, n_records);
            return true;
        }
        false
    }

    /// Notes that no records are awaited until new ones arrive.
    pub(crate) fn clear_prompt(&mut self) {
        self.is_prompt = false;
    }

    /// Notes that a thread's records before `up_to` that were delivered on one path are safe, and releases their space.
    pub(crate) fn acknowledge(&mut self, thread: u32, path: Delivery, up_to: u64) {
        let Some(view) = self.segment.threads().find(|view| view.idx() == thread) else { return };
        let n_records = u64::from(self.segment.capacity().n_records);
        let following = following(&mut self.threads, view);
        if following.progress.acknowledge(path, up_to) {
            free(view, following, n_records);
        }
    }
}

/// Returns the next records of a thread, with the number of the first.
fn unread(view: ThreadView<'_>, progress: &ReadProgress) -> Option<(u64, Vec<CallRecord>)> {
    let (first, n_records) = progress.next_batch(view.n_written())?;
    let n_max = usize::try_from(n_records).unwrap_or(usize::MAX);
    let records = view.records(first, n_max);
    (!records.is_empty()).then_some((first, records))
}

/// Releases the safe part of a ring of `n_records`.
fn free(view: ThreadView<'_>, following: &mut Following, n_records: u64) {
    let before = following.progress.acknowledged;
    let Some(up_to) = following.progress.settle() else { return };
    view.acknowledge(up_to);
    // Records dropped since space was last released are missing at the point where the ring was full.
    let n_dropped = view.n_dropped();
    if n_dropped != following.n_dropped {
        following.n_dropped = n_dropped;
        following.calls.lack_before(before + n_records);
    }
}

fn following<'a>(threads: &'a mut Vec<Following>, view: ThreadView<'_>) -> &'a mut Following {
    let idx = view.idx() as usize;
    while threads.len() <= idx {
        let (progress, calls) = (ReadProgress::default(), Calls::default());
        threads.push(Following { progress, calls, n_dropped: view.n_dropped() });
    }
    let following = &mut threads[idx];
    if following.progress.sent == 0 {
        // A previous collector may already have saved records.
        following.progress = ReadProgress::at(view.n_acknowledged());
    }
    following
}
