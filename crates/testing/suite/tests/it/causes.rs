//! Tests of the first sentence of the report on programs that are slow for one known reason.

use suite::library::Library;
use suite::{Job, TestProgram, watch};

/// Checks that the first sentence of a run contains these words.
#[track_caller]
fn check(job: &Job, words: &[&str]) {
    let watched = watch(job);
    let first = watched.summary.findings.first().expect("a sentence").text.clone();
    for word in words {
        assert!(first.contains(word), "`{word}` is not in `{first}`: {:?}", watched.summary.ranks);
    }
}

/// Job of `n_ranks` ranks of the program of causes.
fn causes(library: Library, n_ranks: usize, words: &[&str]) -> Job {
    library.launch(n_ranks, &TestProgram::c("causes").built(library)).args(words)
}

/// Such ranks used to be told to join small messages, and that the other side starts its part late.
#[test]
fn ranks_that_share_a_core_and_pages_that_are_given_back() {
    let crowded = causes(Library::OpenMpi4, 4, &["crowded", "300"]);
    check(
        &crowded.after(["taskset", "-c", "0"].map(Into::into).to_vec()),
        &["1 core", "wait for a core"],
    );
    check(&causes(Library::Mpich4, 1, &["faults", "10"]), &["Page faults"]);
}
