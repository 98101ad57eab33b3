//! Threads in system calls: they are not woken, and no call ends early.

use crate::arena::{Arena, nap, quick};
use crate::child;
use instrument::live;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Call that sleeps until the other end of a pipe is closed, and its expected result.
type Sleep = (fn(i32) -> isize, isize);

const SLEEPS: [Sleep; 3] = [(read, 0), (poll, 1), (sleep_long, 0)];

fn read(end: i32) -> isize {
    let mut byte = 0_u8;
    // SAFETY: room for one byte.
    unsafe { libc::read(end, (&raw mut byte).cast(), 1) }
}

fn poll(end: i32) -> isize {
    let mut awaited = libc::pollfd { fd: end, events: libc::POLLIN, revents: 0 };
    // SAFETY: one element.
    unsafe { libc::poll(&raw mut awaited, 1, -1) as isize }
}

fn sleep_long(_: i32) -> isize {
    let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    // SAFETY: a time to read, and no rest wanted.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) as isize }
}

#[test]
fn a_sleeping_thread_sleeps_on() {
    child::run("sleepers::a_sleeping_thread_sleeps_on", || {
        child::start();
        let arena = Arena::new(&[quick(0), quick(1)]);
        let (out, into) = io::pipe().expect("there are free descriptors");
        let end = std::os::fd::AsRawFd::as_raw_fd(&out);
        thread::scope(|scope| {
            let sleepers = SLEEPS.map(|(call, expected)| {
                let tid = std::sync::Arc::new(AtomicU32::new(0));
                let own = tid.clone();
                let thread = scope.spawn(move || {
                    own.store(child::own_tid(), Ordering::Relaxed);
                    assert_eq!(call(end), expected, "{}", io::Error::last_os_error());
                });
                (tid, thread)
            });
            for (tid, thread) in &sleepers {
                let is_asleep = || is_asleep(tid.load(Ordering::Relaxed));
                child::wait_until(|| is_asleep() || thread.is_finished());
            }
            for _ in 0..100 {
                arena.check_change_and_back();
            }
            drop(into);
        });
    });
}

fn is_asleep(tid: u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall"));
    line.is_ok_and(|line| line.starts_with(|first: char| first.is_ascii_digit()))
}

/// Threads that fall asleep just when they are asked.
#[test]
fn a_call_that_the_question_ended_goes_on() {
    child::run("sleepers::a_call_that_the_question_ended_goes_on", || {
        child::start();
        let arena = Arena::new(&[quick(0), nap()]);
        let n_naps = AtomicU64::new(0);
        let time = libc::timespec { tv_sec: 0, tv_nsec: 20_000 };
        let time = (&raw const time).expose_provenance();
        let work = || {
            assert_eq!(arena.call(1, [time, 0, 0]), 0);
            n_naps.fetch_add(1, Ordering::Relaxed);
        };
        child::beside(4, work, || {
            let mut n_rounds = 0;
            while n_rounds < 500 || n_naps.load(Ordering::Relaxed) < 500 {
                arena.check_change_and_back();
                n_rounds += 1;
            }
        });
    });
}

/// The question is sent by the test itself, at chosen moments.
#[test]
fn a_call_is_not_cut_short() {
    child::run("sleepers::a_call_is_not_cut_short", || {
        child::start();
        let arena = Arena::new(&[nap()]);
        let tid = AtomicU32::new(0);
        let time = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let time = (&raw const time).expose_provenance();
        let work = || {
            tid.store(child::own_tid(), Ordering::Relaxed);
            let before = Instant::now();
            assert_eq!(arena.call(0, [time, 0, 0]), 0);
            assert!(Duration::from_millis(20) <= before.elapsed());
        };
        child::beside(1, work, || {
            while live::redirect_counts().n_restarted < 3 {
                child::wait_until(|| is_asleep(tid.load(Ordering::Relaxed)));
                ask(tid.load(Ordering::Relaxed));
            }
        });
    });
}

/// Sends the same question as a pass sends to a running thread.
fn ask(tid: u32) {
    let signal = (1..=64).find(|signal| *signal != libc::SIGTRAP && live::is_ours(*signal));
    let signal = signal.expect("there is one");
    let mut request = [0_i32; 32];
    (request[0], request[2]) = (signal, -0x51);
    let process = std::process::id();
    // SAFETY: as large as the kernel reads.
    let answer = unsafe {
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, tid, signal, request.as_ptr())
    };
    assert_eq!(answer, 0);
}
