//! The most recent iterations of the program: between events of the description, between passages of an MPI call that
//! was found to end each, or windows of time.

use super::message::IterationSource;
use crate::{EventNews, IterationNews};
use app_description::IterationMark;
use std::collections::VecDeque;

/// Minimum number of iterations remembered: where a change makes them hundreds of times faster, those before it are needed until
/// it is known when it took effect.
const N_REMEMBERED: usize = 1 << 14;
/// Time in s that the iterations compared before and after a change take together, if they were found.
const WINDOW_S: f64 = 0.25;
/// Least and largest number of found iterations that are compared.
const N_WINDOW: (f64, f64) = (5.0, 32.0);
/// Maximum number of found iterations that are recorded one by one.
const N_LINES_MAX: u64 = 10_000;

/// The most recent iterations.
#[derive(Debug)]
pub(super) struct Iterations {
    source: Source,
    /// Number of iterations compared before and after a change.
    n_window: usize,
    n_remembered: usize,
    /// Start time and work of the current iteration.
    open: Option<(f64, f64)>,
    /// Number of iterations that have ended, which is the number of the current one.
    pub(super) n_ended: u64,
    last: VecDeque<FinishedIteration>,
    /// Duration of the last iteration in s; 0 before the first has ended.
    pub(super) last_s: f64,
    /// Number of times that the source has changed.
    pub(super) n_sources: u64,
    /// Time of the last change to the program, in s.
    changed_s: f64,
}

/// Origin of iterations.
#[derive(Debug)]
enum Source {
    /// Events of the description.
    Described(IterationMark),
    /// The sequence of MPI calls; `None` if nobody looks there.
    Calls(Option<IterationSource>),
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
            source: definition.map_or(Source::Calls(None), Source::Described),
            n_window: n_window.max(1),
            n_remembered: N_REMEMBERED.max(4 * n_window),
            open: None,
            n_ended: 0,
            last: VecDeque::new(),
            last_s: 0.0,
            n_sources: 0,
            changed_s: f64::NEG_INFINITY,
        }
    }

    /// Replaces the source of a program without described iterations; iterations of another source are not comparable.
    /// Returns the sentence about it, if there is one.
    pub(super) fn turn_to(&mut self, source: IterationSource) -> Option<String> {
        let Source::Calls(own) = &mut self.source else { return None };
        let text = source.text().map(str::to_owned);
        if let Some(duration_s) = source.duration_s() {
            self.n_window = window(duration_s);
        }
        *own = Some(source);
        self.last.clear();
        (self.open, self.last_s) = (None, 0.0);
        self.n_sources += 1;
        text
    }

    /// Returns whether changes have to wait: it is not known yet what an iteration is, or too few of those found have ended.
    pub(super) fn are_awaited(&self, now_s: f64) -> bool {
        match &self.source {
            Source::Calls(Some(IterationSource::Sought)) => true,
            Source::Calls(Some(
                IterationSource::Found { .. } | IterationSource::Windows { .. },
            )) => self.why_unmeasurable(now_s).is_some(),
            Source::Calls(_) | Source::Described(_) => false,
        }
    }

    /// Returns why there are no iterations, if there are none.
    pub(super) fn why_none(&self) -> Option<&str> {
        match &self.source {
            Source::Described(_)
            | Source::Calls(Some(
                IterationSource::Found { .. } | IterationSource::Windows { .. },
            )) => None,
            Source::Calls(Some(IterationSource::Unknown(text))) => Some(text),
            Source::Calls(Some(IterationSource::Sought)) => Some("no iteration was found yet"),
            Source::Calls(None) => Some("no iteration is known yet"),
        }
    }

    /// Returns why a change from now on could not be compared with what was before it, if it could not.
    pub(super) fn why_unmeasurable(&self, now_s: f64) -> Option<&str> {
        let has_window = self.n_window <= self.before(now_s, self.n_window).len();
        let too_few = (!has_window).then_some("too few iterations have ended");
        self.why_none().or(too_few)
    }

    /// Returns the number of iterations compared before and after a change.
    pub(super) fn n_window(&self) -> usize {
        self.n_window
    }

    /// Returns whether the last iteration gets a line of its own; a window of time is none.
    pub(super) fn is_recorded(&self) -> bool {
        match self.source {
            Source::Described(_) => true,
            Source::Calls(Some(IterationSource::Windows { .. })) => false,
            Source::Calls(_) => self.n_ended <= N_LINES_MAX,
        }
    }

    /// Returns what is compared, in the plural.
    pub(super) fn noun(&self) -> &'static str {
        match self.source {
            Source::Calls(Some(IterationSource::Windows { .. })) => "equal numbers of MPI calls",
            Source::Described(_) | Source::Calls(_) => "iterations",
        }
    }

    /// Returns whether iterations are measured with this event.
    pub(super) fn needs(&self, event: usize) -> bool {
        match &self.source {
            Source::Described(iteration) => [iteration.start, iteration.end].contains(&event),
            Source::Calls(_) => false,
        }
    }

    /// Returns the number of the iteration in progress at `time_s`, or of the next one.
    pub(super) fn number_at(&self, time_s: f64) -> u64 {
        let n_later = self.last.iter().rev().take_while(|ended| time_s < ended.end_s).count();
        self.n_ended - n_later as u64
    }

    /// Processes an event of the measuring rank and returns the iteration that it ends.
    pub(super) fn pass(&mut self, event: &EventNews) -> Option<IterationNews> {
        let Source::Described(definition) = &self.source else { return None };
        let (start, end, work) = (definition.start, definition.end, definition.work);
        // The end comes first because one event may be both end and start.
        let ended = if event.event == end { self.end(event.time_s) } else { None };
        if event.event == start {
            let work = work.and_then(|at| event.values.get(at)).map_or(1.0, |work| work.as_f64());
            self.open = Some((event.time_s, usable(work)));
        }
        ended
    }

    /// Processes the end of an iteration that was found, with its start and its work.
    pub(super) fn add(&mut self, (start_s, end_s): (f64, f64), work: f64) -> Option<IterationNews> {
        let Source::Calls(Some(
            IterationSource::Found { duration_s, .. } | IterationSource::Windows { duration_s, .. },
        )) = &mut self.source
        else {
            return None;
        };
        if *duration_s <= 0.0 {
            *duration_s = end_s - start_s;
            self.n_window = window(*duration_s);
        }
        self.open = Some((start_s, usable(work)));
        self.end(end_s)
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

    /// Notes that the program was changed.
    pub(super) fn note_change(&mut self, at_s: f64) {
        self.changed_s = self.changed_s.max(at_s);
    }

    /// Returns end and time per unit of work of the newest `n` iterations that ended by `at_s`, the oldest first; beyond
    /// the window, only those after the change before.
    pub(super) fn before(&self, at_s: f64, n: usize) -> Vec<(f64, f64)> {
        let n_before = self.last.partition_point(|ended| ended.end_s <= at_s);
        let before = self.last.range(..n_before).rev().take(n);
        let is_like = |(idx, ended): &(usize, &FinishedIteration)| {
            *idx < self.n_window || self.changed_s < ended.end_s
        };
        let before = before.enumerate().take_while(is_like);
        let mut before: Vec<_> = before.map(|(_, ended)| (ended.end_s, ended.s_per_work)).collect();
        before.reverse();
        before
    }

    /// Returns end and time per unit of work of at most `n` iterations that ended after `at_s`, skipping `n_settle`.
    pub(super) fn after(&self, at_s: f64, n_settle: usize, n: usize) -> Vec<(f64, f64)> {
        let n_before = self.last.partition_point(|ended| ended.end_s <= at_s);
        let after = self.last.range(n_before..);
        after.skip(n_settle).take(n).map(|ended| (ended.end_s, ended.s_per_work)).collect()
    }
}

/// Returns the number of found iterations of this duration that are compared.
fn window(duration_s: f64) -> usize {
    let n = (WINDOW_S / duration_s.max(1e-6)).ceil().clamp(N_WINDOW.0, N_WINDOW.1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within its bounds"
    )]
    let n = n as usize;
    n
}

fn usable(work: f64) -> f64 {
    if work.is_finite() && 0.0 < work { work } else { 1.0 }
}
