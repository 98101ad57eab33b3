//! Asks the nodes what tasks have written, while they run.
//!
//! # Invariants
//! - What was printed while a task ran is not printed again when it has ended; bytes that are not kept are counted.

use super::Wait;
use super::followed_output::FollowedOutput;
use crate::location::DaemonLocation;
use node_daemon::client_socket::Client;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use task_api::{
    ClientRequest, DaemonAnswer, EndedTask, OutputPosition, TaskFilter, TaskRange, TaskState,
};

/// Time between two questions.
const ASK_EVERY: Duration = Duration::from_millis(150);
/// Most running tasks that are followed at once.
const N_FOLLOWED_MAX: u32 = 1_000;
/// Most rounds of questions in a row, while a task writes faster than an answer holds.
const N_ROUNDS_MAX: usize = 16;

/// Tasks that are followed, by a thread with a connection of its own.
pub(super) struct Follower {
    output: Arc<Mutex<FollowedOutput>>,
    /// Ends the thread when it is dropped.
    _asking: mpsc::Sender<()>,
}

impl Follower {
    /// Follows these tasks. Where no thread can be started, what they wrote is printed when they have ended.
    pub(super) fn start(wait: &Wait<'_>) -> Self {
        let (asking, ended) = mpsc::channel::<()>();
        let output = Arc::new(Mutex::new(FollowedOutput::of(&wait.tasks)));
        let asker = Asker {
            location: wait.location.clone(),
            tasks: wait.tasks.clone(),
            output: Arc::clone(&output),
        };
        let ask = move || {
            let mut client = None;
            loop {
                // After an error, as when the daemon is restarted, the next turn connects again.
                client = asker.ask(client).ok();
                if ended.recv_timeout(ASK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("output".to_owned()).spawn(ask).ok();
        Self { output, _asking: asking }
    }

    /// Prints what is left of the output of a task that has ended.
    pub(super) fn ended(&self, task: &EndedTask) -> anyhow::Result<()> {
        lock(&self.output).ended(task)
    }
}

fn lock(output: &Mutex<FollowedOutput>) -> MutexGuard<'_, FollowedOutput> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Asker {
    location: DaemonLocation,
    tasks: TaskRange,
    output: Arc<Mutex<FollowedOutput>>,
}

impl Asker {
    /// Asks once what is new, and prints it.
    fn ask(&self, client: Option<Client>) -> anyhow::Result<Client> {
        let mut client = client.map_or_else(|| self.location.connect(), |it| Ok(Ok(it)))??;
        for (node, mut tasks) in self.running(&mut client)? {
            for _ in 0..N_ROUNDS_MAX {
                let question = ClientRequest::Output { node: node.clone(), tasks };
                let DaemonAnswer::Output { tasks: news } = client.ask(&question)? else { break };
                tasks = lock(&self.output).news(&news)?;
                if tasks.is_empty() {
                    break;
                }
            }
        }
        Ok(client)
    }

    /// Tasks that run, by their nodes, with what is known of their output.
    fn running(
        &self,
        client: &mut Client,
    ) -> anyhow::Result<BTreeMap<String, Vec<OutputPosition>>> {
        let mut by_node = BTreeMap::<String, Vec<OutputPosition>>::new();
        for state in [TaskState::Running, TaskState::Leased] {
            let (tasks, state) = (Some(self.tasks.clone()), Some(state));
            let filter = TaskFilter { tasks, state, ..TaskFilter::default() };
            let (n_max, is_backward) = (N_FOLLOWED_MAX, false);
            let question = ClientRequest::Tasks { filter, after: None, n_max, is_backward };
            let DaemonAnswer::Tasks { tasks, .. } = client.ask(&question)? else { continue };
            let mut output = lock(&self.output);
            for task in tasks.iter().filter(|task| task.started_ms.is_some()) {
                output.runs(&task.task, task.instance)?;
                let position = output.position(&task.task, task.instance);
                if let (Some(node), Some(position)) = (&task.node, position) {
                    by_node.entry(node.clone()).or_default().push(position);
                }
            }
        }
        Ok(by_node)
    }
}
