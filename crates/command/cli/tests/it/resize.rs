//! Tests of `sintonia resize` with a program that consists of its files only.

use crate::sintonia::{CommandOutput, Sandbox, wait_until};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Child;

/// Control folder with the status of a program whose process is this test.
struct Folder {
    sandbox: Sandbox,
}

impl Folder {
    fn new() -> Self {
        let folder = Self { sandbox: Sandbox::new() };
        std::fs::create_dir(folder.path("")).expect("a folder");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path("control").join(name)
    }

    fn say(&self, job: &str, status: &Value) {
        let new = self.path("new");
        std::fs::write(&new, status.to_string()).expect("the folder is ours");
        std::fs::rename(new, self.path(&format!("{job}.json"))).expect("the folder is ours");
    }

    fn words<'a>(&self, words: &[&'a str]) -> Vec<String> {
        let control = self.sandbox.path("control").display().to_string();
        let words: Vec<&'a str> = [&["resize"], words].concat();
        words.into_iter().map(str::to_owned).chain(["--control".to_owned(), control]).collect()
    }

    fn run(&self, words: &[&str]) -> CommandOutput {
        self.sandbox.sintonia(&self.words(words))
    }

    fn start(&self, words: &[&str]) -> Child {
        self.sandbox.start(&self.words(words))
    }

    /// Takes the next wish for a job as its program would.
    #[track_caller]
    fn take_wish(&self, job: &str) -> Value {
        let path = self.path(&format!("{job}.wish"));
        assert!(wait_until(|| path.exists()), "there is no wish");
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::remove_file(path).expect("it is there");
        serde_json::from_slice(&bytes).expect("a wish")
    }
}

fn status(size: u32, pid: u32) -> Value {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host has a name");
    json!({
        "job": "12", "pid": pid, "host": host.trim(), "program": "rod", "size": size, "state": "idle",
        "sizes": {"min": 1, "max": 8, "preferred": null}, "iteration": 5, "n_iterations": null,
        "seconds_per_iteration": 0.25, "slurm_job": 12, "answered": null, "last": null,
    })
}

/// Status of a killed program: no process has the largest process ID.
fn killed() -> Value {
    let mut status = status(4, u32::MAX);
    status["job"] = json!("14");
    status
}

#[test]
fn programs_are_listed_and_those_that_were_killed_forgotten() {
    let folder = Folder::new();
    assert!(folder.run(&[]).output.contains("no malleable program is running"));
    folder.say("12", &status(4, std::process::id()));
    folder.say("13", &json!({"nonsense": 1}));
    folder.say("14", &killed());
    let said = folder.run(&[]).silent();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("12   rod          4  1 to 8            5"), "{said}");
    let jobs: Vec<Value> = folder.run(&["--json"]).parsed();
    assert_eq!((jobs.len(), &jobs[0]["size"]), (1, &4.into()));
}

/// Starts to resize job 12 from 4 to 8 ranks.
fn resizing() -> (Folder, Child) {
    let folder = Folder::new();
    folder.say("12", &status(4, std::process::id()));
    let child = folder.start(&["12", "8"]);
    (folder, child)
}

#[test]
fn a_program_takes_another_size() {
    let (folder, child) = resizing();
    let wish = folder.take_wish("12");
    assert_eq!((wish["size"].as_u64(), wish["from"].as_str()), (Some(8), Some("person")));
    let mut busy = status(4, std::process::id());
    busy["state"] = json!("spawning");
    folder.say("12", &busy);
    let mut done = status(8, std::process::id());
    done["answered"] = json!({"id": wish["id"], "outcome": "done", "sentence": "4 ranks became 8"});
    folder.say("12", &done);
    let said = CommandOutput::from(child.wait_with_output().expect("it was started"));
    said.check_output(0, "4 ranks became 8\n");
}

#[test]
fn a_refusal_is_passed_on() {
    let (folder, child) = resizing();
    let wish = folder.take_wish("12");
    let mut refused = status(4, std::process::id());
    let sentence = "Slurm lent no node in time: job 13 waits (Resources)";
    refused["answered"] = json!({"id": wish["id"], "outcome": "refused", "sentence": sentence});
    folder.say("12", &refused);
    let said = CommandOutput::from(child.wait_with_output().expect("it was started"));
    said.check_errors(106, &format!("job `12` keeps 4 ranks: {sentence}"));
}

#[test]
fn a_program_that_ends_is_no_success() {
    let (folder, child) = resizing();
    folder.take_wish("12");
    std::fs::remove_file(folder.path("12.json")).expect("it is there");
    let said = CommandOutput::from(child.wait_with_output().expect("it was started"));
    said.check_errors(107, "ended before it took another size");
}

#[track_caller]
fn check(words: &[&str], code: i32, sentence: &str) {
    let folder = Folder::new();
    folder.say("12", &status(4, std::process::id()));
    folder.say("14", &killed());
    let said = folder.run(words);
    said.check_errors(code, sentence);
    assert!(!folder.path("12.wish").exists(), "nothing is left of what was not taken");
}

#[test]
fn what_cannot_be_is_said_with_a_remedy() {
    check(&["11", "4"], 107, "there is no job `11`; there are 12");
    check(&["12", "9"], 2, "job `12` runs with 1 to 8 ranks, not 9");
    check(&["14", "4"], 107, "was killed; its status file is removed");
    check(&["12"], 2, "<N>");
    check(&["12", "8", "--at-most", "0"], 106, "did not answer within 0 s");
}
