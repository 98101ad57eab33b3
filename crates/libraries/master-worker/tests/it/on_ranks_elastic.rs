//! Workers that come, go and die while a program runs: on threads, and on every installed MPI library.

use crate::steps::Steps;
use launch::job::StartedJob;
use launch::{EndedJob, Job, Library, example};
use master_worker::{Options, outcome};
use std::path::Path;
use std::time::Duration;

/// Grows from 2 ranks to 4, and back to 2 after 2 of them were idle in 5 iterations.
const SCRIPT: [&str; 6] = ["20", "200", "set=2:3", "set=7:1", "--max-workers", "4"];
const WORKERS: [usize; 20] = [1, 1, 1, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];

/// Returns the lines that begin with this word, without it.
fn lines<'a>(ended: &'a EndedJob, word: &str) -> Vec<&'a str> {
    ended.stdout.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect()
}

#[track_caller]
fn check_result(ended: &EndedJob, n_iterations: u64) {
    let expected = format!("{:016x}", Steps::expected(n_iterations));
    assert_eq!(lines(ended, "digest"), [expected], "{}", ended.text());
}

/// Runs a job to its end, with the result of so many iterations.
#[track_caller]
fn finished(job: &Job, n_iterations: u64) -> EndedJob {
    let ended = job.run();
    assert_eq!(ended.code, 0, "{job:?}: {}", ended.text());
    check_result(&ended, n_iterations);
    ended
}

fn job(library: Library, n_ranks: usize, arguments: &[&str]) -> Job {
    library.launch(n_ranks, &example("elastic")).args(arguments)
}

#[test]
fn two_ranks_become_four_and_two_again() {
    for library in Library::DYNAMIC {
        let ended = finished(&job(library, 2, &SCRIPT), 20);
        assert_eq!(lines(&ended, "workers"), [format!("{WORKERS:?}")], "{library:?}");
        let remarks = lines(&ended, "remark");
        assert_eq!(remarks.len(), 2, "{library:?}: {remarks:?}");
        assert!(remarks[0].starts_with("workers: 2 started in "), "{remarks:?}");
        assert!(remarks[1].starts_with("workers: 2 released in "), "{remarks:?}");
    }
}

/// A worker started for the second run starts the program anew, and has nothing to do in its first run.
#[test]
fn workers_are_started_for_the_run_that_needs_them() {
    for library in Library::DYNAMIC {
        for words in ["twice --workers 3", "twice --workers 3 --synchronous"] {
            let ended = library.launch(2, &example("ranks")).args(words.split(' ')).run();
            assert_eq!((ended.code, &*ended.stdout), (0, "the sum is 3825\n"), "{}", ended.text());
        }
    }
}

#[test]
fn two_threads_become_four_and_two_again() {
    let mut program = Steps::new(20);
    program.script = vec![(2, 3), (7, 1)];
    let options = Options::new().threads(2).workers_max(3);
    let outcome = outcome(program, options).unwrap().unwrap();
    assert_eq!(outcome.program.seen, WORKERS);
    assert_eq!(outcome.program.digest(), Steps::expected(20));
    let remarks = outcome.report.remarks;
    assert!(remarks[0].starts_with("workers: 2 started in "), "{remarks:?}");
    assert!(remarks[1].starts_with("workers: 2 released in "), "{remarks:?}");
}

#[test]
fn libraries_that_cannot_be_trusted_with_it_say_so_once() {
    for library in Library::SYSTEM {
        let ended = finished(&job(library, 2, &SCRIPT).arg("--progress"), 20);
        assert_eq!(lines(&ended, "workers"), [format!("{:?}", [1; 20])]);
        let remarks = lines(&ended, "remark");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].starts_with("workers: 1 at most (those present), "), "{remarks:?}");
        assert!(remarks[0].contains("start all ranks at once"), "{remarks:?}");
        let said = ended.stderr.lines().filter(|line| *line == remarks[0]).count();
        assert_eq!(said, 1, "{}", ended.stderr);
    }
}

/// The same script parks ranks that were all launched at once.
#[test]
fn ranks_that_were_launched_are_parked() {
    for library in Library::ALL {
        let ended = finished(&job(library, 4, &["--workers", "1"]).args(&SCRIPT[..5]).arg("3"), 20);
        assert_eq!(lines(&ended, "workers"), [format!("{WORKERS:?}")], "{library:?}");
        assert_eq!(lines(&ended, "remark"), Vec::<&str>::new(), "{library:?}");
    }
}

#[test]
fn a_master_that_is_alone_starts_the_workers_that_pay() {
    let arguments = ["8", "2000", "--workers", "auto", "--max-workers", "2", "--horizon", "1000"];
    for library in Library::DYNAMIC {
        let ended = finished(&job(library, 1, &arguments), 8);
        // On a busy machine a later number of workers may beat two.
        assert!(
            lines(&ended, "workers")[0].starts_with("[0, 2, "),
            "{library:?}: {}",
            ended.stdout
        );
        let remarks = lines(&ended, "remark");
        assert!(remarks[0].starts_with("workers: 2 started in "), "{remarks:?}");
        assert!(remarks[0].contains("because 1000 more iterations would gain "), "{remarks:?}");
    }
}

#[test]
fn nobody_is_started_who_does_not_pay() {
    let arguments = ["6", "20", "--workers", "auto", "--max-workers", "2", "--horizon", "1"];
    for library in Library::DYNAMIC {
        let ended = finished(&job(library, 1, &arguments), 6);
        assert_eq!(lines(&ended, "workers"), ["[0, 0, 0, 0, 0, 0]"], "{library:?}");
        let remarks = lines(&ended, "remark");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].starts_with("workers: no more are started because "), "{remarks:?}");
    }
}

/// With Open MPI 5 and `--with-ft ulfm`, the other ranks continue.
#[test]
fn the_work_of_a_started_worker_that_dies_is_dealt_again() {
    let arguments = ["12", "500", "kill=5", "--workers", "3", "--max-workers", "3"];
    let job = Library::OpenMpi5.launch_surviving(1, &example("elastic")).unwrap();
    let ended = job.args(arguments).run();
    check_result(&ended, 12);
    let n_lost: u32 = lines(&ended, "lost")[0].parse().unwrap();
    assert_eq!(n_lost, 1, "{}", ended.text());
}

/// Kills one of the processes whose environment satisfies `is_it`, as soon as the checkpoint has `wanted` iterations,
/// in a job whose launcher lets the other ranks live.
#[track_caller]
fn end_of_killed(
    n_ranks: usize,
    words: &str,
    wanted: u64,
    is_it: impl Fn(&[u8]) -> bool,
) -> EndedJob {
    let folder = tempfile::tempdir().expect("a folder for the checkpoint");
    let file = folder.path().join("state");
    let job = Library::OpenMpi5
        .launch_surviving(n_ranks, &example("elastic"))
        .expect("Open MPI 5 survives lost ranks");
    let job = job.arg("12").args(words.split(' ')).arg("--checkpoint").arg(&file);
    let running = job.within(Duration::from_secs(40)).start();
    running.wait_until("the checkpoint", |_| n_saved(&file).is_some_and(|n| wanted <= n));
    let is_rank = |words: &[String]| words.first().is_some_and(|word| word.ends_with("/elastic"));
    let is_victim = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(&is_it)
    };
    let victim = running.processes(is_rank).into_iter().find(is_victim);
    running.kill(victim.expect("it still runs"));
    let ended = running.finish();
    assert!(n_saved(&file).is_some_and(|n| wanted <= n), "the checkpoint remains");
    ended
}

/// Regression: in release builds all other ranks died of a segmentation fault, and the launcher returned code 0,
/// because the error path of a call to the library was miscompiled.
#[test]
fn a_launched_master_that_is_killed_ends_the_job_with_a_code() {
    let ended = end_of_killed(3, "5000", 2, |variable| variable == b"OMPI_COMM_WORLD_RANK=0");
    assert_ne!(ended.code, 0, "{}", ended.text());
    assert_eq!(lines(&ended, "digest"), Vec::<&str>::new());
    // The remaining ranks report why they end.
    assert!(ended.stderr.contains("received nothing from the master"), "{}", ended.text());
}

/// The others do its work, and another worker is started in its place where a number is asked for.
#[test]
fn a_launched_worker_that_is_killed_costs_nothing_but_time() {
    for (words, n_started) in [("5000", 0), ("5000 --workers 2 --max-workers 2", 1)] {
        let ended = end_of_killed(3, words, 2, |variable| variable == b"OMPI_COMM_WORLD_RANK=1");
        assert_eq!(ended.code, 0, "{}", ended.text());
        check_result(&ended, 12);
        assert_eq!(lines(&ended, "lost"), ["1"], "{}", ended.text());
        assert_eq!(lines(&ended, "remark").len(), n_started, "{}", ended.text());
    }
}

/// As above. No worker can continue without the master; the workers report it, and the launcher returns their code.
#[test]
fn a_killed_master_of_started_workers_ends_them_with_a_code() {
    let words = "5000 --workers 2 --max-workers 2";
    let ended = end_of_killed(1, words, 2, |variable| is_started_by(variable, true));
    assert_ne!(ended.code, 0, "{}", ended.text());
    assert!(ended.stderr.contains("received nothing from the master"), "{}", ended.text());
}

/// As above. Regression: the master died when a worker was lost that it was to continue without.
#[test]
fn a_started_worker_that_is_killed_costs_nothing_but_time() {
    let words = "5000 --workers 3 --max-workers 3";
    let ended = end_of_killed(1, words, 2, |variable| is_started_by(variable, false));
    check_result(&ended, 12);
    assert_eq!(lines(&ended, "lost"), ["1"], "{}", ended.text());
}

/// Returns whether a process with this variable was started by the launcher rather than by another rank: each start has
/// its own name.
fn is_started_by(variable: &[u8], launcher: bool) -> bool {
    variable.starts_with(b"PMIX_NAMESPACE=") && variable.ends_with(b"@1") == launcher
}

/// Other libraries end the whole job, and quickly: only the checkpoint is left.
#[test]
fn elsewhere_it_takes_the_job_with_it() {
    let arguments = ["12", "500", "kill=5", "--workers", "3", "--max-workers", "3"];
    for library in Library::DYNAMIC {
        let ended = job(library, 1, &arguments).within(Duration::from_secs(20)).run();
        assert_ne!(ended.code, 0, "{library:?}: {}", ended.text());
        assert_eq!(lines(&ended, "digest"), Vec::<&str>::new(), "{library:?}");
    }
}

/// Number of iterations in the checkpoint.
pub(crate) fn n_saved(file: &Path) -> Option<u64> {
    let bytes = std::fs::read(file).ok()?;
    bytes.get(16..24)?.first_chunk().copied().map(u64::from_le_bytes)
}

fn kill_all(running: &StartedJob) {
    running.wait_until("all are killed", |running| {
        let left = running.processes(|_| true);
        left.iter().for_each(|pid| running.kill(*pid));
        left.is_empty()
    });
}

#[test]
fn a_job_that_is_killed_goes_on_with_other_ranks_to_the_same_result() {
    for library in Library::ALL {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        let resumed = ["12", "--resume", "--checkpoint", file.to_str().unwrap()];
        for (n_ranks, stuck_in) in [(3, "4"), (2, "9")] {
            let stuck = format!("stuck={stuck_in}");
            let running = job(library, n_ranks, &resumed).arg(stuck).start();
            let wanted: u64 = stuck_in.parse().unwrap();
            running.wait_until("the checkpoint", |_| n_saved(&file) == Some(wanted));
            kill_all(&running);
            assert_ne!(running.finish().code, 0, "{library:?}");
        }
        finished(&job(library, 4, &resumed), 12);
    }
}

/// A job with workers started during the run is killed too, and continues without them.
#[test]
fn a_job_with_started_workers_that_is_killed_goes_on() {
    for library in Library::DYNAMIC {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        let resumed = ["12", "--resume", "--checkpoint", file.to_str().unwrap()];
        let more = ["stuck=6", "--workers", "2", "--max-workers", "2"];
        let running = job(library, 1, &resumed).args(more).start();
        running.wait_until("the checkpoint", |_| n_saved(&file) == Some(6));
        kill_all(&running);
        assert_ne!(running.finish().code, 0, "{library:?}");
        finished(&job(library, 2, &resumed), 12);
    }
}

#[test]
fn a_signal_to_the_launcher_ends_everybody() {
    for library in Library::ALL {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        let arguments = ["12", "stuck=3", "--checkpoint", file.to_str().unwrap()];
        for send in [StartedJob::terminate, StartedJob::interrupt] {
            let job = job(library, 2, &arguments).args(["--workers", "2", "--max-workers", "2"]);
            let running = job.within(Duration::from_secs(20)).start();
            running.wait_until("the checkpoint", |_| n_saved(&file) == Some(3));
            std::fs::remove_file(&file).unwrap();
            send(&running, running.pid());
            // MPICH 4 reports an interrupt as a success.
            let ended = running.finish();
            assert_eq!(lines(&ended, "digest"), Vec::<&str>::new(), "{library:?}");
        }
    }
}
