//! Tests in which parts of a tuned run are killed, stopped or told to end at a certain moment: the run goes on.

use super::case::{N_RANKS, tunlet};
use run_record::TuningSummary;
use run_record::tuning::{DecisionOutcome, DecisionSummary};
use std::path::Path;
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::program::source_folder;
use suite::tool::{WatchFolders, sintonia};
use suite::{EndedJob, Job, StartedJob, TestProgram, Watched};

/// Number of collectors that are killed one after the other, each with something else in progress.
const N_KILLS: usize = 3;

/// Number of lines of this kind in `tuning.jsonl` so far.
fn n_lines(folders: &WatchFolders, kind: &str) -> usize {
    let text = std::fs::read_to_string(folders.record().join("tuning.jsonl")).unwrap_or_default();
    let wanted = format!("\"kind\":\"{kind}\"");
    text.lines().filter(|line| line.contains(&wanted)).count()
}

fn start(folders: &WatchFolders, library: Library, tunlet: &Path) -> StartedJob {
    let program = TestProgram::c("killed").built(library);
    let job = library.launch(N_RANKS as usize, &program).arg(folders.folder());
    let description = source_folder().join("killed.toml").display().to_string();
    let tunlet = tunlet.display().to_string();
    folders.start(&job, &["--quiet", "--no-html", "--app", &description, "--tunlet", &tunlet])
}

fn wait_for_lines(running: &StartedJob, folders: &WatchFolders, kind: &str, n_wanted: usize) {
    running
        .wait_until(&format!("{n_wanted} lines `{kind}`"), |_| n_wanted <= n_lines(folders, kind));
}

fn let_end(folders: &WatchFolders) {
    std::fs::write(folders.folder().join("go"), "").expect("the folder is ours");
}

#[track_caller]
fn well(folders: WatchFolders, ended: EndedJob) -> TuningSummary {
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "right\n"), "{}", ended.stderr);
    let Watched { summary, .. } = folders.finish(ended);
    summary.tuning.expect("the record has the story of the tuning")
}

fn collectors(running: &StartedJob) -> Vec<u32> {
    running.processes(|words| words.iter().any(|word| word == "collector"))
}

/// Number of decisions that have come to an end so far, whatever their outcome.
fn n_settled(folders: &WatchFolders) -> usize {
    ["applied", "declined", "lost"].into_iter().map(|kind| n_lines(folders, kind)).sum()
}

/// Checks that nothing stays pending and nothing is lost: what passed through a killed collector is completed through
/// the next one, and the tuning point is changed as before.
#[track_caller]
fn check_killed_collector(library: Library) {
    let folders = WatchFolders::new();
    let running = start(&folders, library, &tunlet(&[]));
    wait_for_lines(&running, &folders, "applied", 2);
    for _time in 0..N_KILLS {
        let before = collectors(&running);
        assert!(!before.is_empty(), "there is a collector");
        before.iter().for_each(|pid| running.kill(*pid));
        let (n_settled_before, n_seen) = (n_settled(&folders), n_lines(&folders, "iteration"));
        running
            .wait_until("a decision comes to its end", |_| n_settled_before < n_settled(&folders));
        // One decision was in progress; those after it were made without the killed collector.
        wait_for_lines(&running, &folders, "applied", n_lines(&folders, "applied") + 3);
        wait_for_lines(&running, &folders, "iteration", n_seen + 20);
    }
    let_end(&folders);
    let tuning = well(folders, running.finish());
    assert_eq!(tuning.tunlets[0].ended, None);
    // Changes that the end of the run interrupts are not known to be in effect, either.
    let is_lost = |decision: &&DecisionSummary| {
        decision.outcome == DecisionOutcome::Lost
            && !decision.outcome_reason.contains("the run ended")
    };
    assert_eq!(tuning.decisions.iter().find(is_lost), None);
}

#[test]
fn a_collector_that_is_killed_while_it_has_orders() {
    check_killed_collector(OpenMpi4);
    check_killed_collector(Mpich4);
}

/// Ranks wait in `MPI_Init` for an analyzer that is stopped and then killed: they go on without it.
#[track_caller]
fn check_killed_while_ranks_wait(library: Library) {
    let folders = WatchFolders::new();
    let mut running = start(&folders, library, &tunlet(&[]));
    running.wait_until("its collector is there", |running| !collectors(running).is_empty());
    let is_rank = |words: &[String]| words.first().is_some_and(|word| word.ends_with("/killed"));
    running.wait_until("ranks are there", |running| !running.processes(is_rank).is_empty());
    running.stop(running.pid());
    running.kill(running.pid());
    let_end(&folders);
    running.wait_for_line("right");
    running.wait_until("all has ended", |running| running.processes(|_| true).is_empty());
    assert_eq!(running.finish().code, 128 + 9);
    let report = Job::new(sintonia()).arg("report").arg(folders.record()).run();
    assert_eq!(report.code, 0, "{}", report.stderr);
    let watched = folders.finish(report);
    assert_eq!(watched.summary.n_ranks, N_RANKS as usize);
}

#[test]
fn an_analyzer_that_is_killed_while_ranks_wait_for_it() {
    check_killed_while_ranks_wait(OpenMpi4);
    check_killed_while_ranks_wait(Mpich4);
}

/// Checks that a tunlet that never answers is ended, and the program is watched to its own end.
#[track_caller]
fn check_hanging_tunlet(library: Library) {
    let folders = WatchFolders::new();
    let running = start(&folders, library, &tunlet(&["-DDEAF"]));
    wait_for_lines(&running, &folders, "tunlet-ended", 1);
    let n_before = n_lines(&folders, "iteration");
    wait_for_lines(&running, &folders, "iteration", n_before + 3);
    let_end(&folders);
    let tuning = well(folders, running.finish());
    let why = tuning.tunlets[0].ended.clone().unwrap_or_default();
    assert!(why.contains("the run goes on without it"), "{why}");
}

#[test]
fn a_tunlet_that_hangs() {
    check_hanging_tunlet(OpenMpi4);
    check_hanging_tunlet(Mpich4);
}

/// Checks that the record of an interrupted command is complete.
#[track_caller]
fn check_interrupted(library: Library) {
    let folders = WatchFolders::new();
    let running = start(&folders, library, &tunlet(&[]));
    wait_for_lines(&running, &folders, "applied", 2);
    running.interrupt(running.pid());
    let ended = running.finish();
    // MPICH 4 returns 0 on an interrupt now and then, also without `sintonia`.
    assert!(library == Mpich4 || ended.code != 0);
    let watched = folders.finish(ended);
    assert!(watched.summary.outcome.complete);
    let tuning = watched.summary.tuning.as_ref().expect("the story of the tuning");
    assert!(!tuning.iterations.is_empty());
    let end = std::fs::read_to_string(watched.record().join("tuning.jsonl")).expect("its lines");
    assert!(end.lines().last().is_some_and(|line| line.contains("\"kind\":\"end\"")), "{end}");
}

#[test]
fn an_interrupt_while_tuning() {
    check_interrupted(OpenMpi4);
    check_interrupted(Mpich4);
}
