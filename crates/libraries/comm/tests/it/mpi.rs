//! Ranks as processes of the installed MPI libraries.

use launch::{EndedJob, Job, Library, example};
use std::path::Path;
use std::time::Duration;

fn run(library: Library, n_ranks: usize, scenario: &str) -> EndedJob {
    library.launch(n_ranks, &example("comm_ranks")).arg(scenario).run()
}

#[track_caller]
fn check(library: Library, n_ranks: usize, scenario: &str, expected: &str) {
    let ended = run(library, n_ranks, scenario);
    let text = ended.text();
    assert_eq!(ended.code, 0, "{library:?} x {n_ranks}: {text}");
    let n_lines = ended.stdout.lines().filter(|line| *line == expected).count();
    assert_eq!(n_lines, 1, "{library:?} x {n_ranks}: {text}");
}

#[test]
fn ranks_communicate() {
    for library in Library::ALL {
        for n_ranks in [1, 2, 3, 5] {
            check(library, n_ranks, "all", &format!("{n_ranks} ranks did everything"));
        }
    }
}

#[test]
fn the_network_is_measured() {
    for library in Library::ALL {
        check(library, 2, "netbench", "lengths up to 4 MiB were timed");
    }
}

#[test]
fn a_datatype_holds_the_fields_and_not_the_gaps() {
    for library in Library::ALL {
        let ended = library.launch(2, &example("comm_datatype")).run();
        let n_lines = ended.stdout.matches("fields arrived, gaps are untouched").count();
        assert_eq!((ended.code, n_lines), (0, 2), "{library:?}: {}", ended.text());
    }
}

#[test]
fn ranks_that_leave_end_in_good_order() {
    for library in Library::ALL {
        check(library, 3, "leave", "3 ranks left");
    }
}

#[test]
fn a_panic_ends_the_whole_job() {
    for library in Library::ALL {
        let ended = run(library, 3, "panic");
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
        assert!(ended.stderr.contains("as intended"), "{library:?}: {}", ended.text());
    }
}

#[test]
fn ranks_are_added_and_leave_where_the_library_can() {
    for library in Library::DYNAMIC {
        for n_ranks in [1, 2] {
            check(library, n_ranks, "elastic", "all came and went");
        }
    }
}

#[test]
fn ranks_are_added_side_by_side() {
    for library in Library::DYNAMIC {
        for n_ranks in [1, 2] {
            check(library, n_ranks, "grow", "3 and 3 came side by side");
        }
    }
}

/// Libraries reuse a handle for another communicator.
#[test]
fn ranks_come_and_go_for_long() {
    for library in Library::DYNAMIC {
        check(library, 1, "many", "20 came and went");
    }
}

#[test]
fn an_added_rank_that_is_killed_is_gone() {
    let jobs = Library::ALL.map(|library| library.launch_surviving(1, &example("comm_ranks")));
    for job in jobs.into_iter().flatten() {
        // The launcher reports the death too, in its exit code.
        let ended = job.arg("lost").run();
        let gone = "Err(Gone { rank: 1 }) Err(Gone { rank: 1 })";
        assert!(ended.stdout.lines().any(|line| line == gone), "{}", ended.text());
    }
}

#[test]
fn added_ranks_that_stay_to_the_end_are_let_go() {
    for library in Library::DYNAMIC {
        check(library, 1, "stay", "the end with 2 added ranks");
    }
}

#[test]
fn a_library_that_hangs_is_not_asked_for_more_ranks() {
    for library in Library::SYSTEM {
        let ended = run(library, 1, "elastic");
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
        assert!(ended.stderr.contains("no rank can be added"), "{}", ended.stderr);
        assert!(ended.stderr.contains("start all ranks at once"), "{}", ended.stderr);
    }
}

#[test]
fn a_program_without_a_launcher_is_told() {
    let job = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD"]
        .iter()
        .fold(Job::new(example("comm_ranks")).arg("all"), Job::without);
    let ended = job.run();
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("was not started by an MPI launcher"), "{}", ended.stderr);
}

#[test]
fn a_missing_library_is_told() {
    let job = Job::new(example("comm_ranks")).arg("all");
    let ended = job.variable("SINTONIA_MPI_LIBRARY", "/nowhere/libmpi.so").run();
    assert_ne!(ended.code, 0);
    let said = "cannot open the MPI library `/nowhere/libmpi.so`";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

/// One of the two programs never calls `MPI_Init`. It ends soon by itself, because the launcher of MPICH 5 sometimes misses
/// that another one has ended.
#[test]
fn a_rank_that_waits_in_vain_says_so_and_ends() {
    for library in Library::ALL {
        let program = example("comm_ranks");
        let job = library.launch(1, Path::new("sleep")).args(["10", ":", "-n", "1"]);
        let job = job.arg(program).arg("all").variable("SINTONIA_MPI_PATIENCE_S", "2");
        let ended = job.within(Duration::from_secs(40)).run();
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
        let said = "`MPI_Init_thread` did not return within 2 s";
        assert!(ended.stderr.contains(said), "{library:?}: {}", ended.text());
    }
}
