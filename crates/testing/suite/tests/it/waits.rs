//! Tests that ranks which wait give their core away when they are told to, in every kind of call, and that nothing else
//! changes.

use suite::library::Library;
use suite::{TestProgram, watch};

/// Kinds of calls in which `waits.c` waits.
const N_KINDS: usize = 12;

/// Runs `waits.c` in a mode; returns what it prints, and in how many kinds of calls it gave its core away.
#[track_caller]
fn wait(library: Library, mode: &str) -> (String, usize) {
    let job = library.launch(2, &TestProgram::c("waits").built(library));
    let ended = watch(&job.variable("SINTONIA_WAITING", mode)).ended;
    assert_eq!(ended.code, 0, "{library:?} {mode}: {}", ended.stderr);
    (ended.stdout, ended.stderr.matches("gave its core away").count())
}

#[test]
fn a_rank_that_waits_naps_and_computes_the_same() {
    for library in Library::ALL {
        let (polled, n_polled) = wait(library, "off");
        let (napped, n_napped) = wait(library, "nap");
        assert!(!polled.is_empty());
        assert_eq!(polled, napped, "{library:?}");
        // A rank that other processes keep from its core does not wait for long.
        assert!(N_KINDS / 2 < n_napped, "{library:?} {n_napped}");
        // The settings of tests let MPICH 5 sleep by itself.
        assert!(n_polled < N_KINDS / 4 || library == Library::Mpich5, "{library:?} {n_polled}");
    }
}
