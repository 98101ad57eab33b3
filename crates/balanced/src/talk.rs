//! What a client and its daemon say to each other.

use serde::{Deserialize, Serialize};

use crate::{
    EndedTask, Explanation, NodeStatus, Past, Submission, TaskName, TaskRange, TaskState,
    TaskStatus,
};

/// Version of these words; a daemon refuses clients of another one.
pub const TALK_VERSION: u32 = 1;

/// What a client wants. It waits for the last [`Answer`] before its next request, [`Request::More`] apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request")]
pub enum Request {
    /// Who are you?
    Hello {
        /// [`TALK_VERSION`] of the client.
        version: u32,
    },
    /// Take these tasks. Answered by [`Answer::Submitted`] when they are on disk.
    Submit {
        /// What to run.
        submission: Submission,
    },
    /// Tell me of each of these tasks when it has ended. Answered by [`Answer::Ended`], several times; the
    /// daemon waits for [`Request::More`] after each, so that a slow client holds nobody up.
    Wait {
        /// Which tasks.
        tasks: TaskRange,
        /// With what they wrote.
        with_output: bool,
    },
    /// I am ready for the next [`Answer::Ended`].
    More,
    /// Which tasks are there? Answered by [`Answer::Tasks`].
    Tasks {
        /// Which are wanted.
        filter: TaskFilter,
        /// Only those behind this number: `next` of the answer before.
        #[serde(default)]
        after: Option<u64>,
        /// Most tasks of the answer; the daemon may give fewer.
        n_max: u32,
    },
    /// What did this task write, and how did it end? Answered by [`Answer::Ended`] at once; its list is empty
    /// while the task is not over.
    Result {
        /// Which task.
        task: TaskName,
    },
    /// Which nodes are there? Answered by [`Answer::Nodes`].
    Nodes,
    /// End these tasks. Answered by [`Answer::Canceled`] when that is on disk.
    Cancel {
        /// Which tasks.
        tasks: TaskRange,
    },
    /// Why is this task where it is? Answered by [`Answer::Explained`].
    Explain {
        /// Which task.
        task: TaskName,
    },
    /// Leave the cluster. Answered by [`Answer::Stopping`]; the connection ends when the daemon does.
    Stop {
        /// End the tasks that run here; else they are waited for.
        now: bool,
    },
}

/// Which tasks are wanted; all where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFilter {
    /// Those submitted to this node; to the daemon's own where nothing is said.
    #[serde(default)]
    pub home: Option<String>,
    /// Those of this range.
    #[serde(default)]
    pub tasks: Option<TaskRange>,
    /// Those in this state.
    #[serde(default)]
    pub state: Option<TaskState>,
    /// Those that people call so: [`TaskStatus::title`].
    #[serde(default)]
    pub title: Option<String>,
}

/// What a daemon says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// To [`Request::Hello`].
    Hello {
        /// [`TALK_VERSION`] of the daemon.
        version: u32,
        /// The node's name.
        node: String,
    },
    /// The tasks are on disk under these names.
    Submitted {
        /// Their names.
        tasks: TaskRange,
    },
    /// Tasks that ended.
    Ended {
        /// Some of them, in no order.
        tasks: Vec<EndedTask>,
        /// How many are still to be told of; the last answer has 0.
        n_left: u64,
    },
    /// Tasks as they stand, by number.
    Tasks {
        /// Some of them.
        tasks: Vec<TaskStatus>,
        /// `after` of the next request; nothing at the end.
        next: Option<u64>,
        /// In the first answer: those that ended so long ago that only how is kept, if all of a range, or all, in any
        /// state or ended, were asked for.
        #[serde(default)]
        past: Option<Past>,
    },
    /// Nodes as they stand, by name.
    Nodes {
        /// All that are known.
        nodes: Vec<NodeStatus>,
    },
    /// Tasks are being ended.
    Canceled {
        /// How many were not over.
        n_tasks: u64,
    },
    /// Why a task is where it is.
    Explained {
        /// That.
        explanation: Box<Explanation>,
    },
    /// The daemon leaves when nothing runs any more.
    Stopping {
        /// Tasks that still run here.
        n_running: u32,
    },
    /// It cannot be done; the sentence says why and what to do.
    Refused {
        /// For people.
        sentence: String,
    },
}

impl Request {
    /// The node that has to answer, where it is not the one that is asked.
    #[must_use]
    pub fn home(&self) -> Option<&str> {
        match self {
            Self::Wait { tasks, .. } | Self::Cancel { tasks } => Some(&tasks.home),
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

impl Answer {
    /// Whether the request is answered wholly.
    #[must_use]
    pub fn is_last(&self) -> bool {
        !matches!(self, Self::Ended { n_left: 1.., .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &Request) {
        assert_eq!(serde_json::from_str::<Request>(json).unwrap(), *expected);
    }

    #[test]
    fn a_script_can_write_requests() {
        check(r#"{"request":"nodes"}"#, &Request::Nodes);
        check(
            r#"{"request":"cancel","tasks":"alpha.3-9"}"#,
            &Request::Cancel { tasks: "alpha.3-9".parse().unwrap() },
        );
        check(
            r#"{"request":"tasks","filter":{"state":"running"},"n_max":10}"#,
            &Request::Tasks {
                filter: TaskFilter { state: Some(TaskState::Running), ..TaskFilter::default() },
                after: None,
                n_max: 10,
            },
        );
        check(
            r#"{"request":"tasks","filter":{"title":"sweep"},"after":7,"n_max":1}"#,
            &Request::Tasks {
                filter: TaskFilter { title: Some("sweep".to_owned()), ..TaskFilter::default() },
                after: Some(7),
                n_max: 1,
            },
        );
    }

    #[test]
    fn a_wait_ends_when_nothing_is_left() {
        let answer = |n_left| Answer::Ended { tasks: Vec::new(), n_left };
        assert!(!answer(1).is_last());
        assert!(answer(0).is_last());
    }
}
