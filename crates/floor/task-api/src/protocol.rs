//! Messages between a client and its daemon.

use serde::{Deserialize, Serialize};

use crate::{
    EndedTask, Explanation, HistorySample, JobStatus, NodeStatus, OutcomeFilter, OutcomeSummary,
    OutputNews, OutputPosition, Submission, TaskName, TaskOutcome, TaskRange, TaskState,
    TaskStatus,
};

/// Version of these messages; a daemon refuses clients of another version.
pub const PROTOCOL_VERSION: u32 = 1;

/// Most submissions of a connection that may be without an answer; the daemon keeps as many answers for a client.
pub const N_SUBMIT_MAX: usize = 16;

/// Request of a client. The client waits for the last [`DaemonAnswer`] before it sends its next request, except for
/// [`ClientRequest::More`], further [`ClientRequest::Wait`]s, and up to [`N_SUBMIT_MAX`] [`ClientRequest::Submit`]s, which
/// are answered in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request")]
pub enum ClientRequest {
    /// Opens the connection. Answered by [`DaemonAnswer::Hello`].
    Hello {
        /// [`PROTOCOL_VERSION`] of the client.
        version: u32,
    },
    /// Submits tasks. Answered by [`DaemonAnswer::Submitted`] when they are on disk.
    Submit {
        /// Command to run.
        submission: Box<Submission>,
    },
    /// Asks for the outcome of each of these tasks when it has ended. Answered by several [`DaemonAnswer::Ended`];
    /// the daemon waits for [`ClientRequest::More`] after each, so that a slow client blocks no other. Sent again before
    /// the last of them, it adds tasks, if all were submitted to this node.
    Wait {
        /// Names of the tasks.
        tasks: TaskRange,
        /// True if the answers shall contain the tasks' output.
        with_output: bool,
    },
    /// Asks for the next [`DaemonAnswer::Ended`].
    More,
    /// Lists tasks. Answered by [`DaemonAnswer::Tasks`].
    Tasks {
        /// Selection of tasks.
        filter: TaskFilter,
        /// Number after which the list begins, or before which with `is_backward`: `next` of the previous answer.
        #[serde(default)]
        after: Option<u64>,
        /// Most tasks of the answer; the daemon may give fewer.
        n_max: u32,
        /// True for a list from the last task to the first.
        #[serde(default)]
        is_backward: bool,
    },
    /// Asks for the outcome and output of a task. Answered by [`DaemonAnswer::Ended`] at once; its list is empty
    /// until the task has ended.
    Result {
        /// Name of the task.
        task: TaskName,
    },
    /// Asks a node what tasks that it runs have written. Answered by [`DaemonAnswer::Output`].
    Output {
        /// Node that runs the tasks.
        node: String,
        /// The tasks, and what is known of their output.
        tasks: Vec<OutputPosition>,
    },
    /// Lists the nodes. Answered by [`DaemonAnswer::Nodes`].
    Nodes,
    /// Cancels tasks. Answered by [`DaemonAnswer::Canceled`] when that is on disk.
    Cancel {
        /// Names of the tasks.
        tasks: TaskRange,
    },
    /// Submits ended tasks again, as new ones with the same command, folder, variables, limits and array index.
    /// Answered by [`DaemonAnswer::Submitted`], with consecutive names in the order of the old ones.
    Rerun {
        /// Names of the tasks.
        tasks: TaskRange,
        /// Ended tasks among them that are submitted again.
        which: RerunSelection,
    },
    /// Lets tasks wait that have not started, until they are released. Answered by [`DaemonAnswer::Changed`].
    Hold {
        /// Names of the tasks.
        tasks: TaskRange,
    },
    /// Lets held tasks run; with `anyway`, also those that wait for others. Answered by [`DaemonAnswer::Changed`].
    Release {
        /// Names of the tasks.
        tasks: TaskRange,
        /// True to forget what they wait for.
        #[serde(default)]
        anyway: bool,
    },
    /// Lists the jobs submitted to this node. Answered by [`DaemonAnswer::Jobs`].
    Jobs {
        /// Node that the jobs were submitted to; the daemon's own where `None`.
        #[serde(default)]
        home: Option<String>,
        /// Number of the first task of a job after which the list begins: `next` of the previous answer.
        #[serde(default)]
        after: Option<u64>,
    },
    /// Asks for the reasons of a task's state. Answered by [`DaemonAnswer::Explained`].
    Explain {
        /// Name of the task.
        task: TaskName,
    },
    /// Asks for the state of a node over the last hour. Answered by [`DaemonAnswer::History`].
    History {
        /// The node; the daemon's own where `None`.
        #[serde(default)]
        home: Option<String>,
    },
    /// Makes the node leave the cluster. Answered by [`DaemonAnswer::Stopping`]; the connection ends when the
    /// daemon does.
    Stop {
        /// True to end the tasks that run here; else the daemon waits for them.
        now: bool,
    },
}

/// Selection of tasks; an empty filter selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFilter {
    /// Node that the tasks were submitted to; the daemon's own where `None`.
    #[serde(default)]
    pub home: Option<String>,
    /// Range of names.
    #[serde(default)]
    pub tasks: Option<TaskRange>,
    /// State of the tasks.
    #[serde(default)]
    pub state: Option<TaskState>,
    /// Outcome of the tasks, which have ended then.
    #[serde(default)]
    pub outcome: Option<OutcomeFilter>,
    /// Title of the tasks: [`TaskStatus::title`].
    #[serde(default)]
    pub title: Option<String>,
    /// Name of the job that the tasks were submitted to.
    #[serde(default)]
    pub job: Option<String>,
    /// Text in what the tasks wrote, as far as that is kept.
    #[serde(default)]
    pub output_has: Option<String>,
    /// Node that holds, runs or ran the tasks.
    #[serde(default)]
    pub node: Option<String>,
    /// Time in ms since 1970: tasks that were started, and had not ended before.
    #[serde(default)]
    pub active_since_ms: Option<u64>,
}

/// Ended tasks that are submitted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RerunSelection {
    /// Those that failed.
    Failed,
    /// Those that failed or were canceled.
    Unsuccessful,
    /// All that ended.
    All,
}

impl RerunSelection {
    /// Returns whether tasks with this outcome are submitted again.
    pub fn holds(self, outcome: &TaskOutcome) -> bool {
        match self {
            Self::Failed => outcome.is_failure(),
            Self::Unsuccessful => !outcome.is_success(),
            Self::All => true,
        }
    }
}

/// Message from a daemon to its client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum DaemonAnswer {
    /// Answer to [`ClientRequest::Hello`].
    Hello {
        /// [`PROTOCOL_VERSION`] of the daemon.
        version: u32,
        /// The node's name.
        node: String,
    },
    /// The tasks are on disk under these names.
    Submitted {
        /// Names of the tasks.
        tasks: TaskRange,
    },
    /// Ended tasks.
    Ended {
        /// Some of the tasks, in no order.
        tasks: Vec<EndedTask>,
        /// Number of tasks that later answers will report; 0 in the last answer.
        n_left: u64,
    },
    /// Status of tasks, by number, in the order that was asked for.
    Tasks {
        /// Some of the tasks.
        tasks: Vec<TaskStatus>,
        /// `after` of the next request; `None` at the end.
        next: Option<u64>,
        /// In the first answer: tasks of which only the outcome is kept, where the request asked for a whole
        /// range or all tasks, in any state or ended.
        #[serde(default)]
        past: Option<OutcomeSummary>,
    },
    /// What running tasks have written.
    Output {
        /// News of the tasks that run on the node, as far as there is room for them.
        tasks: Vec<OutputNews>,
    },
    /// Status of the nodes, by name.
    Nodes {
        /// All known nodes.
        nodes: Vec<NodeStatus>,
    },
    /// The tasks are being ended.
    Canceled {
        /// Number of tasks that had not ended yet.
        n_tasks: u64,
    },
    /// The tasks are held or released.
    Changed {
        /// Number of tasks that were not so before.
        n_tasks: u64,
    },
    /// Jobs, by the number of their first task.
    Jobs {
        /// Some of the jobs.
        jobs: Vec<JobStatus>,
        /// `after` of the next request; `None` at the end.
        next: Option<u64>,
    },
    /// State of a node over the last hour.
    History {
        /// Name of the node.
        node: String,
        /// Samples, oldest first; older ones are further apart.
        samples: Vec<HistorySample>,
    },
    /// Explanation of a task's state.
    Explained {
        /// The explanation.
        explanation: Box<Explanation>,
    },
    /// The daemon leaves when no task runs any more.
    Stopping {
        /// Tasks that still run on the node.
        n_running: u32,
    },
    /// The request cannot be met.
    Refused {
        /// Reason and remedy, for the user.
        sentence: String,
    },
}

impl ClientRequest {
    /// Node that has to answer, where it need not be the node that is asked.
    pub fn home(&self) -> Option<&str> {
        match self {
            Self::Wait { tasks, .. }
            | Self::Cancel { tasks }
            | Self::Hold { tasks }
            | Self::Release { tasks, .. }
            | Self::Rerun { tasks, .. } => Some(&tasks.home),
            Self::Output { node, .. } => Some(node),
            Self::Jobs { home, .. } | Self::History { home } => home.as_deref(),
            Self::Result { task } | Self::Explain { task } => Some(&task.home),
            Self::Tasks { filter, .. } => {
                filter.home.as_deref().or(filter.tasks.as_ref().map(|tasks| tasks.home.as_str()))
            }
            Self::Hello { .. }
            | Self::Submit { .. }
            | Self::More
            | Self::Nodes
            | Self::Stop { .. } => None,
        }
    }
}

impl DaemonAnswer {
    /// Returns whether this answer completes its request.
    pub fn is_last(&self) -> bool {
        !matches!(self, Self::Ended { n_left: 1.., .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &ClientRequest) {
        assert_eq!(serde_json::from_str::<ClientRequest>(json).unwrap(), *expected);
    }

    #[test]
    fn a_script_can_write_requests() {
        check(r#"{"request":"nodes"}"#, &ClientRequest::Nodes);
        check(
            r#"{"request":"cancel","tasks":"alpha.3-9"}"#,
            &ClientRequest::Cancel { tasks: "alpha.3-9".parse().unwrap() },
        );
        check(
            r#"{"request":"tasks","filter":{"state":"running"},"n_max":10}"#,
            &ClientRequest::Tasks {
                filter: TaskFilter { state: Some(TaskState::Running), ..TaskFilter::default() },
                after: None,
                n_max: 10,
                is_backward: false,
            },
        );
        check(
            r#"{"request":"rerun","tasks":"alpha.3-9","which":"failed"}"#,
            &ClientRequest::Rerun {
                tasks: "alpha.3-9".parse().unwrap(),
                which: RerunSelection::Failed,
            },
        );
        check(
            r#"{"request":"tasks","filter":{"title":"sweep"},"after":7,"n_max":1}"#,
            &ClientRequest::Tasks {
                filter: TaskFilter { title: Some("sweep".to_owned()), ..TaskFilter::default() },
                after: Some(7),
                n_max: 1,
                is_backward: false,
            },
        );
    }

    /// A map with numbers as keys could not be read in an answer.
    #[test]
    fn answers_with_durations_are_read() {
        let mut node = NodeStatus::default();
        node.durations.add(70);
        node.moved_to.insert("beta".to_owned(), 3);
        let tasks = "alpha.1-9".parse().unwrap();
        let mut one = JobStatus::new("sweep".to_owned(), tasks, 7);
        one.account.durations.add(1_000);
        let jobs = DaemonAnswer::Jobs { jobs: vec![one], next: Some(9) };
        for answer in [DaemonAnswer::Nodes { nodes: vec![node] }, jobs] {
            let json = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<DaemonAnswer>(&json).unwrap(), answer);
        }
    }

    #[test]
    fn a_wait_ends_when_nothing_is_left() {
        let answer = |n_left| DaemonAnswer::Ended { tasks: Vec::new(), n_left };
        assert!(!answer(1).is_last());
        assert!(answer(0).is_last());
    }
}
