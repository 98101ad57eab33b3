//! Lever `threads`: OpenMP threads that wait sleep, and use cores of ranks that wait in MPI.
//!
//! libgomp fixes how long waiting threads spin when it is loaded, but sleeps soon once it has more threads than its process may use
//! cores. So a thread of ours starts a team of its own, of threads that only sleep, and ends it when the lever is set back. LLVM's
//! library is told by the thread that meets the next region.
//!
//! # Invariants
//! - No thread of the program is stopped, and no team of the program changes its size.
//! - Threads of which the user has said how they wait are left alone.
//!
//! # Not here
//! Which cores a rank borrows: `lending`.

use super::{gomp, lending};
use crate::thread;
use ring::futex;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Odd while the lever is on; grows whenever it is set.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Time between two looks at threads and ranks when no cores can be borrowed.
const REST: Duration = Duration::from_secs(1);

/// Longest wait for borrowed cores to be given back.
const LONGEST_END: Duration = Duration::from_secs(1);

/// Variables by which a user says how idle threads wait, with values that leave it open.
const POLICIES: [(&str, &[&str]); 4] = [
    ("OMP_WAIT_POLICY", &["", "passive"]),
    ("GOMP_SPINCOUNT", &[""]),
    ("KMP_BLOCKTIME", &["", "0"]),
    ("KMP_LIBRARY", &["", "throughput"]),
];

/// Size of the thread's stack, most of which is never touched.
const STACK_BYTES: usize = 512 * 1024;

/// Threads that keep the lever on.
static N_FOLLOWING: AtomicU32 = AtomicU32::new(0);

/// Returns whether the lever is on.
pub(super) fn is_on() -> bool {
    is_odd(GENERATION.load(Ordering::Relaxed))
}

fn is_odd(generation: u32) -> bool {
    !generation.is_multiple_of(2)
}

/// Checks that the lever can be set.
///
/// # Errors
/// The reason why it does not apply to this process.
pub(crate) fn applies() -> Result<(), String> {
    if !super::is_present() {
        return Err("it has no OpenMP threads that can be reached".to_owned());
    }
    let is_told = |(name, open): &&(&str, &[&str])| {
        std::env::var(name).is_ok_and(|value| {
            let value = value.trim().to_ascii_lowercase();
            !open.contains(&value.as_str())
        })
    };
    if let Some((name, _)) = POLICIES.iter().find(is_told) {
        return Err(format!("`{name}` says how its idle threads wait"));
    }
    let n_by_default = gomp::n_threads_by_default();
    if lending::n_threads_of_own_teams().max(n_by_default) <= 1 {
        return Err("none of its regions had more than one thread yet".to_owned());
    }
    let (n_threads, n_cores) = lending::threads_and_cores(n_by_default);
    if n_threads <= n_cores {
        return Err(format!("the node has {n_cores} cores for its {n_threads} threads"));
    }
    Ok(())
}

/// Sentence about what is not done when the lever is set; else empty.
pub(crate) fn note(is_on: bool) -> String {
    if is_on { lending::note() } else { String::new() }
}

/// Does something while no cores are borrowed.
///
/// # Errors
/// The error of what is done, or the system's error number when the lever cannot be set again.
pub(crate) fn without_lending(act: impl FnOnce() -> Result<(), c_int>) -> Result<(), c_int> {
    let was_on = is_on();
    set(false)?;
    let done = act();
    set(was_on).and(done)
}

/// Sets the lever.
///
/// # Errors
/// The system's error number when no thread can be started; the lever is off then.
pub(crate) fn set(is_on: bool) -> Result<(), c_int> {
    let before = GENERATION.load(Ordering::Relaxed);
    if is_odd(before) == is_on {
        return Ok(());
    }
    let generation = before.wrapping_add(1);
    GENERATION.store(generation, Ordering::Release);
    futex::wake_all(&GENERATION);
    if !is_on {
        wait_for_end();
        return Ok(());
    }
    N_FOLLOWING.fetch_add(1, Ordering::Relaxed);
    // The signal mask is that of the control thread, which starts it: signals go to the program's threads.
    let builder = std::thread::Builder::new().name("sintonia".to_owned()).stack_size(STACK_BYTES);
    let started = builder.spawn(move || follow(generation));
    started.map(drop).map_err(|error| {
        GENERATION.store(generation.wrapping_add(1), Ordering::Release);
        N_FOLLOWING.fetch_sub(1, Ordering::Relaxed);
        error.raw_os_error().unwrap_or(libc::EAGAIN)
    })
}

/// Keeps the lever on. When the thread that runs this ends, its team ends.
fn follow(generation: u32) {
    thread::mark_control_thread();
    gomp::add_sleepers();
    let mut lending = lending::Lending::default();
    while GENERATION.load(Ordering::Acquire) == generation {
        let interval = lending.step().unwrap_or(REST);
        futex::wait(&GENERATION, generation, interval);
    }
    lending.end();
    N_FOLLOWING.fetch_sub(1, Ordering::Release);
    futex::wake_all(&N_FOLLOWING);
}

/// Waits until borrowed cores are given back.
fn wait_for_end() {
    let deadline = Instant::now() + LONGEST_END;
    loop {
        let n = N_FOLLOWING.load(Ordering::Acquire);
        let left = deadline.saturating_duration_since(Instant::now());
        if n == 0 || left.is_zero() {
            return;
        }
        futex::wait(&N_FOLLOWING, n, left);
    }
}
