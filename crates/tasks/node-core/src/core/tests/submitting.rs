//! Clients of the world of the tests.

use task_api::{ArrayIndices, ClientRequest, Demand, Schedule, Submission, TaskLimits, TaskRange};

use super::trouble::wishes;
use super::world::World;
use crate::interface::{ClientId, CoreEvent};

impl World {
    pub(super) fn submit(&mut self, idx: usize, n_tasks: u64) -> TaskRange {
        let name = &self.nodes[idx].name;
        let before = self.promised.iter().rev().find(|tasks| tasks.home == *name);
        let (demand, schedule) = match self.trouble.has_wishes {
            true => wishes(&mut self.random, before),
            false => Default::default(),
        };
        self.submit_wishes(idx, n_tasks, (demand, schedule))
    }

    /// Submits tasks that ask for this.
    pub(super) fn submit_demand(&mut self, idx: usize, n_tasks: u64, demand: Demand) -> TaskRange {
        self.submit_wishes(idx, n_tasks, (demand, Schedule::default()))
    }

    fn submit_wishes(
        &mut self,
        idx: usize,
        n_tasks: u64,
        (demand, schedule): (Demand, Schedule),
    ) -> TaskRange {
        let n_promised = self.promised.len();
        let submission = Submission {
            demand,
            schedule,
            command: vec!["true".to_owned()],
            folder: "/".to_owned(),
            array: Some(ArrayIndices::range(1, n_tasks)),
            limits: TaskLimits { n_starts_max: 1000, ..TaskLimits::default() },
            failures: self.trouble.failures(),
            ..Submission::default()
        };
        self.event(
            idx,
            CoreEvent::FromClient {
                client: ClientId(1),
                request: ClientRequest::Submit { submission: Box::new(submission) },
            },
        );
        self.run_until(self.now_ms + 100);
        self.promised.get(n_promised).cloned().unwrap_or(TaskRange {
            home: "none".to_owned(),
            first: 1,
            last: 1,
        })
    }

    pub(super) fn cancel(&mut self, tasks: &TaskRange) {
        let idx = self.nodes.iter().position(|node| node.name == tasks.home).unwrap();
        let request = ClientRequest::Cancel { tasks: tasks.clone() };
        self.event(idx, CoreEvent::FromClient { client: ClientId(2), request });
    }
}
