//! Variables and functions through which tuning tools observe and control a master/worker program.
//!
//! A tool stops the program at the entry or exit of a function, reads variables, and writes the shares
//! and the number of workers while the program runs. So they have names that no compiler mangles, and
//! the functions are never inlined. `master-worker.toml` describes them; every executable carries it, so
//! that `sintonia run --tunlet NAME` needs no other description.
//!
//! # Invariants
//! - At most one run of a process holds the variables of the master (`claim`); others run without.

mod functions;

use points::{get, set};
use std::ffi::OsString;
use std::hint::black_box;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use functions::{iteration, new_batch, received, send, work};

/// Size of the path of a folder with its final zero, in bytes.
const N_FOLDER_BYTES: usize = 1024;

/// Description of what tools may measure and change in any program of the library, in the format of
/// `docs/application-description.md`.
pub(crate) const DESCRIPTION: &str = include_str!("../master-worker.toml");

points::description!(DESCRIPTION);

points::variables! {
    /// Variables that tools see.
    Variables:
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

/// Sets the number of workers, as a tool does.
pub fn set_n_workers(n_workers: u32) {
    set(Variables::mw_n_workers(), u64::from(n_workers));
}

/// Returns the number of workers in use, or the one that a tool requests; 0 for a negative value.
pub(crate) fn n_workers() -> u32 {
    get(Variables::mw_n_workers())
}

/// Sets the number of bytes of a task in a message to a worker.
pub(crate) fn set_task_bytes(n_bytes: u64) {
    set(Variables::mw_task_bytes(), n_bytes);
}

/// Shares of batch 0, batch 1 and later batches, as bits.
fn shares() -> [u64; 3] {
    // One after the other: tools look for instructions that read a variable by its address.
    let first = Variables::mw_share_first().load(Ordering::Relaxed);
    let second = Variables::mw_share_second().load(Ordering::Relaxed);
    let later = Variables::mw_share_later().load(Ordering::Relaxed);
    [first, second, later]
}

fn set_shares(shares: [u64; 3]) {
    Variables::mw_share_first().store(shares[0], Ordering::Relaxed);
    Variables::mw_share_second().store(shares[1], Ordering::Relaxed);
    Variables::mw_share_later().store(shares[2], Ordering::Relaxed);
}

static IS_CLAIMED: AtomicBool = AtomicBool::new(false);

/// Right to use the variables of the master; released when dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Shares until a tool sets one, as bits.
    at_start: [u64; 3],
}

/// Claims the variables of the master, unless another run of this process has them. `shares` show the program's
/// own dealing, or come near to it.
pub(crate) fn claim(shares: [f64; 3]) -> Option<Claim> {
    // Linkers keep what is referred to.
    black_box((&NOTE, &ENTRIES, &functions::ENTRIES));
    let is_free = !IS_CLAIMED.swap(true, Ordering::Acquire);
    is_free.then(|| {
        let at_start = shares.map(f64::to_bits);
        set_shares(at_start);
        Claim { at_start }
    })
}

impl Claim {
    /// Shares of batch 0, batch 1 and later batches, once a tool has set one; `None` before.
    pub(crate) fn shares(&self) -> Option<[f64; 3]> {
        let shares = shares();
        (shares != self.at_start).then(|| shares.map(f64::from_bits))
    }

    /// Sets the shares, as a tool does.
    #[cfg(test)]
    pub(crate) fn set_shares(&self, shares: [f64; 3]) {
        set_shares(shares.map(f64::to_bits));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        set_n_workers(0);
        IS_CLAIMED.store(false, Ordering::Release);
    }
}

/// Folder in which a tool wants the report, if one has asked.
pub(crate) fn asked_for_report() -> Option<PathBuf> {
    let bytes = Variables::mw_report_folder();
    if bytes[0].load(Ordering::Acquire) == 0 {
        return None;
    }
    let bytes = bytes.iter().map(|byte| byte.load(Ordering::Relaxed));
    let path: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Clears the request, when the tool that asked is gone.
pub(crate) fn forget_report() {
    Variables::mw_report_folder()[0].store(0, Ordering::Release);
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
        set_n_workers(7);
        assert_eq!(n_workers(), 7);
        drop(held);
        let held = claim([1.0; 3]).expect("it was given back");
        assert_eq!((held.shares(), n_workers()), (None, 0));
    }

    #[test]
    fn a_folder_is_read_as_a_tool_writes_it() {
        assert_eq!(asked_for_report(), None);
        let path = b"/a folder\0";
        for idx in (0..path.len()).rev() {
            Variables::mw_report_folder()[idx].store(path[idx], Ordering::Release);
        }
        assert_eq!(asked_for_report(), Some(PathBuf::from("/a folder")));
        forget_report();
        assert_eq!(asked_for_report(), None);
    }
}
