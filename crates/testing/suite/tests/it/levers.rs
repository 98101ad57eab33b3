//! Tests of `--tune`: levers in a program that nobody described.

use run_record::RunRecord;
use run_record::tuning::{DecisionOutcome, TuningSummary};
use std::path::Path;
use suite::library::Library::{self, Mpich4, OpenMpi4, OpenMpi5};
use suite::tool::{WatchFolders, sintonia, watch_with};
use suite::{Job, TestProgram};

/// Program that takes and gives back large blocks until that costs no page faults any more, for some seconds at most, and
/// prints a sum of terms of both signs.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
enum { BLOCKS = 4, STEPS = 50 };
static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, is_over = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = 0, all = 0, begin = MPI_Wtime(), limit = argc < 2 ? 0 : atof(argv[1]);
    for (int step = 0; !is_over; step++) {
        size_t n = 1 << 18;
        double *blocks[BLOCKS];
        long before = faults();
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(n * sizeof(double));
            for (size_t at = 0; at < n; at += 64)
                blocks[i][at] = (at % 128 ? -1e-3 : 1.7e3) / (step % 7 + rank + 1);
        }
        for (int i = 0; i < BLOCKS; i++) {
            for (size_t at = 0; at < n && step < STEPS; at += 64)
                sum += blocks[i][at];
            free(blocks[i]);
        }
        if (step < STEPS)
            MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        is_over = STEPS <= step && (limit < MPI_Wtime() - begin || faults() - before < 16);
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.17g\n", all);
    MPI_Finalize();
}
"#;

/// Program that computes for some seconds in one region of OpenMP, whose first thread calls MPI, and prints a sum.
const ONE_REGION: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { STEPS = 50, TERMS = 20000 };
int main(int argc, char **argv)
{
    int provided, rank, is_over = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = 0, all = 0, begin = MPI_Wtime(), limit = atof(argv[1]);
#pragma omp parallel
    for (int step = 0; !is_over; step++) {
        volatile double own = 0;
        for (int i = 0; i < TERMS; i++)
            own = own + (i % 2 ? -1e-3 : 1.7) * (rank + i);
#pragma omp barrier
#pragma omp master
        {
            if (step < STEPS) {
                sum += own;
                MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            }
            is_over = STEPS <= step && limit < MPI_Wtime() - begin;
            MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
#pragma omp barrier
    }
    if (rank == 0)
        printf("%.17g\n", all);
    MPI_Finalize();
}
"#;

/// The program that is tuned.
pub(super) fn program() -> TestProgram {
    TestProgram::generated("levers", PROGRAM)
}

/// Runs the program without and, for `limit_s` seconds at most, with `--tune`; checks that it prints the same, and returns what was decided.
#[track_caller]
fn tuned(library: Library, n_ranks: usize, what: (&[&str], &str)) -> TuningSummary {
    tuned_program(&program(), (library, n_ranks), what)
}

/// As [`tuned`], of another program.
#[track_caller]
fn tuned_program(
    program: &TestProgram,
    (library, n_ranks): (Library, usize),
    (options, limit_s): (&[&str], &str),
) -> TuningSummary {
    let program = program.built(library);
    let bare = library.launch(n_ranks, &program).arg("0").run();
    let job: Job = library.launch(n_ranks, &program).arg(limit_s);
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
    let tuning = tuned(Mpich4, n_ranks(), (&["--tune=waiting"], "0.5"));
    assert!(tuning.tunlets.iter().all(|tunlet| tunlet.ended.is_none()), "{tuning:?}");
    let decision = tuning.decisions.first().expect("there are too few cores");
    assert_eq!(decision.point, "waiting");
    assert!(decision.reason.contains("share a core"), "{}", decision.reason);
    check_waiting(&tuning, n_ranks());
}

/// Its launcher sees that cores are short, and tells the ranks in no variable.
#[test]
fn open_mpi_5_that_gives_cores_away_by_itself_is_left_alone() {
    let job = OpenMpi5.launch(n_ranks(), &program().built(OpenMpi5)).arg("1");
    let job = job.without("OMPI_MCA_mpi_yield_when_idle");
    let watched = watch_with(&job, &["--no-html", "--tune=waiting"]);
    assert_eq!(watched.ended.code, 0, "{}", watched.ended.stderr);
    let decisions = watched.summary.tuning.expect("it was tuned").decisions;
    let decision = decisions.first().expect("there are too few cores");
    assert_eq!(decision.outcome, DecisionOutcome::Declined, "{decision:?}");
    assert!(decision.outcome_reason.contains("by itself"), "{}", decision.outcome_reason);
}

/// Checks that the way of waiting was changed in all ranks.
#[track_caller]
pub(super) fn check_waiting(tuning: &TuningSummary, n_ranks: usize) {
    let n_ranks = u32::try_from(n_ranks).expect("few ranks");
    let made = tuning.decisions.iter().find(|decision| decision.applied_s.is_some());
    let decision = made.unwrap_or_else(|| panic!("nothing was changed: {:?}", tuning.decisions));
    assert_eq!((decision.point.as_str(), decision.n_ranks), ("waiting", n_ranks));
}

/// More ranks than cores.
fn n_ranks() -> usize {
    2 * n_cores() + 1
}

/// Checks that ranks are told to wait otherwise in a job that starts the given number of them on each of two nodes.
#[track_caller]
pub(super) fn check_on_two_nodes(job: impl Fn(usize, &Path) -> Job) {
    let n_of_node = n_cores() + 1;
    let job = job(n_of_node, &program().built(Mpich4)).arg("2");
    let watched = watch_with(&job, &["--no-html", "--tune=waiting"]);
    assert_eq!((watched.ended.code, watched.summary.n_nodes), (0, 2), "{}", watched.ended.stderr);
    check_waiting(&watched.summary.tuning.expect("it was tuned"), 2 * n_of_node);
}

fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn levers_are_set_in_a_job_that_runs() {
    let program = program().built(Mpich4);
    let running = Mpich4.launch(n_ranks(), &program).arg("1000000").start();
    running.wait_for_ranks("levers", n_ranks());
    let folders = WatchFolders::new();
    let options = ["--tune=waiting", "--for", "3"];
    let ended = folders.attach(running.pid(), &options).run();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let watched = folders.finish(ended);
    check_waiting(&watched.summary.tuning.expect("it was tuned"), n_ranks());
    running.terminate(running.pid());
    running.finish();
}

#[test]
fn everything_is_taken_back_while_the_program_runs() {
    let program = program().built(Mpich4);
    let folders = WatchFolders::new();
    let job = Mpich4.launch(n_ranks(), &program).arg("1000000");
    let running = folders.start(&job, &["--quiet", "--no-html", "--tune=waiting"]);
    let tune = |word: &str| {
        let job = Job::new(sintonia()).arg("tune").arg(folders.record());
        if word.is_empty() { job.run() } else { job.arg(word).run() }
    };
    running.wait_until("a change", |_| tune("").stdout.contains("waiting = "));
    let off = tune("off");
    assert_eq!(off.code, 0, "{}", off.stderr);
    running.wait_until("the way back", |_| tune("").stdout.contains("taken back"));
    running.interrupt(running.pid());
    let watched = folders.finish(running.finish());
    let tuning = watched.summary.tuning.expect("it was tuned");
    assert!(tuning.is_off);
    check_waiting(&tuning, n_ranks());
    assert!(tuning.decisions.iter().all(|decision| decision.outcome != DecisionOutcome::Kept));
}

#[test]
fn memory_that_comes_and_goes_is_tried_and_judged() {
    let tuning = tuned(OpenMpi4, 2, (&["--tune=memory"], "10"));
    let decision = tuning.decisions.iter().find(|decision| decision.point == "memory");
    let decision = decision.expect("each step has page faults");
    assert_ne!(decision.outcome, DecisionOutcome::Lost, "{}", decision.outcome_reason);
}

#[test]
fn threads_of_a_region_without_end_are_counted() {
    let program = TestProgram::generated("one-region", ONE_REGION).flags(&["-fopenmp"]);
    let tuning = tuned_program(&program, (Mpich4, 2), (&["--tune=threads"], "2"));
    let first = tuning.decisions.first().expect("each rank has as many threads as there are cores");
    assert_eq!(first.point, "threads");
    assert_ne!(first.outcome, DecisionOutcome::Declined, "{}", first.outcome_reason);
}

/// Program of many short collective calls on communicators that come and go, with sums of both signs; it prints a hash of
/// all results, the same for any number of steps beyond the first ones.
const COLLECTIVES: &str = r#"
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { STEPS = 200, N = 64 };
static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211ull;
    return hash;
}
static uint64_t calls(MPI_Comm comm, long step, uint64_t hash)
{
    int rank, size;
    long in[N], out[N], all[N * 16] = {0};
    double terms[N], sums[N];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < N; i++) {
        in[i] = step * 31 + rank * 7 + i;
        terms[i] = (i % 2 ? -1e-3 : 1.7e3) / (step % 13 + rank + 1 + i);
    }
    MPI_Allreduce(in, out, N, MPI_LONG, MPI_SUM, comm);
    MPI_Allreduce(terms, sums, N, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allgather(in, 4, MPI_LONG, all, 4, MPI_LONG, comm);
    MPI_Alltoall(in, 2, MPI_LONG, all + 4 * size, 2, MPI_LONG, comm);
    MPI_Barrier(comm);
    return STEPS <= step ? hash : mix(mix(mix(hash, out, sizeof out), sums, sizeof sums), all, 48 * size);
}
static MPI_Comm second;
static void *thread(void *hash)
{
    for (long step = 0; step < STEPS; step++)
        *(uint64_t *)hash = calls(second, step, *(uint64_t *)hash);
    return NULL;
}
int main(int argc, char **argv)
{
    int level, rank, is_over = 0, with_threads = argc > 2;
    MPI_Init_thread(&argc, &argv, with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm passing;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &second);
    MPI_Comm_dup(MPI_COMM_WORLD, &passing);
    uint64_t hash = 1, other = 1, both;
    double begin = MPI_Wtime(), limit = argc < 2 ? 0 : atof(argv[1]);
    pthread_t started;
    if (with_threads)
        pthread_create(&started, NULL, thread, &other);
    for (long step = 0; !is_over; step++) {
        hash = calls(MPI_COMM_WORLD, step, hash);
        hash = calls(passing, step, hash);
        if (!with_threads)
            other = calls(second, step, other);
        if (step % 50 == 49) {
            MPI_Comm_free(&passing);
            MPI_Comm_dup(MPI_COMM_WORLD, &passing);
        }
        is_over = STEPS <= step && limit < MPI_Wtime() - begin;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (with_threads)
        pthread_join(started, NULL);
    hash ^= other;
    MPI_Reduce(&hash, &both, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%016llx\n", (unsigned long long)both);
    MPI_Comm_free(&second);
    MPI_Finalize();
}
"#;

/// Runs the program of collective calls bare and with algorithms tried and chosen from its start on, and checks that it
/// prints the same; returns what was tuned. The last options are those of the program.
#[track_caller]
fn collectives(library: Library, n_ranks: usize, options: &[&str]) -> TuningSummary {
    let program = TestProgram::generated("collectives", COLLECTIVES).flags(&["-pthread"]);
    let program = program.built(library);
    let with = |job: Job| options.iter().fold(job, |job, option| job.arg(option));
    let bare = with(library.launch(n_ranks, &program)).run();
    let job = with(library.launch(n_ranks, &program)).variable("SINTONIA_COLLECTIVES", "2");
    let folders = WatchFolders::new();
    let ended = folders.job(&job, &["--quiet", "--no-html", "--tune=collectives"]).run();
    let watched = folders.finish(ended);
    assert_eq!((watched.ended.code, bare.code), (0, 0), "{}", watched.ended.stderr);
    assert_eq!(watched.ended.stdout, bare.stdout);
    watched.summary.tuning.expect("it was tuned")
}

#[test]
fn chosen_algorithms_change_no_result() {
    collectives(OpenMpi4, 4, &["0.5"]);
    collectives(OpenMpi5, 3, &["0.5"]);
}

/// Open MPI loses messages where communicators are made beside another thread's calls.
#[test]
fn no_algorithm_is_chosen_beside_a_second_thread() {
    let tuning = collectives(OpenMpi4, 3, &["4", "threads"]);
    let decision = tuning.decisions.first().expect("the lever is tried");
    assert_eq!(decision.outcome, DecisionOutcome::Declined, "{}", decision.outcome_reason);
    assert!(decision.outcome_reason.contains("MPI_THREAD_MULTIPLE"), "{}", decision.outcome_reason);
}

#[test]
fn a_library_whose_algorithms_cannot_be_chosen_is_left_alone() {
    collectives(Mpich4, 2, &["0"]);
}
