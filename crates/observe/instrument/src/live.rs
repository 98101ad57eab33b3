//! Changes code of the running process, even while other threads execute it.
//!
//! A pass changes any number of places: it puts a trap on the first byte of each, waits until no thread is in the
//! middle of one, and writes the later bytes, then the first byte. A thread that hits the trap continues in the
//! place's stub; no thread of the program waits.
//!
//! # Invariants
//! - At any moment a thread may be anywhere: its results are those without the change.
//! - Either a place has changed as a whole, or it is unchanged and the refusal gives the reason.
//! - Threads that sleep in system calls are not woken; running threads are interrupted at most once per pass.
#![allow(unsafe_code, reason = "changes code")]

mod barrier;
mod handlers;
mod memory;
mod quiesce;
mod redirects;
mod sigaction;
mod signals;
mod start;
mod threads;

pub use handlers::{RedirectCounts, redirect_counts};
pub(crate) use start::guard_loads;
pub use start::{chain_trap_handler, is_ours, open_signals, release, reserve, start, warning};

use crate::site::Refusal;
use handlers::{COPIES, TRAPS};
use memory::Code;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

const INT3: u8 = 0xcc;

/// Lock that allows one pass at a time.
static PASS: Mutex<()> = Mutex::new(());

/// Bytes of code to be replaced. A single `0xcc` is an int3 that stays: its address must have been
/// registered by [`trap_at`] before.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Address of the first byte that changes.
    pub address: usize,
    /// Bytes before the change.
    pub original: Vec<u8>,
    /// Bytes after the change, equally many.
    pub replacement: Vec<u8>,
    /// Address at which a thread that reaches `address` continues.
    pub stub: usize,
    /// Address of each displaced instruction, and of its copy in the stub. Empty where no thread can be (padding).
    pub moved: Vec<(usize, usize)>,
}

/// Makes the changes; returns one result per patch.
///
/// # Safety
/// Each address is code of this process; its stub, and each copy of a displaced instruction, is code that has the
/// effect of the original from there on, for the life of the process.
pub unsafe fn apply(patches: &[Patch]) -> Vec<Result<(), Refusal>> {
    let changes: Vec<Change<'_>> = patches.iter().map(Change::forward).collect();
    make(&changes)
}

/// Reverts the changes; returns one result per patch.
///
/// # Safety
/// As for [`apply`], which made the changes.
pub unsafe fn revert(patches: &[Patch]) -> Vec<Result<(), Refusal>> {
    let changes: Vec<Change<'_>> = patches.iter().map(Change::reverse).collect();
    make(&changes)
}

/// Puts a permanent trap: a thread that reaches the address continues in the stub. [`revert`] of the
/// returned patch removes the trap.
///
/// # Errors
/// As for [`apply`].
///
/// # Safety
/// As for [`apply`].
pub unsafe fn trap_at(address: usize, stub: usize) -> Result<Patch, Refusal> {
    // SAFETY: the caller promises that code is there.
    let original = unsafe { memory::byte(address) };
    let patch = Patch {
        address,
        original: vec![original],
        replacement: vec![INT3],
        stub,
        moved: Vec::new(),
    };
    make(&[Change::forward(&patch)]).into_iter().collect::<Result<(), Refusal>>()?;
    Ok(patch)
}

/// A patch in one direction.
#[derive(Debug)]
struct Change<'a> {
    address: usize,
    from: &'a [u8],
    to: &'a [u8],
    stub: usize,
    moved: &'a [(usize, usize)],
    /// Whether a thread may be between the instructions after the first byte.
    has_inside: bool,
}

impl<'a> Change<'a> {
    fn forward(patch: &'a Patch) -> Self {
        let behind = |(displaced, _): &(usize, usize)| *displaced != patch.address;
        Self {
            address: patch.address,
            from: &patch.original,
            to: &patch.replacement,
            stub: patch.stub,
            moved: &patch.moved,
            // A single instruction has no inside, and padding is never executed.
            has_inside: patch.moved.iter().any(behind),
        }
    }

    /// Reverts a patch, whose replacement is a single instruction.
    fn reverse(patch: &'a Patch) -> Self {
        Self {
            from: &patch.replacement,
            to: &patch.original,
            moved: &[],
            has_inside: false,
            ..Self::forward(patch)
        }
    }

    fn span(&self) -> Range<usize> {
        self.address..self.address + self.from.len()
    }

    /// Returns whether a thread may hit a trap.
    fn traps(&self) -> bool {
        1 < self.to.len() || self.to.first() == Some(&INT3)
    }

    /// Displaced instructions except the one under the trap, with their copies.
    fn inner(&self) -> impl Iterator<Item = (usize, usize)> {
        self.moved.iter().copied().filter(|(displaced, _)| *displaced != self.address)
    }
}

fn make(changes: &[Change<'_>]) -> Vec<Result<(), Refusal>> {
    let _one_pass = PASS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pass = Pass::new(changes);
    if let Err(refusal) = pass.run() {
        pass.refuse_all(&refusal);
    }
    pass.outcomes
}

/// Pass in progress.
struct Pass<'a> {
    changes: &'a [Change<'a>],
    outcomes: Vec<Result<(), Refusal>>,
    code: Code,
}

impl<'a> Pass<'a> {
    fn new(changes: &'a [Change<'a>]) -> Self {
        let mut pass =
            Self { changes, outcomes: changes.iter().map(check).collect(), code: Code::open() };
        pass.refuse_overlaps();
        pass
    }

    /// Refuses all overlapping changes but the one that starts first.
    fn refuse_overlaps(&mut self) {
        let mut order: Vec<usize> = (0..self.changes.len()).collect();
        order.sort_by_key(|idx| self.changes[*idx].address);
        let mut end = 0;
        for idx in order.into_iter().filter(|idx| !self.changes[*idx].from.is_empty()) {
            let span = self.changes[idx].span();
            if span.start < end {
                self.outcomes[idx] = Err(Refusal::Changed(span.start));
            }
            end = end.max(span.end);
        }
    }

    /// Runs the pass; on an error nothing has changed.
    fn run(&mut self) -> Result<(), Refusal> {
        if !start::is_started() {
            return Err(Refusal::NotStarted);
        }
        let others = threads::others().map_err(|error| Refusal::NoThreads(errno(&error)))?;
        for change in self.accepted() {
            TRAPS.insert(change.address, change.stub);
        }
        if others.is_empty() {
            self.write(|change| (change.address, change.to));
            barrier::sync();
            return Ok(());
        }
        if !barrier::is_there() {
            return Err(Refusal::NoBarrier(barrier::errno()));
        }
        if self.accepted().any(Change::traps) {
            start::hold_signals();
            quiesce::check_open(&others)?;
        }
        self.run_among_threads()
    }

    fn run_among_threads(&mut self) -> Result<(), Refusal> {
        self.write(|change| (change.address, &[INT3]));
        barrier::sync();
        if let Err(refusal) = self.quiesce() {
            self.write(|change| (change.address, &change.from[..1]));
            barrier::sync();
            return Err(refusal);
        }
        self.write(|change| (change.address + 1, &change.to[1..]));
        barrier::sync();
        self.write(|change| (change.address, &change.to[..1]));
        barrier::sync();
        Ok(())
    }

    /// Waits until no thread is behind a first byte.
    fn quiesce(&self) -> Result<(), Refusal> {
        let with_inside = || self.accepted().filter(|change| change.has_inside);
        let mut spans: Vec<Range<usize>> = with_inside().map(Change::span).collect();
        if spans.is_empty() {
            return Ok(());
        }
        spans.sort_by_key(|span| span.start);
        for (displaced, copy) in with_inside().flat_map(Change::inner) {
            COPIES.insert(displaced, copy);
        }
        let outcome = quiesce::wait_until_outside(&spans);
        for (displaced, _) in with_inside().flat_map(Change::inner) {
            COPIES.insert(displaced, 0);
        }
        outcome
    }

    /// Writes to every place that was not refused; reverts a place where writing fails.
    fn write(&mut self, what: impl Fn(&Change<'a>) -> (usize, &'a [u8])) {
        for (change, outcome) in self.changes.iter().zip(&mut self.outcomes) {
            if outcome.is_err() {
                continue;
            }
            let (address, bytes) = what(change);
            if let Err(error) = self.code.write(address, bytes) {
                *outcome = Err(Refusal::Write { address, errno: errno(&error) });
                undo(&self.code, change);
            }
        }
    }

    fn accepted(&self) -> impl Iterator<Item = &'a Change<'a>> + use<'a, '_> {
        let both = self.changes.iter().zip(&self.outcomes);
        both.filter(|(_, outcome)| outcome.is_ok()).map(|(change, _)| change)
    }

    fn refuse_all(&mut self, refusal: &Refusal) {
        for outcome in self.outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
            *outcome = Err(refusal.clone());
        }
    }
}

fn check(change: &Change<'_>) -> Result<(), Refusal> {
    // SAFETY: the callers of this module promise that code is there.
    let is_there = unsafe { memory::holds(change.address, change.from) };
    let is_whole = !change.from.is_empty() && change.from.len() == change.to.len();
    if is_there && is_whole { Ok(()) } else { Err(Refusal::Changed(change.address)) }
}

/// Reverts as much as can be written; a trap that stays leads to the stub.
fn undo(code: &Code, change: &Change<'_>) {
    barrier::sync();
    let behind = code.write(change.address + 1, &change.from[1..]);
    barrier::sync();
    if behind.is_ok() && code.write(change.address, &change.from[..1]).is_ok() {
        barrier::sync();
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or_default()
}
