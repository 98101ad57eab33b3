//! Programs that change their size with the libraries that can start processes.

use launch::{EndedJob, Job, Library, example};
use mpi_abi::{MPICH_SETTINGS, OPEN_MPI_SETTINGS};
use resize_api::{Resize, ResizeOutcome, Spawn, Started, Strategy};
use std::path::Path;

/// Iterations in sufficient number, and long enough, for data to move meanwhile.
pub(crate) const PACE: [&str; 4] = ["--until", "1500", "--pause-us", "500"];

/// Job of a rod on `n_ranks` ranks; its record goes into the folder.
pub(crate) fn rod(library: Library, n_ranks: usize, folder: &Path, words: &[&str]) -> Job {
    let job = library.launch(n_ranks, &example("rod")).args(words);
    let job = job.arg("--record").arg(folder).arg("--control").arg(folder.join("jobs"));
    // Other tests create and remove networks, which Open MPI would use.
    job.variable("OMPI_MCA_btl_tcp_if_include", "lo")
}

#[track_caller]
pub(crate) fn record(folder: &Path) -> Vec<Resize> {
    let text = std::fs::read_to_string(folder.join("resizes.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a job that is made for its folder, and does not fail; also returns the record of its resizes.
#[track_caller]
pub(crate) fn resized(job: impl FnOnce(&Path) -> Job) -> (EndedJob, Vec<Resize>) {
    let folder = tempfile::tempdir().unwrap();
    let ended = job(folder.path()).run();
    assert_eq!(ended.code, 0, "{ended:?}");
    (ended, record(folder.path()))
}

/// Final digest of the rod on a single rank that stays alone.
#[track_caller]
pub(crate) fn digest_alone(library: Library, words: &[&str]) -> String {
    let (ended, _) = resized(|folder| rod(library, 1, folder, words));
    digest(&ended.stdout).to_owned()
}

/// Final digest of the rod, which does not depend on its ranks.
#[track_caller]
pub(crate) fn digest(stdout: &str) -> &str {
    stdout.lines().find(|line| line.starts_with("digest")).expect(stdout)
}

/// Checks that all resizes of a schedule are made, and the result is that of a run without any.
#[track_caller]
fn check(words: &[&str], expected: &[(u32, u32, Strategy)]) -> Vec<Vec<Resize>> {
    let mut records = Vec::new();
    for library in Library::DYNAMIC {
        let folder = tempfile::tempdir().unwrap();
        let all = [&PACE[..], &["--foreground", "--check-every", "1"], words].concat();
        let ended = rod(library, 2, folder.path(), &all).run();
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(digest(&ended.stdout), digest_alone(library, &PACE), "{}", library.name());
        let resizes = record(folder.path());
        let found = resizes.iter().map(|resize| (resize.from, resize.to, resize.strategy));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{ended:?}");
        for resize in &resizes {
            assert_eq!(resize.outcome, ResizeOutcome::Done, "{resize:?}");
            let n_left = match resize.strategy {
                Strategy::Baseline => resize.from,
                Strategy::Merge => resize.from.saturating_sub(resize.to),
            };
            assert_eq!(resize.pids_gone.len(), n_left as usize, "{resize:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path().join("jobs")).unwrap().count(), 0);
        records.push(resizes);
    }
    records
}

#[test]
fn a_program_grows_and_shrinks() {
    use Strategy::{Baseline, Merge};
    let words = ["--schedule", "10:5,30:2,50:1,70:3", "--redistribution", "sync"];
    let resizes = [(2, 5, Merge), (5, 2, Merge), (2, 1, Baseline), (1, 3, Merge)];
    for record in check(&words, &resizes) {
        assert!(record.iter().all(|resize| resize.redistribution == "sync"));
        assert!(record.iter().all(|resize| resize.bytes.variable == 1000 * 8 + 8));
    }
}

/// As the guide advises: ranks that were started alone can leave, so a program that begins with one rank always shrinks
/// without new processes.
#[test]
fn a_program_that_begins_with_one_rank_shrinks_by_ranks_that_leave() {
    for library in Library::DYNAMIC {
        let words = ["--schedule", "10:4,30:2,50:3,70:1", "--foreground", "--check-every", "1"];
        let (ended, resizes) = resized(|folder| rod(library, 1, folder, &words).args(PACE));
        let found = resizes.iter().map(|resize| (resize.to, resize.outcome, resize.strategy));
        let expected = [4, 2, 3, 1].map(|to| (to, ResizeOutcome::Done, Strategy::Merge));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{ended:?}");
    }
}

#[test]
fn processes_are_started_in_other_ways() {
    let ways = [(Spawn::One, "one", "async"), (Spawn::Sequential, "sequential", "p2p")];
    for (spawn, word, method) in ways {
        let words = ["--schedule", "10:4,30:2", "--spawn", word, "--redistribution", method];
        let resizes = [(2, 4, Strategy::Merge), (4, 2, Strategy::Merge)];
        for record in check(&words, &resizes) {
            assert!(record.iter().all(|resize| resize.spawn == spawn));
        }
    }
}

#[test]
fn processes_of_a_node_are_one_world() {
    let hosts = tempfile::NamedTempFile::new().unwrap();
    // Two names of this machine: two processes start under the first name, where two are, since that is nearer, and two
    // under the other. Then three of six cannot leave.
    std::fs::write(hosts.path(), "localhost slots=4\n127.0.0.1 slots=8\n").unwrap();
    let file = hosts.path().to_str().unwrap();
    let words = ["--schedule", "10:6,30:3", "--spawn", "per-node", "--hostfile", file];
    let words = [&words[..], &["--placement", "nearest"]].concat();
    for record in check(&words, &[(2, 6, Strategy::Merge), (6, 3, Strategy::Baseline)]) {
        assert!(record.iter().all(|resize| resize.spawn == Spawn::PerNode));
    }
}

#[test]
fn nobody_has_to_set_anything() {
    for library in Library::DYNAMIC {
        let words = ["--schedule", "10:4,40:2", "--foreground", "--check-every", "1"];
        // Tests set these variables for libraries, but users need not.
        let settings = OPEN_MPI_SETTINGS.iter().chain(&MPICH_SETTINGS).map(|(name, _)| *name);
        let settings = settings.chain(["OMPI_MCA_btl_tcp_if_include"]);
        let (ended, resizes) = resized(|folder| {
            let job = rod(library, 2, folder, &words).args(PACE);
            settings.fold(job, |job, name| job.without(name))
        });
        assert!(resizes.iter().all(|resize| resize.outcome == ResizeOutcome::Done), "{resizes:?}");
        assert_eq!(resizes.len(), 2, "{ended:?}");
    }
}

/// Pseudorandom sizes.
fn random_schedule(n_resizes: u64) -> String {
    let mut seed = 7_u64;
    let sizes = (0..n_resizes).map(|number| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{}:{}", 10 + 4 * number, (seed >> 40) % 8 + 1)
    });
    sizes.collect::<Vec<_>>().join(",")
}

#[test]
fn a_hundred_resizes_change_no_result_with_open_mpi() {
    check_many(Library::OpenMpi5);
}

#[test]
fn a_hundred_resizes_change_no_result_with_mpich() {
    check_many(Library::Mpich5);
}

#[track_caller]
fn check_many(library: Library) {
    let schedule = random_schedule(100);
    let until = ["--until", "420"];
    let words = ["--redistribution", "sync", "--foreground", "--check-every", "1"];
    let words = [&until[..], &words, &["--schedule", &schedule]].concat();
    let limit = std::time::Duration::from_mins(9);
    let (ended, resizes) = resized(|folder| rod(library, 1, folder, &words).within(limit));
    assert_eq!(digest(&ended.stdout), digest_alone(library, &until), "{}", library.name());
    assert!(resizes.iter().all(|resize| resize.outcome == ResizeOutcome::Done), "{resizes:?}");
    assert!(75 < resizes.len(), "{}", resizes.len());
}

/// Checks a fault at a point of the protocol: the program ends, or continues with its old size. If the launcher of Open
/// MPI forgets a process that joins one that has died, its watchdog ends it after four deadlines.
#[track_caller]
fn check_fault(library: Library, fault: &str, goes_on: bool) {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--schedule", "10:4", "--foreground", "--deadline", "10"];
    let job = rod(library, 2, folder.path(), &words).args(PACE);
    let ended = job.variable("SINTONIA_MALLEABLE_FAULT", fault).run();
    assert_eq!(ended.code == 0, goes_on, "{fault}: {ended:?}");
    if goes_on {
        assert!(digest(&ended.stdout).contains("after 1500 iterations"));
        let resizes = record(folder.path());
        let outcomes = resizes.iter().map(|resize| resize.outcome).collect::<Vec<_>>();
        assert_eq!(outcomes, [ResizeOutcome::Failed], "{resizes:?}");
    }
}

#[test]
fn a_fault_is_the_end_of_a_resize_or_of_the_program() {
    for library in Library::DYNAMIC {
        check_fault(library, "start:1:refuse", true);
        for place in ["start:1", "come:3", "ready:1", "move:2", "switch:2", "settle:0"] {
            check_fault(library, &format!("{place}:die"), false);
        }
    }
}

#[test]
fn where_nothing_can_be_started_a_wish_is_refused() {
    for library in Library::SYSTEM {
        let words = ["--schedule", "10:4", "--until", "60"];
        let (ended, resizes) = resized(|folder| rod(library, 2, folder, &words));
        assert_eq!(resizes.len(), 1, "{ended:?}");
        assert_eq!(resizes[0].outcome, ResizeOutcome::Refused);
    }
}

#[test]
fn ranks_sleep_where_no_process_can_be_started() {
    for library in Library::SYSTEM {
        let schedule = ["--schedule", "10:4,30:1,50:3", "--foreground", "--check-every", "1"];
        let words = [&PACE[..], &["--preferred", "2"], &schedule].concat();
        let (ended, resizes) = resized(|folder| rod(library, 4, folder, &words));
        assert_eq!(digest(&ended.stdout), digest_alone(library, &PACE), "{}", library.name());
        let found = resizes.iter().map(|resize| (resize.from, resize.to, resize.outcome));
        let done = ResizeOutcome::Done;
        let expected = [(2, 4, done), (4, 1, done), (1, 3, done)];
        assert_eq!(found.collect::<Vec<_>>(), expected, "{resizes:?}");
        assert!(resizes.iter().all(|resize| resize.started == Started::Parked));
        assert!(resizes.iter().all(|resize| resize.pids_gone.is_empty()));
    }
}

/// In any phase; windows are freed, too, so that the output is only that of the program.
#[test]
fn a_program_that_ends_first_says_so() {
    for (library, method) in
        [(Library::Mpich5, "get"), (Library::Mpich5, "async"), (Library::OpenMpi5, "p2p")]
    {
        for until in ["8", "16", "32", "64"] {
            let words = ["--rows", "3000000", "--schedule", "5:4", "--redistribution", method];
            let (ended, resizes) = resized(|folder| {
                let job = rod(library, 2, folder, &words).args(["--until", until]);
                job.without("MPIR_CVAR_CH4_NETMOD")
            });
            assert_eq!(ended.stdout.lines().count(), 2, "{method}: {}", ended.text());
            assert_eq!(resizes.len(), 1, "{resizes:?}");
            check_end(&resizes[0]);
        }
    }
}

/// While leaders of two groups are about to join, other threads send on the same communicator that all is done.
#[test]
fn a_program_may_end_while_processes_join() {
    for library in Library::DYNAMIC {
        let words = ["--schedule", "5:4", "--until", "300", "--pause-us", "1000"];
        let fault = ("SINTONIA_MALLEABLE_FAULT", "join:0:wait");
        let (_, resizes) =
            resized(|folder| rod(library, 2, folder, &words).variable(fault.0, fault.1));
        assert_eq!(resizes.len(), 1, "{resizes:?}");
        check_end(&resizes[0]);
    }
}

/// Checks a resize to 4 ranks of a program that may have ended meanwhile.
#[track_caller]
fn check_end(resize: &Resize) {
    let is_over = resize.sentence == "the program ended before it had 4 ranks";
    assert!(is_over || resize.outcome == ResizeOutcome::Done, "{resize:?}");
}
