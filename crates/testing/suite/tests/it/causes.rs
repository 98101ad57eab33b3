//! Tests of the first sentence of the report on programs that are slow for one known reason.

use suite::library::Library;
use suite::{Job, TestProgram, watch};

/// Checks that one of the first `n_sentences` of a run contains these words.
#[track_caller]
fn check(job: &Job, n_sentences: usize, words: &[&str]) {
    let findings = watch(job).summary.findings;
    let mut first = findings.iter().take(n_sentences);
    let is_named = first.any(|finding| words.iter().all(|word| finding.text.contains(word)));
    assert!(is_named, "{words:?} are not in {findings:?}");
}

/// Job of `n_ranks` ranks of the program of causes.
fn causes(library: Library, n_ranks: usize, words: &[&str]) -> Job {
    library.launch(n_ranks, &TestProgram::c("causes").built(library)).args(words)
}

/// Such ranks used to be told to join small messages, and that the other side starts its part late.
#[test]
fn ranks_that_share_a_core_and_pages_that_are_given_back() {
    let crowded = causes(Library::OpenMpi4, 4, &["crowded", "300"]);
    let crowded = crowded.after(["taskset", "-c", "0"].map(Into::into).to_vec());
    check(&crowded, 1, &["1 core", "wait for a core"]);
    // Other tests may keep this one from its core for longer.
    check(&causes(Library::Mpich4, 1, &["faults", "10"]), usize::MAX, &["Page faults"]);
}
