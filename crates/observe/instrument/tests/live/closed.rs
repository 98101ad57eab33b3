//! Threads that block signals, so that a trap would kill them.

use crate::arena::{Arena, quick};
use crate::child;
use instrument::{Refusal, guard, live};
use std::ffi::c_int;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Blocks every signal of the calling thread, bypassing the guards or through them.
fn block_all(is_guarded: bool) {
    // SAFETY: a set is a number of plain words.
    let mut all: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: the set can be written.
    unsafe { libc::sigfillset(&raw mut all) };
    let how = libc::SIG_SETMASK;
    let answer = if is_guarded {
        // SAFETY: the function of the C library, and a set.
        unsafe { guard::sigmask(libc::pthread_sigmask, how, &raw const all, null_mut()) }
    } else {
        // SAFETY: a set.
        unsafe { libc::pthread_sigmask(how, &raw const all, null_mut()) }
    };
    assert_eq!(answer, 0);
}

/// Runs `body` while another thread with all signals blocked calls function 0 repeatedly.
fn beside_blocked(is_guarded: bool, body: fn(&Arena, u32)) {
    child::start();
    let arena = Arena::new(&[quick(0), quick(1)]);
    let is_over = AtomicBool::new(false);
    let tid = AtomicU64::new(0);
    thread::scope(|scope| {
        let caller = thread::Builder::new().name("deaf".to_owned());
        let caller = caller.spawn_scoped(scope, || {
            block_all(is_guarded);
            tid.store(child::own_tid().into(), Ordering::Relaxed);
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(arena.call(0, [4, 0, 0]), 8);
            }
        });
        caller.expect("there is room for a thread");
        child::wait_until(|| tid.load(Ordering::Relaxed) != 0);
        body(&arena, u32::try_from(tid.load(Ordering::Relaxed)).expect("it is one"));
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(arena.apply().iter().all(Result::is_ok));
}

#[test]
fn a_thread_that_blocks_signals_is_named_and_lives() {
    child::run("closed::a_thread_that_blocks_signals_is_named_and_lives", || {
        beside_blocked(false, |arena, tid| {
            let outcomes = arena.apply();
            let signal = libc::SIGTRAP;
            let refusal = Refusal::SignalBlocked { tid, name: "deaf".to_owned(), signal };
            assert!(refusal.to_string().starts_with(&format!("thread {tid} (`deaf`)")));
            assert_eq!(outcomes, [Err(refusal.clone()), Err(refusal.clone())]);
            assert!(arena.is_original(0) && arena.is_original(1));
        });
    });
}

#[test]
fn no_trap_is_put_beside_a_sleeper_that_blocks_signals() {
    child::run("closed::no_trap_is_put_beside_a_sleeper_that_blocks_signals", || {
        child::start();
        let arena = Arena::new(&[quick(0)]);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                block_all(false);
                tell.send(child::own_tid()).expect("the test listens");
                held.recv()
            });
            let sleeper = told.recv().expect("the thread tells");
            let trap = arena.trap();
            assert!(matches!(trap, Err(Refusal::SignalBlocked { tid, .. }) if tid == sleeper));
            assert!(arena.is_original(0));
            drop(release);
        });
    });
}

#[test]
fn a_thread_behind_the_guards_blocks_all_but_ours() {
    child::run("closed::a_thread_behind_the_guards_blocks_all_but_ours", || {
        beside_blocked(true, |arena, tid| {
            let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status"));
            let status = status.expect("the thread lives");
            let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t"));
            let blocked = u64::from_str_radix(blocked.expect("there is a line"), 16).expect("hex");
            let usr1 = 1 << (libc::SIGUSR1 - 1);
            assert_ne!(blocked & usr1, 0);
            while live::redirect_counts().n_trapped < 5 {
                arena.check_change_and_back();
            }
        });
    });
}

static IN_HANDLER: AtomicBool = AtomicBool::new(false);
static LEAVE_HANDLER: AtomicBool = AtomicBool::new(false);

extern "C" fn stay(_: c_int) {
    IN_HANDLER.store(true, Ordering::Relaxed);
    child::wait_until(|| LEAVE_HANDLER.load(Ordering::Relaxed));
}

/// Checks that handlers set before the start, or after it through the guards, leave our signals unblocked.
fn check_handler(is_before: bool) {
    // SAFETY: an action is a number of plain words.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = stay as *const () as usize;
    // SAFETY: the set can be written.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    if is_before {
        // SAFETY: an action.
        unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, null_mut()) };
    }
    child::start();
    if !is_before {
        // SAFETY: the function of the C library, and an action.
        unsafe { guard::sigaction(libc::sigaction, libc::SIGUSR1, &raw const action, null_mut()) };
    }
    let arena = Arena::new(&[quick(0)]);
    thread::scope(|scope| {
        // SAFETY: a signal to the calling thread, which has a handler.
        scope.spawn(|| unsafe { libc::raise(libc::SIGUSR1) });
        child::wait_until(|| IN_HANDLER.load(Ordering::Relaxed));
        assert_eq!(arena.apply(), [Ok(())]);
        LEAVE_HANDLER.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_handler_set_before_leaves_our_signals_open() {
    child::run("closed::a_handler_set_before_leaves_our_signals_open", || check_handler(true));
}

#[test]
fn a_handler_behind_the_guards_leaves_our_signals_open() {
    child::run("closed::a_handler_behind_the_guards_leaves_our_signals_open", || {
        check_handler(false);
    });
}
