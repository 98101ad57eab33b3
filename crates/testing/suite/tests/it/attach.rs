//! Tests of `sintonia attach`: running ranks are entered, watched, changed, and left as they were.

mod rank;

use rank::{Stage, State};
use run_record::Summary;
use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use suite::library::Library;
use suite::library::Library::{Mpich4, OpenMpi4};
use suite::tool::{WatchFolders, sintonia};
use suite::{EndedJob, Job, StartedJob, TestProgram};

const N_RANKS: usize = 2;
/// Exit code of an attach that changed nothing.
const NOT_ATTACHED: i32 = 104;

/// Ranks of `joined` that run until they are told to end.
struct Joined {
    running: StartedJob,
    folders: WatchFolders,
    pids: Vec<u32>,
}

impl Joined {
    fn start(library: Library, program: &TestProgram) -> Self {
        let folders = WatchFolders::new();
        let job = launch(library, program).arg(folders.folder().join("end"));
        let mut running = job.start();
        running.wait_for_line("ready");
        let is_rank = |words: &[String]| words.first().is_some_and(|word| word.contains("/joined"));
        let pids = running.processes(is_rank);
        assert_eq!(pids.len(), N_RANKS);
        Self { running, folders, pids }
    }

    fn states(&self) -> Vec<State> {
        self.pids.iter().map(|pid| State::of(*pid)).collect()
    }

    /// Returns whether any rank is watched.
    fn is_watched(&self) -> bool {
        self.pids.iter().any(|pid| rank::is_watched(*pid))
    }

    /// Attaches to the process, and waits until all ranks are watched.
    fn start_attach(&self, pid: u32) -> StartedJob {
        let errors_only = ["sh", "-c", "exec \"$@\" 2>&1 >/dev/null", "sh"].map(Into::into);
        let mut attach = self.folders.attach(pid, &[]).after(errors_only.to_vec()).start();
        attach.wait_for_line_that("attached", |line| line.starts_with("sintonia: attached in "));
        attach
    }

    /// Attaches to the launcher; checks that all ranks are reported, and are as before.
    #[track_caller]
    fn attach(&self, options: &[&str]) -> (Summary, WatchFolders) {
        let (before, folders) = (self.states(), WatchFolders::new());
        let ended = folders.attach(self.running.pid(), options).run();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(self.states() == before, "the ranks are not as they were");
        let said = "attaching to ranks 0-1 of `joined";
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
        assert!(!folders.has_shared_memory());
        let text = std::fs::read_to_string(folders.record().join("summary.json"));
        let summary: Summary = serde_json::from_str(&text.expect("a record")).expect("a summary");
        assert!(summary.outcome.complete && summary.outcome.goes_on);
        assert!(summary.command[0].contains("/joined"), "{:?}", summary.command);
        assert!(summary.ranks.iter().all(|rank| rank.end == "detached"), "{:?}", summary.ranks);
        assert_eq!(summary.n_ranks, N_RANKS);
        (summary, folders)
    }

    /// Lets the program end, and returns what it printed.
    #[track_caller]
    fn end(self) -> String {
        std::fs::write(self.folders.folder().join("end"), "").expect("the folder is ours");
        let ended = self.running.finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout
    }
}

fn launch(library: Library, program: &TestProgram) -> Job {
    let job = library.launch(N_RANKS, &program.built(library));
    // Waiting threads yield their cores.
    job.variable("OMP_WAIT_POLICY", "passive")
}

fn c() -> TestProgram {
    TestProgram::c("joined").flags(&["-Wl,-z,now"])
}

/// Output of the program without `sintonia`.
#[track_caller]
fn plain(library: Library, program: &TestProgram) -> String {
    let file: PathBuf = "/dev/null".into();
    let EndedJob { code, stdout, stderr } = launch(library, program).arg(file).run();
    assert_eq!(code, 0, "{stderr}");
    stdout
}

/// Checks that each rank has called both operations once per round; at either end of the watch it may be between them, and
/// while a rank that is searched has lost its core, between the one and the other, the others do some more rounds.
#[track_caller]
fn check_rounds(summary: &Summary) {
    let calls = |name| summary.operations.get(name).map_or(0, |totals| totals.calls);
    let (sums, casts) = (calls("MPI_Allreduce"), calls("MPI_Bcast"));
    let slack = (2 * N_RANKS as u64).max(sums / 50);
    assert!(slack < sums && sums.abs_diff(casts) <= slack, "{sums} sums, {casts} broadcasts");
}

/// Checks that a program that is attached to and left twice prints what it prints alone.
#[track_caller]
fn check(library: Library, program: &TestProgram, probe: &[&str]) {
    let joined = Joined::start(library, program);
    let (summary, _) = joined.attach(&["--for", "0.6"]);
    check_rounds(&summary);
    let (summary, _) = joined.attach(&[&["--for", "0.6", "--trace"], probe].concat());
    check_rounds(&summary);
    assert_eq!(joined.end(), plain(library, program));
}

#[test]
fn a_c_program_is_left_as_it_was() {
    Library::SYSTEM.into_iter().for_each(|library| check(library, &c(), &["--probe", "step"]));
}

#[test]
fn a_program_of_threads_is_left_as_it_was() {
    let program = c().flags(&["-fopenmp"]).named("joined-threads");
    for library in Library::SYSTEM {
        check(library, &program, &["--probe", "step*"]);
    }
}

#[test]
fn a_fortran_program_is_left_as_it_was() {
    for library in Library::SYSTEM {
        check(library, &TestProgram::f90("joined", library).flags(&["-Wl,-z,now"]), &[]);
    }
}

const APP: &str = r#"
format = 1
program = "joined"
[actors]
master = "0"
[iteration]
start = "begin"
end = "done"
[[event]]
name = "begin"
actor = "master"
function = "step"
at = "entry"
[[event]]
name = "done"
actor = "master"
function = "step"
at = "exit"
[[tuning_point]]
name = "factor"
actor = "master"
range = [2.0, 8.0]
step = 1.0
at = "begin"
"#;

/// The program ends with the value that the tunlet set last, or with the one before if that change was undone.
#[test]
fn a_variable_is_changed_and_stays() {
    for library in Library::SYSTEM {
        let joined = Joined::start(library, &c());
        let app = joined.folders.folder().join("app.toml");
        std::fs::write(&app, APP).expect("the folder is ours");
        let app = app.to_str().expect("a plain path");
        let (_, folders) = joined.attach(&["--for", "1.5", "--app", app, "--tunlet", "search"]);
        let lines = std::fs::read_to_string(folders.record().join("tuning.jsonl"));
        let lines = lines.expect("the record tells of changes");
        let lines = lines.lines().filter_map(|it| serde_json::from_str(it).ok());
        let applied = lines.filter(|line: &serde_json::Value| line["kind"] == "applied");
        let values = |line: serde_json::Value| Some((line["new"].as_f64()?, line["old"].as_f64()?));
        let (new, old) = applied.filter_map(values).next_back().expect("a change");
        assert!(2.0 <= new);
        let printed = joined.end();
        // The last change may have been undone.
        let ends_with = |last| printed.contains(&format!("0 wrong, 39998, factor {last}\n"));
        assert!(ends_with(new) || ends_with(old), "{new}, before {old}: {printed}");
    }
}

/// The program ends while `sintonia attach` is attached to it: the ranks end in order.
#[test]
fn a_program_may_end_meanwhile() {
    for library in Library::SYSTEM {
        let joined = Joined::start(library, &c());
        let attach = joined.start_attach(joined.pids[0]);
        std::fs::write(joined.folders.folder().join("end"), "").expect("the folder is ours");
        let ended = joined.running.finish();
        assert_eq!((ended.code, ended.stdout), (0, plain(library, &c())), "{}", ended.stderr);
        let watched = joined.folders.finish(attach.finish());
        assert_eq!(watched.ended.code, 0, "{}", watched.ended.stderr);
        assert!(!watched.summary.outcome.goes_on);
        assert!(watched.summary.ranks.iter().all(|rank| rank.end == "finalized"));
    }
}

/// Checks that `sintonia attach` leaves the ranks in order when it is told to end, and that they are left soon after it
/// was killed.
#[track_caller]
fn check_ended(library: Library, end: impl FnOnce(&StartedJob)) {
    let joined = Joined::start(library, &c());
    let (before, folders) = (joined.states(), WatchFolders::new());
    let attach = folders.attach(joined.running.pid(), &["--quiet", "--probe", "step"]).start();
    attach.wait_until("the ranks are watched", |_| joined.is_watched());
    end(&attach);
    attach.wait_until("the ranks are left", |_| joined.states() == before);
    attach.finish();
    joined.attach(&["--for", "0.3"]);
    assert_eq!(joined.end(), plain(library, &c()));
}

#[test]
fn a_terminated_attach_leaves_the_program() {
    Library::SYSTEM
        .into_iter()
        .for_each(|it| check_ended(it, |attach| attach.terminate(attach.pid())));
}

#[test]
fn a_killed_attach_leaves_the_program() {
    Library::SYSTEM.into_iter().for_each(|it| check_ended(it, |attach| attach.kill(attach.pid())));
}

/// The process that enters a rank is killed before the rank calls anything for it: the rank goes on, and can be entered
/// again. The tests of `inject` cover what happens during the call, on programs without MPI.
#[test]
fn a_killed_entrance_leaves_the_rank() {
    for library in Library::SYSTEM {
        let joined = Joined::start(library, &c());
        let before = joined.states();
        for stage in [Stage::Started, Stage::Traced, Stage::Mapped, Stage::Loading] {
            // All that is known of this process comes from looking often: on a busy machine it may be over between two looks.
            let n_tries = if stage == Stage::Started { 20 } else { 3 };
            let is_killed = (0..n_tries).any(|_| {
                let folders = WatchFolders::new();
                let options = ["--quiet", "--for", "0.1"];
                let attach = folders.attach(joined.pids[0], &options).start();
                let is_killed = rank::kill_entrance(&attach, joined.pids[0], stage);
                attach.finish();
                joined.running.wait_until("the ranks are left", |_| joined.states() == before);
                is_killed
            });
            // Later stages last for microseconds, and may be over before they are noticed.
            let is_long = stage == Stage::Started;
            assert!(is_killed || !is_long, "{library:?}: nobody was killed when {stage:?}");
        }
        joined.attach(&["--for", "0.1"]);
        assert_eq!(joined.end(), plain(library, &c()));
    }
}

/// One rank has no room for a segment: the other one is left again.
#[test]
fn all_ranks_are_attached_to_or_none() {
    let joined = Joined::start(OpenMpi4, &c());
    let pid = i32::try_from(joined.pids[1]).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: Some(1000), maximum: None };
    prlimit(pid, Resource::Fsize, limit).expect("the rank is ours");
    let (before, folders) = (joined.states(), WatchFolders::new());
    let ended = folders.attach(joined.running.pid(), &[]).run();
    assert_eq!(ended.code, NOT_ATTACHED, "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("process {}", joined.pids[1])), "{}", ended.stderr);
    assert!(
        joined.states() == before && !folders.has_shared_memory() && !folders.record().exists()
    );
    assert_eq!(joined.end(), plain(OpenMpi4, &c()));
}

#[test]
fn a_program_is_watched_by_one_at_a_time() {
    let joined = Joined::start(Mpich4, &c());
    let first = joined.start_attach(joined.running.pid());
    let second = WatchFolders::new().attach(joined.running.pid(), &[]).run();
    assert_eq!(second.code, NOT_ATTACHED, "{}", second.stderr);
    assert!(second.stderr.contains("already watched"), "{}", second.stderr);
    first.terminate(first.pid());
    assert_eq!(first.finish().code, 0);
    assert_eq!(joined.end(), plain(Mpich4, &c()));
}

#[test]
fn who_may_not_trace_is_told_why() {
    if !geteuid().is_root() {
        // Only root can become another user.
        return;
    }
    let joined = Joined::start(OpenMpi4, &c());
    let folder = tempfile::tempdir().expect("a folder");
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), everybody).expect("the folder is ours");
    for name in ["sintonia", "libsintonia.so"] {
        let from = sintonia().with_file_name(name);
        std::fs::copy(from, folder.path().join(name)).expect("the folder is ours");
    }
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let job = Job::new("setpriv").args(user).arg(folder.path().join("sintonia")).arg("attach");
    let ended = job.arg(joined.running.pid().to_string()).folder(folder.path()).run();
    assert_eq!(ended.code, NOT_ATTACHED, "{}", ended.stderr);
    assert!(ended.stderr.contains("another user"), "{}", ended.stderr);
    assert_eq!(joined.end(), plain(OpenMpi4, &c()));
}
