//! Iterations of a program that nobody described: the MPI calls of some ranks are recorded for a while, the call site that
//! ends an iteration is found in their sequence, and from then on only its passages in one rank are recorded.
//!
//! ```text
//! Waiting    until it is time to listen
//! Listening  to the next calls of some ranks, first to all, then to collectives alone
//! Measuring  passages of a call site in a rank, until they stop
//! ```
//!
//! Where it is doubted that the loop goes on, the next calls are listened to again. If they have the same period, nobody
//! hears of the doubt; else iterations are those of the new loop.
//!
//! While it is told that there are none, windows of time are compared if the calls in them are alike.
//!
//! A call site that the description names is looked for in the same calls, and in the reports of all ranks.

mod attempt;
mod measurement;
mod orders;
mod ranks;
mod windows;

use crate::period::{Call, Period};
use attempt::{Attempt, choose};
use events::tuning::IterationCalls;
use events::{CallRecord, CodeAddress, Rank, WatchedCall};
use measurement::Measurement;
use orders::{is_call, is_collective, operation_name};
use ranks::Ranks;
use tunlets::conductor::{Input, IterationSource};
use windows::Windows;
use wire::{Order, ProcessReport};

/// Time in s since the first call was heard, and reports of a rank with further calls, after which tunlets no longer wait
/// for iterations.
const PATIENCE: (f64, u32) = (3.0, 6);
/// Longest time in s between two attempts.
const LONGEST_REST_S: f64 = 60.0;

/// Result of a step: an order for a rank, or news for the conductor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Send an order to a rank.
    Order(Rank, Order),
    /// Tell the conductor.
    Tell(Input),
}

/// Finder of iterations; see the module documentation.
#[derive(Debug)]
pub(super) struct IterationFinder {
    /// Call site of the description.
    described: Option<String>,
    ranks: Ranks,
    state: State,
    /// Measurement of a loop that the program may have left.
    doubted: Option<Measurement>,
    n_failures: u32,
    /// Time at which the first call was heard.
    first_s: Option<f64>,
    /// Calls heard since then.
    n_heard: usize,
    has_told: bool,
    /// Windows of time, compared while it is told that there are no iterations.
    windows: Windows,
}

#[derive(Debug)]
enum State {
    Off,
    Waiting { until_s: f64 },
    Listening(Attempt),
    Measuring(Measurement),
}

impl IterationFinder {
    /// Creates a finder, which does nothing if `is_wanted` is false; `described` names the call site that the description
    /// takes for the end of an iteration.
    pub(super) fn new(is_wanted: bool, described: Option<String>) -> Self {
        let state = if is_wanted { State::Waiting { until_s: 0.0 } } else { State::Off };
        Self {
            described,
            ranks: Ranks::default(),
            state,
            doubted: None,
            n_failures: 0,
            first_s: None,
            n_heard: 0,
            has_told: false,
            windows: Windows::default(),
        }
    }

    /// Processes a report of a present rank; `name` names the place before a return address.
    pub(super) fn see(
        &mut self,
        rank: Rank,
        report: &ProcessReport,
        now_s: f64,
        name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        if matches!(self.state, State::Off) {
            return Vec::new();
        }
        let is_new = !self.ranks.holds(rank);
        let Some(thread) = self.ranks.see(rank, report) else { return Vec::new() };
        if let Some(surplus) = self.ranks.surplus() {
            self.forget(surplus, now_s);
        }
        let mut steps = match &mut self.state {
            State::Listening(attempt) if is_new => attempt.join(rank, thread),
            State::Listening(attempt) => attempt.follow(rank, thread).into_iter().collect(),
            State::Measuring(measurement) if measurement.rank == rank => {
                measurement.see(report);
                Vec::new()
            }
            State::Waiting { until_s } if *until_s <= now_s => self.listen(now_s),
            State::Off | State::Waiting { .. } | State::Measuring(_) => Vec::new(),
        };
        steps.extend(self.look_for_described_in(rank, report, now_s, name));
        steps
    }

    /// Counts the calls of a rank in a report that was made at `at_s`, while it is told that there are no iterations.
    pub(super) fn count(&mut self, rank: Rank, report: &ProcessReport, at_s: f64) -> Vec<Step> {
        let is_without = self.has_told
            && self.described.is_none()
            && matches!(self.state, State::Waiting { .. } | State::Listening(_));
        match is_without && self.ranks.holds(rank) && self.windows.is_of(rank) {
            true => self.windows.see(rank, report, at_s),
            false => Vec::new(),
        }
    }

    /// Processes the end of a rank.
    pub(super) fn forget(&mut self, rank: Rank, now_s: f64) {
        self.ranks.forget(rank);
        if self.windows.is_of(rank) {
            self.windows.begin_anew();
        }
        self.doubted.take_if(|doubted| doubted.rank == rank);
        let is_left = match &mut self.state {
            State::Listening(attempt) => attempt.forget(rank),
            State::Measuring(measurement) => measurement.rank != rank,
            State::Off | State::Waiting { .. } => true,
        };
        if !is_left {
            self.wait_anew();
            self.state = State::Waiting { until_s: now_s };
        }
    }

    /// Lets tunlets wait for iterations again.
    fn wait_anew(&mut self) {
        (self.n_failures, self.first_s, self.n_heard, self.has_told) = (0, None, 0, false);
        self.ranks.count_anew();
        self.windows.begin_anew();
    }

    /// Processes a record of a rank's thread; `time_s` converts ticks.
    pub(super) fn hear(
        &mut self,
        (rank, thread): (Rank, u32),
        record: &CallRecord,
        now_s: f64,
        time_s: impl Fn(u64) -> f64,
    ) -> Option<Step> {
        let heard = WatchedCall::of(record)?;
        let end_s = time_s(heard.exit_ticks);
        match &mut self.state {
            // Passages of the measurement before may still arrive, and join several calls.
            State::Listening(attempt) if heard.n_calls == 1 => {
                let WatchedCall { address, operation, bytes, .. } = heard;
                if attempt.hear((rank, thread), Call { address, operation, bytes, end_s }) {
                    self.first_s.get_or_insert(now_s);
                    self.n_heard += 1;
                }
                None
            }
            State::Measuring(own) if (own.rank, own.thread) == (rank, thread) => {
                own.hear(&heard, end_s, now_s)
            }
            State::Off | State::Waiting { .. } | State::Listening(_) | State::Measuring(_) => None,
        }
    }

    /// Does what is due at `now_s`; `name` names the place before a return address.
    pub(super) fn pass_time(
        &mut self,
        now_s: f64,
        name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        let mut steps = match &self.state {
            State::Waiting { until_s } if *until_s <= now_s => self.listen(now_s),
            State::Listening(_) if self.described.is_some() => {
                self.look_for_described(now_s, name).unwrap_or_default()
            }
            State::Listening(attempt) if attempt.is_due(now_s) => self.look(now_s, name),
            State::Measuring(measurement) if measurement.is_over(now_s) => {
                self.wait_anew();
                self.has_told = true;
                self.state = State::Waiting { until_s: now_s };
                let text = "no iteration has ended for long: the program does something else now";
                vec![tell(IterationSource::Unknown(text.to_owned()))]
            }
            State::Measuring(measurement) if measurement.is_doubted() => {
                self.doubted = Some(measurement.clone());
                self.wait_anew();
                self.listen(now_s)
            }
            State::Off | State::Waiting { .. } | State::Listening(_) | State::Measuring(_) => {
                Vec::new()
            }
        };
        steps.extend(self.lose_patience(now_s));
        steps
    }

    /// Begins to listen to some ranks.
    fn listen(&mut self, now_s: f64) -> Vec<Step> {
        let picks = self.ranks.picks(self.doubted.as_ref().map(|doubted| doubted.rank));
        if picks.is_empty() {
            return Vec::new();
        }
        let is_counted = if self.n_failures.is_multiple_of(2) { is_call } else { is_collective };
        let (attempt, steps) = Attempt::new(now_s, picks, is_counted);
        self.state = State::Listening(attempt);
        steps
    }

    /// Looks for the period in what was heard.
    fn look(&mut self, now_s: f64, name: impl FnMut(&CodeAddress<'_>) -> String) -> Vec<Step> {
        let State::Listening(attempt) = &mut self.state else { return Vec::new() };
        let found = attempt.periods();
        let is_of =
            |own: &mut Measurement| found.iter().any(|(rank, found)| own.is_of(*rank, found));
        if let Some(own) = self.doubted.take_if(is_of)
            && let Some(thread) = attempt.thread(own.rank)
        {
            let own = own.go_on(thread, now_s);
            return self.measure(own, None);
        }
        if let Some((rank, period)) = choose(&found)
            && let Some(thread) = attempt.thread(rank)
        {
            let own = Measurement::of((rank, thread), period, attempt.is_counted(), now_s);
            let source = self.source(&own, period, name);
            return self.measure(own, Some(source));
        }
        let goes_on = attempt.goes_on(now_s);
        let is_idle = attempt.is_silent()
            && self.ranks.is_another_active(|rank| attempt.thread(rank).is_some());
        if goes_on && !is_idle {
            return Vec::new();
        }
        let steps = attempt.stop(None);
        self.n_failures += u32::from(!is_idle);
        if is_idle || self.n_failures.is_multiple_of(2) {
            attempt.listeners().keys().for_each(|rank| self.ranks.note_failure(*rank));
        }
        // The second attempt, to collectives alone, follows at once.
        let rest_s = if is_idle { 0.0 } else { f64::from(self.n_failures / 2).exp2() - 1.0 };
        self.state = State::Waiting { until_s: now_s + rest_s.min(LONGEST_REST_S) };
        steps
    }

    /// Measures iterations, and tells what they are if it is news.
    fn measure(&mut self, own: Measurement, source: Option<IterationSource>) -> Vec<Step> {
        let order = own.order();
        let mut steps = match &self.state {
            State::Listening(attempt) => attempt.stop(Some(own.rank)),
            State::Off | State::Waiting { .. } | State::Measuring(_) => Vec::new(),
        };
        steps.push(order);
        steps.extend(source.map(tell));
        (self.state, self.doubted) = (State::Measuring(own), None);
        self.windows.begin_anew();
        (self.n_failures, self.has_told) = (0, true);
        steps
    }

    /// Describes iterations that were found.
    fn source(
        &self,
        own: &Measurement,
        found: Period,
        mut name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> IterationSource {
        let modules = self.ranks.get(own.rank).map(|known| &known.modules);
        let place = modules.and_then(|modules| modules.locate(found.address));
        let place = place.map(|address| name(&address));
        let n_joined = own.n_joined;
        let (duration_s, n_calls) = (n_joined * found.duration_s, n_joined * found.n_calls);
        let passages = match own.every() {
            1 => "one passage".to_owned(),
            every => format!("{every} passages"),
        };
        let text = format!(
            "an iteration is {passages} of {} in {}: {:.3} ms, {n_calls:.0} MPI calls of rank {}",
            operation_name(found.operation),
            place.unwrap_or_else(|| format!("{:#x}", found.address)),
            1e3 * duration_s,
            own.rank.0,
        );
        let calls = Some(IterationCalls { n: found.n_calls, n_joined });
        IterationSource::Found { text, duration_s, calls }
    }

    /// Says that there are no iterations, once ranks have made calls for a while.
    fn lose_patience(&mut self, now_s: f64) -> Option<Step> {
        let is_awaited = matches!(self.state, State::Waiting { .. } | State::Listening(_));
        let is_late = self.first_s.is_some_and(|first_s| PATIENCE.0 <= now_s - first_s)
            && PATIENCE.1 <= self.ranks.n_active();
        if self.has_told || !is_awaited || !is_late || self.described.is_some() {
            return None;
        }
        (self.has_told, self.doubted) = (true, None);
        let n_calls = self.n_heard;
        let text =
            format!("no iteration was found: nothing repeats often enough in {n_calls} MPI calls");
        Some(tell(IterationSource::Unknown(text)))
    }

    /// Looks for the described call among the calls that were heard, in the lowest rank first.
    fn look_for_described(
        &mut self,
        now_s: f64,
        mut name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Option<Vec<Step>> {
        let State::Listening(attempt) = &mut self.state else { return None };
        let described = self.described.as_deref()?;
        let found = attempt.listeners().iter_mut().find_map(|(rank, listener)| {
            let known = self.ranks.get_mut(*rank)?;
            let calls = listener.calls.get(listener.n_compared..).unwrap_or_default();
            listener.n_compared = listener.calls.len();
            let call = |call: &Call| (call.address, call.operation);
            let place = known.place_of(described, calls.iter().map(call), &mut name)?;
            Some((*rank, listener.thread, place))
        });
        let (rank, thread, (address, text)) = found?;
        Some(self.measure_described((rank, thread), address, text, now_s))
    }

    /// Looks for the described call among the call sites of a report.
    fn look_for_described_in(
        &mut self,
        rank: Rank,
        report: &ProcessReport,
        now_s: f64,
        mut name: impl FnMut(&CodeAddress<'_>) -> String,
    ) -> Vec<Step> {
        let (Some(described), State::Listening(_)) = (&self.described, &self.state) else {
            return Vec::new();
        };
        let Some(known) = self.ranks.get_mut(rank) else { return Vec::new() };
        let found = report.threads.iter().find_map(|thread| {
            let calls = thread.regions.iter().map(|region| (region.address, region.operation));
            Some((thread.idx, known.place_of(described, calls, &mut name)?))
        });
        match found {
            Some((thread, (address, text))) => {
                self.measure_described((rank, thread), address, text, now_s)
            }
            None => Vec::new(),
        }
    }

    /// Measures iterations that a described call ends, from its first passage that was heard.
    fn measure_described(
        &mut self,
        (rank, thread): (Rank, u32),
        address: u64,
        place: String,
        now_s: f64,
    ) -> Vec<Step> {
        let mut own = Measurement::described((rank, thread), address, now_s);
        let heard = match &mut self.state {
            State::Listening(attempt) => attempt.take_calls((rank, thread)),
            State::Off | State::Waiting { .. } | State::Measuring(_) => Vec::new(),
        };
        let passages = heard.iter().filter(|call| call.address == address);
        let ended: Vec<Step> = passages.filter_map(|call| own.pass(call.end_s)).collect();
        let text = format!("an iteration is one passage of {place} on rank {}", rank.0);
        let source = IterationSource::Found { text, duration_s: 0.0, calls: None };
        let mut steps = self.measure(own, Some(source));
        steps.extend(ended);
        steps
    }
}

fn tell(source: IterationSource) -> Step {
    Step::Tell(Input::Iterations(source))
}

#[cfg(test)]
mod tests;
