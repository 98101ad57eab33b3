//! Threads that call functions while these are changed.

use crate::arena::{Arena, long, quick};
use crate::child;
use instrument::live;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const N_FUNCTIONS: usize = 64;
const N_CHANGES: usize = 6_000;

#[test]
fn one_thread_computes_what_it_did() {
    child::run("stress::one_thread_computes_what_it_did", || hammer(1, N_CHANGES));
}

#[test]
fn two_threads_compute_what_they_did() {
    child::run("stress::two_threads_compute_what_they_did", || hammer(2, N_CHANGES));
}

#[test]
fn four_threads_compute_what_they_did() {
    child::run("stress::four_threads_compute_what_they_did", || hammer(4, N_CHANGES));
}

/// Changes functions several thousand times, and until threads have hit half-changed code.
pub(crate) fn hammer(n_threads: usize, n_changes: usize) {
    child::start();
    let arena = Arena::new(&(0..N_FUNCTIONS).map(quick).collect::<Vec<_>>());
    let n_calls = AtomicU64::new(0);
    let work = || {
        call_all(&arena);
        n_calls.fetch_add(1, Ordering::Relaxed);
    };
    child::beside(n_threads, work, || {
        child::wait_until(|| 0 < n_calls.load(Ordering::Relaxed));
        change_often(&arena, n_changes);
    });
    assert!((0..N_FUNCTIONS).all(|idx| arena.is_original(idx)));
    assert!((0..N_FUNCTIONS).map(|idx| arena.n_counted(idx)).sum::<u64>() > 0);
}

fn call_all(arena: &Arena) {
    for idx in 0..N_FUNCTIONS {
        assert_eq!(arena.call(idx, [idx * 3, 0, 0]), idx * 7);
    }
}

fn change_often(arena: &Arena, n_wanted: usize) {
    let mut n_changes = 0;
    let mut round = 0;
    while n_changes < n_wanted || live::redirect_counts().n_trapped == 0 {
        // Batches of all sizes: neighbors and single functions.
        let start = round * 7 % N_FUNCTIONS;
        let end = N_FUNCTIONS.min(start + 1 + round % 32);
        let patches = &arena.patches[start..end];
        // SAFETY: the arena's stubs do what its functions do.
        assert!(unsafe { live::apply(patches) }.iter().all(Result::is_ok));
        // SAFETY: as above.
        assert!(unsafe { live::revert(patches) }.iter().all(Result::is_ok));
        n_changes += 2 * patches.len();
        round += 1;
    }
}

#[test]
fn a_thread_between_displaced_instructions_is_moved() {
    child::run("stress::a_thread_between_displaced_instructions_is_moved", || {
        child::start();
        let arena = Arena::new(&[long()]);
        let bytes = vec![7_u8; 2 << 20];
        let start = bytes.as_ptr().expose_provenance();
        let work = || assert_eq!(arena.call(0, [0, start, bytes.len()]), start + bytes.len());
        child::beside(1, work, || {
            while live::redirect_counts().n_moved < 5 {
                arena.check_change_and_back();
            }
        });
        assert!(arena.is_original(0));
    });
}

#[test]
fn threads_come_and_go_meanwhile() {
    child::run("stress::threads_come_and_go_meanwhile", || {
        child::start();
        let arena = Arena::new(&(0..N_FUNCTIONS).map(quick).collect::<Vec<_>>());
        let work = || {
            thread::scope(|scope| {
                scope.spawn(|| call_all(&arena));
                scope.spawn(|| call_all(&arena));
            });
        };
        child::beside(1, work, || change_often(&arena, N_CHANGES));
        assert!((0..N_FUNCTIONS).all(|idx| arena.is_original(idx)));
    });
}

#[test]
fn a_trap_that_stays_holds_under_load() {
    child::run("stress::a_trap_that_stays_holds_under_load", || {
        child::start();
        let arena = Arena::new(&[quick(3)]);
        let work = || assert_eq!(arena.call(0, [1, 0, 0]), 5);
        child::beside(2, work, || {
            for n_counted in 1..=200 {
                let trap = arena.trap().expect("signals are open");
                child::wait_until(|| n_counted <= arena.n_counted(0));
                // SAFETY: the stub does what the function does.
                assert_eq!(unsafe { live::revert(&[trap]) }, [Ok(())]);
            }
        });
        assert!(arena.is_original(0));
    });
}
