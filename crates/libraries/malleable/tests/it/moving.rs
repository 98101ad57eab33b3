//! Data that move between ranks of the installed MPI libraries.

use launch::{Library, example};

/// Runs a scenario of the example; checks that it prints all these sentences.
#[track_caller]
fn check(library: Library, n_ranks: usize, scenario: &str, sentences: &[&str]) {
    let ended = library.launch(n_ranks, &example("moving_ranks")).arg(scenario).run();
    assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
    for sentence in sentences {
        assert!(ended.stdout.contains(sentence), "{library:?}, {sentence}: {}", ended.text());
    }
}

#[test]
fn everything_is_in_its_place_after_a_change() {
    for library in Library::ALL {
        // Waiting ranks of MPICH 4 take the cores from each other.
        let (scenario, n) = if library == Library::Mpich4 { ("few", 8) } else { ("all", 40) };
        check(library, 5, scenario, &[&format!("{n} changes left everything in its place")]);
    }
}

#[test]
fn long_arrays_go_as_datatypes() {
    check(Library::Mpich5, 5, "narrow", &["8 changes left everything in its place"]);
}

#[test]
fn methods_are_tried_that_a_library_can_be_trusted_with() {
    check(Library::OpenMpi5, 3, "best", &["2 methods tried, sync chosen"]);
    check(Library::Mpich5, 3, "best", &["3 methods tried, sync chosen"]);
}

#[test]
fn what_cannot_be_moved_is_refused_everywhere() {
    let sentences = [
        "`x` has other rows on rank 1",
        "`x` has 60 rows on all ranks together, and `rows_of` says 61",
        "rank 2 registers other data than rank 0",
        "rows are cut by weights and none of different lengths follow",
    ];
    check(Library::Mpich5, 3, "refused", &sentences);
}
