//! `sintonia malleable --restart`: programs that die go on from their checkpoint.

use launch::example;
use launch::place::built;
use std::ffi::OsString;
use std::path::Path;
use suite::{Job, Library};

const STEPS: [&str; 4] = ["--until", "2000", "--pause-us", "500"];
const MANY_STEPS: [&str; 4] = ["--until", "100000", "--pause-us", "500"];

/// Job of a rod on two ranks whose state is written into the folder.
fn rod(library: Library, folder: &Path, steps: [&str; 4]) -> Job {
    let job = library.launch(2, &example("rod")).args(steps);
    let job = job.arg("--control").arg(folder.join("jobs"));
    let job = job.arg("--checkpoint").arg(folder.join("rod")).args(["--checkpoint-every", "100it"]);
    let words = ["malleable", "--restart=3", "--"].map(OsString::from);
    job.after([&[built("sintonia").into()], &words[..]].concat())
        // Other tests make and remove networks, which Open MPI would use.
        .variable("OMPI_MCA_btl_tcp_if_include", "lo")
}

#[track_caller]
fn digest(stdout: &str) -> &str {
    stdout.lines().find(|line| line.starts_with("digest")).expect(stdout)
}

fn is_rank(words: &[String]) -> bool {
    words.first().is_some_and(|word| word.ends_with("/rod"))
}

#[test]
fn a_program_that_is_killed_goes_on_from_its_checkpoint() {
    let alone = Library::Mpich5.launch(1, &example("rod")).args(STEPS).run();
    for library in Library::DYNAMIC {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let running = rod(library, folder.path(), STEPS).start();
        running.wait_until("a checkpoint", |_| folder.path().join("rod").exists());
        let rank = running.processes(is_rank)[0];
        running.kill(rank);
        let ended = running.finish();
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(digest(&ended.stdout), digest(&alone.stdout), "{}", library.name());
        assert!(ended.stderr.contains("started again in 1 s (restart 1 of 3)"), "{ended:?}");
        let left = std::fs::read_dir(folder.path()).expect("it is there");
        let left = left.map(|entry| entry.expect("it is there").file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["jobs"], "{}", library.name());
    }
}

#[test]
fn a_signal_ends_the_program_for_good() {
    for library in Library::DYNAMIC {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let running = rod(library, folder.path(), MANY_STEPS).start();
        running.wait_until("a checkpoint", |_| folder.path().join("rod").exists());
        running.terminate(running.pid());
        let ended = running.finish();
        assert_ne!(ended.code, 0, "{ended:?}");
        assert!(!ended.stderr.contains("started again"), "{ended:?}");
    }
}
