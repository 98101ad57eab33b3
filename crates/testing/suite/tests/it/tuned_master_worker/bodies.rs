//! Tests of a program with bodies: they end where they end without `sintonia`, whatever tunes the program.

use super::{stripped, summary, watched};
use launch::place::built;
use run_record::tuning::DecisionSummary;
use std::path::Path;
use suite::library::Library;
use suite::tool::{WatchFolders, Watched};

const SMALL: [&str; 2] = ["240", "60"];

#[track_caller]
fn bodies(library: Library, [n_bodies, n_steps]: [&str; 2], tunlets: &[&str]) -> Watched {
    let folders = WatchFolders::new();
    let program = stripped(&built("nbody"), folders.folder());
    let job = |frames: &Path| {
        let job = library.launch(4, &program).args(["--bodies", n_bodies, "--steps", n_steps]);
        job.args(["--policy", "static", "--output"]).arg(frames)
    };
    let watched = watched(folders, job, tunlets, ("master-worker", &program));
    let tuning = summary(&watched);
    assert_eq!(tuning.warnings, Vec::<String>::new());
    assert_eq!(tuning.iterations.len().to_string(), n_steps);
    let dealt = watched.summary.dealt.as_ref().expect("the program left its own numbers");
    assert_eq!(dealt.sums.n_iterations.to_string(), n_steps);
    watched
}

#[test]
fn the_number_of_workers_and_the_factors_are_tuned_together() {
    bodies(Library::OpenMpi4, SMALL, &["worker-count", "factoring"]);
}

/// Messages cost more than the computation: fewer workers are faster, unless the machine is so busy that times mean
/// nothing and the tunlet decides nothing.
#[test]
fn the_number_of_workers_is_set_while_it_runs() {
    for library in Library::SYSTEM {
        let mut runs = (0..5).map(|_| bodies(library, ["24", "800"], &["worker-count"]));
        let watched = runs.find(|watched| decision(watched).is_some()).expect("a decision");
        assert_eq!(decision(&watched).map(|one| one.n_ranks), Some(1), "{library:?}");
        let dealt = watched.summary.dealt.as_ref().expect("the program left its own numbers");
        let told = dealt.changes.iter().any(|change| change.what.starts_with("workers"));
        assert!(told, "{library:?}: {dealt:#?}");
    }
}

/// First decision that set the number of workers.
fn decision(watched: &Watched) -> Option<&DecisionSummary> {
    let is_it = |one: &&DecisionSummary| one.point == "NW" && one.applied_s.is_some();
    summary(watched).decisions.iter().find(is_it)
}

#[test]
fn all_that_hear_of_it_may_listen() {
    bodies(Library::Mpich4, SMALL, &["worker-count", "imbalance"]);
}

#[test]
fn values_are_tried() {
    bodies(Library::Mpich4, SMALL, &["search"]);
}
