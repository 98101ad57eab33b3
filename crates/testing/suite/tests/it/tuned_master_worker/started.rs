//! Tests of workers that are started while the program runs: they are separate worlds, which are not tuned, and nothing
//! breaks.

use launch::place::example;
use suite::library::Library;
use suite::tool::WatchFolders;

/// Arguments with which the program grows from 1 worker to 3 and shrinks again.
const SCRIPT: [&str; 6] = ["20", "200", "set=2:3", "set=7:1", "--max-workers", "4"];

fn digest(said: &str) -> Option<&str> {
    said.lines().find(|line| line.starts_with("digest"))
}

#[track_caller]
fn check(library: Library, tunlet: &str) {
    let folders = WatchFolders::new();
    let job = library.launch(2, &example("elastic")).args(SCRIPT);
    let bare = job.run();
    let ended = folders.job(&job, &["--tunlet", tunlet]).run();
    assert_eq!((bare.code, ended.code), (0, 0), "{}", ended.text());
    assert!(digest(&bare.stdout).is_some());
    assert_eq!(digest(&bare.stdout), digest(&ended.stdout), "{}", ended.text());
    let watched = folders.finish(ended);
    let tuning = watched.summary.tuning.expect("it was tuned");
    assert_eq!((tuning.iterations.len(), tuning.warnings), (20, Vec::new()));
}

#[test]
fn with_open_mpi() {
    check(Library::OpenMpi5, "worker-count");
}

#[test]
fn with_mpich() {
    check(Library::Mpich5, "worker-count");
}
