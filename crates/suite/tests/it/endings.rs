//! Programs that end badly: their fate is the same, and what they did before is in the record.

use run_record::Summary;
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::tool::Scene;
use suite::{Ended, Job, Program, Running, watch};

pub(crate) const N_RANKS: usize = 3;
/// Reductions on all ranks before the end, as `ends.c` has it.
pub(crate) const N_REDUCTIONS: u64 = 200 * N_RANKS as u64;

pub(crate) fn job(library: Library, arguments: &[&str]) -> Job {
    library.launch(N_RANKS, &Program::c("ends").built(library)).args(arguments)
}

/// All reductions before the end are in the record.
#[track_caller]
pub(crate) fn check_reductions(summary: &Summary) {
    let seen = summary.operations.get("MPI_Allreduce").cloned().unwrap_or_default();
    assert_eq!((seen.calls, seen.bytes), (N_REDUCTIONS, 8 * N_REDUCTIONS), "{:?}", summary.tool.warnings);
}

/// Every ending of one rank: the same exit code, and all calls before it.
#[track_caller]
fn check(how: &str, n_finalized: usize) {
    for library in Library::ALL {
        let job = job(library, &[how, "7"]);
        let (bare, watched) = (job.run(), watch(&job));
        assert_eq!(watched.ended.code, bare.code, "{library:?} {how}: {}", watched.ended.stderr);
        assert_eq!(watched.summary.outcome.exit_code, Some(bare.code));
        assert!(watched.summary.outcome.complete);
        check_reductions(&watched.summary);
        assert_eq!(watched.summary.n_ranks, N_RANKS);
        let finalized = watched.summary.ranks.iter().filter(|rank| rank.end == "finalized").count();
        assert_eq!(finalized, n_finalized, "{library:?} {how}: {:#?}", watched.summary.ranks);
    }
}

#[test]
fn an_exit_code_is_passed_on() {
    check("code", N_RANKS);
}

#[test]
fn mpi_abort() {
    check("abort", 0);
}

#[test]
fn a_segmentation_fault() {
    check("segfault", 0);
}

#[test]
fn a_rank_is_killed() {
    check("kill", 0);
}

#[test]
fn a_rank_is_terminated() {
    check("terminate", 0);
}

#[test]
fn a_rank_calls_abort_of_c() {
    check("c-abort", 0);
}

#[test]
fn exit_without_finalize() {
    check("exit", 0);
}

#[test]
fn exit_without_handlers() {
    check("_exit", 0);
}

/// The launcher, which is a child of `sintonia run`.
pub(crate) fn launcher_of(running: &Running) -> u32 {
    let is_launcher = |words: &[String]| {
        words.first().is_some_and(|name| name.contains("mpirun") || name.contains("mpiexec") || name.contains("prterun"))
    };
    let found = running.processes(is_launcher);
    assert_eq!(found.len(), 1, "there is one launcher");
    found[0]
}

fn terminate_launcher(mut running: Running, launcher: impl Fn(&Running) -> u32) -> Ended {
    running.wait_for_line("ready");
    running.terminate(launcher(&running));
    running.finish()
}

#[track_caller]
fn check_launcher_terminated(library: Library, how: &str) {
    let job = job(library, &[how]);
    let bare = terminate_launcher(job.start(), Running::pid);
    let scene = Scene::new();
    let ended = terminate_launcher(scene.start(&job, &[]), launcher_of);
    let watched = scene.finish(ended);
    assert_eq!(watched.ended.code, bare.code, "{library:?}: {}", watched.ended.stderr);
    let seen = watched.summary.operations.get("MPI_Allreduce").map_or(0, |totals| totals.calls);
    assert!(N_REDUCTIONS <= seen, "{library:?}: {seen} reductions seen");
}

#[test]
fn the_launcher_is_terminated() {
    check_launcher_terminated(OpenMpi4, "wait");
    check_launcher_terminated(Mpich4, "wait");
}

/// Ranks that go on for a while after SIGTERM.
#[test]
fn the_launcher_is_terminated_and_ranks_are_deaf() {
    check_launcher_terminated(OpenMpi4, "wait-deaf");
    check_launcher_terminated(Mpich4, "wait-deaf");
}
