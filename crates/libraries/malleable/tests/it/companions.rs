//! Programs that grow by a second launcher.

use crate::resizing::{PACE, digest, digest_alone, record, resized, rod};
use launch::{Job, Library};
use resize_api::{ResizeOutcome, Spawn};
use std::path::Path;

/// Checks the outcomes of two resizes; the program continues after either.
#[track_caller]
fn check(words: &[&str], fault: &str, expected: &[(u32, u32, ResizeOutcome, usize)]) {
    let library = Library::Mpich5;
    let words = [&PACE[..], &["--spawn", "companion", "--foreground"], words].concat();
    let (ended, resizes) = resized(|folder| {
        let job = rod(library, 2, folder, &words).args(["--check-every", "1"]);
        job.variable("SINTONIA_MALLEABLE_FAULT", fault)
    });
    assert_eq!(digest(&ended.stdout), digest_alone(library, &PACE));
    let found = resizes.iter().map(|resize| {
        assert_eq!(resize.spawn, Spawn::Companion);
        (resize.from, resize.to, resize.outcome, resize.pids_gone.len())
    });
    assert_eq!(found.collect::<Vec<_>>(), expected, "{resizes:?}");
}

#[test]
fn processes_of_another_launcher_come_and_go() {
    use ResizeOutcome::Done;
    let resizes = [(2, 4, Done, 0), (4, 2, Done, 2), (2, 3, Done, 0)];
    check(&["--schedule", "10:4,30:2,50:3"], "", &resizes);
    let baseline = ["--schedule", "10:1,30:2", "--strategy", "baseline"];
    check(&baseline, "", &[(2, 1, Done, 2), (1, 2, Done, 1)]);
}

#[test]
fn where_they_do_not_come_in_time_the_program_goes_on() {
    let resizes = [(2, 4, ResizeOutcome::Failed, 0), (2, 3, ResizeOutcome::Done, 0)];
    let words = ["--schedule", "10:4,20:3", "--deadline", "12"];
    check(&words, "start:0:sleep", &resizes);
}

/// A host that does not exist, new ranks that die while MPI begins in them, and one that is killed while all join.
#[test]
fn what_harms_new_ranks_before_they_have_joined_harms_them_alone() {
    let library = Library::Mpich5;
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "localhost slots=2\nno-such-host slots=2\n").unwrap();
    let hosts = ["--hostfile", hosts.to_str().unwrap()];
    let check = |options: &[&str], fault: &str, part: &str| {
        let record_at = tempfile::tempdir().unwrap();
        let words = ["--until", "3000", "--pause-us", "1000", "--schedule", "10:4"];
        let words = [&words[..], &["--deadline", "2"], options].concat();
        let job = rod(library, 2, record_at.path(), &words);
        let ended = job.variable("SINTONIA_MALLEABLE_FAULT", fault).run();
        assert!(digest(&ended.stdout).contains("after 3000 iterations"), "{fault}: {ended:?}");
        let resizes = record(record_at.path());
        assert_eq!(resizes.len(), 1, "{fault}: {resizes:?}");
        assert!(resizes[0].sentence.contains(part), "{fault}: {resizes:?}");
        ended.code
    };
    assert_eq!(check(&hosts, "", "brought no new ranks on `no-such-host`: its launcher ended"), 0);
    // The library does not return from joining, so it cannot be finalized.
    assert_ne!(check(&[], "come:3:kill", "the program keeps its 2 ranks"), 0);
}

#[test]
fn where_one_of_them_dies_all_end() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--until", "30000", "--schedule", "10:4", "--spawn", "companion"];
    for fault in ["settle:0:die", "settle:3:die"] {
        let job = rod(Library::Mpich5, 2, folder.path(), &words);
        let ended = job.variable("SINTONIA_MALLEABLE_FAULT", fault).run();
        assert_ne!(ended.code, 0, "{fault}: {ended:?}");
    }
}

#[test]
fn who_cannot_connect_refuses() {
    let words = ["--until", "60", "--schedule", "10:4", "--spawn", "companion"];
    check_refused(|folder| rod(Library::OpenMpi5, 2, folder, &words), "use `--spawn tree`");
}

/// Regression: users who ask for UCX get it, and with it ranks that do not receive from all started ones: a growth over
/// UCX was made, and then a receive from any rank waited forever.
#[test]
fn who_has_asked_for_ucx_keeps_its_size() {
    let words = ["--until", "60", "--schedule", "10:4"];
    let job = |folder: &Path| {
        rod(Library::Mpich5, 2, folder, &words).variable("MPIR_CVAR_CH4_NETMOD", "ucx")
    };
    check_refused(job, "set `MPIR_CVAR_CH4_NETMOD=ofi`");
}

#[track_caller]
fn check_refused(job: impl FnOnce(&Path) -> Job, part: &str) {
    let (_, resizes) = resized(job);
    let found = resizes.iter().map(|resize| (resize.outcome, &*resize.sentence));
    let found = found.collect::<Vec<_>>();
    let is_refused = matches!(found[..], [(ResizeOutcome::Refused, why)] if why.contains(part));
    assert!(is_refused, "{found:?}");
}
