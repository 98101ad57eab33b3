//! Changes in a process with one thread.

use crate::arena::{Arena, quick};
use crate::child;
use instrument::Refusal;
use instrument::live;

#[test]
fn a_change_counts_and_leaves_no_trace() {
    child::run("alone::a_change_counts_and_leaves_no_trace", || child::alone(change_many));
}

fn change_many() {
    assert_eq!(child::n_threads(), 1);
    child::start();
    let functions: Vec<_> = (0..5_000).map(quick).collect();
    let arena = Arena::new(&functions);
    assert!(arena.apply().iter().all(Result::is_ok));
    for idx in 0..5_000 {
        assert!(!arena.is_original(idx));
        assert_eq!(arena.call(idx, [20, 0, 0]), 40 + idx);
        assert_eq!(arena.n_counted(idx), 1);
    }
    assert!(arena.revert().iter().all(Result::is_ok));
    for idx in 0..5_000 {
        assert!(arena.is_original(idx));
        assert_eq!(arena.call(idx, [20, 0, 0]), 40 + idx);
        assert_eq!(arena.n_counted(idx), 1);
    }
}

#[test]
fn what_is_not_as_expected_stays() {
    child::run("alone::what_is_not_as_expected_stays", || {
        child::start();
        let arena = Arena::new(&[quick(0), quick(1)]);
        let changed = |idx: usize| Err(Refusal::Changed(arena.patches[idx].address));
        assert_eq!(arena.revert(), [changed(0), changed(1)]);
        let twice = [arena.patches[0].clone(), arena.patches[0].clone(), arena.patches[1].clone()];
        // SAFETY: the stub does what the function does.
        let outcomes = unsafe { live::apply(&twice) };
        assert_eq!(outcomes, [Ok(()), changed(0), Ok(())]);
        assert_eq!(arena.apply(), [changed(0), changed(1)]);
        assert_eq!(arena.revert(), [Ok(()), Ok(())]);
        assert!(arena.is_original(0) && arena.is_original(1));
    });
}

#[test]
fn nothing_changes_before_the_start() {
    child::run("alone::nothing_changes_before_the_start", || {
        let arena = Arena::new(&[quick(0)]);
        assert_eq!(arena.apply(), [Err(Refusal::NotStarted)]);
        assert!(arena.is_original(0));
    });
}

#[test]
fn a_trap_that_stays_leads_to_the_stub() {
    child::run("alone::a_trap_that_stays_leads_to_the_stub", || {
        child::start();
        let arena = Arena::new(&[quick(7)]);
        let trap = arena.trap().expect("nobody is in the way");
        for n_before in 0..100 {
            assert_eq!(live::redirect_counts().n_trapped, n_before);
            assert_eq!(arena.call(0, [1, 0, 0]), 9);
        }
        assert_eq!(arena.n_counted(0), 100);
        // SAFETY: the stub does what the function does.
        assert_eq!(unsafe { live::revert(&[trap]) }, [Ok(())]);
        assert!(arena.is_original(0));
    });
}
