//! Tests of programs that hang: while they run and afterwards it is said who waits for whom.

use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::{TestProgram, Watched, watch_with};

const N_RANKS: usize = 3;

/// Runs a program that hangs for a few seconds; checks that each of `words` is said while it runs.
#[track_caller]
fn check(library: Library, how: &str, words: &[&str]) -> Watched {
    let job = library.launch(N_RANKS, &TestProgram::c("hangs").built(library)).arg(how);
    let watched = watch_with(&job, &["--stalled", "1", "--no-html"]);
    let said = watched.ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["the program stands still"].iter().chain(words) {
        assert!(said.contains(words), "{library:?} {how}: `{words}` is not in {said}");
    }
    watched
}

/// Checks the beginning of what the record says.
#[track_caller]
fn check_record(watched: &Watched, beginning: &str) {
    let hang = watched.summary.hang.as_ref().expect("all ranks were inside MPI for seconds");
    assert!(hang.sentences[0].starts_with(beginning), "{hang:?}");
    assert_eq!(hang.ranks.iter().map(|ranks| ranks.n_ranks).sum::<usize>(), N_RANKS);
}

#[test]
fn a_cycle_is_named() {
    let watched = check(OpenMpi4, "cycle", &["Deadlock: rank 0 waits in MPI_Recv"]);
    check_record(&watched, "Deadlock: rank 0 waits in MPI_Recv");
}

#[test]
fn a_message_that_does_not_match_is_named() {
    let words = [
        "rank 0 has sent it a message that it has not received, the last with tag 6: the tag differs",
    ];
    check(Mpich4, "tag", &words);
}

#[test]
fn a_rank_that_a_signal_stopped_is_named() {
    let stopped = "for rank 1, which was stopped in MPI_Sendrecv at hangs.c:";
    let watched = check(Mpich4, "stop", &[stopped]);
    // When the launcher has ended the ranks, the kernel knows no states of theirs.
    let hang = watched.summary.hang.expect("all ranks were inside MPI for seconds");
    assert!(hang.sentences[0].contains(stopped), "{hang:?}");
}
