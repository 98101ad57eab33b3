//! A run that is killed and continues from its checkpoint.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use master_worker::{
    BoxError, Iteration, MessageError, Options, Plain, Program, Report, from_bytes, outcome, run,
    to_bytes,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = "MASTER_WORKER_TEST_FOLDER";
const STUCK_AT: &str = "MASTER_WORKER_TEST_STUCK_AT";
const N_ITERATIONS: u64 = 12;

/// Values whose last bits depend on every iteration before.
#[derive(Clone, Debug)]
struct Chaos {
    values: Vec<f64>,
    result: Option<PathBuf>,
    /// Iteration in which the workers never finish.
    stuck_at: Option<u64>,
}

impl Chaos {
    fn new() -> Self {
        let values = (1..=200).map(|number| f64::from(number) / 201.0).collect();
        Self { values, result: None, stuck_at: None }
    }
}

impl Program for Chaos {
    type Shared = (u64, Vec<f64>);
    type Input = ();
    type Output = Plain<f64>;

    fn next(&mut self, iteration: u64) -> Option<Iteration<Self::Shared>> {
        let n_tasks = self.values.len() as u64;
        let shared = (iteration, self.values.clone());
        (iteration < N_ITERATIONS).then(|| Iteration::new(n_tasks, shared))
    }

    fn input(&self, _tasks: Range<u64>) {}

    fn work(&self, (iteration, values): &Self::Shared, tasks: Range<u64>, (): ()) -> Plain<f64> {
        while self.stuck_at == Some(*iteration) && tasks.contains(&100) {
            std::thread::park();
        }
        let value = |task| values[usize::try_from(task).unwrap()];
        tasks.map(|task| 3.9 * value(task) * (1.0 - value((task + 1) % 200))).collect()
    }

    fn recover(&mut self, tasks: Range<u64>, output: Plain<f64>) {
        for (task, value) in tasks.zip(&output) {
            self.values[usize::try_from(task).unwrap()] = *value;
        }
    }

    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        to_bytes(&self.values).map(Some)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        self.values = from_bytes(saved)?;
        Ok(())
    }

    fn finish(&mut self, _report: &Report) -> Result<(), BoxError> {
        if let Some(path) = &self.result {
            std::fs::write(path, to_bytes(&self.values)?)?;
        }
        Ok(())
    }
}

fn checkpoint(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// Not a test itself: the process that is killed, and the one that continues.
#[test]
#[ignore = "started by the test below"]
fn victim() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut program = Chaos::new();
    program.result = Some(folder.join("result"));
    program.stuck_at = std::env::var(STUCK_AT).ok().and_then(|number| number.parse().ok());
    let options = Options::new().threads(4).checkpoint(checkpoint(&folder)).resume();
    run(program, options).unwrap();
}

fn start(folder: &Path, stuck_at: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kill::victim", "--ignored", "--nocapture"]).env(FOLDER, folder);
    command.env_remove(STUCK_AT).stdout(Stdio::null());
    if let Some(iteration) = stuck_at {
        command.env(STUCK_AT, iteration.to_string());
    }
    command.spawn().unwrap()
}

/// Waits until the checkpoint contains `n_iterations` iterations.
fn await_iterations(folder: &Path, n_iterations: u64) {
    let began = Instant::now();
    loop {
        let header = std::fs::read(checkpoint(folder)).unwrap_or_default();
        let number = header.get(16..24).and_then(<[u8]>::first_chunk);
        if number.map(|bytes| u64::from_le_bytes(*bytes)) == Some(n_iterations) {
            return;
        }
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
    let found = std::fs::read(folder.path().join("result")).unwrap();
    let whole = outcome(Chaos::new(), Options::new().threads(2)).unwrap().unwrap();
    assert_eq!(found, to_bytes(&whole.program.values).unwrap());
}
