//! Conditions that must hold for a world at the end.

use std::collections::BTreeMap;

use balancing_policies::NodeId;
use task_api::{DependencyKind, TaskOutcome, TaskRange};

use super::world::{Node, World, replay};
use crate::book::Book;
use crate::core::Core;
use crate::interface::{Job, RoomId, TaskKey, node_id};

impl World {
    pub(super) fn assert_all_is_well(&self, context: &str) {
        for tasks in &self.promised {
            let book = self.book_of(tasks);
            for number in tasks.first..=tasks.last {
                let task = book.task(number);
                let task = task.unwrap_or_else(|| panic!("{context}: {number} of {tasks} is lost"));
                let good = match task.outcome() {
                    Some(TaskOutcome::Exit(0) | TaskOutcome::Canceled) => true,
                    // It failed before it was ended, and was not tried again.
                    Some(TaskOutcome::Exit(1)) => task.is_cancel_requested,
                    _ => false,
                };
                assert!(good, "{context}: {number} of {tasks} is {task:?}");
            }
        }
        assert!(!self.promised.is_empty() && 0 < self.n_starts, "{context}: nothing was done");
        for node in &self.nodes {
            let book = node.core.as_ref().unwrap().book();
            assert!(book.foreign().is_empty(), "{context}: {} keeps results", node.name);
            assert!(book.leases().is_empty(), "{context}: {} keeps leases", node.name);
            assert!(node.keeper.running.is_empty(), "{context}: {} still runs", node.name);
            let again = replay(&node.name, &node.records);
            assert_eq!(
                again.tasks().n_queued(),
                book.tasks().n_queued(),
                "{context}: {}",
                node.name
            );
            assert_eq!(again.n_open(), book.n_open(), "{context}: {}", node.name);
        }
    }

    /// Checks that all that a task waits for has happened before it is started.
    pub(super) fn assert_in_order(&self, task: TaskKey) {
        let home = self.nodes.iter().find(|node| node_id(&node.name) == task.home).unwrap();
        let Some(book) = home.core.as_ref().map(Core::book) else { return };
        // After its daemon was killed, the disk may not have the end yet that its keeper knows.
        let Some(terms) = book.task(task.number).and_then(|it| it.work.terms.as_ref()) else {
            return;
        };
        for (first, last, kind) in terms.after(task.number) {
            for other in first..=last {
                let outcome = book.task(other).and_then(|it| it.outcome());
                let is_met = outcome.is_some_and(|outcome| match kind {
                    DependencyKind::Succeeded => outcome.is_success(),
                    _ => true,
                });
                assert!(is_met, "{task:?} runs before {other}, which is {outcome:?}");
            }
        }
    }

    /// Checks that a task that asks for several nodes has room on as many when it is started.
    pub(super) fn assert_has_all_nodes(&self, lead: usize, job: &Job) {
        let n_wanted = job.work.demand.as_ref().map_or(1, |demand| demand.n_nodes());
        let span = job.allocation.span.as_deref();
        let mut nodes =
            span.map_or(Vec::new(), |span| span.rooms.iter().map(|it| it.node).collect());
        nodes.push(node_id(&self.nodes[lead].name));
        nodes.sort();
        nodes.dedup();
        assert_eq!(nodes.len(), n_wanted as usize, "{job:?}");
        let Some(span) = span.filter(|_| self.n_happened[1..].iter().all(|n| *n == 0)) else {
            return;
        };
        let id = RoomId { attempt: job.attempt, round: span.round };
        for room in &span.rooms {
            let node = self.nodes.iter().find(|node| node_id(&node.name) == room.node).unwrap();
            let mut given = node.core.as_ref().unwrap().roles.rooms.given();
            assert!(
                given.any(|(it, allocation)| (it, allocation) == (&id, &room.allocation)),
                "{id:?}"
            );
        }
    }

    /// Returns whether an event of this kind would change anything now.
    pub(super) fn has_effect(&self, kind: usize, idx: usize) -> bool {
        let is_open = |tasks: &TaskRange| {
            let home = self.nodes.iter().find(|node| node.name == tasks.home);
            let core = home.and_then(|node| node.core.as_ref());
            let tasks = |core: &Core| {
                let all = core.book().tasks_from(tasks.first);
                all.take_while(|(n, _)| *n <= tasks.last).any(|(_, task)| !task.is_over())
            };
            core.is_some_and(tasks)
        };
        match kind {
            5 => self.promised.last().is_some_and(is_open),
            6 => !self.nodes[idx].records.is_empty(),
            1 => true,
            _ => self.nodes[idx].core.is_some(),
        }
    }

    pub(super) fn outcomes(&self, tasks: &TaskRange) -> Vec<TaskOutcome> {
        let book = self.book_of(tasks);
        (tasks.first..=tasks.last).filter_map(|n| book.task(n)?.outcome().cloned()).collect()
    }

    /// Number of tasks that were started after this one.
    pub(super) fn n_started_after(&self, tasks: &TaskRange) -> usize {
        let started_ms = self.book_of(tasks).task(tasks.first).unwrap().started_ms();
        let all = self.promised.iter().flat_map(|tasks| {
            let book = self.book_of(tasks);
            (tasks.first..=tasks.last).filter_map(|number| book.task(number)?.started_ms())
        });
        all.filter(|ms| started_ms < Some(*ms)).count()
    }

    pub(super) fn ended_on(&self, tasks: &TaskRange) -> BTreeMap<NodeId, usize> {
        let book = self.book_of(tasks);
        let mut nodes = BTreeMap::new();
        for number in tasks.first..=tasks.last {
            *nodes.entry(book.task(number).unwrap().node().unwrap()).or_default() += 1;
        }
        nodes
    }

    pub(super) fn book_of(&self, tasks: &TaskRange) -> &Book {
        let node = self.nodes.iter().find(|node| node.name == tasks.home).unwrap();
        node.core.as_ref().unwrap().book()
    }

    pub(super) fn is_over(&self) -> bool {
        let quiet = |node: &Node| {
            let book = node.core.as_ref().map(Core::book);
            let idle = |book: &Book| {
                book.n_open() == 0 && book.foreign().is_empty() && book.leases().is_empty()
            };
            let rooms = node.core.as_ref().map(|core| &core.roles.rooms);
            rooms.is_some_and(|rooms| rooms.are_empty())
                && book.is_some_and(idle)
                && node.keeper.running.is_empty()
                && node.gated.is_empty()
        };
        self.nodes.iter().all(quiet)
    }
}
