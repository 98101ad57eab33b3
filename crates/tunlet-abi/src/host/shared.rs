//! What the threads around a foreign tunlet share: what it said, since when it owes an answer, and its end.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tunlets::{Decision, Requests, TunletSpec};

/// Decisions that wait to be collected.
const N_DECISIONS_MAX: usize = 4096;
/// Lines for people that wait to be collected.
const N_LINES_MAX: usize = 256;
/// How long a tunlet that is told to leave may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct Shared {
    patience: Duration,
    said: Mutex<Said>,
    changed: Condvar,
}

/// What the tunlet said, and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) opened: Option<Result<TunletSpec, String>>,
    pub(super) begun: Option<Result<Requests, String>>,
    decisions: Vec<Decision>,
    lines: VecDeque<String>,
    n_lines_lost: u64,
    /// Tuning points it may change.
    points: Vec<usize>,
    /// Since when it owes an answer.
    owes_since: Option<Instant>,
    /// Since when it is told to leave.
    leaves_since: Option<Instant>,
    /// How it ended.
    ended: Option<String>,
    process_id: Option<u32>,
}

impl Shared {
    /// Of a tunlet that is being loaded: it owes the answer that it is.
    pub(super) fn new(patience: Duration) -> Self {
        let said = Said { owes_since: Some(Instant::now()), ..Said::default() };
        Self { patience, said: Mutex::new(said), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        // Every change of it is complete in itself.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for what `pick` takes, or the end; the keeper ends whoever is silent for too long.
    pub(super) fn wait_for<T>(
        &self,
        mut pick: impl FnMut(&mut Said) -> Option<T>,
    ) -> Result<T, String> {
        let mut said = self.lock();
        loop {
            if let Some(picked) = pick(&mut said) {
                return Ok(picked);
            }
            if let Some(how) = &said.ended {
                return Err(how.clone());
            }
            said = self.changed.wait(said).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An order is about to be written: an answer is owed from now on.
    pub(super) fn owe(&self) {
        self.lock().owes_since = Some(Instant::now());
    }

    /// Waits until it owes nothing; false when it has ended.
    pub(super) fn wait_for_answer(&self) -> bool {
        self.wait_for(|said| said.owes_since.is_none().then_some(())).is_ok()
    }

    /// It answered.
    pub(super) fn answer(&self, put: impl FnOnce(&mut Said)) {
        let mut said = self.lock();
        put(&mut said);
        said.owes_since = None;
        self.changed.notify_all();
    }

    /// Whether it owes an answer at all.
    pub(super) fn owes(&self) -> bool {
        self.lock().owes_since.is_some()
    }

    /// Why it has to be ended now, if it has to.
    pub(super) fn overdue(&self) -> Option<String> {
        let said = self.lock();
        let is_over =
            |since: Option<Instant>, limit| since.is_some_and(|since| limit <= since.elapsed());
        if is_over(said.owes_since, self.patience) {
            return Some(format!("it did not answer within {} s", self.patience.as_secs_f64()));
        }
        is_over(said.leaves_since, FAREWELL).then(|| "it did not leave when it was told to".into())
    }

    /// It ended; only the first reason counts.
    pub(super) fn end(&self, how: impl FnOnce() -> String) {
        let mut said = self.lock();
        if said.ended.is_none() {
            said.ended = Some(how());
        }
        said.decisions.clear();
        self.changed.notify_all();
    }

    pub(super) fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        self.lock().process_id
    }

    /// Its process was started, or is gone.
    pub(super) fn set_process_id(&self, process_id: Option<u32>) {
        self.lock().process_id = process_id;
    }

    /// It is told to leave.
    pub(super) fn leave(&self) {
        self.lock().leaves_since = Some(Instant::now());
    }

    /// Which tuning points it may change.
    pub(super) fn allow(&self, points: &[usize]) {
        self.lock().points = points.to_vec();
    }

    pub(super) fn take_decisions(&self, into: &mut Vec<Decision>) {
        into.append(&mut self.lock().decisions);
    }

    /// It says something to people.
    pub(super) fn add_line(&self, line: String) {
        let mut said = self.lock();
        if N_LINES_MAX <= said.lines.len() {
            said.n_lines_lost += 1;
        } else {
            said.lines.push_back(line);
        }
    }

    pub(super) fn take_lines(&self) -> Vec<String> {
        let mut said = self.lock();
        let mut lines: Vec<String> = said.lines.drain(..).collect();
        let n_lost = std::mem::take(&mut said.n_lines_lost);
        if 0 < n_lost {
            lines.push(format!("({n_lost} more lines were dropped)"));
        }
        lines
    }
}

impl Said {
    /// Decisions that came; false when one is about a tuning point that the tunlet did not name.
    pub(super) fn decide(&mut self, mut decisions: Vec<Decision>) -> bool {
        if decisions.iter().any(|decision| !self.points.contains(&decision.point)) {
            return false;
        }
        self.decisions.append(&mut decisions);
        // The newest of each point is what counts.
        let n_over = self.decisions.len().saturating_sub(N_DECISIONS_MAX);
        self.decisions.drain(..n_over);
        true
    }
}
