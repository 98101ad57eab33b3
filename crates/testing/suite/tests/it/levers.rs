//! Tests of `--tune`: levers in a program that nobody described.

use run_record::RunRecord;
use run_record::tuning::{DecisionOutcome, TuningSummary};
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::tool::WatchFolders;
use suite::{Job, TestProgram};

/// Program that takes and gives back large blocks for some seconds, and prints a sum of terms of both signs.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, is_over = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = 0, all = 0, begin = MPI_Wtime();
    for (int step = 0; !is_over; step++) {
        size_t n = 1 << 18;
        double *block = malloc(n * sizeof *block);
        for (size_t i = 0; i < n; i += 64)
            block[i] = (i % 128 ? -1e-3 : 1.7e3) / (step % 7 + rank + 1);
        for (size_t i = 0; i < n && step < 50; i += 64)
            sum += block[i];
        free(block);
        if (step < 50)
            MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        is_over = 50 <= step && 2.5 < MPI_Wtime() - begin;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.17g\n", all);
    MPI_Finalize();
}
"#;

/// Runs the program with and without `--tune`; checks that it prints the same, and returns what was decided.
#[track_caller]
fn tuned(library: Library, n_ranks: usize, options: &[&str]) -> TuningSummary {
    let program = TestProgram::generated("levers", PROGRAM).built(library);
    let job: Job = library.launch(n_ranks, &program);
    let bare = job.run();
    let folders = WatchFolders::new();
    let options = [&["--quiet", "--no-html"], options].concat();
    let ended = folders.job(&job, &options).run();
    let watched = folders.finish(ended);
    assert_eq!((watched.ended.code, bare.code), (0, 0), "{}", watched.ended.stderr);
    assert_eq!(watched.ended.stdout, bare.stdout);
    let record = RunRecord::open(&watched.record()).expect("a record");
    record.read_summary().expect("a summary").tuning.expect("it was tuned")
}

#[test]
fn ranks_that_outnumber_cores_are_told_to_wait_otherwise() {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tuning = tuned(Mpich4, 2 * n_cores + 1, &["--tune=waiting"]);
    assert!(tuning.tunlets.iter().all(|tunlet| tunlet.ended.is_none()), "{tuning:?}");
    let decision = tuning.decisions.first().expect("there are too few cores");
    assert_eq!(decision.point, "waiting");
    assert!(decision.reason.contains("share a core"), "{}", decision.reason);
}

#[test]
fn memory_that_comes_and_goes_is_tried_and_judged() {
    let tuning = tuned(OpenMpi4, 2, &["--tune=memory"]);
    let decision = tuning.decisions.iter().find(|decision| decision.point == "memory");
    let decision = decision.expect("each step has page faults");
    assert_ne!(decision.outcome, DecisionOutcome::Lost, "{}", decision.outcome_reason);
}
