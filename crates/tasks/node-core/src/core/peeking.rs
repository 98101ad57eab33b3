//! Asks the keeper what running tasks have written, for clients that follow them.

use std::collections::BTreeMap;

use balancing_policies::Moment;
use task_api::{DaemonAnswer, OutputNews, OutputPosition, StreamNews, TaskName};

use super::turn::{Asker, Turn};
use crate::interface::{Attempt, KeeperOrder, TaskKey, node_id};

/// Longest time that the keeper may take, in ms.
const ANSWER_MS: u64 = 2_000;
/// Most tasks of one question.
const N_TASKS_MAX: usize = 1_000;

/// Open questions.
#[derive(Debug, Default)]
pub(super) struct Peeking {
    open: BTreeMap<u64, Peek>,
    n_asked: u64,
}

#[derive(Debug)]
struct Peek {
    asker: Asker,
    since: Moment,
    names: BTreeMap<TaskKey, TaskName>,
}

impl Peeking {
    /// Asks about the tasks that run here; those that do not are left out of the answer.
    pub(super) fn ask(&mut self, asker: Asker, tasks: Vec<OutputPosition>, turn: &mut Turn<'_>) {
        let mut names = BTreeMap::new();
        let mut wanted = Vec::new();
        for OutputPosition { task, stdout, stderr } in tasks.into_iter().take(N_TASKS_MAX) {
            let key = TaskKey { home: node_id(&task.home), number: task.number };
            if let Some(attempt) = turn.node.processes.attempt_at(key) {
                wanted.push((attempt, [stdout, stderr]));
                names.insert(key, task);
            }
        }
        if wanted.is_empty() {
            turn.answer(asker, DaemonAnswer::Output { tasks: Vec::new() });
            return;
        }
        let peek = turn.node.options.first_number().wrapping_add(self.n_asked);
        self.n_asked += 1;
        self.open.insert(peek, Peek { asker, since: turn.now.moment, names });
        turn.out.keeper(KeeperOrder::Peek { peek, wanted });
    }

    /// Answers a question with what the keeper has found.
    pub(super) fn found(
        &mut self,
        peek: u64,
        found: Vec<(Attempt, [StreamNews; 2])>,
        turn: &mut Turn<'_>,
    ) {
        let Some(Peek { asker, mut names, .. }) = self.open.remove(&peek) else { return };
        let news = found.into_iter().filter_map(|(attempt, [stdout, stderr])| {
            Some(OutputNews { task: names.remove(&attempt.task)?, stdout, stderr })
        });
        turn.answer(asker, DaemonAnswer::Output { tasks: news.collect() });
    }

    /// Ends questions that the keeper does not answer, as when it has died.
    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let is_late = |peek: &mut Peek| ANSWER_MS <= now.ms_since(peek.since);
        let late = self.open.extract_if(.., |_, peek| is_late(peek)).collect::<Vec<_>>();
        for (_, Peek { asker, .. }) in late {
            turn.answer(asker, DaemonAnswer::Output { tasks: Vec::new() });
        }
    }
}
