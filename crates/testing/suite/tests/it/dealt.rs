//! Tests of programs written with the master/worker library, under the probe like any other program.

use suite::{Library, watch};

/// Runs the test program of `master-worker`, which Cargo builds with that crate.
fn check(library: Library, case: &str) {
    let job = library.launch(3, &launch::example("ranks")).arg(case);
    let bare = job.run();
    let watched = watch(&job);
    let both = (watched.ended.code, &watched.ended.stdout);
    assert_eq!(both, (0, &bare.stdout), "{library:?}: {}", watched.ended.stderr);
    let summary = &watched.summary;
    assert_eq!(summary.tool.warnings, Vec::<String>::new(), "{library:?}");
    assert_eq!((summary.n_ranks, summary.worlds.len()), (3, 1), "{library:?}");
    assert_eq!(summary.operations["MPI_Finalize"].calls, 3, "{library:?}");
    // Each worker sends its results to the master.
    let to_master = summary.traffic.iter().filter(|pair| pair.to == 0);
    assert!(to_master.count() == 2, "{library:?}: {:?}", summary.traffic);
}

#[test]
fn under_open_mpi() {
    check(Library::OpenMpi4, "digest");
}

#[test]
fn under_mpich_with_two_runs() {
    check(Library::Mpich4, "twice");
}
