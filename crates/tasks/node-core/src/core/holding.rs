//! Tasks of other homes that a node holds, and runs as long as their homes answer.
//!
//! A held task waits until its home has answered a renewal that named it, runs until its lease ends, counted from
//! when the last answered request was *sent*, and its result is sent until the home has acknowledged it. Only
//! results are on disk: a daemon that is killed forgets waiting tasks, and the keeper knows the running ones.

mod renewing;
mod results;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use balancing_policies::Moment;
use task_api::Output;

use super::home::N_SHARES_MAX;
use super::{At, Core, JournalRecord, KeeperOrder, Nodes};
use crate::interface::{
    Attempt, AttemptEnd, Ended, ExecContext, InstanceId, Job, Killed, NodeId, OfferedTask,
    PeerMessage, Running, SharedEnd, SharedWork, TaskKey, Work,
};

/// Time between two renewals of leases, and between two repetitions of results, in ms.
const RENEW_MS: u64 = 1_000;
/// Time before the end of its lease within which a task is not started, in ms.
const MARGIN_MS: u64 = 1_000;
/// Most tasks of other nodes that may wait here.
const N_WAITING_MAX: usize = 10_000;
/// Most results that may wait for acknowledgment while further tasks are taken.
const N_RESULTS_MAX: usize = 100_000;

/// Tasks of other nodes that this one holds.
#[derive(Debug)]
pub(super) struct Holding {
    held: BTreeMap<TaskKey, Held>,
    waiting: VecDeque<Attempt>,
    n_waiting: u64,
    requests: BTreeMap<NodeId, VecDeque<Request>>,
    next_request: u64,
    /// Moment at which each result was last sent.
    told: BTreeMap<Attempt, Moment>,
    renewed: Moment,
}

#[derive(Debug)]
struct Held {
    instance: u32,
    /// Work and array index; `None` where only the keeper knows them.
    work: Option<(Arc<Work>, Option<u64>)>,
    lease_until: Option<Moment>,
    taken: Moment,
    runs: bool,
}

#[derive(Debug)]
struct Request {
    number: u64,
    sent: Moment,
    shares: Vec<InstanceId>,
}

/// Tasks that another node offers.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) offer: u64,
    pub(super) incarnation: u64,
    pub(super) arounds: Vec<ExecContext>,
    pub(super) works: Vec<SharedWork>,
    pub(super) tasks: Vec<OfferedTask>,
}

impl Holding {
    pub(super) fn new(incarnation: u64) -> Self {
        Self {
            held: BTreeMap::new(),
            waiting: VecDeque::new(),
            n_waiting: 0,
            requests: BTreeMap::new(),
            // An answer to a request of an earlier daemon matches no request of this one.
            next_request: incarnation.wrapping_shl(20),
            told: BTreeMap::new(),
            renewed: Moment(0),
        }
    }

    /// Number of other nodes' tasks that wait here.
    pub(super) fn n_queued(&self) -> u64 {
        self.n_waiting
    }

    fn waits(&self, attempt: Attempt) -> bool {
        let held = self.held.get(&attempt.task);
        held.is_some_and(|held| held.instance == attempt.instance && !held.runs)
    }

    fn hold(&mut self, attempt: Attempt, work: (Arc<Work>, Option<u64>), now: Moment) {
        let instance = attempt.instance;
        let held = Held { instance, work: Some(work), lease_until: None, taken: now, runs: false };
        self.held.insert(attempt.task, held);
        self.waiting.push_back(attempt);
        self.n_waiting += 1;
    }

    fn forget(&mut self, attempt: Attempt) {
        if self.held.get(&attempt.task).is_some_and(|held| held.instance == attempt.instance) {
            let held = self.held.remove(&attempt.task);
            self.n_waiting -= u64::from(held.is_some_and(|held| !held.runs));
        }
    }

    /// Drops entries of the queue whose tasks no longer wait.
    fn tidy(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|attempt| self.waits(*attempt));
        self.waiting = waiting;
    }

    /// Shares of a home: its tasks that wait or run here.
    fn shares_of(&self, home: NodeId) -> impl Iterator<Item = (InstanceId, &Held)> {
        let key = |number| TaskKey { home, number };
        let held = self.held.range(key(0)..=key(u64::MAX));
        held.map(|(task, held)| (InstanceId { number: task.number, instance: held.instance }, held))
    }

    fn homes(&self) -> Nodes {
        self.held.keys().map(|task| task.home).collect()
    }
}

impl Core {
    /// Takes tasks that another node offers.
    pub(super) fn on_offer(&mut self, from: NodeId, offered: Offered, at: &mut At<'_>) {
        let offer = offered.offer;
        let (shares, because) = match self.refusal(&offered) {
            Some(because) => (Vec::new(), Some(because)),
            None => self.take(from, offered, at),
        };
        let n_tasks = super::rules::count(shares.len());
        at.out.send(from, PeerMessage::Taken { offer, n_tasks, because });
        if !shares.is_empty() {
            self.counts.n_moved_in += shares.len() as u64;
            self.balance.on_received(from);
            self.request(from, shares, false, at);
        }
    }

    /// Reason why nothing of the offer is taken.
    fn refusal(&self, offered: &Offered) -> Option<String> {
        let because = if offered.incarnation != self.options.incarnation || !self.ready {
            "its daemon has restarted"
        } else if self.stopping.is_some() {
            "it is being stopped"
        } else if N_RESULTS_MAX <= self.book.foreign().len() {
            "too many of its results wait to be acknowledged"
        } else {
            return None;
        };
        Some(because.to_owned())
    }

    /// Takes the tasks that there is room for, in order.
    fn take(
        &mut self,
        from: NodeId,
        offered: Offered,
        at: &mut At<'_>,
    ) -> (Vec<InstanceId>, Option<String>) {
        let arounds = offered.arounds.into_iter().map(Arc::new).collect::<Vec<_>>();
        let works = offered.works.into_iter().map(|work| {
            let around = arounds.get(work.around_idx as usize)?.clone();
            let title = work.title.map(String::into_boxed_str);
            Some(Arc::new(Work::from_words(title, work.words.into(), around)))
        });
        let works = works.collect::<Vec<_>>();
        let mut shares = Vec::new();
        for OfferedTask { share, work_idx, array_index } in offered.tasks {
            let task = TaskKey { home: from, number: share.number };
            let attempt = Attempt { task, instance: share.instance };
            if N_WAITING_MAX <= self.holding.waiting.len() {
                return (shares, Some("too many tasks of others wait there".to_owned()));
            }
            if self.holding.held.contains_key(&task) || self.book.foreign().contains_key(&attempt) {
                return (shares, Some("an earlier attempt has not ended there".to_owned()));
            }
            let Some(Some(work)) = works.get(work_idx as usize) else {
                return (shares, Some("the offer is malformed".to_owned()));
            };
            self.holding.hold(attempt, (work.clone(), array_index), at.now.moment);
            shares.push(share);
        }
        (shares, None)
    }

    /// Starts a task of another home, if one may be started; returns whether it did.
    pub(super) fn start_held(&mut self, at: &mut At<'_>) -> bool {
        let from = at.now.moment.plus_ms(MARGIN_MS);
        let mut n_passed = 0;
        while n_passed < self.holding.waiting.len()
            && let Some(attempt) = self.holding.waiting.pop_front()
        {
            if !self.holding.waits(attempt) {
                continue;
            }
            let held = self.holding.held.get_mut(&attempt.task);
            let Some(held) = held.filter(|held| held.lease_until.is_some_and(|until| from < until))
            else {
                self.holding.waiting.push_back(attempt);
                n_passed += 1;
                continue;
            };
            let Some((work, array_index)) = held.work.clone() else { continue };
            let lease_until = held.lease_until;
            held.runs = true;
            self.holding.n_waiting -= 1;
            let Attempt { task: TaskKey { home, number }, instance } = attempt;
            let name = format!("{}.{number}", self.name_of(home));
            let job = Job { attempt, name, work, array_index, lease_until, n_at_once: None };
            self.running.insert(attempt, None);
            at.out.keeper(KeeperOrder::Start(Box::new(job)));
            let shares = vec![(InstanceId { number, instance }, at.now.unix_ms)];
            at.out.send(home, PeerMessage::Started { shares });
            return true;
        }
        false
    }

    /// Holds a task of another home that the keeper runs for an earlier daemon.
    pub(super) fn adopt(&mut self, run: Running, at: &mut At<'_>) {
        let Attempt { task, instance } = run.attempt;
        let taken = at.now.moment;
        let held = Held { instance, work: None, lease_until: None, taken, runs: true };
        self.holding.held.insert(task, held);
    }

    /// Cancels tasks at the request of their home.
    pub(super) fn on_cancel(&mut self, from: NodeId, shares: &[InstanceId], at: &mut At<'_>) {
        for share in shares {
            let attempt = attempt_of(from, *share);
            if self.holding.waits(attempt) {
                self.held_over(
                    Ended {
                        attempt,
                        end: AttemptEnd::Killed(Killed::Canceled),
                        started_ms: at.now.unix_ms,
                        ended_ms: at.now.unix_ms,
                        output: Output::default(),
                    },
                    at,
                );
            } else {
                self.kill(attempt, Killed::Canceled, at);
            }
        }
    }

    /// Handles the end of an attempt at a task of another home.
    pub(super) fn held_ended(&mut self, ended: Ended, at: &mut At<'_>) {
        let attempt = ended.attempt;
        if ended.end.outcome().is_some() {
            self.held_over(ended, at);
            return;
        }
        self.holding.forget(attempt);
        match ended.end {
            AttemptEnd::Killed(Killed::Leaving) => {
                self.give_back(attempt, "it is being stopped", at);
            }
            AttemptEnd::NoRoom(because) => {
                self.found_no_room(at);
                self.give_back(attempt, &because, at);
            }
            _ => {}
        }
    }

    /// Gives back a task of another home whose attempt was lost with the keeper.
    pub(super) fn held_lost(&mut self, attempt: Attempt, at: &mut At<'_>) {
        self.holding.forget(attempt);
        self.give_back(attempt, "the process that had started it died", at);
    }

    /// Gives back all other nodes' tasks that wait here, because this node stops.
    pub(super) fn return_all_held(&mut self, at: &mut At<'_>) {
        while let Some(attempt) = self.holding.waiting.pop_front() {
            if self.holding.waits(attempt) {
                self.holding.forget(attempt);
                self.give_back(attempt, "it is being stopped", at);
            }
        }
    }

    /// Returns up to `n_tasks` waiting tasks to their homes, with the wish that they go on to `to`; returns how
    /// many.
    pub(super) fn return_held(&mut self, to: NodeId, n_tasks: u32, at: &mut At<'_>) -> u32 {
        let mut by_home = BTreeMap::<NodeId, Vec<InstanceId>>::new();
        let mut n_returned = 0;
        while n_returned < n_tasks
            && let Some(attempt) = self.holding.waiting.pop_front()
        {
            if self.holding.waits(attempt) {
                self.holding.forget(attempt);
                by_home.entry(attempt.task.home).or_default().push(share_of(attempt));
                n_returned += 1;
            }
        }
        for (home, shares) in by_home {
            let because = format!("`{}` has room sooner", self.name_of(to));
            at.out.send(home, PeerMessage::Returned { shares, wish: Some(to), because });
        }
        n_returned
    }

    fn give_back(&self, attempt: Attempt, because: &str, at: &mut At<'_>) {
        let (shares, because) = (vec![share_of(attempt)], because.to_owned());
        at.out.send(attempt.task.home, PeerMessage::Returned { shares, wish: None, because });
    }
}

fn attempt_of(home: NodeId, share: InstanceId) -> Attempt {
    Attempt { task: TaskKey { home, number: share.number }, instance: share.instance }
}

fn share_of(attempt: Attempt) -> InstanceId {
    InstanceId { number: attempt.task.number, instance: attempt.instance }
}
