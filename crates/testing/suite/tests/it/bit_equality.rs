//! Tests that programs print the same, bit for bit, and end the same, with and without the tool.

use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::library::mpich_for_mpi4py;
use suite::program::{Binding, source_folder};
use suite::{Job, TestProgram, watch, watch_with};

#[track_caller]
fn check(job: &Job) {
    let bare = job.run();
    assert!(!bare.stdout.is_empty(), "the program prints something to compare: {}", bare.stderr);
    let watched = watch(job);
    assert_eq!(
        (watched.ended.code, &watched.ended.stdout),
        (bare.code, &bare.stdout),
        "{}",
        watched.ended.stderr
    );
}

#[track_caller]
fn check_everywhere(program: &TestProgram, arguments: &[&str]) {
    for library in Library::ALL {
        check(&library.launch(3, &program.built(library)).args(arguments));
    }
}

#[test]
fn c_with_non_blocking_messages() {
    check_everywhere(&TestProgram::c("gradients"), &[]);
}

#[test]
fn c_with_several_communicators() {
    check_everywhere(&TestProgram::c("communicators"), &[]);
}

#[test]
fn c_with_messages_that_are_too_long() {
    check_everywhere(&TestProgram::c("truncated"), &[]);
}

#[test]
fn c_with_openmp() {
    check_everywhere(&TestProgram::c("openmp").flags(&["-fopenmp"]), &[]);
}

#[test]
fn cpp_with_exceptions_and_threads() {
    check_everywhere(&TestProgram::cpp("particles"), &[]);
}

#[test]
fn traced() {
    for library in Library::ALL {
        let job = library.launch(3, &TestProgram::cpp("particles").built(library));
        let (bare, watched) = (job.run(), watch_with(&job, &["--trace"]));
        assert_eq!((watched.ended.code, watched.ended.stdout), (bare.code, bare.stdout));
        assert!(0 < watched.summary.tool.records, "calls are recorded");
        assert_eq!(watched.summary.tool.records_dropped, 0);
    }
}

#[test]
fn fortran_in_three_bindings() {
    for library in Library::SYSTEM {
        for binding in Binding::ALL {
            let folder = tempfile::tempdir().expect("a folder for its file");
            check(
                &library
                    .launch(2, &TestProgram::fortran(binding, library).built(library))
                    .arg(folder.path()),
            );
        }
    }
}

/// `messages.py` under the Python that has `mpi4py` for `library`.
pub(crate) fn python(library: Library, n_ranks: usize) -> Job {
    let job = library.launch(n_ranks, &library.python()).arg(source_folder().join("messages.py"));
    if library == Mpich4 {
        let folder = mpich_for_mpi4py();
        return job.variable("LD_LIBRARY_PATH", folder).variable("MPI4PY_MPIABI", "mpich");
    }
    job
}

#[test]
fn python_with_mpi4py() {
    for library in Library::ALL {
        check(&python(library, 2));
    }
}

#[test]
fn a_program_that_forks_and_executes() {
    check_everywhere(&TestProgram::c("forks"), &[]);
}

#[test]
fn a_plug_in_that_calls_mpi() {
    for library in [OpenMpi4, Mpich4] {
        let plugin = TestProgram::shared("plugin").built(library);
        check(
            &library
                .launch(2, &TestProgram::c("plugin_host").built(library))
                .arg(plugin)
                .arg("unload"),
        );
    }
}

#[test]
fn a_program_that_spawns_children() {
    for library in Library::DYNAMIC {
        check(&library.launch(2, &TestProgram::c("spawns").built(library)));
    }
}
