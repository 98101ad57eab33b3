//! Tests of programs that end badly: they end as alone, and their calls before are in the record.

use run_record::Summary;
use suite::library::Library;
use suite::tool::WatchFolders;
use suite::{EndedJob, Job, StartedJob, TestProgram, watch};

pub(crate) const N_RANKS: usize = 3;
/// Number of reductions on all ranks before the end, as in `ends.c`.
pub(crate) const N_REDUCTIONS: u64 = 200 * N_RANKS as u64;

pub(crate) fn job(library: Library, arguments: &[&str]) -> Job {
    library.launch(N_RANKS, &TestProgram::c("ends").built(library)).args(arguments)
}

/// Checks that all reductions before the end are in the record.
#[track_caller]
pub(crate) fn check_reductions(summary: &Summary) {
    let seen = summary.operations.get("MPI_Allreduce").cloned().unwrap_or_default();
    assert_eq!(
        (seen.calls, seen.bytes),
        (N_REDUCTIONS, 8 * N_REDUCTIONS),
        "{:?}",
        summary.tool.warnings
    );
}

/// Checks with one rank that the exit code is one that the launcher also gives without `sintonia`. MPICH 4 returns 1
/// now and then, if its proxy sees the closed connection before the code, so the plain run is repeated until it gives
/// the same. With several ranks, launchers mix the code with those of the ranks that they kill.
#[track_caller]
fn check_code(library: Library, how: &str) {
    let job = library.launch(1, &TestProgram::c("ends").built(library)).args([how, "7"]);
    let watched = watch(&job);
    let code = watched.ended.code;
    assert_ne!(code, 0, "{library:?} {how}");
    let same_without_us = (0..60).any(|_| job.run().code == code);
    assert!(same_without_us, "{library:?} {how} {code}: {}", watched.ended.stderr);
}

/// Checks that all calls before the end are in the record when one of three ranks ends.
#[track_caller]
fn check_record(library: Library, how: &str) {
    let watched = watch(&job(library, &[how, "7"]));
    let summary = &watched.summary;
    assert_ne!(watched.ended.code, 0, "{library:?} {how}");
    assert_eq!(summary.outcome.exit_code, Some(watched.ended.code), "{library:?} {how}");
    assert!(summary.outcome.complete);
    check_reductions(summary);
    assert_eq!(summary.n_ranks, N_RANKS, "{library:?} {how}");
    // MPI_Abort of MPICH 5 may return before the launcher ends the ranks.
    if how != "abort" {
        let last = summary.ranks.last().map(|rank| rank.end.as_str());
        let expected = if how == "code" { "finalized" } else { "ended without MPI_Finalize" };
        assert_eq!(last, Some(expected), "{library:?} {how}");
    }
}

#[track_caller]
fn check(how: &str) {
    for library in Library::SYSTEM {
        check_code(library, how);
        check_record(library, how);
    }
}

#[test]
fn an_exit_code_is_passed_on() {
    check("code");
}

#[test]
fn mpi_abort() {
    check("abort");
    check_record(Library::OpenMpi5, "abort");
    check_record(Library::Mpich5, "abort");
}

#[test]
fn a_segmentation_fault() {
    check("segfault");
}

#[test]
fn a_rank_is_killed() {
    check("kill");
    check_record(Library::OpenMpi5, "kill");
    check_record(Library::Mpich5, "kill");
}

#[test]
fn a_rank_is_terminated() {
    check("terminate");
}

#[test]
fn a_rank_calls_abort_of_c() {
    check("c-abort");
}

#[test]
fn exit_without_finalize() {
    check("exit");
}

#[test]
fn exit_without_handlers() {
    check("_exit");
}

/// Process of the launcher, which is a child of `sintonia run`.
pub(crate) fn launcher_of(running: &StartedJob) -> u32 {
    let is_launcher = |words: &[String]| {
        words.first().is_some_and(|name| {
            name.contains("mpirun") || name.contains("mpiexec") || name.contains("prterun")
        })
    };
    let found = running.processes(is_launcher);
    assert_eq!(found.len(), 1, "there is one launcher");
    found[0]
}

fn terminate_launcher(mut running: StartedJob, launcher: impl Fn(&StartedJob) -> u32) -> EndedJob {
    running.wait_for_line("ready");
    running.terminate(launcher(&running));
    running.finish()
}

#[track_caller]
fn check_launcher_terminated(library: Library, how: &str) -> EndedJob {
    let folders = WatchFolders::new();
    let ended = terminate_launcher(folders.start(&job(library, &[how]), &[]), launcher_of);
    let watched = folders.finish(ended);
    let seen = watched.summary.operations.get("MPI_Allreduce").map_or(0, |totals| totals.calls);
    assert!(N_REDUCTIONS <= seen, "{library:?}: {seen} reductions seen");
    watched.ended
}

/// The code that MPICH's launcher makes of those of the ranks it ends differs from run to run, also without `sintonia`.
#[test]
fn the_launcher_is_terminated() {
    check_launcher_terminated(Library::Mpich4, "wait");
    let bare = terminate_launcher(job(Library::OpenMpi4, &["wait"]).start(), StartedJob::pid);
    assert_eq!(check_launcher_terminated(Library::OpenMpi4, "wait").code, bare.code);
}

/// Tests ranks that go on for a while after SIGTERM.
#[test]
fn the_launcher_is_terminated_and_ranks_are_deaf() {
    for library in Library::SYSTEM {
        check_launcher_terminated(library, "wait-deaf");
    }
}
