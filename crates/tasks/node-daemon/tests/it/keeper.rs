//! Tests of the keeper, with real processes.

mod ahead;
mod death;
mod outcomes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, mpsc};

use crate::{DEADLINE, until};
use node_core::interface::{
    Allocation, Attempt, AttemptEnd, EndedAttempt, ExecContext, Job, KeeperEvent, KeeperOrder,
    Killed as Because, Moment, NodeId, TaskInput, TaskKey, Work,
};
use node_daemon::keeper::Keeper;
use task_api::Submission;

/// Program that becomes keeper and guard.
fn program() -> PathBuf {
    launch::example("keeper")
}

/// A state folder with a keeper, of which nothing is left at the end.
struct Rig {
    state: tempfile::TempDir,
    keeper: Option<Keeper>,
    says: mpsc::Receiver<KeeperEvent>,
    /// Process numbers of all keepers so far.
    pids: Vec<u32>,
}

impl Rig {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut rig = Self { state, keeper: None, says: mpsc::channel().1, pids: Vec::new() };
        rig.connect();
        rig
    }

    fn path(&self) -> &Path {
        self.state.path()
    }

    /// Becomes the daemon, in place of the one before.
    fn connect(&mut self) {
        let (tell, says) = mpsc::channel();
        let state = self.state.path();
        let command = [program().into(), "serve".into(), state.into(), "500".into()];
        let on_says = move |said| drop(tell.send(said));
        let keeper = Keeper::connect_or_start(state, &command, on_says).unwrap();
        self.pids.push(keeper.pid());
        self.keeper = Some(keeper);
        self.says = says;
    }

    fn disconnect(&mut self) {
        self.keeper = None;
    }

    fn send(&self, order: KeeperOrder) {
        self.send_all(&[order]);
    }

    fn send_all(&self, orders: &[KeeperOrder]) {
        self.keeper.as_ref().unwrap().send(orders).unwrap();
    }

    /// Cancels a task, and waits for its end.
    #[track_caller]
    fn cancel(&self, number: u64) {
        let (attempt, because) = (attempt(number), Because::Canceled);
        self.send(KeeperOrder::Kill { attempt, because });
        let ended = self.ended(1).remove(0);
        assert_eq!((ended.attempt, ended.end), (attempt, AttemptEnd::Killed(because)));
    }

    /// First message to a daemon: attempts that run, and ends.
    #[track_caller]
    fn inventory(&self) -> (Vec<Attempt>, Vec<EndedAttempt>) {
        let KeeperEvent::Inventory { running, ended } = self.says() else { panic!("no inventory") };
        (running.iter().map(|run| run.attempt).collect(), ended)
    }

    fn run(&self, number: u64, script: &str) {
        self.send(start(number, &["sh", "-c", script], |_, _| ()));
    }

    #[track_caller]
    fn says(&self) -> KeeperEvent {
        self.says.recv_timeout(DEADLINE).expect("the keeper says something")
    }

    /// Next ends, including those in inventories.
    #[track_caller]
    fn ended(&self, n_ended: usize) -> Vec<EndedAttempt> {
        let mut all = Vec::new();
        while all.len() < n_ended {
            match self.says() {
                KeeperEvent::Inventory { ended, .. } | KeeperEvent::Ended(ended) => {
                    all.extend(ended)
                }
                KeeperEvent::Peeked { .. } => {}
                KeeperEvent::Gone => panic!("the keeper has gone after {} ends", all.len()),
            }
        }
        all
    }

    /// Number that a script writes into this file.
    #[track_caller]
    fn number_in(&self, file: &str) -> u32 {
        let path = self.path().join(file);
        let read = || fs::read_to_string(&path).ok()?.trim().parse().ok();
        until(|| read().is_some(), file);
        read().unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.disconnect();
        // The keeper ends by itself; one that does not would fail the next run of its test as a leftover.
        let alive = |pid: &u32| is_alive(*pid);
        if !std::thread::panicking() {
            until(|| !self.pids.iter().any(alive), "the keeper's end");
        }
    }
}

fn attempt(number: u64) -> Attempt {
    Attempt { task: TaskKey { home: NodeId(1), number }, instance: 1 }
}

/// Starts a command in `/`; `change` adapts it.
fn start(
    number: u64,
    command: &[&str],
    change: impl FnOnce(&mut Submission, &mut Option<Moment>),
) -> KeeperOrder {
    let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
    let mut submission = Submission {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        folder: "/".to_owned(),
        environment: vec![path],
        ..Submission::default()
    };
    let mut lease_until = None;
    change(&mut submission, &mut lease_until);
    let around = Arc::new(ExecContext::of(&submission));
    let given = submission.demand.variants.first();
    let allocation = given.map_or_else(Allocation::default, |given| Allocation {
        cpus: given.cpus,
        memory_bytes: given.memory_bytes,
        cores: vec![0],
        gpus: (0..given.gpus).collect(),
        ..Allocation::default()
    });
    let work = Work::new(&submission, around).with_demand(Some(submission.demand.clone()));
    let index = submission.array.as_ref().map(|array| array.0[0].first);
    KeeperOrder::Start(Box::new(Job {
        attempt: attempt(number),
        name: format!("test.{number}"),
        work: Arc::new(work),
        input: TaskInput { array_index: index, item: submission.items.first().cloned() },
        allocation,
        lease_until,
        n_at_once: None,
    }))
}

/// Returns whether a process runs and is no zombie.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn kill_9(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// A process that is killed when the test ends, even by a panic.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
