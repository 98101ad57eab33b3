//! Messages between daemon and keeper, and their encoding on the socket: frames of `postcard`'s encoding.

use frame::Format;
use serde::{Deserialize, Serialize};
use task_api::{OUTPUT_BYTES_MAX, StreamNews, Usage};

use super::placeholders::fill;
use node_core::interface::{
    Allocation, Attempt, EndedAttempt, Job, Killed, Moment, RunningAttempt, TaskInput,
};

/// Version, raised with every change of the messages; a daemon refuses a keeper of another one.
pub(super) const VERSION: u32 = 4;

/// Longest message in bytes: lists of running and ended tasks, of as many as a keeper takes.
pub(super) const MESSAGE_BYTES_MAX: usize = 8 << 20;
pub(super) const FRAMES: Format = Format::plain(MESSAGE_BYTES_MAX);

/// Message from daemon to keeper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum KeeperCommand {
    /// Start this attempt, unless it runs or its end is held.
    Start(Box<StartAttempt>),
    /// Extend the leases of these attempts.
    Extend { attempts: Vec<Attempt>, until: Moment },
    /// End this attempt.
    Kill { attempt: Attempt, because: Killed },
    /// Forget these ends: they are safe with the daemon.
    Forget(Vec<Attempt>),
    /// End when nothing runs any more and everything is forgotten.
    Leave,
    /// Tell what these attempts have written behind so many bytes of each stream.
    Peek { peek: u64, wanted: Vec<(Attempt, [u64; 2])> },
}

/// Attempt to start, as in [`Job`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StartAttempt {
    pub(super) attempt: Attempt,
    /// Name of the task.
    pub(super) name: String,
    /// Program and arguments. A program without a slash is searched for in the `PATH` of `environment`.
    pub(super) command: Vec<String>,
    /// Its whole environment; the keeper adds its marks.
    pub(super) environment: Vec<(String, String)>,
    pub(super) folder: String,
    pub(super) input: TaskInput,
    /// What it is given of the node.
    pub(super) allocation: Allocation,
    /// Longest time that it may run, in ms.
    pub(super) time_limit_ms: Option<u64>,
    pub(super) output: Destination,
    pub(super) until: Option<Moment>,
    pub(super) n_at_once: Option<u32>,
}

/// Destination of output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Destination {
    /// Memory: the first and the last half of this many bytes, for each stream.
    Kept(usize),
    /// Files in this folder, which is created where it is missing.
    Folder(String),
}

/// Message from keeper to daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum KeeperReport {
    /// First report on each connection: running attempts, and the number of ends that are reported next.
    Hello { version: u32, pid: u32, running: Vec<RunningAttempt>, n_held: usize },
    /// An attempt has ended or could not be started; repeated on each connection until forgotten.
    Ended(Box<EndedAttempt>, Usage),
    /// Answers [`KeeperCommand::Peek`], with those that run.
    Peeked { peek: u64, found: Vec<(Attempt, [StreamNews; 2])> },
}

impl StartAttempt {
    pub(super) fn of(job: &Job) -> Self {
        let around = &job.work.around;
        let limits = &around.limits;
        let is_one_of_many = job.input != TaskInput::default();
        let filled = |text: &str| match is_one_of_many {
            true => fill(text, job),
            false => text.to_owned(),
        };
        let output = match &limits.output_folder {
            Some(folder) => Destination::Folder(filled(folder)),
            None => {
                let bytes_max = limits.output_bytes_max.min(OUTPUT_BYTES_MAX);
                Destination::Kept(usize::try_from(bytes_max).unwrap_or(usize::MAX))
            }
        };
        Self {
            attempt: job.attempt,
            name: job.name.clone(),
            command: job.work.command().map(filled).collect(),
            environment: around.environment.clone(),
            folder: around.folder.clone(),
            input: job.input.clone(),
            allocation: job.allocation.clone(),
            time_limit_ms: job.work.demand.as_ref().and_then(|demand| demand.time_limit_ms),
            output,
            until: job.lease_until,
            n_at_once: job.n_at_once,
        }
    }

    /// Returns whether the attempt was ordered ahead, and too many tasks run for its turn.
    pub(super) fn has_to_wait(&self, n_running: usize) -> bool {
        self.n_at_once.is_some_and(|n_at_once| n_at_once.max(1) as usize <= n_running)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::attempt, *};

    #[track_caller]
    fn comes_back(order: KeeperCommand) {
        let mut bytes = Vec::new();
        FRAMES.write(&order, &mut bytes).unwrap();
        assert_eq!(FRAMES.read_message(&mut bytes.as_slice()), Ok(Some(order)));
    }

    #[test]
    fn every_order_comes_back() {
        comes_back(KeeperCommand::Kill { attempt: attempt(1), because: Killed::Canceled });
        comes_back(KeeperCommand::Forget(vec![attempt(1), attempt(2)]));
        comes_back(KeeperCommand::Leave);
        comes_back(KeeperCommand::Peek { peek: 7, wanted: vec![(attempt(1), [0, 9])] });
        comes_back(KeeperCommand::Extend { attempts: vec![attempt(1)], until: Moment(5) });
        comes_back(KeeperCommand::Start(Box::new(StartAttempt {
            attempt: attempt(u64::MAX),
            name: "alpha.1".to_owned(),
            command: vec!["echo".to_owned(), "hé".to_owned()],
            environment: vec![("A".to_owned(), "b".to_owned())],
            folder: "/".to_owned(),
            input: TaskInput { array_index: Some(3), item: None },
            allocation: Allocation { cores: vec![1, 2], ..Allocation::default() },
            time_limit_ms: Some(9),
            output: Destination::Kept(7),
            until: Some(Moment(1)),
            n_at_once: Some(2),
        })));
    }
}
