//! Actions: changes that are prepared, wait for their sync point, and are carried out there, once or at every passage.
//!
//! # Invariants
//! - A thread of the program that carries out an action takes none of our locks and does not allocate for
//!   us, preserves `errno`, and stops panics.
//! - The thread that moves an action's state away from [`WAITING`] decides: the action is carried out or
//!   withdrawn, never both.
//! - Orders may arrive twice, when a collector died with the first answer: repeated orders change nothing.
//! - Every action carried out is recorded: in the thread's own ring or, if that is full, in the ring of the
//!   control thread; records that find no room in either are counted as dropped.
#![allow(unsafe_code, reason = "keeps errno, and the state of the calling thread")]

use super::change::CheckedChange;
use super::modules::Modules;
use super::problem::OrderError;
use super::reached::Objects;
use super::sites::Sites;
use super::variable::ChangeOutcome;
use super::wake;
use crate::{monitoring, probes, thread};
use events::{ActionRecord, FunctionKind, ProbePoint};
use instrument::{Instrument, Passage};
use ring::clock;
use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;
use wire::control;
use wire::{Order, OrderAnswer};

/// Prepared or armed, and not being carried out.
const WAITING: u8 = 0;
/// Being carried out by a thread.
const RUNNING: u8 = 1;
/// Carried out, for the last time.
const DONE: u8 = 2;
/// Not to be carried out (any more).
const WITHDRAWN: u8 = 3;

/// Maximum number of actions prepared at the same time.
const N_ACTIONS_MAX: usize = 1024;
/// Maximum number of finished actions remembered.
const N_FINISHED_MAX: usize = 1024;
/// Longest wait of a withdrawal for a passage that is carrying out the action.
const LONGEST_PASSAGE: Duration = Duration::from_secs(5);

/// Change with its sync point.
#[derive(Debug)]
struct Action {
    number: u64,
    sync: (u32, ProbePoint),
    change: CheckedChange,
    repeats: bool,
    is_armed: AtomicBool,
    state: AtomicU8,
    n_done: AtomicU32,
    pending: PendingRecord,
}

/// Record that found its thread's ring full.
#[derive(Debug, Default)]
struct PendingRecord {
    is_full: AtomicBool,
    record: UnsafeCell<ActionRecord>,
}

// SAFETY: the record is written only while the flag is down and by the one thread that has moved the action
// to `RUNNING`, and read only while the flag is up.
unsafe impl Sync for PendingRecord {}

/// All actions of this process.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    actions: HashMap<u64, Arc<Action>>,
    /// Objects in which numbers were set through pointers.
    objects: Objects,
    /// Numbers of the latest finished actions, and how often each was carried out.
    finished: VecDeque<(u64, u32)>,
}

impl Actions {
    /// Checks whether an action can be carried out, and stores it.
    pub(crate) fn prepare(&mut self, order: &Order, sites: &Sites) -> Option<OrderAnswer> {
        let Order::Prepare { action, modules, sync, change, repeats } = order else { return None };
        self.forget_finished();
        if let Some(known) = self.actions.get(action).filter(|known| !known.is_finished()) {
            return Some(known.ready());
        }
        let checked = self.is_free(*action).and_then(|()| {
            if sync.0 != control::LEVER_SITE {
                sites.check_sync(sync.0)?;
            }
            if let control::ActionEffect::Replace { site, .. } = change {
                sites.check_known(*site)?;
            }
            CheckedChange::check(change, &Modules::find(modules), &mut self.objects)
        });
        let change = match checked {
            Ok(change) => change,
            Err(error) => return Some(refused(*action, &error)),
        };
        let kept = Arc::new(Action {
            number: *action,
            sync: *sync,
            change,
            repeats: *repeats,
            is_armed: AtomicBool::new(false),
            state: AtomicU8::new(WAITING),
            n_done: AtomicU32::new(0),
            pending: PendingRecord::default(),
        });
        let answer = kept.ready();
        self.actions.insert(*action, kept);
        Some(answer)
    }

    fn is_free(&self, action: u64) -> Result<(), OrderError> {
        if self.actions.contains_key(&action) || self.n_done(action).is_some() {
            return Err(OrderError::Action { action, what: "already finished" });
        }
        if N_ACTIONS_MAX <= self.actions.len() {
            return Err(OrderError::Action {
                action,
                what: "beyond the limit; withdraw other actions first",
            });
        }
        Ok(())
    }

    /// Returns how often a finished and dropped action was carried out.
    fn n_done(&self, number: u64) -> Option<u32> {
        self.finished.iter().find(|(finished, _)| *finished == number).map(|(_, n_done)| *n_done)
    }

    /// Arms a prepared action. Answers only on failure: success, also of an earlier commit, is reported by
    /// the action's record, which stays in its ring until the analyzer has it.
    pub(crate) fn commit(&mut self, number: u64, at_hit: u32) -> Option<OrderAnswer> {
        let Some(action) = self.actions.get(&number) else {
            let is_done = self.n_done(number).is_some_and(|n_done| n_done != 0);
            let unknown = OrderError::Action { action: number, what: "not prepared" };
            return (!is_done).then(|| refused(number, &unknown));
        };
        if action.is_armed.swap(true, Ordering::AcqRel) {
            return None;
        }
        let result = action.change.make_ready().and_then(|()| arm(action, at_hit));
        if result.is_err() {
            action.is_armed.store(false, Ordering::Release);
        }
        result.err().map(|error| refused(number, &error))
    }

    /// Withdraws an action; it may have been carried out before, or may be unknown.
    pub(crate) fn withdraw(&mut self, number: u64) -> OrderAnswer {
        let Some(action) = self.actions.get(&number) else {
            let n_done = self.n_done(number).unwrap_or(0);
            return OrderAnswer::Withdrawn { action: number, n_done };
        };
        action.withdraw();
        if let Some(probes) = probes::instrument() {
            probes.disarm(number);
        }
        OrderAnswer::Withdrawn { action: number, n_done: action.n_done.load(Ordering::Acquire) }
    }

    /// Withdraws all actions.
    pub(crate) fn withdraw_all(&mut self) {
        let numbers: Vec<u64> = self.actions.keys().copied().collect();
        for number in numbers {
            self.withdraw(number);
        }
    }

    /// Passes to `append` the records that found no room in the rings of the program's threads. Returns
    /// false if some are left.
    pub(crate) fn flush_pending(&self, mut append: impl FnMut(ActionRecord) -> bool) -> bool {
        let is_left = |action: &&Arc<Action>| !action.pending.flush(&mut append);
        self.actions.values().filter(is_left).count() == 0
    }

    /// Drops finished actions whose record is appended and that nothing else holds: a thread of the program
    /// never frees one.
    fn forget_finished(&mut self) {
        let is_free = |_: &u64, action: &mut Arc<Action>| {
            let is_appended = !action.pending.is_full.load(Ordering::Acquire);
            action.is_finished() && is_appended && Arc::strong_count(action) == 1
        };
        for (number, action) in self.actions.extract_if(is_free) {
            self.finished.push_back((number, action.n_done.load(Ordering::Acquire)));
        }
        let n_excess = self.finished.len().saturating_sub(N_FINISHED_MAX);
        self.finished.drain(..n_excess);
    }
}

fn arm(action: &Arc<Action>, at_hit: u32) -> Result<(), OrderError> {
    if action.sync.0 == control::LEVER_SITE {
        action.carry_out_at_once();
        return Ok(());
    }
    let ((site, place), armed) = (action.sync, Arc::clone(action));
    let act = Box::new(move |passage: &Passage<'_>| pass(&armed, passage));
    let arm = |probes: &Instrument| probes.arm(site, place, action.number, at_hit, act);
    if probes::instrument().is_some_and(arm) { Ok(()) } else { Err(OrderError::NoSyncPoint) }
}

fn refused(action: u64, error: &OrderError) -> OrderAnswer {
    OrderAnswer::Refused { action, reason: error.to_string() }
}

/// Handles a passage of the sync point by a thread of the program; returns whether the action stays armed.
fn pass(action: &Action, passage: &Passage<'_>) -> bool {
    if !monitoring::is_running() {
        // True in a forked child, too, which is not the rank.
        return false;
    }
    if thread::is_control_thread() {
        return true;
    }
    match action.move_on(WAITING, RUNNING) {
        Ok(_) => {}
        // Another thread is carrying it out, or an outer call of this one, which then decides about `repeats`.
        Err(RUNNING) => return true,
        Err(_) => return false,
    }
    // SAFETY: the calling thread's own word.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = catch_unwind(AssertUnwindSafe(|| action.carry_out(Some(passage))));
    let stays = result.is_ok_and(|is_done| action.repeats || !is_done);
    action.state.store(if stays { WAITING } else { DONE }, Ordering::Release);
    // SAFETY: the calling thread's own word.
    unsafe { *errno = before };
    stays
}

impl Action {
    fn is_finished(&self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        state != WAITING && state != RUNNING
    }

    /// Answer that the action can be carried out.
    fn ready(&self) -> OrderAnswer {
        let (site, place) = self.sync;
        let n_hits = probes::instrument().map_or(0, |probes| probes.n_hits(site, place));
        let (old, note) = (self.change.old(), self.change.note());
        OrderAnswer::Ready { action: self.number, n_hits, old, note }
    }

    fn move_on(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Carries out an action that waits for no sync point, in the control thread.
    fn carry_out_at_once(&self) {
        if self.move_on(WAITING, RUNNING).is_ok() {
            let _panicked = catch_unwind(AssertUnwindSafe(|| self.carry_out(None)));
            self.state.store(DONE, Ordering::Release);
        }
    }

    /// Carries out the change; returns false if it has to wait for another passage.
    fn carry_out(&self, passage: Option<&Passage<'_>>) -> bool {
        let Some(outcome) = self.change.carry_out(passage) else { return false };
        let ChangeOutcome { old, new, failure } = outcome;
        self.n_done.fetch_add(1, Ordering::AcqRel);
        let record = ActionRecord {
            ticks: clock::ticks(),
            action: self.number,
            old,
            new,
            failure: failure.cast_unsigned(),
            hit: passage.map_or(0, |passage| passage.hit),
            kind: FunctionKind::Action as u16,
            ..ActionRecord::default()
        };
        if !thread::append(&record.into()) {
            self.pending.keep(record);
            wake();
        }
        true
    }

    /// Prevents further executions of the action, and waits for one in progress.
    fn withdraw(&self) {
        const STEP: Duration = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        while self.move_on(WAITING, WITHDRAWN) == Err(RUNNING) && waited < LONGEST_PASSAGE {
            std::thread::sleep(STEP);
            waited += STEP;
        }
    }
}

impl PendingRecord {
    /// Keeps a record for the control thread; drops it if the previous record is still kept.
    fn keep(&self, record: ActionRecord) {
        if self.is_full.load(Ordering::Acquire) {
            return thread::drop_record();
        }
        // SAFETY: the flag is down, and only the thread that carries the action out comes here.
        unsafe { *self.record.get() = record };
        self.is_full.store(true, Ordering::Release);
    }

    /// Appends the kept record, if there is one; returns false if it found no room again.
    fn flush(&self, append: &mut impl FnMut(ActionRecord) -> bool) -> bool {
        if !self.is_full.load(Ordering::Acquire) {
            return true;
        }
        // SAFETY: the flag is up: no thread writes.
        let record = unsafe { *self.record.get() };
        let is_appended = append(record);
        if is_appended {
            self.is_full.store(false, Ordering::Release);
        }
        is_appended
    }
}
