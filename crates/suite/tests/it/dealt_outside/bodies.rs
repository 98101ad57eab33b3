//! A program that does something: the bodies are where they are without us, whatever tunes them.

use super::{stripped, summary, watched};
use launch::place::profile;
use std::path::Path;
use suite::library::Library;
use suite::tool::{Scene, Watched};

#[track_caller]
fn bodies(library: Library, tunlets: &[&str]) -> Watched {
    let scene = Scene::new();
    let program = profile().join("nbody");
    assert!(program.exists(), "there is no `nbody`; run `cargo build --package nbody`");
    let program = stripped(&program, scene.folder());
    let job = |frames: &Path| {
        let job = library.launch(4, &program).args(["--bodies", "240", "--steps", "60"]);
        job.args(["--policy", "static", "--output"]).arg(frames)
    };
    let watched = watched(scene, job, tunlets, ("master-worker", &program));
    let tuning = summary(&watched);
    assert_eq!(tuning.warnings, Vec::<String>::new());
    assert_eq!(tuning.iterations.len(), 60);
    let dealt = watched.summary.dealt.as_ref().expect("the program left its own numbers");
    assert_eq!(dealt.sums.n_iterations, 60);
    watched
}

#[test]
fn the_number_of_workers_and_the_factors_are_tuned_together() {
    bodies(Library::OpenMpi4, &["worker-count", "factoring"]);
}

#[test]
fn all_that_hear_of_it_may_listen() {
    bodies(Library::Mpich4, &["worker-count", "imbalance"]);
}

#[test]
fn values_are_tried() {
    bodies(Library::Mpich4, &["search"]);
}
