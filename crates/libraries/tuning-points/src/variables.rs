//! Variables that tools see.

use crate::description::keep;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};

/// Size of the path of a folder with its final zero, in bytes.
pub(crate) const N_FOLDER_BYTES: usize = 1024;

points::variables! {
    /// Share of the tasks left that goes into batch 0 (master).
    mw_share_first: f64 = 1.0;
    /// Share of the tasks left that goes into batch 1 (master).
    mw_share_second: f64 = 1.0;
    /// Share of the tasks left that goes into each later batch (master).
    mw_share_later: f64 = 1.0;
    /// Workers in use, and a tool's request for the next iteration; 0 before the first one (master).
    mw_n_workers: i32 = 0;
    /// Number of the iteration, from 0 (all).
    mw_iteration_number: i32 = 0;
    /// Number of tasks of the iteration (master).
    mw_n_tasks_total: i32 = 0;
    /// Bytes of a task in a message to a worker, at least 1 (master).
    mw_task_bytes: i32 = 1;
    /// Batch of the current message or computation (all).
    mw_batch: i32 = 0;
    /// Rank of the worker of the current message (all).
    mw_worker: i32 = 0;
    /// Number of tasks in the current message or computation (all).
    mw_n_tasks: i32 = 0;
    /// Number of chunks in the newest batch (master).
    mw_n_chunks: i32 = 0;
    /// Folder for the program's report, ending with a zero; the first byte is written last (master).
    mw_report_folder: [u8; N_FOLDER_BYTES] = [0; N_FOLDER_BYTES];
}

/// Integer variable that tools see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `mw_n_workers`.
    Workers,
    /// `mw_iteration_number`.
    Iteration,
    /// `mw_n_tasks_total`.
    TasksTotal,
    /// `mw_task_bytes`.
    TaskBytes,
    /// `mw_batch`.
    Batch,
    /// `mw_worker`.
    Worker,
    /// `mw_n_tasks`.
    Tasks,
    /// `mw_n_chunks`.
    Chunks,
}

impl Variable {
    /// Sets the variable; numbers above the largest `int` are clamped to it.
    pub fn set(self, value: u64) {
        let value = i32::try_from(value).unwrap_or(i32::MAX);
        self.atomic().store(value, Ordering::Relaxed);
    }

    /// Returns the value; 0 for a negative one.
    pub fn get(self) -> u32 {
        u32::try_from(self.atomic().load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn atomic(self) -> &'static AtomicI32 {
        as_atomic(match self {
            Self::Workers => &raw mut mw_n_workers,
            Self::Iteration => &raw mut mw_iteration_number,
            Self::TasksTotal => &raw mut mw_n_tasks_total,
            Self::TaskBytes => &raw mut mw_task_bytes,
            Self::Batch => &raw mut mw_batch,
            Self::Worker => &raw mut mw_worker,
            Self::Tasks => &raw mut mw_n_tasks,
            Self::Chunks => &raw mut mw_n_chunks,
        })
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that the instruction names the variable")]
#[expect(unsafe_code, reason = "the variable has the type of C, not that of an atomic")]
fn as_atomic(variable: *mut i32) -> &'static AtomicI32 {
    // SAFETY: the pointer is to one of the statics above, which live forever and are aligned; all accesses of
    // this program go through here, and tools write whole values while the thread that reads them is stopped.
    unsafe { AtomicI32::from_ptr(variable) }
}

/// Shares of batch 0, batch 1 and later batches, as bits.
fn shares() -> [u64; 3] {
    // One after the other: tools look for instructions that read a variable by its address.
    let first = as_bits(&raw mut mw_share_first).load(Ordering::Relaxed);
    let second = as_bits(&raw mut mw_share_second).load(Ordering::Relaxed);
    let later = as_bits(&raw mut mw_share_later).load(Ordering::Relaxed);
    [first, second, later]
}

fn set_shares(shares: [u64; 3]) {
    as_bits(&raw mut mw_share_first).store(shares[0], Ordering::Relaxed);
    as_bits(&raw mut mw_share_second).store(shares[1], Ordering::Relaxed);
    as_bits(&raw mut mw_share_later).store(shares[2], Ordering::Relaxed);
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that the instruction names the variable")]
#[expect(unsafe_code, reason = "the variable has the type of C, not that of an atomic")]
fn as_bits(share: *mut f64) -> &'static AtomicU64 {
    // SAFETY: the pointer is to one of the statics above, which live forever; an `f64` has the size and here the
    // alignment of a `u64`, all bit patterns are valid, and all accesses of this program go through here.
    unsafe { AtomicU64::from_ptr(share.cast()) }
}

pub(crate) fn report_folder() -> &'static [AtomicU8; N_FOLDER_BYTES] {
    as_bytes(&raw mut mw_report_folder)
}

#[expect(unsafe_code, reason = "the variable has the type of C, not that of an atomic")]
fn as_bytes(folder: *mut [u8; N_FOLDER_BYTES]) -> &'static [AtomicU8; N_FOLDER_BYTES] {
    // SAFETY: the pointer is to one of the statics above, which live forever; an `AtomicU8` has the size and
    // alignment of a `u8`, and all accesses of this program go through here.
    unsafe { &*folder.cast() }
}

static IS_CLAIMED: AtomicBool = AtomicBool::new(false);

/// Right to use the variables of the master; released when dropped.
#[derive(Debug)]
pub struct Claim {
    /// Shares until a tool sets one, as bits.
    at_start: [u64; 3],
}

/// Claims the variables of the master, unless another run of this process has them. `shares` show the program's
/// own dealing, or come near to it.
pub fn claim(shares: [f64; 3]) -> Option<Claim> {
    keep();
    let is_free = !IS_CLAIMED.swap(true, Ordering::Acquire);
    is_free.then(|| {
        let at_start = shares.map(f64::to_bits);
        set_shares(at_start);
        Claim { at_start }
    })
}

impl Claim {
    /// Shares of batch 0, batch 1 and later batches, once a tool has set one; `None` before.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let shares = shares();
        (shares != self.at_start).then(|| shares.map(f64::from_bits))
    }

    /// Sets the shares, as a tool does.
    pub fn set_shares(&self, shares: [f64; 3]) {
        set_shares(shares.map(f64::to_bits));
    }

    /// Number of workers in use, or the one that a tool requests; 0 for a negative value.
    pub fn n_workers(&self) -> u32 {
        let n_workers = as_atomic(&raw mut mw_n_workers).load(Ordering::Relaxed);
        u32::try_from(n_workers).unwrap_or(0)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        Variable::Workers.set(0);
        IS_CLAIMED.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_holds_what_it_sets() {
        let held = claim([0.5; 3]).expect("nobody else");
        assert!(claim([0.5; 3]).is_none());
        assert_eq!(held.shares(), None);
        held.set_shares([1.0, 0.5, 0.5]);
        assert_eq!(held.shares(), Some([1.0, 0.5, 0.5]));
        Variable::Workers.set(7);
        assert_eq!((Variable::Workers.get(), held.n_workers()), (7, 7));
        drop(held);
        let held = claim([1.0; 3]).expect("it was given back");
        assert_eq!((held.shares(), Variable::Workers.get()), (None, 0));
    }

    #[test]
    fn values_stay_in_the_range_of_their_type() {
        Variable::TasksTotal.set(u64::MAX);
        assert_eq!(Variable::TasksTotal.get(), i32::MAX.unsigned_abs());
    }
}
