//! Tests of attaching to a running program: it reports its work so far, and is tuned.

use super::N_RANKS;
use launch::StartedJob;
use launch::place::example;
use run_record::Summary;
use suite::library::Library;
use suite::tool::WatchFolders;

/// More frames than the test lasts.
const N_FRAMES: &str = "1000000";

/// Most attaches until a decision is carried out: busy machines need longer.
const N_TIMES: usize = 6;

#[track_caller]
fn check(library: Library) {
    let job = library.launch(N_RANKS, &example("mandelbrot"));
    let running = job.args(["200", N_FRAMES, "--policy", "static"]).start();
    running.wait_for_ranks("/mandelbrot", N_RANKS);
    assert!((0..N_TIMES).any(|_| 0 < n_applied(&running)), "nothing was changed");
    running.terminate(running.pid());
    assert_ne!(running.finish().code, 0);
}

/// Attaches for some seconds; returns the number of decisions that were carried out.
#[track_caller]
fn n_applied(running: &StartedJob) -> usize {
    let folders = WatchFolders::new();
    let ended = folders.attach(running.pid(), &["--tunlet", "factoring", "--for", "3"]).run();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("sintonia: description of `master-worker` in `"));
    let text = std::fs::read_to_string(folders.record().join("summary.json")).expect("a record");
    let summary: Summary = serde_json::from_str(&text).expect("a summary");
    let dealt = summary.dealt.expect("the program told what became of its work");
    assert!(0 < dealt.sums.n_iterations && dealt.policy == "static", "{dealt:?}");
    let tuning = summary.tuning.expect("it was tuned");
    tuning.decisions.iter().filter(|decision| decision.applied_s.is_some()).count()
}

#[test]
fn under_open_mpi() {
    check(Library::OpenMpi4);
}

#[test]
fn under_mpich() {
    check(Library::Mpich4);
}
