//! The wished number of workers.

use super::tuned::Tuned;
use crate::options::Workers;
use crate::report::IterationReport;
use std::sync::Arc;
use tuning_points::{Claim, Variable};

/// Reads the wishes of all who may have one.
#[derive(Debug)]
pub(crate) struct Headcount {
    workers: Workers,
    tuned: Option<Tuned>,
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
    pub(crate) sent_s: f64,
    pub(crate) began_s: f64,
    pub(crate) ended_s: f64,
}

impl Headcount {
    pub(crate) fn new(workers: Workers, claim: Option<Arc<Claim>>) -> Self {
        let (tuned, reason) = (None, String::new());
        Self { workers, tuned, claim, shown: 0, from_outside: None, reason }
    }

    /// The number to begin an iteration with, as tools shall see it, when `n_present` are there.
    pub(crate) fn show(&mut self, n_present: u32) {
        let wished = self.from_outside.unwrap_or_else(|| self.own(n_present));
        self.shown = wished.clamp(1, n_present.max(1));
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

    fn own(&self, n_present: u32) -> u32 {
        match self.workers {
            Workers::All => n_present,
            Workers::Fixed(n_workers) => n_workers,
            Workers::Tuned => self.tuned.as_ref().map_or(n_present, Tuned::n_workers),
        }
    }

    pub(crate) fn iteration_began(&mut self, number: u64, n_tasks: u64, began_s: f64) {
        if let Some(tuned) = &mut self.tuned {
            tuned.iteration_began(number, n_tasks, began_s);
        }
    }

    pub(crate) fn chunk_done(&mut self, chunk: &Timed) {
        if let Some(tuned) = &mut self.tuned {
            tuned.chunk_done(chunk);
        }
    }

    /// What an iteration was like: the next ones may get another number.
    pub(crate) fn iteration_ended(&mut self, report: &IterationReport, ended_s: f64, n_max: u32) {
        if self.workers != Workers::Tuned || self.from_outside.is_some() {
            return;
        }
        match &mut self.tuned {
            Some(tuned) => {
                if let Some(reason) = tuned.iteration_ended(report, ended_s) {
                    self.reason = reason;
                }
            }
            // What is sent is known after the first iteration.
            None => self.tuned = Tuned::new(report, self.shown, n_max),
        }
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
}
