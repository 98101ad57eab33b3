//! A node holds tasks of other homes, and runs them as long as these answer.
//!
//! What is held waits until its home has answered a renewal that named it, runs until so long after the last such
//! request was *sent*, and is told of when it ended until the home has acknowledged that. Only results are on
//! disk: what waits is forgotten by a daemon that is killed, and what runs is known to the keeper.

mod renewing;
mod results;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use balanced::Output;
use balancing::Moment;

use super::home::N_SHARES_MAX;
use super::words::{
    Attempt, AttemptEnd, Ended, Job, Killed, NodeId, OfferedTask, PeerMessage, Running, Share,
    SharedEnd, SharedWork, Surroundings, TaskKey, Work,
};
use super::{At, Core, KeeperOrder, Nodes, Record};

/// How often leases are renewed, and results repeated.
const RENEW_MS: u64 = 1_000;
/// Tasks that are not started shortly before their lease runs out.
const MARGIN_MS: u64 = 1_000;
/// Tasks of others that may wait here.
const N_WAITING_MAX: usize = 10_000;
/// Results that may wait to be acknowledged while further tasks are taken.
const N_RESULTS_MAX: usize = 100_000;

/// Tasks of others.
#[derive(Debug)]
pub(super) struct Holding {
    held: BTreeMap<TaskKey, Held>,
    waiting: VecDeque<Attempt>,
    n_waiting: u64,
    requests: BTreeMap<NodeId, VecDeque<Request>>,
    next_request: u64,
    /// When results were sent last.
    told: BTreeMap<Attempt, Moment>,
    renewed: Moment,
}

#[derive(Debug)]
struct Held {
    instance: u32,
    /// Nothing where only the keeper knows what it is.
    work: Option<(Arc<Work>, Option<u64>)>,
    lease_until: Option<Moment>,
    taken: Moment,
    runs: bool,
}

#[derive(Debug)]
struct Request {
    number: u64,
    sent: Moment,
    shares: Vec<Share>,
}

/// What another node wants to be taken.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) offer: u64,
    pub(super) incarnation: u64,
    pub(super) arounds: Vec<Surroundings>,
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
            // An answer to an earlier daemon answers nothing of this one.
            next_request: incarnation.wrapping_shl(20),
            told: BTreeMap::new(),
            renewed: Moment(0),
        }
    }

    /// Tasks of others that wait here.
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

    /// Forgets entries of the queue whose tasks do not wait any more.
    fn tidy(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|attempt| self.waits(*attempt));
        self.waiting = waiting;
    }

    /// Shares of a home, of tasks that wait and tasks that run.
    fn shares_of(&self, home: NodeId) -> impl Iterator<Item = (Share, &Held)> {
        let key = |number| TaskKey { home, number };
        let held = self.held.range(key(0)..=key(u64::MAX));
        held.map(|(task, held)| (Share { number: task.number, instance: held.instance }, held))
    }

    fn homes(&self) -> Nodes {
        self.held.keys().map(|task| task.home).collect()
    }
}

impl Core {
    /// Another node wants tasks to be taken.
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

    /// Why nothing of it is taken.
    fn refusal(&self, offered: &Offered) -> Option<String> {
        let because = if offered.incarnation != self.options.incarnation || !self.ready {
            "its daemon was started anew"
        } else if self.stopping.is_some() {
            "it is being stopped"
        } else if N_RESULTS_MAX <= self.book.foreign().len() {
            "too many of its results wait to be acknowledged"
        } else {
            return None;
        };
        Some(because.to_owned())
    }

    /// Takes what there is room for, in order.
    fn take(
        &mut self,
        from: NodeId,
        offered: Offered,
        at: &mut At<'_>,
    ) -> (Vec<Share>, Option<String>) {
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
                return (shares, Some("the offer makes no sense".to_owned()));
            };
            self.holding.hold(attempt, (work.clone(), array_index), at.now.moment);
            shares.push(share);
        }
        (shares, None)
    }

    /// Starts a task of another home, if one may be started.
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
            let shares = vec![(Share { number, instance }, at.now.unix_ms)];
            at.out.send(home, PeerMessage::Started { shares });
            return true;
        }
        false
    }

    /// The keeper runs a task of another home, as a daemon before this one had wanted.
    pub(super) fn adopt(&mut self, run: Running, at: &mut At<'_>) {
        let Attempt { task, instance } = run.attempt;
        let taken = at.now.moment;
        let held = Held { instance, work: None, lease_until: None, taken, runs: true };
        self.holding.held.insert(task, held);
    }

    /// The home wants tasks to end.
    pub(super) fn on_cancel(&mut self, from: NodeId, shares: &[Share], at: &mut At<'_>) {
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

    /// An attempt at a task of another home has ended here.
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

    /// The keeper has died, and with it an attempt at a task of another home.
    pub(super) fn held_lost(&mut self, attempt: Attempt, at: &mut At<'_>) {
        self.holding.forget(attempt);
        self.give_back(attempt, "the process that had started it died", at);
    }

    /// Returns tasks of others that wait here, all of them, because this node stops.
    pub(super) fn return_all_held(&mut self, at: &mut At<'_>) {
        while let Some(attempt) = self.holding.waiting.pop_front() {
            if self.holding.waits(attempt) {
                self.holding.forget(attempt);
                self.give_back(attempt, "it is being stopped", at);
            }
        }
    }

    /// Returns so many tasks of others to their homes, with the wish that they go on to `to`; returns how many.
    pub(super) fn return_held(&mut self, to: NodeId, n_tasks: u32, at: &mut At<'_>) -> u32 {
        let mut by_home = BTreeMap::<NodeId, Vec<Share>>::new();
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

fn attempt_of(home: NodeId, share: Share) -> Attempt {
    Attempt { task: TaskKey { home, number: share.number }, instance: share.instance }
}

fn share_of(attempt: Attempt) -> Share {
    Share { number: attempt.task.number, instance: attempt.instance }
}
