//! Ranks that hang, and processes that never come: deadlines end the wait.

use crate::resizing::{digest, record, rod};
use launch::Library;
use resize_api::ResizeOutcome;

/// Checks that the program continues with its old size to its end, which the launcher sees.
#[track_caller]
fn check(library: Library, fault: &str) {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--until", "3000", "--pause-us", "2000", "--schedule", "10:4", "--deadline", "2"];
    let job = rod(library, 2, folder.path(), &words).variable("SINTONIA_MALLEABLE_FAULT", fault);
    let ended = job.run();
    assert!(digest(&ended.stdout).contains("after 3000 iterations"), "{fault}: {ended:?}");
    let resizes = record(folder.path());
    assert_eq!(resizes.len(), 1, "{resizes:?}");
    assert_eq!(resizes[0].outcome, ResizeOutcome::TimedOut, "{resizes:?}");
    // The code is that of a library that does not return, or of a killed process.
    assert_ne!(ended.code, 0, "{fault}: {ended:?}");
}

#[test]
fn a_program_goes_on_when_a_rank_hangs_while_it_starts_others() {
    for library in Library::DYNAMIC {
        check(library, "start:1:hang");
    }
}

#[test]
fn a_launcher_ends_when_started_processes_never_come() {
    check(Library::OpenMpi5, "start:0:sleep");
}

#[test]
fn a_library_that_never_returns_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--until", "3000", "--pause-us", "2000", "--schedule", "10:4", "--deadline", "1"];
    let job = rod(Library::Mpich5, 2, folder.path(), &words).args(["--spawn", "tree"]);
    let ended = job.variable("SINTONIA_MALLEABLE_FAULT", "start:0:sleep").run();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("the MPI library does not return"), "{ended:?}");
}

/// The other ranks wait for it in the next iteration, and a drop does not wait.
#[test]
fn a_launcher_ends_when_a_rank_panics() {
    for library in Library::DYNAMIC {
        // Before a growth, during it, and after it.
        for (schedule, pause_us) in [("900:4", "0"), ("10:4", "0"), ("10:4", "500")] {
            let folder = tempfile::tempdir().unwrap();
            let words = ["--until", "1000", "--panic-at", "500", "--foreground"];
            let times = ["--schedule", schedule, "--pause-us", pause_us];
            let ended = rod(library, 2, folder.path(), &words).args(times).run();
            assert_ne!(ended.code, 0, "{schedule}: {ended:?}");
            assert!(ended.text().contains("the last rank gives up"), "{schedule}: {ended:?}");
        }
    }
}
