//! Tests that the examples give the same results on any sequence of sizes.

use super::program::Program;
use launch::Library;

/// Runs the rod; returns its output, and its last size.
#[track_caller]
fn rod(program: &Program, n_ranks: usize, words: &str) -> (String, u32) {
    let ended = program.job(n_ranks).args(words.split_whitespace()).run();
    assert_eq!(ended.code, 0, "{:?} {words}: {ended:?}", program.mpi);
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
