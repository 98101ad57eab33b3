//! Tests of `--tune`: what levers leave alone, and what they leave behind when they are taken back.

use run_record::tuning::{DecisionOutcome, DecisionSummary};
use suite::library::Library::Mpich4;
use suite::tool::{WatchFolders, sintonia};
use suite::{EndedJob, Job, StartedJob, TestProgram};

const N_RANKS: usize = 2;

/// A job under `--tune` with one lever.
struct Tuned {
    folders: WatchFolders,
    running: StartedJob,
    lever: &'static str,
}

impl Tuned {
    #[track_caller]
    fn start(job: &Job, lever: &'static str) -> Self {
        let folders = WatchFolders::new();
        let tunlet = if lever == "huge-pages" { "memory" } else { lever };
        let running = folders.start(job, &["--quiet", "--no-html", &format!("--tune={tunlet}")]);
        Self { folders, running, lever }
    }

    /// What `sintonia tune` says, after it has switched to `position` if there is one.
    fn tune(&self, position: &[&str]) -> EndedJob {
        Job::new(sintonia()).arg("tune").arg(self.folders.record()).args(position).run()
    }

    fn wait_for(&mut self, line: &str) {
        self.running.wait_for_line(line);
    }

    fn off(&self) {
        let off = self.tune(&["off"]);
        assert_eq!(off.code, 0, "{}", off.stderr);
    }

    /// Decisions about the lever, once the program has ended; with `is_stopped`, it is made to end.
    #[track_caller]
    fn decisions(self, is_stopped: bool) -> Vec<DecisionSummary> {
        if is_stopped {
            self.running.interrupt(self.running.pid());
        }
        let watched = self.folders.finish(self.running.finish());
        let mut decisions = watched.summary.tuning.expect("it was tuned").decisions;
        decisions.retain(|decision| decision.point == self.lever);
        assert!(!decisions.is_empty(), "{}", watched.ended.text());
        decisions
    }
}

/// Checks that the lever is declined, with these words in its reason.
#[track_caller]
fn check_declined(job: &Job, lever: &'static str, words: &str) {
    let tuned = Tuned::start(job, lever);
    let declined = format!("{lever} = 1, declined");
    tuned.running.wait_until("a refusal", |_| tuned.tune(&[]).stdout.contains(&declined));
    let decisions = tuned.decisions(true);
    let first = &decisions[0];
    assert_eq!(first.outcome, DecisionOutcome::Declined);
    assert!(first.outcome_reason.contains(words), "{}", first.outcome_reason);
}

/// Checks that a change was made, and that words are said where it is taken back.
#[track_caller]
fn check_said(decisions: &[DecisionSummary], words: &str) {
    let undone = decisions.iter().find(|decision| decision.outcome == DecisionOutcome::Undone);
    let undone = undone.unwrap_or_else(|| panic!("nothing was taken back: {decisions:?}"));
    assert!(undone.outcome_reason.contains(words), "{}", undone.outcome_reason);
}

fn kept_memory(how: &str) -> Job {
    Mpich4.launch(N_RANKS, &TestProgram::c("kept_memory").built(Mpich4)).arg(how)
}

#[test]
fn memory_is_not_kept_where_a_limit_leaves_no_room() {
    check_declined(&kept_memory("limited"), "memory", "`RLIMIT_AS` leaves too little room");
    check_declined(&kept_memory("limited data"), "memory", "`RLIMIT_DATA` leaves too little room");
}

#[test]
fn memory_whose_limits_the_program_sets_is_left_alone() {
    check_declined(&kept_memory("mallopt"), "memory", "`mallopt`");
}

#[test]
fn kept_memory_is_given_back() {
    let mut tuned = Tuned::start(&kept_memory("alone"), "memory");
    tuned.wait_for("kept");
    tuned.off();
    tuned.wait_for("given back");
    check_said(&tuned.decisions(false), "no longer adapts that size");
}

#[test]
fn memory_is_judged_by_windows_of_time_where_calls_come_in_any_order() {
    let mut tuned = Tuned::start(&kept_memory("shuffled"), "memory");
    tuned.wait_for("kept");
    let judged = "equal numbers of MPI calls became";
    tuned.running.wait_until("a verdict", |_| tuned.tune(&[]).stdout.contains(judged));
    tuned.decisions(true);
}

#[test]
fn pages_are_made_huge_and_only_those_that_were_asked_for_are_taken_back() {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let job = Mpich4.launch(N_RANKS, &TestProgram::c("page_marks").built(Mpich4));
    if !setting.is_ok_and(|setting| setting.contains("[madvise]")) {
        check_declined(&job, "huge-pages", "this node");
        return;
    }
    let mut tuned = Tuned::start(&job, "huge-pages");
    tuned.wait_for("-- HG nh");
    tuned.running.wait_for_line_that("pages that are huge once they are marked", |line| {
        assert_ne!(line, "hg HG nh", "marked before they were huge");
        line == "HG HG nh"
    });
    tuned.off();
    tuned.wait_for("nh HG nh");
    check_said(&tuned.decisions(true), "those that are huge stay until they are freed");
}

fn idle_threads() -> Job {
    let program = TestProgram::c("idle_threads").flags(&["-fopenmp"]);
    let n_threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
    let job = Mpich4.launch(N_RANKS, &program.built(Mpich4));
    job.variable("OMP_NUM_THREADS", n_threads.to_string())
}

#[test]
fn idle_threads_sleep_until_that_is_taken_back() {
    let mut tuned = Tuned::start(&idle_threads().without("OMP_WAIT_POLICY"), "threads");
    tuned.wait_for("busy");
    tuned.wait_for("asleep");
    tuned.off();
    tuned.wait_for("busy");
    tuned.wait_for("as before");
    check_said(&tuned.decisions(false), "");
}

#[test]
fn threads_whose_user_says_how_they_wait_are_left_alone() {
    let job = idle_threads().variable("GOMP_SPINCOUNT", "200000");
    check_declined(&job, "threads", "`GOMP_SPINCOUNT` says how its idle threads wait");
}

#[test]
fn threads_that_their_user_binds_borrow_no_cores() {
    let job = idle_threads().variable("OMP_PROC_BIND", "true");
    let tuned = Tuned::start(&job, "threads");
    let words = "borrow no cores, since `OMP_PROC_BIND` binds its threads";
    tuned.running.wait_until("a note", |_| tuned.tune(&[]).stdout.contains(words));
    tuned.decisions(true);
}

fn own_cores(when: &str) -> Job {
    let program = TestProgram::c("own_cores").flags(&["-pthread"]);
    Mpich4.launch(N_RANKS, &program.built(Mpich4)).arg(when)
}

#[test]
fn ranks_that_bind_themselves_are_left_alone() {
    let words = "it has bound its threads itself since `MPI_Init`";
    check_declined(&own_cores("after"), "binding", words);
}

#[test]
fn each_thread_gets_its_cores_back() {
    let mut tuned = Tuned::start(&own_cores("before"), "binding");
    tuned.wait_for("moved");
    tuned.off();
    tuned.wait_for("back");
    check_said(&tuned.decisions(false), "");
}
