//! Tests of programs that write into the memory in which they are observed: they and `sintonia run` end as usual.

use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::{TestProgram, Watched, watch_with};

const N_RANKS: usize = 2;

#[track_caller]
fn run(library: Library, argument: &str, options: &[&str]) -> Watched {
    let program = TestProgram::c("wild").built(library);
    let watched = watch_with(&library.launch(N_RANKS, &program).arg(argument), options);
    let ended = &watched.ended;
    assert_eq!((ended.code, ended.stdout.trim()), (0, "right"), "{argument}: {}", ended.stderr);
    watched
}

/// After one stray byte in the ID or start time of a process, `sintonia run` waited for ever after the program had ended.
#[test]
fn a_process_that_overwrites_who_it_is() {
    let watched = run(OpenMpi4, "identity", &["--trace"]);
    assert_eq!(watched.summary.n_ranks, N_RANKS, "{:?}", watched.summary.tool.warnings);
    let warnings = &watched.summary.tool.warnings;
    assert!(warnings.iter().any(|text| text.contains("overwrote memory")), "{warnings:?}");
}

#[test]
fn processes_that_overwrite_anything() {
    for seed in ["1", "2"] {
        let watched = run(Mpich4, seed, &["--trace"]);
        assert_eq!(watched.summary.n_ranks, N_RANKS, "{:?}", watched.summary.tool.warnings);
    }
}
