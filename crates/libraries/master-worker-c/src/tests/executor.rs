//! Tests of the executor in Python that is built on this library: `python/tests/test_mpi.py` and others, on ranks and on
//! threads.

use super::program::library;
use launch::{EndedJob, Job, Library};
use std::path::PathBuf;

/// Folder of the package, with its tests.
fn package() -> PathBuf {
    c_header::repository("python")
}

/// Adds what Python needs to find the package and the library.
fn set_up(job: Job) -> Job {
    job.folder(&package())
        .variable("PYTHONPATH", package())
        .variable("SINTONIA_MASTER_WORKER", library().join("libmaster_worker.so"))
}

fn python() -> PathBuf {
    Library::OpenMpi4.python()
}

/// Job of the module with these arguments, on ranks or on threads.
fn job(library: Option<Library>, arguments: &str) -> Job {
    let job = library.map_or_else(|| Job::new(python()), |library| library.launch(3, &python()));
    set_up(job).args(["-B", "-m", "sintonia.mpi"]).args(arguments.split_whitespace())
}

#[track_caller]
fn check(ended: &EndedJob, code: i32, stdout: &str, sentence: &str) {
    assert_eq!((ended.code, &*ended.stdout), (code, stdout), "{}", ended.stderr);
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
}

#[track_caller]
fn check_unittest(job: &Job) {
    let ended = job.run();
    check(&ended, 0, "", "\nOK\n");
    assert!(!ended.stderr.contains("skipped"), "{}", ended.stderr);
}

const PLACES: [Option<Library>; 3] = [None, Some(Library::OpenMpi4), Some(Library::Mpich4)];

#[test]
fn parts_of_the_executor_work() {
    let job = set_up(Job::new(python())).args(["-B", "-m", "unittest", "tests.test_mpi_parts"]);
    check_unittest(&job);
}

#[test]
fn the_executor_works_on_ranks_and_threads() {
    for place in PLACES {
        check_unittest(&job(place, "tests/test_mpi.py"));
    }
    let alone = set_up(Library::OpenMpi4.launch(1, &python()));
    check_unittest(&alone.args(["-B", "-m", "sintonia.mpi", "tests/test_mpi.py"]));
    check_unittest(&set_up(Job::new(python())).args(["-B", "tests/test_mpi.py"]));
}

#[test]
fn the_job_ends_as_the_script_does() {
    const SUM: &str = "sum 499500\n";
    check(&job(None, "tests/ends.py well").run(), 0, SUM, "");
    for place in PLACES {
        check(&job(place, "tests/ends.py exit").run(), 5, SUM, "");
        check(&job(place, "tests/ends.py interrupt").run(), 130, SUM, "KeyboardInterrupt");
    }
    let raised = job(Some(Library::OpenMpi4), "tests/ends.py raise").run();
    check(&raised, 1, SUM, "KeyError: 'the script fails'");
    for library in Library::SYSTEM {
        let ended = job(Some(library), "tests/ends.py die").run();
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
    }
}

#[test]
fn scripts_may_import_mpi4py() {
    let ended = job(Some(Library::OpenMpi4), "tests/with_mpi4py.py").run();
    check(&ended, 0, "sizes {3}\n", "");
}

#[test]
fn a_wrong_start_is_told_once() {
    for (arguments, code, sentence) in [
        ("", 2, "there is no script; write `mpirun -n 4 python -m sintonia.mpi script.py`"),
        ("nowhere.py", 2, "the script `nowhere.py` cannot be read: No such file or directory"),
        ("--speed tests/ends.py well", 2, "there is no option `--speed`"),
        ("--policy", 2, "`--policy` has no value"),
        ("--policy fastest tests/ends.py well", 1, "`--policy` is wrong"),
    ] {
        let ended = job(Some(Library::OpenMpi4), arguments).run();
        assert_eq!((ended.code, &*ended.stdout), (code, ""), "{arguments}: {}", ended.stderr);
        assert_eq!(ended.stderr.matches(sentence).count(), 1, "{arguments}: {}", ended.stderr);
    }
    let help = job(Some(Library::Mpich4), "--help").run();
    assert_eq!(help.stdout.matches("--policy NAME").count(), 1, "{}", help.text());
    let unguarded = job(Some(Library::OpenMpi4), "tests/ends.py unguarded").run();
    assert!(unguarded.stderr.contains("an executor is made on a worker"), "{}", unguarded.text());
    let by_itself =
        set_up(Library::OpenMpi4.launch(2, &python())).args(["-B", "tests/ends.py", "x"]);
    let by_itself = by_itself.run();
    assert!(by_itself.stderr.contains("every rank runs this script"), "{}", by_itself.text());
    let without = job(None, "tests/ends.py well").variable("SINTONIA_MASTER_WORKER", "/nowhere");
    check(&without.run(), 1, "", "the master/worker library cannot be loaded: /nowhere");
}
