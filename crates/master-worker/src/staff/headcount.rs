//! The wished number of workers.

use super::Forecast;
use super::pulse::Pulse;
use super::tuned::Tuned;
use crate::options::Workers;
use crate::report::IterationReport;
use std::sync::Arc;
use tuning_points::{Claim, Variable};

/// Reads the wishes of all who may have one.
#[derive(Debug)]
pub(crate) struct Headcount {
    workers: Workers,
    /// Workers of the first iteration, when their number is tuned.
    n_first: Option<u32>,
    tuned: Option<Tuned>,
    pulse: Pulse,
    /// What is heard before the model is there, which needs to know what is sent.
    first: First,
    /// Where the variable that tools see is this run's.
    claim: Option<Arc<Claim>>,
    /// What was written there last.
    shown: u32,
    /// What a tool wrote there.
    from_outside: Option<u32>,
    reason: String,
}

/// A chunk as it was measured, on the master's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub(crate) worker: u32,
    pub(crate) batch: u32,
    pub(crate) n_tasks: u64,
    /// Bytes that all workers get, if this one got them just before this chunk.
    pub(crate) shared_bytes: u64,
    /// How long it traveled, when the worker waited for it.
    pub(crate) message_s: Option<f64>,
    pub(crate) began_s: f64,
    pub(crate) ended_s: f64,
}

/// The first iteration.
#[derive(Debug, Default)]
struct First {
    number: u64,
    began_s: f64,
    chunks: Vec<Timed>,
}

/// Chunks of the first iteration that are kept.
const N_FIRST_MAX: usize = 10_000;

impl Headcount {
    pub(crate) fn new(workers: Workers, claim: Option<Arc<Claim>>) -> Self {
        let (n_first, from_outside, tuned, pulse) = (None, None, None, Pulse::default());
        let (first, shown, reason) = (First::default(), 0, String::new());
        Self { workers, n_first, tuned, pulse, first, claim, shown, from_outside, reason }
    }

    /// The first iteration has so many workers, when their number is tuned.
    pub(crate) fn starting_with(self, n_first: Option<u32>) -> Self {
        Self { n_first, ..self }
    }

    /// The number that is wished for when `n_present` are there and there can be `n_max`.
    pub(crate) fn wish(&mut self, n_present: u32, n_max: u32) -> u32 {
        // A tool may set it at any time.
        if self.shown != 0 {
            self.wished();
        }
        self.from_outside.unwrap_or_else(|| self.own(n_present)).min(n_max)
    }

    /// What the model expects; `None` when it is not the model that wishes.
    pub(crate) fn forecast(&self) -> Option<Forecast> {
        let is_own = self.workers == Workers::Tuned && self.from_outside.is_none();
        self.tuned.as_ref().filter(|_| is_own).map(Tuned::forecast)
    }

    /// The number to begin an iteration with, as tools shall see it, when `n_present` are there.
    pub(crate) fn show(&mut self, n_present: u32) {
        let wished = self.from_outside.unwrap_or_else(|| self.own(n_present));
        self.shown = wished.clamp(1, n_present.max(1));
        if self.from_outside.is_none()
            && let Some(reason) = self.tuned.as_mut().and_then(|tuned| tuned.settle(self.shown))
        {
            self.reason = reason;
        }
        if self.claim.is_some() {
            Variable::Workers.set(u64::from(self.shown));
        }
    }

    /// The number for the iteration that has begun: a tool may just have changed it.
    pub(crate) fn wished(&mut self) -> u32 {
        let seen = self.claim.as_ref().map_or(self.shown, |claim| claim.n_workers());
        if seen != self.shown && seen != 0 {
            self.from_outside = Some(seen);
            self.reason = format!("{seen} workers because a tool outside set so");
            self.shown = seen;
        }
        self.shown
    }

    /// Why it is this number, in words.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// What it is reckoned with, in words; empty when nobody reckons.
    pub(crate) fn reckoning(&self) -> String {
        let is_own = self.from_outside.is_none();
        self.tuned.as_ref().filter(|_| is_own).map_or_else(String::new, Tuned::reckoning)
    }

    fn own(&self, n_present: u32) -> u32 {
        match self.workers {
            Workers::All => n_present,
            Workers::Fixed(n_workers) => n_workers,
            Workers::Tuned => {
                let n_first = self.n_first.unwrap_or(n_present);
                self.tuned.as_ref().map_or(n_first, Tuned::n_wished)
            }
        }
    }

    pub(crate) fn iteration_began(&mut self, number: u64, began_s: f64) {
        self.pulse.begin(began_s);
        match &mut self.tuned {
            Some(tuned) => tuned.iteration_began(number, began_s),
            None => self.first = First { number, began_s, chunks: Vec::new() },
        }
    }

    /// How many workers shall take part in the rest of the iteration, if more than do, of `n_present`.
    pub(crate) fn joining(
        &mut self,
        n_undealt: u64,
        n_workers: u32,
        n_present: u32,
    ) -> Option<u32> {
        if self.workers != Workers::Tuned || self.from_outside.is_some() || self.shown != n_workers
        {
            return None;
        }
        self.pulse.joining(n_undealt, n_workers, n_present)
    }

    /// So many take part in the rest of the iteration.
    pub(crate) fn joined(&mut self, n_workers: u32) {
        self.reason = format!(
            "{n_workers} workers instead of {} because much is left of the iteration",
            self.shown
        );
        self.shown = n_workers;
        if let Some(tuned) = &mut self.tuned {
            tuned.joined(n_workers);
        }
        if self.claim.is_some() {
            Variable::Workers.set(u64::from(n_workers));
        }
    }

    pub(crate) fn chunk_done(&mut self, chunk: &Timed) {
        if self.workers == Workers::Tuned {
            self.pulse.chunk_done(chunk);
        }
        if let Some(tuned) = &mut self.tuned {
            tuned.chunk_done(chunk);
        } else if self.workers == Workers::Tuned && self.first.chunks.len() < N_FIRST_MAX {
            self.first.chunks.push(*chunk);
        }
    }

    /// What an iteration was like: the next ones may get another number, `n_max` at most.
    pub(crate) fn iteration_ended(&mut self, report: &IterationReport, ended_s: f64, n_max: u32) {
        if self.workers != Workers::Tuned || self.from_outside.is_some() {
            return;
        }
        if self.tuned.is_none() {
            self.tuned = self.begin_tuning(report, n_max);
        }
        if let Some(tuned) = &mut self.tuned {
            tuned.iteration_ended(report, ended_s);
        }
    }

    /// What is sent is known after the first iteration, which is told then.
    fn begin_tuning(&mut self, report: &IterationReport, n_max: u32) -> Option<Tuned> {
        let First { number, began_s, chunks } = std::mem::take(&mut self.first);
        let mut tuned = Tuned::new(report, self.shown, n_max)?;
        tuned.iteration_began(number, began_s);
        chunks.iter().for_each(|chunk| tuned.chunk_done(chunk));
        Some(tuned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(workers: Workers, n_present: u32, expected: u32) {
        let mut headcount = Headcount::new(workers, None);
        headcount.show(n_present);
        assert_eq!((headcount.wished(), headcount.reason()), (expected, ""));
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
        let mut headcount = Headcount::new(Workers::Fixed(3), claim);
        headcount.show(5);
        assert_eq!((Variable::Workers.get(), headcount.wished()), (3, 3));
        Variable::Workers.set(2);
        assert_eq!(headcount.wished(), 2);
        assert_eq!(headcount.reason(), "2 workers because a tool outside set so");
        headcount.show(5);
        assert_eq!((Variable::Workers.get(), headcount.wished()), (2, 2));
    }

    #[test]
    fn more_than_are_there_can_be_wished_for() {
        for (workers, n_max, expected) in
            [(Workers::Fixed(6), 8, 6), (Workers::Fixed(9), 8, 8), (Workers::All, 8, 3)]
        {
            assert_eq!(Headcount::new(workers, None).wish(3, n_max), expected);
        }
    }
}
