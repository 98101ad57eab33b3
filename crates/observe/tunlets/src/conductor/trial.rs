//! Compares the iterations after a change with those before; iterations come from the events at their start and end.

use super::Options;
use crate::{EventNews, IterationNews};
use app_description::IterationMark;
use events::tuning::Effect;
use statistics::median;
use std::collections::VecDeque;

/// Comparison under way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// Median seconds per unit of work before the first change; `None` if nothing had been measured.
    before_s: Option<f64>,
    /// Time at which the last change took effect.
    changed_s: f64,
    /// Relative slowdown above which the change is undone.
    limit: f64,
}

/// Progress of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TrialProgress {
    /// More iterations are needed.
    Open,
    /// A comparison is impossible, with the reason.
    Unmeasurable(&'static str),
    /// The trial is over.
    Judged {
        /// Times before and after the change.
        effect: Effect,
        is_good: bool,
    },
}

impl Trial {
    /// Creates a trial of changes that took effect between `first_s` and `last_s`.
    pub(super) fn new(
        iterations: &Iterations,
        options: &Options,
        (first_s, last_s): (f64, f64),
        limit: f64,
    ) -> Self {
        let before_s = median(iterations.before(first_s, options.n_window));
        Self { before_s, changed_s: last_s, limit }
    }

    /// Returns the progress of the trial with these iterations.
    pub(super) fn look(&self, iterations: &Iterations, options: &Options) -> TrialProgress {
        if iterations.definition.is_none() {
            return TrialProgress::Unmeasurable("the description has no `[iteration]`");
        }
        let Some(before_s) = self.before_s.filter(|before_s| 0.0 < *before_s) else {
            return TrialProgress::Unmeasurable("no iteration had ended before it");
        };
        let n_window = options.n_window.max(1);
        let after = iterations.after(self.changed_s, options.n_settle, n_window);
        match median(after.clone()) {
            Some(after_s) if n_window <= after.len() => {
                let change = after_s / before_s - 1.0;
                TrialProgress::Judged {
                    effect: Effect { before_s, after_s, change },
                    is_good: change <= self.limit,
                }
            }
            _ => TrialProgress::Open,
        }
    }
}

/// Describes a change in words: `iterations became 12.3 % faster`.
pub(super) fn in_words(change: f64) -> String {
    let percent = (100.0 * change).abs();
    let direction = if change < 0.0 { "faster" } else { "slower" };
    format!("iterations became {percent:.1} % {direction}")
}

/// Minimum number of iterations remembered.
const N_REMEMBERED: usize = 256;

/// The most recent iterations.
#[derive(Debug)]
pub(super) struct Iterations {
    /// Definition of an iteration in the description.
    definition: Option<IterationMark>,
    n_remembered: usize,
    /// Start time and work of the current iteration.
    open: Option<(f64, f64)>,
    /// Number of iterations that have ended, which is the number of the current one.
    pub(super) n_ended: u64,
    last: VecDeque<FinishedIteration>,
    /// Duration of the last iteration in s; 0 before the first has ended.
    pub(super) last_s: f64,
}

/// Finished iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FinishedIteration {
    end_s: f64,
    s_per_work: f64,
}

impl Iterations {
    pub(super) fn new(definition: Option<IterationMark>, n_window: usize) -> Self {
        Self {
            definition,
            n_remembered: N_REMEMBERED.max(4 * n_window),
            open: None,
            n_ended: 0,
            last: VecDeque::new(),
            last_s: 0.0,
        }
    }

    /// Returns whether iterations are measured with this event.
    pub(super) fn needs(&self, event: usize) -> bool {
        let definition = self.definition.as_ref();
        definition.is_some_and(|iteration| [iteration.start, iteration.end].contains(&event))
    }

    /// Returns the number of the iteration in progress at `time_s`, or of the next one.
    pub(super) fn number_at(&self, time_s: f64) -> u64 {
        let n_later = self.last.iter().rev().take_while(|ended| time_s < ended.end_s).count();
        self.n_ended - n_later as u64
    }

    /// Processes an event of the measuring rank and returns the iteration that it ends.
    pub(super) fn pass(&mut self, event: &EventNews) -> Option<IterationNews> {
        let definition = self.definition.as_ref()?;
        let (start, end, work) = (definition.start, definition.end, definition.work);
        // The end comes first because one event may be both end and start.
        let ended = if event.event == end { self.end(event.time_s) } else { None };
        if event.event == start {
            let work = work.and_then(|at| event.values.get(at)).map_or(1.0, |work| work.as_f64());
            let is_usable = work.is_finite() && 0.0 < work;
            self.open = Some((event.time_s, if is_usable { work } else { 1.0 }));
        }
        ended
    }

    fn end(&mut self, end_s: f64) -> Option<IterationNews> {
        let (start_s, work) = self.open.take()?;
        let duration_s = (end_s - start_s).max(0.0);
        let number = self.n_ended;
        self.n_ended += 1;
        self.last_s = duration_s;
        if self.n_remembered <= self.last.len() {
            self.last.pop_front();
        }
        self.last.push_back(FinishedIteration { end_s, s_per_work: duration_s / work });
        Some(IterationNews { number, end_s, duration_s, work })
    }

    /// Returns the times per unit of work of the newest `n` iterations that ended by `at_s`.
    pub(super) fn before(&self, at_s: f64, n: usize) -> Vec<f64> {
        let before = self.last.iter().rev().filter(|ended| ended.end_s <= at_s);
        before.take(n).map(|ended| ended.s_per_work).collect()
    }

    /// Returns the times per unit of work of at most `n` iterations that ended after `at_s`, skipping `n_settle`.
    pub(super) fn after(&self, at_s: f64, n_settle: usize, n: usize) -> Vec<f64> {
        let after = self.last.iter().filter(|ended| at_s < ended.end_s);
        after.skip(n_settle).take(n).map(|ended| ended.s_per_work).collect()
    }
}
