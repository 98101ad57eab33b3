//! Tests that the examples give the same results on any sequence of sizes.

use super::program::{Program, library};
use c_header::repository;
use launch::{EndedJob, Library};

/// Runs the rod; returns its output, and its last size.
#[track_caller]
fn rod(program: &Program, n_ranks: usize, words: &str) -> (String, u32) {
    digest(&program.job(n_ranks).args(words.split_whitespace()).run())
}

/// Digest and last size in the output of a rod.
#[track_caller]
fn digest(ended: &EndedJob) -> (String, u32) {
    assert_eq!(ended.code, 0, "{ended:?}");
    let said = ended.stdout.lines().find_map(|line| line.strip_prefix("digest "));
    let (digest, ranks) = said.and_then(|said| said.split_once(" on ")).expect("a line");
    let n = ranks.trim_end_matches(" ranks").parse().expect("a number");
    (digest.to_owned(), n)
}

#[test]
fn heat_is_the_same_on_changing_ranks() {
    for library in Library::DYNAMIC {
        let program = Program::of(library, "examples/rod.c");
        let (unchanged, _) = rod(&program, 1, "");
        // The program waits for new processes, or it would be done before they start.
        let now = "--foreground --check-every 1 --redistribution sync";
        for (n_ranks, schedule, last) in [(2, "50:4", 4), (1, "50:3,100:2,150:1", 1)] {
            let found = rod(&program, n_ranks, &format!("{now} --schedule {schedule}"));
            assert_eq!(found, (unchanged.clone(), last), "{library:?} {schedule}");
        }
    }
}

/// The libraries with Fortran cannot start processes: launched ranks sleep and wake.
#[test]
fn heat_is_the_same_in_fortran() {
    for library in Library::SYSTEM {
        let program = Program::of(library, "examples/rod.f90");
        let (unchanged, _) = rod(&program, 1, "");
        let words = "--preferred 2 --foreground --check-every 1 --redistribution sync --schedule 20:4,100:1,200:3";
        assert_eq!(rod(&program, 4, words), (unchanged, 3), "{library:?}");
    }
}

#[test]
fn packed_rows_and_bodies_of_fortran_are_where_they_belong() {
    for library in Library::SYSTEM {
        let program = Program::of(library, "tests/programs/kinds.f90");
        let words = ["--preferred", "1", "--schedule", "10:3,20:2,30:4,40:1"];
        let ended = program.job(4).args(words).run();
        let said = "4 resizes, 1 ranks, 0 wrong\n";
        assert_eq!((ended.code, ended.stdout.as_str()), (0, said), "{library:?}: {}", ended.stderr);
    }
}

#[test]
fn heat_is_the_same_in_python() {
    for mpi in Library::DYNAMIC {
        let (unchanged, _) = rod(&Program::of(mpi, "examples/rod.c"), 1, "");
        let control = tempfile::tempdir().expect("a folder");
        let job = mpi.launch(1, &mpi.python()).arg(repository("examples/python/rod.py"));
        let job = job.variable("PYTHONPATH", repository("python"));
        let job =
            job.variable("SINTONIA_MALLEABLE_LIBRARY", library().join("libsintonia_malleable.so"));
        let job = job.arg("--control").arg(control.path());
        let words =
            "--foreground --check-every 1 --redistribution sync --schedule 50:3,100:2,150:1";
        let ended = job.args(words.split(' ')).run();
        assert_eq!(digest(&ended), (unchanged, 1), "{mpi:?}");
    }
}

/// All kinds of data and partitions: `kinds.c` checks the place of every element.
#[test]
fn everything_is_where_it_belongs() {
    for library in Library::DYNAMIC {
        let program = Program::of(library, "tests/programs/kinds.c");
        let ended = program.job(1).args(["own", "--schedule", "10:3,20:2,30:4,40:1"]).run();
        let said = "4 resizes, 1 ranks, 0 wrong\n";
        assert_eq!((ended.code, ended.stdout.as_str()), (0, said), "{library:?}: {}", ended.stderr);
    }
}

#[test]
fn vectors_of_cpp_are_where_they_belong() {
    for library in Library::DYNAMIC {
        let program = Program::of(library, "tests/programs/vectors.cc");
        let ended = program.job(1).args(["--schedule", "10:3,20:2,30:4,40:1"]).run();
        let said = "4 resizes, 1 ranks, 0 wrong\n";
        assert_eq!((ended.code, ended.stdout.as_str()), (0, said), "{library:?}: {}", ended.stderr);
        let ended = program.job(1).arg("throw").run();
        let said = ended.stdout.contains("caught: no communicator\n");
        assert_eq!((ended.code, said), (1, true), "{library:?}: {}", ended.text());
    }
}

/// Windows, files and communicators are freed before processes leave, so that these end at once. Open MPI 5 does not
/// return from creating a window or opening a file over ranks that were started separately.
#[test]
fn what_depends_on_the_ranks_is_made_with_each_size() {
    for library in Library::DYNAMIC {
        let program = Program::of(library, "tests/programs/sizes.c");
        let folder = tempfile::tempdir().expect("a folder");
        let file = (library == Library::Mpich5).then(|| folder.path().join("file"));
        let job = program.job(1).args(file).arg("--record").arg(folder.path());
        let ended = job.args(["--schedule", "10:4,30:2,50:3"]).run();
        let said = "4 sizes begun, 4 ended, 0 wrong\n";
        assert_eq!((ended.code, ended.stdout.as_str()), (0, said), "{library:?}: {}", ended.stderr);
        let record = std::fs::read_to_string(folder.path().join("resizes.jsonl"));
        let record = record.expect("a record");
        // A process that does not end is given up after the deadline, and not in the record.
        let pids = record.lines().filter_map(|line| line.split("\"pids_gone\":[").nth(1));
        let n_gone = pids.map(|pids| pids.split(']').next().unwrap_or_default());
        let n_gone = n_gone.map(|pids| pids.split(',').filter(|pid| !pid.is_empty()).count());
        assert_eq!(n_gone.collect::<Vec<_>>(), [0, 2, 0], "{library:?}: {record}");
    }
}

/// Regression: on one node nothing was set for MPICH 5, and a receive from `MPI_ANY_SOURCE` waited forever after most
/// growths. Open MPI 5 does not return from creating a window over ranks that were started separately.
#[test]
fn ranks_that_were_started_are_heard_by_all() {
    for library in Library::DYNAMIC {
        let program = Program::of(library, "tests/programs/anybody.c");
        let put = (library == Library::Mpich5).then_some("put");
        let job = program.job(2).args(["5", "--schedule", "5:4,15:3,25:5"]).args(put);
        let ended = job.without("MPIR_CVAR_CH4_NETMOD").without("FI_PROVIDER").run();
        let said = "5 ranks, 0 wrong\n";
        assert_eq!((ended.code, ended.stdout.as_str()), (0, said), "{library:?}: {}", ended.stderr);
    }
}
