//! Tests that programs of the master/worker library are tuned from outside without configuration: no description is
//! named, and their symbols are stripped.

mod attached;
mod bodies;
mod in_c;
mod started;

use launch::place::example;
use run_record::tuning::TuningSummary;
use std::path::{Path, PathBuf};
use std::process::Command;
use suite::Job;
use suite::library::Library;
use suite::tool::{WatchFolders, Watched};

const N_RANKS: usize = 4;
const N_FRAMES: &str = "40";

/// Draws the frames in equal parts for the workers, some of which have more to do; the result is the same without
/// `sintonia`.
fn drawing(library: Library, program: &Path, picture: &Path) -> Job {
    let picture = picture.to_str().expect("text");
    library.launch(N_RANKS, program).args(["150", N_FRAMES, picture, "--policy", "static"])
}

/// A copy of the program without its symbols.
fn stripped(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("stripped");
    std::fs::copy(program, &copy).expect("the folder is ours");
    let strip = Command::new("strip").arg("--strip-all").arg(&copy).status();
    assert!(strip.expect("`strip` comes with compilers").success());
    copy
}

/// Runs the jobs that `job` makes for a file, with tunlets, and checks that the file is the one written without;
/// `carrier` has the description.
#[track_caller]
fn watched(
    folders: WatchFolders,
    job: impl Fn(&Path) -> Job,
    tunlets: &[&str],
    (program, carrier): (&str, &Path),
) -> Watched {
    let (alone, watched) =
        (folders.folder().join("alone.xyz"), folders.folder().join("watched.xyz"));
    let ended = job(&alone).run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    let named: Vec<&str> = tunlets.iter().flat_map(|name| ["--tunlet", name]).collect();
    let ended = folders.job(&job(&watched), &named).run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    let origin = format!("sintonia: description of `{program}` in `{}`\n", carrier.display());
    assert!(ended.stderr.contains(&origin), "{}", ended.stderr);
    let [alone, watched] = [alone, watched].map(|path| std::fs::read(path).expect("written"));
    assert!(alone == watched, "the results differ");
    folders.finish(ended)
}

#[track_caller]
fn tuned(library: Library, tunlets: &[&str]) -> Watched {
    let folders = WatchFolders::new();
    let program = stripped(&example("mandelbrot"), folders.folder());
    let job = |picture: &Path| drawing(library, &program, picture);
    watched(folders, job, tunlets, ("master-worker", &program))
}

fn summary(watched: &Watched) -> &TuningSummary {
    watched.summary.tuning.as_ref().expect("it was tuned")
}

/// Checks that a decision about one of these points was applied, on the master alone, and that the program recorded it.
#[track_caller]
fn check_applied(watched: &Watched, points: &[&str]) {
    let tuning = summary(watched);
    let applied = tuning.decisions.iter().filter(|decision| decision.applied_s.is_some());
    let mut of_points = applied.filter(|decision| points.contains(&decision.point.as_str()));
    let found = of_points.find(|decision| decision.n_ranks == 1);
    assert!(found.is_some(), "{:#?}", tuning.decisions);
    assert_eq!(tuning.warnings, Vec::<String>::new());
    let dealt = watched.summary.dealt.as_ref().expect("the program left its own numbers");
    assert_eq!(dealt.sums.n_iterations.to_string(), N_FRAMES);
    assert!(dealt.changes.iter().any(|change| change.what.starts_with("share of")), "{dealt:#?}");
}

#[test]
fn factors_are_set_on_open_mpi() {
    check_applied(&tuned(Library::OpenMpi4, &["factoring"]), &["F0", "F1", "F2"]);
}

#[test]
fn factors_are_set_on_mpich() {
    check_applied(&tuned(Library::Mpich4, &["factoring"]), &["F0", "F1", "F2"]);
}

#[test]
fn iterations_are_seen_by_all_that_tune_them() {
    let watched = tuned(Library::Mpich4, &["worker-count", "imbalance"]);
    let tuning = summary(&watched);
    assert_eq!(tuning.iterations.len().to_string(), N_FRAMES);
    assert!(tuning.iterations.iter().all(|iteration| (iteration.work - 150.0).abs() < 0.5));
    assert_eq!(tuning.warnings, Vec::<String>::new());
}

#[test]
fn a_program_without_a_description_is_told_what_to_do() {
    let folders = WatchFolders::new();
    let job = Library::Mpich4.launch(2, Path::new("/bin/true"));
    let ended = folders.job(&job, &["--tunlet", "factoring"]).run();
    let said = "carries no description of itself, as programs of the master-worker library do";
    assert!(ended.code == 103 && ended.stderr.contains(said), "{}", ended.text());
}
