//! Iterations of a rank between passages of a call site, and signs that they are over.
//!
//! The reports of a rank count its calls and those of the call site. Where it makes many calls and none there, or where
//! iterations have another number of calls for long, the program does something else now: that is *doubted* before much
//! time has passed. Silence shows the same more slowly.

use super::orders::{Selection, order};
use super::{Step, orders};
use crate::period::{N_PERIODS_MIN, Period};
use events::{OperationId, Rank, WatchedCall};
use tunlets::conductor::Input;
use wire::ProcessReport;
use wire::control::WatchedCalls;

/// Least duration in s of what is measured: shorter iterations are joined.
const SHORTEST_S: f64 = 0.01;
/// Most passages for one record.
const N_JOINED_MAX: f64 = 1e6;
/// Time in s, and durations of the longest iteration, without a passage after which the loop is over.
const SILENCE: (f64, f64) = (5.0, 10.0);
/// Reports without a passage before which it is not: the machine may be busy.
const N_SILENT_REPORTS: u32 = 3;
/// Calls, and calls of iterations, without a passage after which it is doubted that the loop goes on.
const CALLS_WITHOUT: (f64, f64) = (100.0, N_PERIODS_MIN as f64);
/// Relative difference in the number of calls below which iterations are of one loop.
const SAME_LENGTH: f64 = 1.25;

/// Measurement of iterations.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) rank: Rank,
    pub(super) thread: u32,
    pub(super) address: u64,
    /// Passages for one record.
    every: u32,
    is_counted: Selection,
    /// The iteration as it was found; `None` for a described call.
    period: Option<Period>,
    /// Iterations for one record.
    pub(super) n_joined: f64,
    /// Duration of the longest iteration in s.
    longest_s: f64,
    last_s: Option<f64>,
    heard_s: f64,
    n_silent_reports: u32,
    /// Passages of the call site, and calls, when the call site had last been passed.
    passed: Option<(u64, u64)>,
    /// Iterations in a row with another number of calls.
    n_other: f64,
    /// Factor by which more is needed for a doubt than for the first one.
    patience: f64,
    is_doubted: bool,
}

impl Measurement {
    /// Creates the measurement of iterations that were found in a thread.
    pub(super) fn of(
        (rank, thread): (Rank, u32),
        found: Period,
        is_counted: Selection,
        now_s: f64,
    ) -> Self {
        let n_joined = (SHORTEST_S / found.duration_s.max(1e-9)).ceil().clamp(1.0, N_JOINED_MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within its bounds"
        )]
        let every = found.every.saturating_mul(n_joined as u32);
        Self {
            period: Some(found),
            every,
            is_counted,
            n_joined,
            longest_s: n_joined * found.duration_s,
            ..Self::described((rank, thread), found.address, now_s)
        }
    }

    /// Creates the measurement of iterations that a described call ends.
    pub(super) fn described((rank, thread): (Rank, u32), address: u64, now_s: f64) -> Self {
        Self {
            rank,
            thread,
            address,
            every: 1,
            is_counted: orders::is_any,
            period: None,
            n_joined: 1.0,
            longest_s: 0.0,
            last_s: None,
            heard_s: now_s,
            n_silent_reports: 0,
            passed: None,
            n_other: 0.0,
            patience: 1.0,
            is_doubted: false,
        }
    }

    /// Returns the order to record the passages.
    pub(super) fn order(&self) -> Step {
        let calls = WatchedCalls::Site { address: self.address, every: self.every };
        order((self.rank, self.thread), calls, self.is_counted)
    }

    /// Returns the number of passages for one record.
    pub(super) fn every(&self) -> u32 {
        self.every
    }

    /// Processes a passage that ended at `end_s`; returns the iteration that it ends.
    pub(super) fn hear(&mut self, heard: &WatchedCall, end_s: f64, now_s: f64) -> Option<Step> {
        let n_calls = self.period.map_or(1.0, |period| self.n_joined * period.n_calls);
        // Calls of the attempt before may still arrive.
        if heard.address != self.address || heard.n_calls == 1 && 1.0 < n_calls {
            return None;
        }
        (self.heard_s, self.n_silent_reports, self.passed) = (now_s, 0, None);
        let length = heard.n_calls as f64 / n_calls;
        let is_per_call = self.period.is_some_and(|period| period.is_per_call);
        let start_s = self.last_s.replace(end_s)?;
        if self.period.is_some() && !is_per_call {
            let is_same = SAME_LENGTH.recip() < length && length < SAME_LENGTH;
            self.n_other = if is_same { 0.0 } else { self.n_other + 1.0 };
            self.is_doubted |= self.patience * N_PERIODS_MIN as f64 <= self.n_other;
        }
        Some(self.end((start_s, end_s), if is_per_call { length } else { 1.0 }))
    }

    /// Processes a passage of a described call that was recorded before it was known to be one.
    pub(super) fn pass(&mut self, end_s: f64) -> Option<Step> {
        let start_s = self.last_s.replace(end_s)?;
        Some(self.end((start_s, end_s), 1.0))
    }

    fn end(&mut self, (start_s, end_s): (f64, f64), work: f64) -> Step {
        self.longest_s = self.longest_s.max(end_s - start_s);
        Step::Tell(Input::IterationEnded { start_s, end_s, work })
    }

    /// Processes a report of the rank.
    pub(super) fn see(&mut self, report: &ProcessReport) {
        self.n_silent_reports += 1;
        let thread = report.threads.iter().find(|thread| thread.idx == self.thread);
        // Calls without a region are not known by call site.
        let thread = thread.filter(|thread| thread.calls_without_region == 0);
        let (Some(thread), Some(period)) = (thread, self.period) else { return };
        let n_calls_max = self.patience * CALLS_WITHOUT.0.max(CALLS_WITHOUT.1 * period.n_calls);
        let is_counted =
            |operation| mpi_abi::operation(OperationId(operation)).is_some_and(self.is_counted);
        let (mut n_calls, mut n_passed) = (0, 0);
        for region in &thread.regions {
            n_calls += if is_counted(region.operation) { region.n_calls } else { 0 };
            n_passed += if region.address == self.address { region.n_calls } else { 0 };
        }
        match self.passed {
            Some((known, since)) if known == n_passed => {
                self.is_doubted |= n_calls_max < n_calls.saturating_sub(since) as f64;
            }
            _ => self.passed = Some((n_passed, n_calls)),
        }
    }

    /// Returns whether the program may have left the loop.
    pub(super) fn is_doubted(&self) -> bool {
        self.is_doubted
    }

    /// Returns whether the loop is over, since there was no passage for long. A described call may come again.
    pub(super) fn is_over(&self, now_s: f64) -> bool {
        let silence_s = SILENCE.0.max(SILENCE.1 * self.longest_s);
        let is_silent = silence_s < now_s - self.heard_s;
        is_silent && N_SILENT_REPORTS <= self.n_silent_reports && self.period.is_some()
    }

    /// Returns whether a period of a rank is that of the loop that is measured.
    pub(super) fn is_of(&self, rank: Rank, found: &Period) -> bool {
        let is_same = |own: &Period| {
            let ratio = found.n_calls / own.n_calls;
            own.every == found.every
                && (own.is_per_call || SAME_LENGTH.recip() < ratio && ratio < SAME_LENGTH)
        };
        rank == self.rank
            && found.address == self.address
            && self.period.is_some_and(|own| is_same(&own))
    }

    /// Goes on after a doubt; the next one needs twice as much.
    pub(super) fn go_on(self, thread: u32, now_s: f64) -> Self {
        let patience = 2.0 * self.patience;
        let (last_s, heard_s, passed) = (None, now_s, None);
        let (n_silent_reports, n_other, is_doubted) = (0, 0.0, false);
        Self {
            thread,
            patience,
            last_s,
            heard_s,
            passed,
            n_silent_reports,
            n_other,
            is_doubted,
            ..self
        }
    }
}
