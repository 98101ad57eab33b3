//! Wanted number of workers: that of an outside tool, of the model or of the options.

use super::Forecast;
use super::iteration_progress::{ChunkTimes, IterationProgress};
use super::worker_model::WorkerModel;
use crate::options::Workers;
use crate::report::IterationReport;
use crate::tuning_points::{self, Claim};
use std::sync::Arc;

/// Determines the wanted number of workers from all its sources.
#[derive(Debug)]
pub(crate) struct WorkerTarget {
    workers: Workers,
    /// Number of workers in the first iteration, when it is tuned.
    n_first: Option<u32>,
    model: Option<WorkerModel>,
    progress: IterationProgress,
    /// Measurements from before the model exists, which needs to know what is sent.
    first: First,
    /// Claim of this run on the variable that tools see.
    claim: Option<Arc<Claim>>,
    /// Number last written to the variable.
    shown: u32,
    /// Number that a tool wrote to the variable.
    from_outside: Option<u32>,
    reason: String,
}

/// Measurements of the first iteration.
#[derive(Debug, Default)]
struct First {
    number: u64,
    began_s: f64,
    chunks: Vec<ChunkTimes>,
}

/// Largest number of chunks of the first iteration that are kept.
const N_FIRST_MAX: usize = 10_000;

impl WorkerTarget {
    /// `n_first` is the number of workers in the first iteration, when it is tuned.
    pub(crate) fn new(workers: Workers, n_first: Option<u32>, claim: Option<Arc<Claim>>) -> Self {
        let (model, progress, first) = (None, IterationProgress::default(), First::default());
        let (shown, from_outside, reason) = (0, None, String::new());
        Self { workers, n_first, model, progress, first, claim, shown, from_outside, reason }
    }

    /// Returns the wanted number when `n_present` workers are present and there can be `n_max`.
    pub(crate) fn target(&mut self, n_present: u32, n_max: u32) -> u32 {
        // A tool may set the variable at any time.
        if self.shown != 0 {
            self.current();
        }
        self.from_outside.unwrap_or_else(|| self.own(n_present)).min(n_max)
    }

    /// Gain expected by the model; `None` when the number is not the model's.
    pub(crate) fn forecast(&self) -> Option<Forecast> {
        let is_own = self.workers == Workers::Tuned && self.from_outside.is_none();
        self.model.as_ref().filter(|_| is_own).map(WorkerModel::forecast)
    }

    /// Publishes the number for the next iteration to tools, when `n_present` workers are present.
    pub(crate) fn show(&mut self, n_present: u32) {
        let wanted = self.from_outside.unwrap_or_else(|| self.own(n_present));
        self.shown = wanted.clamp(1, n_present.max(1));
        if self.from_outside.is_none()
            && let Some(reason) = self.model.as_mut().and_then(|model| model.settle(self.shown))
        {
            self.reason = reason;
        }
        if self.claim.is_some() {
            tuning_points::set_n_workers(self.shown);
        }
    }

    /// Returns the number for the iteration that has begun: a tool may just have changed it.
    pub(crate) fn current(&mut self) -> u32 {
        let seen = self.claim.as_ref().map_or(self.shown, |_| tuning_points::n_workers());
        if seen != self.shown && seen != 0 {
            self.from_outside = Some(seen);
            self.reason = format!("{seen} workers because an external tool set this number");
            self.shown = seen;
        }
        self.shown
    }

    /// Reason for the present number, in words.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Basis of the model's number, in words; empty without a model.
    pub(crate) fn reckoning(&self) -> String {
        let is_own = self.from_outside.is_none();
        self.model.as_ref().filter(|_| is_own).map_or_else(String::new, WorkerModel::reckoning)
    }

    fn own(&self, n_present: u32) -> u32 {
        match self.workers {
            Workers::All => n_present,
            Workers::Fixed(n_workers) => n_workers,
            Workers::Tuned => {
                let n_first = self.n_first.unwrap_or(n_present);
                self.model.as_ref().map_or(n_first, WorkerModel::n_wanted)
            }
        }
    }

    pub(crate) fn iteration_began(&mut self, number: u64, began_s: f64) {
        self.progress.begin(began_s);
        match &mut self.model {
            Some(model) => model.iteration_began(number, began_s),
            None => self.first = First { number, began_s, chunks: Vec::new() },
        }
    }

    /// Returns whether more workers may join within an iteration.
    pub(crate) fn may_grow(&self) -> bool {
        self.workers == Workers::Tuned && self.from_outside.is_none()
    }

    /// Returns the number of workers for the rest of the iteration, if it exceeds `n_workers`, of at
    /// most `n_present`.
    pub(crate) fn joining(
        &mut self,
        n_undealt: u64,
        n_workers: u32,
        n_present: u32,
    ) -> Option<u32> {
        if !self.may_grow() || self.shown != n_workers {
            return None;
        }
        self.progress.joining(n_undealt, n_workers, n_present)
    }

    /// Records that `n_workers` take part in the rest of the iteration.
    pub(crate) fn joined(&mut self, n_workers: u32) {
        self.reason = format!(
            "{n_workers} workers instead of {} because much of the iteration remains",
            self.shown
        );
        self.shown = n_workers;
        if let Some(model) = &mut self.model {
            model.joined(n_workers);
        }
        if self.claim.is_some() {
            tuning_points::set_n_workers(n_workers);
        }
    }

    pub(crate) fn chunk_done(&mut self, chunk: &ChunkTimes) {
        if self.workers == Workers::Tuned {
            self.progress.chunk_done(chunk);
        }
        if let Some(model) = &mut self.model {
            model.chunk_done(chunk);
        } else if self.workers == Workers::Tuned && self.first.chunks.len() < N_FIRST_MAX {
            self.first.chunks.push(*chunk);
        }
    }

    /// Feeds an iteration to the model: the next ones may get another number, at most `n_max`.
    pub(crate) fn iteration_ended(&mut self, report: &IterationReport, ended_s: f64, n_max: u32) {
        if self.workers != Workers::Tuned || self.from_outside.is_some() {
            return;
        }
        if self.model.is_none() {
            self.model = self.begin_tuning(report, n_max);
        }
        if let Some(model) = &mut self.model {
            model.iteration_ended(report, ended_s);
        }
    }

    /// Creates the model after the first iteration, when it is known what is sent, and feeds it that
    /// iteration.
    fn begin_tuning(&mut self, report: &IterationReport, n_max: u32) -> Option<WorkerModel> {
        let First { number, began_s, chunks } = std::mem::take(&mut self.first);
        let mut model = WorkerModel::new(report, self.shown, n_max)?;
        model.iteration_began(number, began_s);
        chunks.iter().for_each(|chunk| model.chunk_done(chunk));
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(workers: Workers, n_present: u32, expected: u32) {
        let mut worker_target = WorkerTarget::new(workers, None, None);
        worker_target.show(n_present);
        assert_eq!((worker_target.current(), worker_target.reason()), (expected, ""));
    }

    #[test]
    fn the_options_say_how_many() {
        check(Workers::All, 5, 5);
        check(Workers::Fixed(3), 5, 3);
        check(Workers::Fixed(9), 5, 5);
        check(Workers::Tuned, 5, 5);
        check(Workers::All, 0, 1);
    }

    #[test]
    fn a_tool_outside_has_the_last_word() {
        let claim = tuning_points::claim([1.0; 3]).map(Arc::new);
        let mut worker_target = WorkerTarget::new(Workers::Fixed(3), None, claim);
        worker_target.show(5);
        assert_eq!((tuning_points::n_workers(), worker_target.current()), (3, 3));
        tuning_points::set_n_workers(2);
        assert_eq!(worker_target.current(), 2);
        assert_eq!(worker_target.reason(), "2 workers because an external tool set this number");
        worker_target.show(5);
        assert_eq!((tuning_points::n_workers(), worker_target.current()), (2, 2));
    }

    #[test]
    fn more_than_are_there_can_be_wished_for() {
        for (workers, n_max, expected) in
            [(Workers::Fixed(6), 8, 6), (Workers::Fixed(9), 8, 8), (Workers::All, 8, 3)]
        {
            assert_eq!(WorkerTarget::new(workers, None, None).target(3, n_max), expected);
        }
    }
}
