//! State shared by the threads around a foreign tunlet: its messages, the time since when an
//! answer is due, and its end.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tunlets::{Decision, Requests, TunletSpec};

/// Maximum number of decisions waiting to be collected.
const N_DECISIONS_MAX: usize = 4096;
/// Maximum number of lines for the user waiting to be collected.
const N_LINES_MAX: usize = 256;
/// Time for a tunlet to end after it was told to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// Shared state of a foreign tunlet; see the module documentation.
#[derive(Debug)]
pub(super) struct Shared {
    patience: Duration,
    state: Mutex<TunletState>,
    changed: Condvar,
}

/// Messages and state of the tunlet.
#[derive(Debug, Default)]
pub(super) struct TunletState {
    pub(super) opened: Option<Result<TunletSpec, String>>,
    pub(super) begun: Option<Result<Requests, String>>,
    pub(super) decisions: Vec<Decision>,
    lines: VecDeque<String>,
    n_lines_lost: u64,
    /// Tuning points that the tunlet may change.
    pub(super) points: Vec<usize>,
    /// Time since when an answer is due.
    pub(super) owes_since: Option<Instant>,
    /// Time at which the tunlet was told to leave.
    pub(super) leaves_since: Option<Instant>,
    /// Description of how it ended.
    pub(super) ended: Option<String>,
    /// Id of its process while it runs.
    pub(super) process_id: Option<u32>,
}

impl Shared {
    /// Creates the state of a tunlet that is being loaded: the answer `Opened` is due.
    pub(super) fn new(patience: Duration) -> Self {
        let state = TunletState { owes_since: Some(Instant::now()), ..TunletState::default() };
        Self { patience, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Locks the state; whoever sets an answer or the end uses [`Self::answer`] or [`Self::end`], which wake waiting threads.
    pub(super) fn lock(&self) -> MutexGuard<'_, TunletState> {
        // Every change of the state is complete in itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `pick` returns something or the tunlet ends; the supervisor ends a tunlet that is silent for too long.
    pub(super) fn wait_for<T>(
        &self,
        mut pick: impl FnMut(&mut TunletState) -> Option<T>,
    ) -> Result<T, String> {
        let mut state = self.lock();
        loop {
            if let Some(picked) = pick(&mut state) {
                return Ok(picked);
            }
            if let Some(how) = &state.ended {
                return Err(how.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until no answer is due; returns false if the tunlet has ended.
    pub(super) fn wait_for_answer(&self) -> bool {
        self.wait_for(|state| state.owes_since.is_none().then_some(())).is_ok()
    }

    /// Stores an answer, so that none is due.
    pub(super) fn answer(&self, put: impl FnOnce(&mut TunletState)) {
        let mut state = self.lock();
        put(&mut state);
        state.owes_since = None;
        self.changed.notify_all();
    }

    /// Returns the reason why the tunlet must be ended now, if any.
    pub(super) fn overdue(&self) -> Option<String> {
        let state = self.lock();
        let is_over =
            |since: Option<Instant>, limit| since.is_some_and(|since| limit <= since.elapsed());
        if is_over(state.owes_since, self.patience) {
            return Some(format!("it did not answer within {} s", self.patience.as_secs_f64()));
        }
        is_over(state.leaves_since, FAREWELL).then(|| "it did not leave when it was told to".into())
    }

    /// Notes that the tunlet ended; only the first reason is kept.
    pub(super) fn end(&self, how: impl FnOnce() -> String) {
        let mut state = self.lock();
        if state.ended.is_none() {
            state.ended = Some(how());
        }
        state.decisions.clear();
        self.changed.notify_all();
    }

    /// Adds a line for the user.
    pub(super) fn add_line(&self, line: String) {
        let mut state = self.lock();
        if N_LINES_MAX <= state.lines.len() {
            state.n_lines_lost += 1;
        } else {
            state.lines.push_back(line);
        }
    }

    pub(super) fn take_lines(&self) -> Vec<String> {
        let mut state = self.lock();
        let mut lines: Vec<String> = state.lines.drain(..).collect();
        let n_lost = std::mem::take(&mut state.n_lines_lost);
        if 0 < n_lost {
            lines.push(format!("({n_lost} more lines were dropped)"));
        }
        lines
    }
}

impl TunletState {
    /// Adds decisions; returns false if one concerns a tuning point that the tunlet did not request.
    pub(super) fn decide(&mut self, mut decisions: Vec<Decision>) -> bool {
        if decisions.iter().any(|decision| !self.points.contains(&decision.point)) {
            return false;
        }
        self.decisions.append(&mut decisions);
        // Old decisions are dropped, since only the newest for each point matters.
        let n_over = self.decisions.len().saturating_sub(N_DECISIONS_MAX);
        self.decisions.drain(..n_over);
        true
    }
}
