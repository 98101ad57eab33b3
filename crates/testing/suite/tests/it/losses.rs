//! Tests in which parts of the tool are killed, or find no room: the program goes on, and what was observed is in the
//! record.

use crate::endings::{N_REDUCTIONS, check_reductions, job};
use run_record::Summary;
use std::ffi::OsString;
use std::path::Path;
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::library::on_path;
use suite::tool::{WatchFolders, sintonia};
use suite::{Job, StartedJob, TestProgram};

fn is_collector(words: &[String]) -> bool {
    words.iter().any(|word| word == "collector")
}

fn until(library: Library, file: &Path) -> Job {
    job(library, &["until"]).arg(file)
}

/// Checks that at least the reductions before the program waited were observed; further ones are part of its waiting.
#[track_caller]
fn check_seen(summary: &Summary) {
    let seen = summary.operations.get("MPI_Allreduce").map_or(0, |totals| totals.calls);
    assert!(N_REDUCTIONS <= seen, "{seen} reductions seen: {:?}", summary.tool.warnings);
}

fn kill_collectors(running: &StartedJob) {
    let collectors = running.processes(is_collector);
    assert!(!collectors.is_empty(), "there is a collector to kill");
    collectors.iter().for_each(|pid| running.kill(*pid));
    running.wait_until("the collector is gone", |running| {
        collectors.iter().all(|pid| !running.processes(is_collector).contains(pid))
    });
}

#[track_caller]
fn check_killed_collector(library: Library, options: &[&str]) {
    let folders = WatchFolders::new();
    let file = folders.folder().join("go");
    let mut running = folders.start(&until(library, &file), options);
    running.wait_for_line("ready");
    kill_collectors(&running);
    std::fs::write(&file, "").expect("the folder is ours");
    let ended = running.finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let watched = folders.finish(ended);
    check_seen(&watched.summary);
    assert!(
        watched.summary.ranks.iter().all(|rank| rank.end == "finalized"),
        "{:#?}",
        watched.summary.ranks
    );
}

#[test]
fn a_killed_collector() {
    check_killed_collector(OpenMpi4, &[]);
    check_killed_collector(Mpich4, &["--trace"]);
}

/// Kills `sintonia run`, which is the analyzer; the command it started goes on to its end.
#[track_caller]
fn check_killed_analyzer(library: Library, options: &[&str]) {
    let folders = WatchFolders::new();
    let file = folders.folder().join("go");
    let mut running = folders.start(&until(library, &file), options);
    running.wait_for_line("ready");
    running.kill(running.pid());
    std::fs::write(&file, "").expect("the folder is ours");
    // The end of the job means that all its processes have ended by themselves.
    assert_eq!(running.finish().code, 128 + 9);
    let report = Job::new(sintonia()).arg("report").arg(folders.record()).run();
    assert_eq!(report.code, 0, "{}", report.stderr);
    let watched = folders.finish(report);
    check_seen(&watched.summary);
    assert!(!watched.summary.outcome.complete, "how the command ended is not known");
}

#[test]
fn a_killed_analyzer() {
    check_killed_analyzer(OpenMpi4, &[]);
    check_killed_analyzer(Mpich4, &["--trace"]);
}

/// Runs `job` with a file system of its own of `size` at `folder`, and then runs `then` there.
fn with_small_disk(job: Job, folder: &Path, size: &str, then: &str) -> Job {
    let script =
        format!("mount -t tmpfs -o size={size} none \"$0\" && \"$@\"; code=$?; {then}; exit $code");
    let mut words: Vec<OsString> =
        vec![on_path("unshare").into(), "--mount".into(), "--map-root-user".into()];
    words.extend(["sh".into(), "-c".into(), script.into(), folder.into()]);
    job.after(words)
}

/// Job of a ring of many calls, and what it prints.
fn ring(library: Library) -> (Job, String) {
    let job = library.launch(2, &TestProgram::c("ring").built(library)).arg("2000");
    let printed = job.run().stdout;
    (job, printed)
}

#[test]
fn full_shared_memory() {
    for library in Library::SYSTEM {
        let (bare, printed) = ring(library);
        let (folders, full) =
            (WatchFolders::new(), tempfile::tempdir().expect("a place to mount at"));
        let job = folders.job(&bare, &["--trace"]).variable("SINTONIA_SHM_DIR", full.path());
        let ended = with_small_disk(job, full.path(), "64k", "true").run();
        assert_eq!((ended.code, &ended.stdout), (0, &printed), "{}", ended.stderr);
        let watched = folders.finish(ended);
        assert!(
            !watched.summary.tool.warnings.is_empty(),
            "the report says what could not be observed"
        );
    }
}

/// The disk of the record fills while the program runs: the program goes on, and the totals have no gap. A later
/// `sintonia report` on the same disk replaced them by those of no rank.
#[test]
fn full_disk() {
    for library in Library::SYSTEM {
        let (bare, printed) = ring(library);
        let folders = WatchFolders::new();
        let disk = folders.folder().join("disk");
        std::fs::create_dir(&disk).expect("the folder is ours");
        let job = folders.job(&bare, &["--trace", "--no-html", "--json"]);
        let job = job.replaced(&folders.record(), &disk.join("record"));
        // The disk disappears with its namespace, so it is read from inside.
        let keep = format!(
            "cp \"$0/record/summary.json\" '{folder}'; '{sintonia}' report \"$0/record\" > '{folder}/said'; \
             cp \"$0/record/summary.json\" '{folder}/again.json'",
            folder = folders.folder().display(),
            sintonia = sintonia().display()
        );
        let ended = with_small_disk(job, &disk, "384k", &keep).run();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let json = ended
            .stdout
            .strip_prefix(&printed)
            .expect("the program prints as ever, before the summary");
        let summary: Summary = serde_json::from_str(json).expect("a summary");
        assert_eq!(summary.operations["MPI_Send"].calls, 2 * 2000, "{:?}", summary.tool.warnings);
        assert!(!summary.tool.warnings.is_empty(), "the summary says what is missing");
        for name in ["summary.json", "again.json"] {
            let kept = std::fs::read_to_string(folders.folder().join(name));
            let kept: Summary =
                serde_json::from_str(&kept.expect("the record has a summary")).expect("one");
            assert_eq!((kept.n_ranks, kept.operations["MPI_Send"].calls), (2, 2 * 2000), "{name}");
        }
    }
}

/// A disk without any room: the program runs as usual.
#[test]
fn no_disk() {
    let (bare, printed) = ring(Mpich4);
    let folders = WatchFolders::new();
    let disk = folders.folder().join("disk");
    std::fs::create_dir(&disk).expect("the folder is ours");
    let job = folders.job(&bare, &[]).replaced(&folders.record(), &disk.join("record"));
    // The record goes there instead.
    let job = job.variable("TMPDIR", folders.folder());
    let fill = "dd if=/dev/zero of=\"$0/full\" bs=4k 2>/dev/null";
    let job = job.after(vec![
        "sh".into(),
        "-c".into(),
        format!("{fill}; exec \"$@\"").into(),
        disk.clone().into(),
    ]);
    let ended = with_small_disk(job, &disk, "64k", "true").run();
    assert_eq!((ended.code, &ended.stdout), (0, &printed), "{}", ended.stderr);
    let elsewhere = format!("the record goes to `{}/", folders.folder().display());
    assert!(ended.stderr.contains(&elsewhere), "{}", ended.stderr);
}

#[test]
fn nothing_is_lost_by_tracing() {
    for library in Library::SYSTEM {
        let watched = suite::watch_with(&job(library, &["code", "0"]), &["--trace"]);
        check_reductions(&watched.summary);
        assert_eq!(watched.summary.tool.records_dropped, 0);
        assert!(N_REDUCTIONS <= watched.summary.tool.records);
    }
}
