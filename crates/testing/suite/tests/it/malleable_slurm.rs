//! Tests of malleable programs under Slurm: nodes come and go with companion jobs.

use launch::place::{built, example};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use suite::library::Library;
use suite::{Job, Slurm};

/// Job on one node that borrows slots for `n_ranks` ranks, two to a node, and keeps them until `enough` is called.
struct Borrower {
    slurm: Slurm,
    folder: tempfile::TempDir,
    job: u64,
}

impl Borrower {
    #[track_caller]
    fn new(n_nodes: usize, n_ranks: u32, patience_s: u32) -> Self {
        let slurm = Slurm::new(n_nodes);
        let folder = tempfile::tempdir().expect("a folder");
        let (program, path) = (example("lend"), folder.path().display());
        let script = format!(
            "PMIX_MCA_gds=hash PMIX_MCA_ptl_tcp_if_include=lo {} {n_ranks} {patience_s} {path}",
            program.display()
        );
        let job = slurm.submit(&["--nodes=1", "--ntasks-per-node=2"], &script);
        Self { slurm, folder, job }
    }

    #[track_caller]
    fn wait_for_line(&self, start: &str) -> String {
        let line = || {
            let output = self.slurm.output(self.job);
            output.lines().find(|line| line.starts_with(start)).map(str::to_owned)
        };
        self.slurm.wait(&format!("a line `{start}` in {:?}", self.slurm.output(self.job)), || {
            line().is_some()
        });
        line().unwrap_or_default()
    }

    fn enough(&self) {
        std::fs::write(self.folder.path().join("enough"), "").expect("the folder is ours");
    }
}

#[test]
fn nodes_are_lent_and_are_idle_again() {
    let borrower = Borrower::new(4, 3, 60);
    borrower.wait_for_line("companions 2");
    let output = borrower.slurm.output(borrower.job);
    assert!(output.contains("2 ranks on snt-n2, which is snt-n2"), "{output}");
    assert!(output.contains("1 ranks on snt-n3, which is snt-n3"), "{output}");
    assert_eq!(borrower.slurm.n_idle(), 1);
    borrower.enough();
    borrower.wait_for_line("companions 0");
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 4);
}

#[test]
fn a_refusal_has_slurms_own_reason_and_leaves_nothing() {
    let borrower = Borrower::new(2, 3, 2);
    let line = borrower.wait_for_line("refused");
    assert!(
        line.contains("Slurm lent no node in time: job") && line.contains("Resources"),
        "{line}"
    );
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 2);
}

/// A killed program cannot give nodes back: the companion sees that its job is gone.
#[test]
fn companions_end_with_their_job() {
    let borrower = Borrower::new(2, 2, 60);
    borrower.wait_for_line("companions 1");
    borrower.slurm.ask("scancel", &["--signal=KILL", "--full", &borrower.job.to_string()]);
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 2);
}

#[test]
fn a_controller_that_was_away_hears_what_is_given_back() {
    let mut borrower = Borrower::new(2, 2, 60);
    borrower.wait_for_line("companions 1");
    borrower.slurm.stop_controller();
    borrower.enough();
    borrower.wait_for_line("companions 0");
    borrower.slurm.restart_controller();
    borrower.slurm.wait("all nodes are idle", || borrower.slurm.n_idle() == 2);
}

/// Malleable program of two ranks on the first node, which runs until it is ended.
struct Rod {
    slurm: Slurm,
    folder: tempfile::TempDir,
    job: u64,
}

impl Rod {
    #[track_caller]
    fn new(library: Library, n_nodes: usize) -> Self {
        let slurm = Slurm::new(n_nodes);
        let folder = tempfile::tempdir().expect("a folder");
        let control = folder.path().join("control").display().to_string();
        let rod = library.launch(2, &example("rod")).args(["--rows", "1000", "--until", "1000000"]);
        let rod = rod.args(["--pause-us", "10000", "--sizes", "2:4", "--control", &control]);
        let before = vec![sintonia().into(), "malleable".into(), "--".into()];
        let rod = rod.after(before).variable("HOME", folder.path());
        let script = with_network(rod).script();
        let job = slurm.submit(&["--nodes=1", "--ntasks-per-node=2"], &script);
        let rod = Self { slurm, folder, job };
        rod.wait_for("it runs", |status| status["size"] == 2);
        rod
    }

    fn status(&self) -> Value {
        let path = self.folder.path().join("control").join(format!("{}.json", self.job));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    #[track_caller]
    fn wait_for(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        let said = || format!("{what}; {}", self.slurm.output(self.job));
        self.slurm.wait(&said(), || is_so(&self.status()));
    }

    /// Checks that the program really computes.
    #[track_caller]
    fn check_going_on(&self) {
        let before = self.status()["iteration"].as_u64();
        self.wait_for("it goes on", |status| {
            before.map(|at| at + 20) <= status["iteration"].as_u64()
        });
    }

    fn sintonia(&self, words: &[&str]) -> Command {
        let mut command = self.slurm.command(sintonia());
        command.args(words).arg("--control").arg(self.folder.path().join("control"));
        command
    }

    fn start_resize(&self, size: u32) -> Child {
        let (job, size) = (self.job.to_string(), size.to_string());
        let mut command = self.sintonia(&["resize", &job, &size, "--at-most", "120"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started")
    }

    #[track_caller]
    fn check_resized(&self, resize: Child, size: u32) {
        let output = resize.wait_with_output().expect("it was started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}{}", self.slurm.output(self.job));
        self.wait_for("it has the size", |status| status["size"] == size);
    }

    #[track_caller]
    fn wait_for_idle(&self, n_idle: usize) {
        let what = format!("{n_idle} nodes are idle");
        self.slurm.wait(&what, || self.slurm.n_idle() == n_idle);
    }

    /// Ends the program, and waits until its nodes are idle.
    #[track_caller]
    fn end(self, n_nodes: usize) {
        self.slurm.ask("scancel", &[&self.job.to_string()]);
        self.wait_for_idle(n_nodes);
    }
}

fn sintonia() -> PathBuf {
    built("sintonia")
}

/// Names the one network of the nodes, which MPICH's launcher should not guess; Open MPI's gets it from
/// `sintonia malleable`.
fn with_network(job: Job) -> Job {
    let variables = [("HYDRA_IFACE", "eth0"), ("FI_TCP_IFACE", "eth0")];
    variables.iter().fold(job, |job, (name, value)| job.variable(name, value))
}

#[track_caller]
fn check_by_hand(library: Library) {
    let rod = Rod::new(library, 2);
    assert_eq!(rod.slurm.n_idle(), 1);
    rod.check_resized(rod.start_resize(4), 4);
    assert_eq!(rod.slurm.n_idle(), 0);
    rod.check_resized(rod.start_resize(2), 2);
    rod.wait_for_idle(1);
    rod.check_going_on();
    rod.end(2);
}

#[test]
fn mpich_grows_by_a_companion_and_gives_its_node_back() {
    check_by_hand(Library::Mpich5);
}

#[test]
fn open_mpi_grows_by_a_companion_and_gives_its_node_back() {
    check_by_hand(Library::OpenMpi5);
}

/// Slurm sends `SIGTERM` to ranks whose node it is going to take: after `scancel`, before a preemption, and at a time limit.
/// Here it sends the signal alone, so that the test does not depend on how long it then waits.
#[track_caller]
fn check_taken_away(library: Library) {
    let rod = Rod::new(library, 2);
    rod.check_resized(rod.start_resize(4), 4);
    rod.slurm.ask("scancel", &["--signal=TERM", &format!("--name=sintonia-{}", rod.job)]);
    rod.wait_for("it has left the node", |status| status["size"] == 2);
    rod.wait_for_idle(1);
    rod.check_going_on();
    let said = rod.slurm.output(rod.job);
    assert!(said.contains("`snt-n2` has to be left (`SIGTERM`): 4 ranks become 2"), "{said}");
    rod.end(2);
}

#[test]
fn mpich_leaves_a_node_that_is_taken_away() {
    check_taken_away(Library::Mpich5);
}

#[test]
fn open_mpi_leaves_a_node_that_is_taken_away() {
    check_taken_away(Library::OpenMpi5);
}

#[test]
fn the_policy_makes_room_and_grows_again() {
    let rod = Rod::new(Library::Mpich5, 2);
    let mut policy = rod.sintonia(&["slurm-policy", "--interval", "0.2", "--calm", "0.5"]);
    let mut policy = policy.stdout(Stdio::null()).spawn().expect("it can be started");
    rod.wait_for("it uses the idle node", |status| status["size"] == 4);
    let other = rod.slurm.submit(&["--nodes=1"], "sleep 1000").to_string();
    let state = |job: &str| rod.slurm.ask("squeue", &["--noheader", "--jobs", job, "--format=%T"]);
    rod.slurm.wait("the job that waits starts", || state(&other) == "RUNNING");
    rod.wait_for("it made room", |status| status["size"] == 2);
    rod.slurm.ask("scancel", &[&other]);
    rod.wait_for("it grows again", |status| status["size"] == 4);
    let pid = Pid::from_raw(policy.id().cast_signed()).expect("a process");
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(policy.wait().expect("it was started").code(), Some(0));
    rod.end(2);
}

#[test]
fn a_program_goes_on_while_the_controller_is_away() {
    let mut rod = Rod::new(Library::Mpich5, 2);
    rod.slurm.stop_controller();
    let resize = rod.start_resize(4);
    rod.wait_for("it asks for a node", |status| status["state"] == "deciding");
    rod.check_going_on();
    rod.slurm.restart_controller();
    rod.check_resized(resize, 4);
    rod.slurm.stop_controller();
    rod.check_resized(rod.start_resize(2), 2);
    rod.slurm.restart_controller();
    rod.wait_for_idle(1);
    rod.end(2);
}
