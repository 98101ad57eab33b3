//! A run that is killed and continues from its checkpoint.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::on_ranks_elastic::n_saved;
use crate::steps::Steps;
use master_worker::{Options, outcome};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = "MASTER_WORKER_TEST_FOLDER";
const STUCK_IN: &str = "MASTER_WORKER_TEST_STUCK_IN";
const N_ITERATIONS: u64 = 12;

fn checkpoint(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// Not a test itself: the process that is killed, and the one that continues.
#[test]
#[ignore = "started by the test below"]
fn victim() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut program = Steps::new(N_ITERATIONS);
    program.stuck_in = std::env::var(STUCK_IN).ok().and_then(|number| number.parse().ok());
    let options = Options::new().threads(4).checkpoint(checkpoint(&folder)).resume();
    let outcome = outcome(program, options).unwrap().unwrap();
    std::fs::write(folder.join("result"), outcome.program.digest().to_string()).unwrap();
}

fn start(folder: &Path, stuck_in: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kill::victim", "--ignored", "--nocapture"]).env(FOLDER, folder);
    command.env_remove(STUCK_IN).stdout(Stdio::null());
    command.envs(stuck_in.map(|iteration| (STUCK_IN, iteration.to_string())));
    command.spawn().unwrap()
}

/// Waits until the checkpoint contains `n_iterations` iterations.
fn await_iterations(folder: &Path, n_iterations: u64) {
    let began = Instant::now();
    while n_saved(&checkpoint(folder)) != Some(n_iterations) {
        assert!(began.elapsed() < Duration::from_secs(120), "no iteration {n_iterations}");
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_run_goes_on_to_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    for iteration in [3, 4, 9] {
        let mut child = start(folder.path(), Some(iteration));
        await_iterations(folder.path(), iteration);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(start(folder.path(), None).wait().unwrap().success());
    let found = std::fs::read_to_string(folder.path().join("result")).unwrap();
    assert_eq!(found, Steps::expected(N_ITERATIONS).to_string());
}
