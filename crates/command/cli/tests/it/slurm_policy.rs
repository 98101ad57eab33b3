//! Tests of `sintonia slurm-policy` with fake commands of Slurm.

use crate::sintonia::{CommandOutput, Sandbox, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Queue in files: `jobs` and `nodes` are the output of `squeue` and `sinfo`, as long as there is no file `away`.
struct Fake {
    sandbox: Sandbox,
}

const COMMAND: &str = "#!/bin/sh
if [ -e FOLDER/away ]; then echo 'Unable to contact slurm controller' >&2; exit 1; fi
cat FOLDER/FILE
";

impl Fake {
    fn new(jobs: &[&str], nodes: &[&str]) -> Self {
        let fake = Self { sandbox: Sandbox::new() };
        let folder = fake.sandbox.path("slurm");
        for name in [&folder, &fake.sandbox.path("control")] {
            std::fs::create_dir(name).expect("a folder");
        }
        for (command, file, lines) in [("squeue", "jobs", jobs), ("sinfo", "nodes", nodes)] {
            fake.write(file, &(lines.join("\n") + "\n"));
            let text = COMMAND.replace("FOLDER", &folder.display().to_string());
            fake.write(command, &text.replace("FILE", file));
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(folder.join(command), mode).expect("it is ours");
        }
        fake
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.sandbox.path("slurm").join(name), text).expect("the folder is ours");
    }

    /// Writes the status of job 12, whose process is this test: two ranks on each node, eight at most.
    fn say(&self, size: u32) {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let status = json!({
            "job": "12", "pid": std::process::id(), "host": host.trim(), "program": "rod", "size": size,
            "state": "idle", "sizes": {"min": 2, "max": 8, "preferred": null}, "iteration": 5, "n_iterations": null,
            "seconds_per_iteration": 0.25, "slots_per_node": 2, "slurm_job": 12, "answered": null, "last": null,
        });
        let path = self.sandbox.path("control").join("12.json");
        std::fs::write(path, status.to_string()).expect("the folder is ours");
    }

    fn command(&self, words: &[&str]) -> Command {
        let control = self.sandbox.path("control").display().to_string();
        let mut all = vec!["slurm-policy", "--control", &control];
        all.extend(words);
        let mut command = self.sandbox.command(&all);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.sandbox.path("slurm").display()));
        command
    }

    fn run(&self, words: &[&str]) -> CommandOutput {
        self.command(words).output().expect("it can be started").into()
    }

    fn wish(&self) -> Option<Value> {
        let bytes = std::fs::read(self.sandbox.path("control").join("12.wish")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

const OWN: &str = "12|RUNNING|1|None|9|rod.sh";
const LENT: &str = "13|RUNNING|1|None|9|sintonia-12";
const NODES: [&str; 3] = ["all*|n1|allocated", "all*|n2|allocated", "all*|n3|idle"];

#[test]
fn a_job_that_waits_gets_room() {
    let fake = Fake::new(&[OWN, LENT, "14|PENDING|2|Resources|9|big"], &NODES);
    fake.say(4);
    let said = fake.run(&["--once"]);
    let expected = "job 12 (rod) from 2 to 1 nodes, 4 to 2 ranks, so that job 14 can start\n";
    said.check_output(0, expected);
    let wish = fake.wish().expect("a wish");
    assert_eq!((wish["size"].as_u64(), wish["from"].as_str()), (Some(2), Some("slurm-policy")));
    // A wish is not repeated, not even by another process of the policy.
    assert_eq!(fake.run(&["--once"]).output, "");
}

#[test]
fn idle_nodes_are_used() {
    let fake = Fake::new(&[OWN, LENT], &NODES);
    fake.say(4);
    let line = fake.run(&["--once", "--json", "--dry-run"]).json();
    assert_eq!((line["to_nodes"].as_u64(), line["to"].as_u64()), (Some(3), Some(6)), "{line}");
    assert_eq!((line["what"].as_str(), &line["waiting_job"]), (Some("decision"), &Value::Null));
    assert_eq!(fake.wish(), None, "a dry run wishes nothing");
}

#[test]
fn a_slurm_that_does_not_answer_is_no_success_of_one_look() {
    let fake = Fake::new(&[OWN], &NODES);
    fake.write("away", "");
    let said = fake.run(&["--once"]);
    said.check_errors(100, "Unable to contact slurm controller");
    assert_eq!(said.output, "");
}

#[test]
fn it_goes_on_when_slurm_comes_back_and_ends_when_it_shall() {
    let fake = Fake::new(&[OWN, LENT], &NODES);
    fake.say(4);
    fake.write("away", "");
    let mut command = fake.command(&["--interval", "0.05"]);
    let errors = fake.sandbox.path("errors");
    let file = std::fs::File::create(&errors).expect("the folder is ours");
    let mut child =
        command.stderr(file).stdout(std::process::Stdio::null()).spawn().expect("a child");
    let said = || std::fs::read_to_string(&errors).unwrap_or_default();
    assert!(wait_until(|| said().contains("nothing is decided until it does")), "{}", said());
    std::fs::remove_file(fake.sandbox.path("slurm").join("away")).expect("it is there");
    assert!(wait_until(|| fake.wish().is_some()), "there is no wish");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    kill_process(pid, Signal::INT).expect("it runs");
    let status = child.wait().expect("it was started");
    assert_eq!(status.code(), Some(0), "{}", said());
    assert_eq!(said().lines().count(), 2, "each is said once: {}", said());
}
