//! Keeper of processes that exist only as times.

use std::collections::BTreeMap;

use balancing_policies::Moment;
use task_api::{Output, Resources, Usage};

use crate::interface::{
    Allocation, Attempt, AttemptEnd, EndedAttempt, KeeperEvent, KeeperOrder, Killed,
    RunningAttempt, TaskKey,
};

/// Processes of a node.
#[derive(Default)]
pub(super) struct Keeper {
    pub(super) running: BTreeMap<Attempt, Process>,
    ended: BTreeMap<Attempt, EndedAttempt>,
    pub(super) has_left: bool,
}

pub(super) struct Process {
    /// Moment of its end by the world's clock, in milliseconds.
    ends_at_ms: u64,
    /// End of its lease by the node's clock.
    lease_until: Option<Moment>,
    killed: Option<Killed>,
    started_ms: u64,
    code: i32,
    allocation: Allocation,
}

impl Keeper {
    /// Carries out an order; returns the task that was started.
    pub(super) fn order(
        &mut self,
        order: KeeperOrder,
        now_ms: u64,
        (lasts_ms, code): (u64, i32),
    ) -> Option<TaskKey> {
        match order {
            KeeperOrder::Start(job) => {
                let process = Process {
                    ends_at_ms: now_ms + lasts_ms,
                    lease_until: job.lease_until,
                    killed: None,
                    started_ms: now_ms,
                    code,
                    allocation: job.allocation.clone(),
                };
                assert!(job.work.command().eq(["true"]), "the work has come along");
                assert_eq!(job.n_at_once, None, "its tasks are not short");
                assert!(self.running.insert(job.attempt, process).is_none());
                return Some(job.attempt.task);
            }
            KeeperOrder::Kill { attempt, because } => {
                if let Some(process) = self.running.get_mut(&attempt) {
                    process.killed = Some(because);
                    let patience_ms = if because == Killed::LeaseOut { 20 } else { 300 };
                    process.ends_at_ms = process.ends_at_ms.min(now_ms + patience_ms);
                }
            }
            KeeperOrder::Forget(attempts) => {
                attempts.iter().for_each(|attempt| drop(self.ended.remove(attempt)));
            }
            KeeperOrder::Extend { attempts, until } => {
                for attempt in attempts {
                    if let Some(process) = self.running.get_mut(&attempt) {
                        process.lease_until = Some(until);
                    }
                }
            }
            KeeperOrder::Peek { .. } => {}
            KeeperOrder::Leave => self.has_left = true,
        }
        None
    }

    /// Ends processes whose time is over; returns them.
    pub(super) fn pass(&mut self, now_ms: u64, moment: Moment) -> Vec<EndedAttempt> {
        let lease_out =
            |process: &Process| process.lease_until.is_some_and(|until| until <= moment);
        let over = |process: &Process| process.ends_at_ms <= now_ms || lease_out(process);
        let over =
            self.running.extract_if(.., |_, process| over(process)).map(|(attempt, process)| {
                let end = match process.killed {
                    Some(killed) => AttemptEnd::Killed(killed),
                    None if lease_out(&process) => AttemptEnd::Killed(Killed::LeaseOut),
                    None => AttemptEnd::Exit(process.code),
                };
                let (started_ms, ended_ms) = (process.started_ms, now_ms);
                let (output, usage) = (Output::default(), Usage::default());
                EndedAttempt { attempt, end, started_ms, ended_ms, output, usage }
            });
        let over = over.collect::<Vec<_>>();
        for ended in &over {
            self.ended.insert(ended.attempt, ended.clone());
        }
        over
    }

    /// Checks that nothing of the node is given twice.
    pub(super) fn assert_fits<'a>(
        &'a self,
        rooms: impl Iterator<Item = &'a Allocation>,
        capacity: &Resources,
    ) {
        let mut sum = Resources::nothing();
        let given = self.running.values().map(|process| &process.allocation).chain(rooms);
        let given = given.collect::<Vec<_>>();
        // Those that ask for nothing may share cores under some policies.
        let special = given.iter().filter(|allocation| !allocation.is_plain());
        special.for_each(|allocation| sum.add(&allocation.resources()));
        assert!(sum.fit(capacity), "{sum} of {capacity}");
        let ids = |of: fn(&Allocation) -> &Vec<u32>| {
            let mut ids = given.iter().flat_map(|it| of(it)).collect::<Vec<_>>();
            let n_all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), n_all, "{ids:?}");
        };
        ids(|allocation| &allocation.gpus);
        ids(|allocation| &allocation.cores);
    }

    pub(super) fn inventory(&self) -> KeeperEvent {
        let running = self.running.iter();
        let running = running.map(|(&attempt, process)| RunningAttempt {
            attempt,
            started_ms: process.started_ms,
            allocation: process.allocation.clone(),
        });
        KeeperEvent::Inventory {
            running: running.collect(),
            ended: self.ended.values().cloned().collect(),
        }
    }
}
