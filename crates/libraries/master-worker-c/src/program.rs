//! A program whose functions are C functions.
//!
//! The library knows only failures of chunks, as panics. A failure on the master is kept and cancels the run, whose
//! caller then returns the kept failure as the reason.

use crate::abi::{mw_bytes, mw_iteration_report, mw_plan, mw_report, mw_worker_report};
use crate::buffer::mw_buffer;
use crate::bytes::{Aligned, Blob};
use crate::callbacks::mw_program;
use crate::failure::outcome;
use crate::hints::{Hints, c_tasks, wishes};
use crate::kept;
use core::ffi::{c_int, c_void};
use master_worker::{
    BoxError, Cancel, Hint, Iteration, IterationReport, MessageError, Program, Report, WorkerReport,
};
use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// First failure on the master.
#[derive(Clone, Default)]
pub(crate) struct MasterFailure(Arc<Mutex<Option<String>>>);

impl MasterFailure {
    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }
}

/// Copy of the state's bytes, for a worker that is a thread.
struct OwnState(*mut Aligned);

impl Drop for OwnState {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from `Box::into_raw` in `Foreign::clone`, and is dropped once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// C program on one rank.
pub(crate) struct Foreign {
    functions: mw_program,
    /// State of this rank.
    state: *mut c_void,
    own: Option<OwnState>,
    /// Bytes of the state before the run; empty when threads share the state.
    at_start: Arc<Aligned>,
    is_master: Cell<bool>,
    /// True if shared data were sent before.
    is_sharing: bool,
    /// Number of tasks that have arrived in this iteration, which the program raises; null when none arrive.
    n_arrived: *const u64,
    hints: Option<Hints>,
    is_worker: Cell<bool>,
    /// Reason why this rank cannot be a worker.
    no_worker: RefCell<Option<String>>,
    failure: MasterFailure,
    cancel: Cancel,
}

// SAFETY: the caller that gives functions and a state to a run lets it call them from other threads, as the header
// says. A rank's own copy of the state is used by its thread only.
unsafe impl Send for Foreign {}

impl Foreign {
    /// # Safety
    /// The memory that `functions` points to stays, and the functions do what the header says.
    pub(crate) unsafe fn new(
        functions: mw_program,
        failure: MasterFailure,
        cancel: Cancel,
    ) -> Self {
        let bytes = mw_bytes { data: functions.state, n_bytes: functions.n_state_bytes };
        // SAFETY: by the condition of this function.
        let at_start = Arc::new(Aligned::from(unsafe { crate::bytes::slice(bytes) }));
        Self::before_run(functions, at_start, failure, cancel)
    }

    /// Creates the program as it is before the run, with the state that all threads share.
    fn before_run(
        functions: mw_program,
        at_start: Arc<Aligned>,
        failure: MasterFailure,
        cancel: Cancel,
    ) -> Self {
        Self {
            functions,
            state: functions.state,
            own: None,
            at_start,
            is_master: Cell::new(false),
            is_sharing: false,
            n_arrived: ptr::null(),
            hints: None,
            is_worker: Cell::new(false),
            no_worker: RefCell::new(None),
            failure,
            cancel,
        }
    }

    /// Ends the run with this failure.
    fn fail(&self, text: String) {
        self.failure.keep(text);
        self.cancel.cancel();
    }

    fn unless_failed(&self, function: &str, code: c_int) {
        if let Err(text) = outcome(function, code) {
            self.fail(text);
        }
    }

    fn is_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    fn begin_master(&self) {
        if self.is_master.replace(true) {
            return;
        }
        if let Some(init) = self.functions.master_init {
            // SAFETY: a function of the program with its state, as the header says.
            self.unless_failed("master_init", unsafe { init(self.state) });
        }
    }

    fn begin_worker(&self, rank: u32) {
        if self.is_worker.get() || self.no_worker.borrow().is_some() {
            return;
        }
        // SAFETY: a function of the program with its state, as the header says.
        let code = self.functions.worker_init.map_or(0, |init| unsafe { init(self.state, rank) });
        match outcome("worker_init", code) {
            Ok(()) => self.is_worker.set(true),
            Err(text) => *self.no_worker.borrow_mut() = Some(text),
        }
    }

    fn end_worker(&self) {
        if !self.is_worker.replace(false) {
            return;
        }
        if let Some(end) = self.functions.worker_final {
            // SAFETY: a function of the program with its state, as the header says.
            unsafe { end(self.state) };
        }
    }

    fn compute(&self, shared: &Blob, tasks: Range<u64>, input: Blob) -> Result<Blob, String> {
        self.begin_worker(0);
        if let Some(text) = self.no_worker.borrow().clone() {
            return Err(text);
        }
        let (Some(work), false) = (self.functions.worker_work, input.is_refused()) else {
            return Err("the chunk has no input".to_owned());
        };
        let mut result = mw_buffer::default();
        let shared = shared.as_bytes();
        let code = kept::passing(input, |input| {
            // SAFETY: a function of the program with its state, as the header says; the bytes stay for the call.
            unsafe { work(self.state, c_tasks(&tasks), shared, input, &raw mut result) }
        });
        outcome("worker_work", code)?;
        Ok(result.into_blob().unwrap_or_default())
    }

    /// Calls `master_next`; `None` when it fails.
    fn ask(&self, iteration: u64) -> Option<(mw_plan, Option<Blob>)> {
        let mut plan = mw_plan {
            n_tasks: 0,
            priorities: ptr::null(),
            n_priorities: 0,
            n_arrived: ptr::null(),
            hints: None,
            keeps_places: false,
        };
        let mut shared = mw_buffer::default();
        let next = self.functions.master_next?;
        // SAFETY: a function of the program with its state, as the header says.
        let code = unsafe { next(self.state, iteration, &raw mut plan, &raw mut shared) };
        self.unless_failed("master_next", code);
        (!self.is_failed()).then(|| (plan, shared.into_blob()))
    }
}

impl Clone for Foreign {
    /// Clones the program as it was before the run, as if in another process.
    fn clone(&self) -> Self {
        let (at_start, failure) = (Arc::clone(&self.at_start), self.failure.clone());
        let mut clone = Self::before_run(self.functions, at_start, failure, self.cancel.clone());
        if self.functions.n_state_bytes != 0 {
            let mut copy = Box::new(Aligned::clone(&self.at_start));
            clone.state = copy.as_mut_ptr().cast();
            clone.own = Some(OwnState(Box::into_raw(copy)));
        }
        clone
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.end_worker();
        self.own = None;
    }
}

impl Program for Foreign {
    type Shared = Blob;
    type Input = Blob;
    type Output = Blob;

    fn enter(&mut self, rank: u32) {
        self.begin_worker(rank);
    }

    fn next(&mut self, iteration: u64) -> Option<Iteration<Blob>> {
        self.begin_master();
        if self.is_failed() {
            return None;
        }
        let (plan, shared) = self.ask(iteration)?;
        if plan.n_tasks == 0 {
            return None;
        }
        let shared = shared.or_else(|| (!self.is_sharing).then(Blob::default));
        self.is_sharing = true;
        (self.n_arrived, self.hints) = (plan.n_arrived, plan.hints);
        let mut next = match shared {
            Some(shared) => Iteration::new(plan.n_tasks, shared),
            None => Iteration::unchanged(plan.n_tasks),
        };
        if !plan.priorities.is_null() {
            // SAFETY: the program states that there are `n_priorities`.
            let priorities =
                unsafe { std::slice::from_raw_parts(plan.priorities, plan.n_priorities) };
            for one in priorities {
                next = next.priority(one.tasks.start..one.tasks.end, one.priority);
            }
        }
        next = wishes(self.state, plan.hints, 0..plan.n_tasks).fold(next, Iteration::hint);
        Some(if plan.keeps_places { next.keep_places() } else { next })
    }

    fn hints(&self, arrived: Range<u64>) -> Vec<Hint> {
        wishes(self.state, self.hints, arrived).collect()
    }

    fn n_arrived(&self) -> Option<u64> {
        if self.n_arrived.is_null() {
            return None;
        }
        // SAFETY: the program keeps the aligned number valid until the next call of `master_next`; that it is written
        // meanwhile is what the atomic type is for.
        let n_arrived = unsafe { AtomicU64::from_ptr(self.n_arrived.cast_mut()) };
        Some(n_arrived.load(Ordering::Acquire))
    }

    fn n_iterations(&self) -> Option<u64> {
        Some(self.functions.n_iterations).filter(|n_iterations| *n_iterations != 0)
    }

    fn input(&self, tasks: Range<u64>) -> Blob {
        let Some(function) = self.functions.master_input else { return Blob::default() };
        let mut input = mw_buffer::default();
        // SAFETY: a function of the program with its state, as the header says.
        let code = unsafe { function(self.state, c_tasks(&tasks), &raw mut input) };
        self.unless_failed("master_input", code);
        if self.is_failed() { Blob::Refused } else { input.into_blob().unwrap_or_default() }
    }

    fn work(&self, shared: &Blob, tasks: Range<u64>, input: Blob) -> Blob {
        match self.compute(shared, tasks, input) {
            Ok(result) => result,
            // The library recognizes a failure by its panic; unlike `panic!`, this one prints nothing.
            Err(text) => resume_unwind(Box::new(text)),
        }
    }

    fn recover(&mut self, tasks: Range<u64>, output: Blob) {
        let Some(recover) = self.functions.master_recover else { return };
        let code = kept::passing(output, |output| {
            // SAFETY: a function of the program with its state, as the header says; the bytes stay for the call.
            unsafe { recover(self.state, c_tasks(&tasks), output) }
        });
        self.unless_failed("master_recover", code);
    }

    fn is_settled(&self) -> bool {
        // SAFETY: a function of the program with its state, as the header says.
        self.functions.master_is_settled.is_some_and(|ask| unsafe { ask(self.state) })
    }

    fn end_iteration(&mut self, report: &IterationReport) {
        let Some(end) = self.functions.master_end_iteration.filter(|_| !self.is_failed()) else {
            return;
        };
        let code = with_iteration(report, |report| {
            // SAFETY: a function of the program with its state, as the header says.
            unsafe { end(self.state, report) }
        });
        self.unless_failed("master_end_iteration", code);
    }

    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        self.begin_master();
        let Some(save) = self.functions.master_save else { return Ok(None) };
        if self.is_failed() {
            return Ok(None);
        }
        let mut saved = mw_buffer::default();
        // SAFETY: a function of the program with its state, as the header says.
        self.unless_failed("master_save", unsafe { save(self.state, &raw mut saved) });
        let saved = saved.into_blob().unwrap_or_default();
        Ok((!self.is_failed()).then(|| saved.as_slice().to_vec()))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        let Some(restore) = self.functions.master_restore else { return Ok(()) };
        let saved = Blob::Own(saved.into());
        // SAFETY: a function of the program with its state, as the header says.
        let code = unsafe { restore(self.state, saved.as_bytes()) };
        Ok(outcome("master_restore", code)?)
    }

    fn finish(&mut self, report: &Report) -> Result<(), BoxError> {
        self.end_worker();
        if let Some(failure) = self.failure.get() {
            return Err(failure.into());
        }
        let Some(end) = self.functions.master_final else { return Ok(()) };
        let report = report_of_run(report);
        // SAFETY: a function of the program with its state, as the header says.
        Ok(outcome("master_final", unsafe { end(self.state, &raw const report) })?)
    }

    fn leave(&mut self) {
        self.end_worker();
    }
}

/// Calls a function with a report that is valid only during the call.
fn with_iteration<R>(
    report: &IterationReport,
    function: impl FnOnce(&mw_iteration_report) -> R,
) -> R {
    let workers: Vec<mw_worker_report> = report.workers.iter().map(of_worker).collect();
    let explanation = CString::new(report.explain()).unwrap_or_default();
    function(&mw_iteration_report {
        iteration: report.iteration,
        n_tasks: report.n_tasks,
        n_chunks: report.n_chunks,
        n_retracted: report.n_retracted,
        n_retried: report.n_retried,
        n_lost: report.n_lost,
        duration_s: report.duration_s,
        efficiency: report.efficiency(),
        shared_bytes: report.shared_bytes,
        input_bytes: report.input_bytes,
        output_bytes: report.output_bytes,
        workers: workers.as_ptr(),
        n_workers: workers.len(),
        explanation: explanation.as_ptr(),
    })
}

fn of_worker(worker: &WorkerReport) -> mw_worker_report {
    let WorkerReport { rank, n_tasks, n_chunks, compute_s, waited_s, .. } = *worker;
    mw_worker_report { rank, n_tasks, n_chunks, compute_s, waited_s }
}

fn report_of_run(report: &Report) -> mw_report {
    mw_report {
        n_iterations: report.n_iterations,
        first_iteration: report.first_iteration,
        n_chunks: report.n_chunks,
        n_tasks: report.n_tasks,
        iterations_s: report.iterations_s,
    }
}
