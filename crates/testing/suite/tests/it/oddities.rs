//! Tests of programs that do what MPI allows and few do: they must end as they end alone, and be counted correctly.

use run_record::Summary;
use suite::program::source_folder;
use suite::{Library, TestProgram, watch, watch_with};

#[track_caller]
fn counts(summary: &Summary, operation: &str) -> (u64, u64) {
    summary.operations.get(operation).map_or((0, 0), |totals| (totals.calls, totals.bytes))
}

/// Output of ranks, independent of which prints first and where lines are cut.
fn mixed(printed: &str) -> Vec<char> {
    let mut letters: Vec<char> = printed.chars().collect();
    letters.sort_unstable();
    letters
}

#[test]
fn a_call_that_is_left_by_an_exception_or_a_jump_hides_no_later_one() {
    for library in Library::SYSTEM {
        let watched = watch(&library.launch(2, &TestProgram::cpp("leaves_calls").built(library)));
        assert_eq!(mixed(&watched.ended.stdout), mixed("left 20\nleft 20\n"), "{library:?}");
        assert_eq!(counts(&watched.summary, "MPI_Barrier"), (2 * 20, 0), "{library:?}");
    }
}

#[test]
fn arguments_that_mpi_ignores_are_not_looked_at() {
    for library in Library::ALL {
        let watched =
            watch(&library.launch(3, &TestProgram::c("ignored_arguments").built(library)));
        assert_eq!(watched.ended.stdout, "done\n", "{library:?}");
        // The root and a rank of the other group move data; the root's neighbor moves nothing.
        assert_eq!(counts(&watched.summary, "MPI_Bcast"), (3, 2 * 4), "{library:?}");
        assert_eq!(counts(&watched.summary, "MPI_Send"), (3, 0), "{library:?}");
    }
}

#[test]
fn a_library_that_python_loads_after_mpi_init_is_seen() {
    for library in [Library::OpenMpi4, Library::OpenMpi5, Library::Mpich5] {
        let plugin = TestProgram::shared("plugin").built(library);
        let script = source_folder().join("late_plugin.py");
        let job = library.launch(2, &library.python()).arg(script).arg(plugin);
        assert_eq!(
            counts(&watch(&job).summary, "MPI_Allreduce"),
            (2 * 7, 2 * 7 * 4),
            "{library:?}"
        );
    }
}

#[test]
fn a_program_with_an_address_sanitizer_runs() {
    let library = Library::Mpich4;
    let program = TestProgram::c("sums").flags(&["-fsanitize=address"]).named("sums-asan");
    // Leaks in the libraries are of no interest here.
    let job = library.launch(2, &program.built(library)).variable("ASAN_OPTIONS", "detect_leaks=0");
    let watched = watch(&job);
    assert_eq!(mixed(&watched.ended.stdout), mixed("sum 2\nsum 2\n"));
    assert_eq!(counts(&watched.summary, "MPI_Allreduce"), (2 * 5, 2 * 5 * 4));
}

#[test]
fn a_program_of_sessions_is_seen_to_its_last_one() {
    for library in [Library::OpenMpi5, Library::Mpich5] {
        let job = library.launch(2, &TestProgram::c("sessions").built(library));
        for options in [&[][..], &["--trace"]] {
            let watched = watch_with(&job, options);
            assert_eq!(
                mixed(&watched.ended.stdout),
                mixed("done\ndone\n"),
                "{library:?} {options:?}"
            );
            assert_eq!(counts(&watched.summary, "MPI_Allreduce"), (2 * 7, 2 * 7 * 4));
            assert_eq!(counts(&watched.summary, "MPI_Sendrecv"), (2, 2 * 2 * 4));
        }
    }
}
