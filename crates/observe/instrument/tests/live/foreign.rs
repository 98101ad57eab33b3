//! Traps of the program itself.

use crate::arena::{Arena, quick};
use crate::child;
use instrument::{guard, live};
use libc::{c_int, c_void, siginfo_t};
use std::arch::asm;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

static N_PLAIN: AtomicU64 = AtomicU64::new(0);
static N_WITH_INFO: AtomicU64 = AtomicU64::new(0);
static LAST_CODE: AtomicI32 = AtomicI32::new(0);

extern "C" fn plain(signal: c_int) {
    assert_eq!(signal, libc::SIGTRAP);
    N_PLAIN.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn with_info(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    assert_eq!(signal, libc::SIGTRAP);
    assert!(!context.is_null());
    // SAFETY: the kernel's.
    LAST_CODE.store(unsafe { (*info).si_code }, Ordering::Relaxed);
    N_WITH_INFO.fetch_add(1, Ordering::Relaxed);
}

fn action(handler: usize, flags: c_int) -> libc::sigaction {
    // SAFETY: an action is a number of plain words.
    let mut action: libc::sigaction = unsafe { zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    action
}

/// Sets an action through the guards; returns the previous one.
fn set(new: &libc::sigaction) -> libc::sigaction {
    let mut old = action(1234, 1234);
    // SAFETY: the function of the C library, and actions.
    let answer = unsafe { guard::sigaction(libc::sigaction, libc::SIGTRAP, new, &raw mut old) };
    assert_eq!(answer, 0);
    old
}

fn trap() {
    // SAFETY: a trap that changes nothing.
    unsafe { asm!("int3") };
}

fn counts() -> (u64, u64) {
    (N_PLAIN.load(Ordering::Relaxed), N_WITH_INFO.load(Ordering::Relaxed))
}

#[test]
fn a_handler_of_the_program_gets_its_traps() {
    child::run("foreign::a_handler_of_the_program_gets_its_traps", || {
        let own = action(plain as *const () as usize, 0);
        // SAFETY: an action.
        unsafe { libc::sigaction(libc::SIGTRAP, &raw const own, null_mut()) };
        child::start();
        assert!(live::warning().is_some_and(|text| text.contains("`SIGTRAP`")));
        trap();
        assert_eq!(counts(), (1, 0));

        let later = action(with_info as *const () as usize, libc::SA_SIGINFO);
        assert_eq!(set(&later).sa_sigaction, own.sa_sigaction);
        trap();
        assert_eq!(counts(), (1, 1));
        assert_eq!(LAST_CODE.load(Ordering::Relaxed), 0x80);

        let arena = Arena::new(&[quick(0)]);
        assert!(arena.trap().is_ok());
        assert_eq!(arena.call(0, [2, 0, 0]), 4);
        assert_eq!(counts(), (1, 1));
        assert_eq!(arena.n_counted(0), 1);
        assert_eq!(set(&own).sa_flags, libc::SA_SIGINFO);
    });
}

#[test]
fn a_handler_for_once_serves_once() {
    child::run("foreign::a_handler_for_once_serves_once", || {
        child::start();
        assert_eq!(live::warning(), None);
        set(&action(plain as *const () as usize, libc::SA_RESETHAND));
        trap();
        assert_eq!(counts(), (1, 0));
        assert_eq!(set(&action(libc::SIG_IGN, 0)).sa_sigaction, libc::SIG_DFL);
        // SAFETY: ignored.
        unsafe { libc::raise(libc::SIGTRAP) };
        assert_eq!(counts(), (1, 0));
    });
}

#[test]
fn asking_for_the_action_changes_nothing() {
    child::run("foreign::asking_for_the_action_changes_nothing", || {
        child::start();
        set(&action(plain as *const () as usize, 0));
        let mut old = action(0, 0);
        // SAFETY: the function of the C library, and room for an action.
        unsafe { guard::sigaction(libc::sigaction, libc::SIGTRAP, null(), &raw mut old) };
        assert_eq!(old.sa_sigaction, plain as *const () as usize);
        trap();
        assert_eq!(counts(), (1, 0));
    });
}

#[test]
fn a_trap_that_nobody_wants_is_deadly() {
    child::run_to_signal("foreign::a_trap_that_nobody_wants_is_deadly", libc::SIGTRAP, || {
        child::start();
        trap();
    });
}

#[test]
fn a_trap_cannot_be_ignored() {
    child::run_to_signal("foreign::a_trap_cannot_be_ignored", libc::SIGTRAP, || {
        child::start();
        set(&action(libc::SIG_IGN, 0));
        trap();
    });
}

#[test]
fn a_handler_set_around_the_guards_is_found() {
    child::run("foreign::a_handler_set_around_the_guards_is_found", || {
        child::start();
        let own = action(plain as *const () as usize, 0);
        // SAFETY: an action.
        unsafe { libc::sigaction(libc::SIGTRAP, &raw const own, null_mut()) };
        let arena = Arena::new(&[quick(0)]);
        child::beside_sleeper(|| assert!(arena.trap().is_ok()));
        assert_eq!(arena.call(0, [2, 0, 0]), 4);
        trap();
        assert_eq!(counts(), (1, 0));
    });
}
