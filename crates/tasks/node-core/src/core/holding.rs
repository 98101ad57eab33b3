//! Tasks of other homes that a node holds, and runs as long as their homes answer.
//!
//! A held task waits until its home has answered a renewal that named it, runs until its lease ends, counted from
//! when the last answered request was *sent*, and its result is sent until the home has acknowledged it. Only
//! results are on disk: a daemon that is killed forgets waiting tasks, and the keeper knows the running ones.

mod held_tasks;
mod results;

use super::leading::{self, Leading};
use super::node::{N_SHARES_MAX, count};
use super::rooms::Rooms;
use super::turn::Turn;
use crate::interface::{
    Allocation, Attempt, AttemptEnd, EndedAttempt, ExecContext, InstanceId, Job, KeeperOrder,
    Killed, NodeId, OfferedTask, OfferedWork, PeerMessage, RoomId, Work,
};
use balancing_policies::Moment;
use held_tasks::{HeldTasks, Startable};
use results::Results;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use task_api::{Output, Usage};

/// Time between two renewals of leases, in ms.
const RENEW_MS: u64 = 1_000;
/// Most results that may wait for acknowledgment while further tasks are taken.
pub(super) const N_RESULTS_MAX: usize = 100_000;

/// Tasks of other nodes that this one holds.
#[derive(Debug)]
pub(super) struct Holding {
    held: HeldTasks,
    requests: LeaseRequests,
    results: Results,
    renewed: Moment,
    /// Homes whose tasks were not taken for want of room, since some was last free.
    refused: BTreeSet<NodeId>,
}

/// Tasks that another node offers.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) offer: u64,
    pub(super) arounds: Vec<ExecContext>,
    pub(super) works: Vec<OfferedWork>,
    pub(super) tasks: Vec<OfferedTask>,
}

impl Holding {
    pub(super) fn new(incarnation: u64, first_number: u64) -> Self {
        Self {
            held: HeldTasks::default(),
            requests: LeaseRequests::new(incarnation, first_number),
            results: Results::default(),
            renewed: Moment(0),
            refused: BTreeSet::new(),
        }
    }

    /// Number of other nodes' tasks that wait here.
    pub(super) fn n_waiting(&self) -> u64 {
        self.held.n_waiting()
    }

    /// Number of those that were promised no room.
    pub(super) fn n_without_room(&self) -> u64 {
        self.held.n_without_room()
    }

    /// Takes tasks that another node offers; returns whether it took any.
    pub(super) fn on_offer(
        &mut self,
        from: NodeId,
        offered: Offered,
        room: (bool, &mut Rooms),
        turn: &mut Turn<'_>,
    ) -> bool {
        let offer = offered.offer;
        let (shares, because) = self.take(from, offered, room, turn);
        let n_tasks = count(shares.len());
        turn.out.send(from, PeerMessage::Taken { offer, n_tasks, because });
        if shares.is_empty() {
            return false;
        }
        turn.node.counts.n_moved_in += shares.len() as u64;
        self.requests.send(from, shares, false, turn);
        true
    }

    /// Takes the tasks that there is room for, in order.
    fn take(
        &mut self,
        from: NodeId,
        offered: Offered,
        (keeps_room, rooms): (bool, &mut Rooms),
        turn: &mut Turn<'_>,
    ) -> (Vec<InstanceId>, Option<String>) {
        let arounds = offered.arounds.into_iter().map(Arc::new).collect::<Vec<_>>();
        let works = offered.works.into_iter().map(|OfferedWork { work, demand }| {
            let around = arounds.get(work.around_idx as usize)?.clone();
            let title = work.title.map(String::into_boxed_str);
            let work = Work::from_words(title, work.words.into(), around);
            Some(Arc::new(work.with_demand(demand)))
        });
        let works = works.collect::<Vec<_>>();
        let mut shares = Vec::new();
        for OfferedTask { share, work_idx, input, span } in offered.tasks {
            let attempt = share.of_home(from);
            if self.held.are_full() {
                return (shares, Some("too many tasks of others wait there".to_owned()));
            }
            if self.held.contain(attempt.task) || turn.node.book.foreign().contains_key(&attempt) {
                return (shares, Some("an earlier attempt has not ended there".to_owned()));
            }
            let Some(Some(work)) = works.get(work_idx as usize) else {
                return (shares, Some("the offer is malformed".to_owned()));
            };
            let pool = &mut turn.node.processes.pool;
            // What asks for more than a core is given it now, and starts when its home has answered.
            let demand = work.class.as_deref();
            let allocation = demand.and_then(|demand| match span {
                Some(span) => {
                    let given = rooms.withdraw(RoomId { attempt, round: span.round })?;
                    Some(Allocation { span: Some(Box::new(span)), ..given })
                }
                None if keeps_room => None,
                None => pool.allocate(Some(demand), 0),
            });
            if let Some(demand) = demand.filter(|_| allocation.is_none()) {
                self.refused.insert(from);
                let room = if keeps_room {
                    "room is kept there for another task"
                } else {
                    "not free there"
                };
                return (shares, Some(format!("{demand}: {room}")));
            }
            self.held.hold(attempt, (work.clone(), input), allocation, turn.now.moment);
            shares.push(share);
        }
        (shares, None)
    }

    /// Tells the homes whose tasks were not taken for want of room that some is free.
    pub(super) fn tell_of_room(&mut self, turn: &mut Turn<'_>) {
        for home in std::mem::take(&mut self.refused) {
            turn.out.send(home, PeerMessage::HasRoom);
        }
    }

    /// Starts a task of another home, if one may be started; returns whether it did.
    pub(super) fn start(
        &mut self,
        n_slots: u32,
        leading: &mut Leading,
        turn: &mut Turn<'_>,
    ) -> bool {
        let has_room = turn.node.processes.pool.fits(None, n_slots);
        let Some(next) = self.held.start_next(turn.now.moment, has_room) else { return false };
        let Startable { attempt, work: (work, input), allocation, until } = next;
        let allocation =
            allocation.unwrap_or_else(|| turn.node.processes.pool.give(Allocation::default()));
        if let Some(span) = &allocation.span {
            leading.begin(attempt, span, turn.now.moment);
        }
        let home = attempt.task.home;
        let name = format!("{}.{}", turn.node.name_of(home), attempt.task.number);
        let lease_until = Some(until);
        let job = Job { attempt, name, work, input, allocation, lease_until, n_at_once: None };
        let lasts_ms = job.work.demand.as_ref().and_then(|demand| demand.lasts_ms());
        turn.node.processes.start(job, lasts_ms, turn.now.moment, turn.out);
        let shares = vec![(attempt.into(), turn.now.unix_ms)];
        turn.out.send(home, PeerMessage::Started(shares));
        true
    }

    /// Holds a task of another home that the keeper runs for an earlier daemon.
    pub(super) fn adopt(&mut self, attempt: Attempt, now: Moment) {
        self.held.adopt(attempt, now);
    }

    /// Cancels tasks at the request of their home.
    pub(super) fn on_cancel(&mut self, from: NodeId, shares: &[InstanceId], turn: &mut Turn<'_>) {
        for share in shares {
            let attempt = share.of_home(from);
            if self.held.waits(attempt) {
                let ended = EndedAttempt {
                    attempt,
                    end: AttemptEnd::Killed(Killed::Canceled),
                    started_ms: turn.now.unix_ms,
                    ended_ms: turn.now.unix_ms,
                    output: Output::default(),
                    usage: Usage::default(),
                };
                self.attempt_ended(ended, turn);
            } else {
                turn.node.processes.kill(attempt, Killed::Canceled, turn.out);
            }
        }
    }

    /// Handles the end of an attempt at a task of another home.
    pub(super) fn attempt_ended(&mut self, ended: EndedAttempt, turn: &mut Turn<'_>) {
        let attempt = ended.attempt;
        self.forget(attempt, turn);
        match ended.end {
            AttemptEnd::Killed(Killed::Leaving) => give_back(attempt, "it is being stopped", turn),
            AttemptEnd::NoRoom(because) => {
                turn.node.processes.found_no_room(turn.now.moment);
                give_back(attempt, &because, turn);
            }
            AttemptEnd::Killed(Killed::LeaseOut) | AttemptEnd::NoTurn => {}
            _ => self.results.add(ended, turn),
        }
    }

    /// Gives back a task of another home whose attempt was lost with the keeper.
    pub(super) fn attempt_lost(&mut self, attempt: Attempt, turn: &mut Turn<'_>) {
        self.forget(attempt, turn);
        give_back(attempt, "the process that had started it died", turn);
    }

    /// Gives back all other nodes' tasks that wait here, because this node stops.
    pub(super) fn return_all(&mut self, turn: &mut Turn<'_>) {
        while let Some(attempt) = self.held.pop_waiting(true) {
            self.forget(attempt, turn);
            give_back(attempt, "it is being stopped", turn);
        }
    }

    /// Returns up to `n_tasks` waiting tasks to their homes, with the wish that they go on to `to`; returns how
    /// many.
    pub(super) fn return_for(
        &mut self,
        (to, name): (NodeId, &str),
        n_tasks: u32,
        turn: &mut Turn<'_>,
    ) -> u32 {
        let mut by_home = BTreeMap::<NodeId, Vec<InstanceId>>::new();
        let mut n_returned = 0;
        while n_returned < n_tasks
            && let Some(attempt) = self.held.pop_waiting(false)
        {
            self.forget(attempt, turn);
            by_home.entry(attempt.task.home).or_default().push(attempt.into());
            n_returned += 1;
        }
        for (home, shares) in by_home {
            let because = format!("`{name}` has room sooner");
            turn.out.send(home, PeerMessage::Returned { shares, wish: Some(to), because });
        }
        n_returned
    }

    /// Forgets results that the home has acknowledged.
    pub(super) fn on_acknowledged(
        &mut self,
        from: NodeId,
        shares: &[InstanceId],
        turn: &mut Turn<'_>,
    ) {
        self.results.acknowledged(from, shares, turn);
    }

    /// Handles the home's answer to a request: its tasks may be kept, except for those that are `gone`.
    pub(super) fn on_renewed(
        &mut self,
        from: NodeId,
        (number, gone): (u64, Vec<InstanceId>),
        turn: &mut Turn<'_>,
    ) {
        let Some(request) = self.requests.answered(from, number) else { return };
        let until = request.sent.plus_ms(turn.node.options.lease_ms);
        let gone = gone.into_iter().collect::<BTreeSet<_>>();
        let mut attempts = Vec::new();
        for share in request.shares {
            let attempt = share.of_home(from);
            if gone.contains(&share) {
                self.release(attempt, turn);
            } else if self.held.extend(attempt, until) {
                attempts.push(attempt);
            }
        }
        if !attempts.is_empty() {
            turn.out.keeper(KeeperOrder::Extend { attempts, until });
        }
    }

    /// Renews leases, repeats results, and drops tasks whose leases have expired.
    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) {
        for attempt in self.held.expired(turn.now.moment, turn.node.options.lease_ms) {
            if self.held.waits(attempt) {
                give_back(attempt, "its home was not heard for too long", turn);
            }
            self.release(attempt, turn);
        }
        if turn.now.moment.ms_since(self.renewed) < RENEW_MS {
            return;
        }
        self.renewed = turn.now.moment;
        self.held.tidy();
        for home in self.held.homes() {
            self.renew(home, turn);
        }
        self.results.repeat(turn);
    }

    /// Tells all other nodes which of their tasks are held: a restarted daemon begins with that.
    pub(super) fn renew_all(&mut self, turn: &mut Turn<'_>) {
        for home in turn.node.peers.all_up() {
            self.renew(home, turn);
        }
    }

    /// Tells a home all of its tasks that are held, and those that have ended.
    pub(super) fn renew(&mut self, home: NodeId, turn: &mut Turn<'_>) {
        let ended = turn.node.book.foreign().keys().filter(|attempt| attempt.task.home == home);
        let ended = ended.map(|attempt| InstanceId::from(*attempt));
        let shares = self.held.of_home(home).chain(ended).collect::<Vec<_>>();
        if shares.len() <= N_SHARES_MAX {
            self.requests.send(home, shares, true, turn);
            return;
        }
        for shares in shares.chunks(N_SHARES_MAX) {
            self.requests.send(home, shares.to_vec(), false, turn);
        }
    }

    /// Forgets a task, and takes back what it was promised of this node.
    fn forget(&mut self, attempt: Attempt, turn: &mut Turn<'_>) {
        if let Some(allocation) = self.held.forget(attempt) {
            turn.node.processes.pool.take_back(&allocation);
            if let Some(span) = &allocation.span {
                leading::leave(attempt, span, turn);
            }
        }
    }

    /// Forgets a task that may not be kept, or lets the keeper end it.
    fn release(&mut self, attempt: Attempt, turn: &mut Turn<'_>) {
        if self.held.waits(attempt) {
            self.forget(attempt, turn);
        } else {
            turn.node.processes.kill(attempt, Killed::LeaseOut, turn.out);
        }
    }
}

fn give_back(attempt: Attempt, because: &str, turn: &mut Turn<'_>) {
    let (shares, because) = (vec![attempt.into()], because.to_owned());
    turn.out.send(attempt.task.home, PeerMessage::Returned { shares, wish: None, because });
}

/// Most requests to one home whose answers are accepted.
const N_REQUESTS_MAX: usize = 32;

/// Open requests.
#[derive(Debug)]
struct LeaseRequests {
    open: BTreeMap<NodeId, VecDeque<LeaseRequest>>,
    incarnation: u64,
    next: u64,
}

/// Request to keep tasks; an answer renews their leases from the moment at which it was sent.
#[derive(Debug)]
struct LeaseRequest {
    number: u64,
    sent: Moment,
    shares: Vec<InstanceId>,
}

impl LeaseRequests {
    /// No request. An answer to a request of an earlier daemon matches none with a number from `first` on.
    fn new(incarnation: u64, first: u64) -> Self {
        Self { open: BTreeMap::new(), incarnation, next: first }
    }

    fn send(&mut self, home: NodeId, shares: Vec<InstanceId>, whole: bool, turn: &mut Turn<'_>) {
        let (number, incarnation) = (self.next, self.incarnation);
        self.next = number.wrapping_add(1);
        let requests = self.open.entry(home).or_default();
        if requests.len() == N_REQUESTS_MAX {
            requests.pop_front();
        }
        requests.push_back(LeaseRequest { number, sent: turn.now.moment, shares: shares.clone() });
        turn.out.send(home, PeerMessage::Renew { number, incarnation, whole, shares });
    }

    /// Removes the request that a home answers.
    fn answered(&mut self, home: NodeId, number: u64) -> Option<LeaseRequest> {
        let requests = self.open.get_mut(&home)?;
        let idx = requests.iter().position(|request| request.number == number)?;
        requests.remove(idx)
    }
}
