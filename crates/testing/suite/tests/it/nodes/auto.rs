//! Test of the controller that submits jobs to Slurm when tasks wait.

use super::home::Home;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use suite::{Slurm, tool};

/// Node on this host, to which tasks are submitted.
const HOME: &str = "home";

/// Daemon on this host, and a controller that is started and killed.
struct Rig {
    slurm: Slurm,
    home: Home,
}

impl Rig {
    fn new() -> Self {
        let rig = Self { slurm: Slurm::new(2), home: Home::new() };
        let mut start = rig.home.sintonia();
        start.args([
            "node",
            "start",
            "--background",
            "--name",
            HOME,
            "--cores",
            "1",
            "--speed",
            "1",
        ]);
        start.args(["--port", "0", "--bind", &rig.slurm.host_address()]);
        start.arg("--state").arg(rig.home.state(HOME)).envs(rig.home.variables());
        let started = start.status().expect("`sintonia` is built");
        assert!(started.success(), "the daemon starts");
        rig
    }

    /// Folder of the controller.
    fn folder(&self) -> PathBuf {
        self.home.state(HOME).join("auto")
    }

    fn output(&self) -> PathBuf {
        self.home.path().join("controller")
    }

    /// Starts a controller with short times.
    fn start(&self) -> Controller {
        let mut command = self.slurm.command(tool::sintonia());
        command.args([
            "node", "auto", "--slurm", "--json", "--max", "2", "--idle", "1s", "--worth", "0",
        ]);
        command.args(["--patience", "200ms", "--look-every", "50ms", "--queue-every", "300ms"]);
        command.args(["--cores-per-node", "2", "--state"]).arg(self.home.state(HOME));
        let output = OpenOptions::new().create(true).append(true).open(self.output());
        let output = output.expect("the folder is ours");
        let errors = output.try_clone().expect("a file can be opened twice");
        command.envs(self.home.variables()).stdin(Stdio::null()).stdout(output).stderr(errors);
        Controller(command.spawn().expect("`sintonia` is built"))
    }

    #[track_caller]
    fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let until = std::time::Instant::now() + super::PATIENCE;
        while !is_so() {
            assert!(std::time::Instant::now() < until, "not so: {what}\n{}", self.said());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// What controllers and jobs have printed.
    fn said(&self) -> String {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let logs = self.logs().iter().map(|path| read(path)).collect::<String>();
        format!("{}\n{}\n{logs}\n{}", read(&self.output()), self.queue(), self.slurm.logs())
    }

    /// Outputs of jobs that have begun.
    fn logs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|found| found == "log")).collect()
    }

    fn queue(&self) -> String {
        self.slurm.ask("squeue", &["--noheader", "--format=%A %T %j"])
    }

    /// Events that controllers have printed.
    fn n_events(&self, event: &str) -> usize {
        let text = fs::read_to_string(self.output()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).count()
    }
}

/// A controller that ends with the test, also where the test fails.
struct Controller(Child);

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Tasks wait, jobs begin, the controller is killed while they do, tasks run, and jobs end when they are idle.
#[test]
fn slurm_jobs_come_when_tasks_wait_and_end_when_they_are_idle() {
    let rig = Rig::new();
    let mut first = rig.start();
    rig.wait("it looks for tasks", || rig.n_events("nothing") == 1);
    let words = ["submit", "--array", "1-12", "--", "sleep", "1"];
    let tasks = rig.home.told(HOME, &words).unwrap_or_else(|why| panic!("{why}"));
    // A controller that is killed while it submits leaves a job that counts for a while, whether it is there or not.
    rig.wait("both jobs are in the queue", || rig.queue().lines().count() == 2);
    first.0.kill().expect("it is ours");
    first.0.wait().expect("it is ours");
    let mut second = rig.start();
    rig.wait("both nodes are up", || rig.home.n_up(HOME) == 3);
    let words = ["tasks", tasks.trim(), "--wait", "--json"];
    let ended = rig.home.told(HOME, &words).unwrap_or_else(|why| panic!("{why}"));
    for node in ["home-auto1", "home-auto2"] {
        assert!(ended.contains(node), "no task ran on `{node}`:\n{ended}\n{}", rig.said());
    }
    rig.wait("no job is left", || rig.queue().is_empty() && rig.n_events("ended") == 2);
    assert_eq!(rig.logs().len(), 2, "no job was submitted twice: {}", rig.said());
    assert_eq!(rig.n_events("failed") + rig.n_events("refused"), 0, "{}", rig.said());
    let status = rig.home.told(HOME, &["node", "auto", "--status"]);
    let status = status.unwrap_or_else(|why| panic!("{why}"));
    assert!(status.contains("nothing is submitted now: no task waits."), "{status}");
    rig.home.told(HOME, &["node", "auto", "--stop"]).unwrap_or_else(|why| panic!("{why}"));
    assert!(second.0.wait().expect("it is ours").success(), "{}", rig.said());
}
