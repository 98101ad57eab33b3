//! Data that move between ranks of the installed MPI libraries.

use launch::{Library, example};

const N_RANKS: usize = 5;

#[test]
fn everything_is_in_its_place_after_a_change() {
    for library in Library::ALL {
        // Waiting ranks of MPICH 4 take the cores from each other.
        let (scenario, n) = if library == Library::Mpich4 { ("few", 8) } else { ("all", 40) };
        let ended = library.launch(N_RANKS, &example("moving_ranks")).arg(scenario).run();
        assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
        let said = format!("{n} changes left everything in its place");
        assert!(ended.stdout.contains(&said), "{library:?}: {}", ended.text());
    }
}

#[test]
fn long_arrays_go_as_datatypes() {
    let job = Library::Mpich5.launch(N_RANKS, &example("moving_ranks"));
    let ended = job.arg("narrow").run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    assert!(ended.stdout.contains("8 changes left everything in its place"), "{}", ended.text());
}

#[test]
fn methods_are_tried_that_a_library_can_be_trusted_with() {
    for (library, n) in [(Library::OpenMpi5, 3), (Library::Mpich5, 4)] {
        let ended = library.launch(3, &example("moving_ranks")).arg("best").run();
        assert_eq!(ended.code, 0, "{library:?}: {}", ended.text());
        let said = format!("{n} methods tried, sync chosen");
        assert!(ended.stdout.contains(&said), "{library:?}: {}", ended.text());
    }
}

#[test]
fn what_cannot_be_moved_is_refused_everywhere() {
    let ended = Library::Mpich5.launch(3, &example("moving_ranks")).arg("refused").run();
    assert_eq!(ended.code, 0, "{}", ended.text());
    for sentence in [
        "`x` has other rows on rank 1",
        "`x` has 60 rows on all ranks together, and `rows_of` says 61",
        "rank 2 registers other data than rank 0",
        "rows are cut by weights and no sparse matrix follows",
    ] {
        assert!(ended.stdout.contains(sentence), "{sentence}: {}", ended.text());
    }
}
