//! Finds room on several nodes at once for own tasks that ask for that: all or nothing.
//!
//! All nodes that could give some are asked at the same time. Where too few have room now, all of it is given back, and the
//! home tries again after a while; so two homes that each have half of what they need do not wait for each other. A task
//! that was tried in vain for long waits as well, at one node after the other in the order of their numbers: at each, what
//! gets free is kept for it. As all homes wait in that order, there is no circle of homes that wait.

use std::collections::BTreeMap;

use balancing_policies::{Moment, NodeId};
use task_api::Demand;

use super::Roles;
use super::leading::Leading;
use super::lending::Lending;
use super::rooms::{RoomAnswer, Rooms, host, send_leave};
use super::turn::Turn;
use crate::book::Task;
use crate::interface::{Attempt, NodeSpan, PeerMessage, Room, RoomId};

/// Time for which answers are awaited, in ms.
const TRY_MS: u64 = 600;
/// Time between two looks at what is sought, in ms: many events come in it.
const LOOK_MS: u64 = 20;
/// Least time between two tries, in ms; a part of it at random comes to it.
const PAUSE_MS: u64 = 200;
/// Time after which a task waits at nodes, in ms.
const PATIENCE_MS: u64 = 3_000;
/// Time between two tries of one that waits, in ms.
const TRY_EVERY_MS: u64 = 2_000;
/// Time between two repetitions of what was asked for, in ms.
const REPEAT_MS: u64 = 1_000;

/// Searches for room: one that waits, and one that tries, so that a task that waits for long holds up no other.
#[derive(Debug, Default)]
pub(super) struct Spanning {
    searches: Vec<Search>,
    n_rounds: u64,
    next: Moment,
    /// Tasks that were tried in vain, with the moment of the first time.
    tried: BTreeMap<u64, Moment>,
}

/// Search for one task.
#[derive(Debug)]
struct Search {
    id: RoomId,
    demand: Demand,
    n_nodes: usize,
    /// True if it waits at nodes too.
    waits: bool,
    /// Moment at which all were asked who could have room; `None` between two tries.
    tried: Option<Moment>,
    next_try: Moment,
    repeated: Moment,
    /// Moment from which on it is gone on with, unless an answer comes before.
    next_look: Moment,
    asked: BTreeMap<NodeId, Asked>,
}

#[derive(Debug)]
struct Asked {
    /// True if it is kept between tries.
    in_line: bool,
    answer: Option<Option<Room>>,
}

impl Spanning {
    /// What is found and sought for a task now: rooms that were given, and the node that it waits at.
    pub(super) fn progress(&self, number: u64) -> Option<(usize, Option<NodeId>)> {
        let search = self.of_task(number)?;
        let waits = search.asked.iter().find(|(_, it)| it.in_line && it.answer.is_none());
        Some((search.rooms().count(), waits.map(|(node, _)| *node)))
    }

    /// Handles the answer of a node.
    pub(super) fn on_answer(
        &mut self,
        from: NodeId,
        (room, given): (RoomId, Option<Room>),
        turn: &mut Turn<'_>,
    ) {
        let search = self.searches.iter_mut().find(|search| search.id == room);
        let known = search.and_then(|search| {
            let Search { asked, next_look, .. } = search;
            Some((asked.get_mut(&from)?, next_look))
        });
        match known {
            Some((asked, next_look)) if asked.answer.as_ref().is_none_or(Option::is_none) => {
                asked.answer = Some(given);
                *next_look = Moment(0);
            }
            Some(_) => {}
            None if given.is_some() => send_leave([from].into_iter(), room, turn),
            None => {}
        }
    }

    fn of_task(&self, number: u64) -> Option<&Search> {
        self.searches.iter().find(|search| search.id.attempt.task.number == number)
    }
}

impl Search {
    /// Rooms that were given.
    fn rooms(&self) -> impl Iterator<Item = &Room> {
        self.asked.values().filter_map(|asked| asked.answer.as_ref()?.as_ref())
    }
}

/// Parts of the node that a search works with.
struct Searcher<'a> {
    spanning: &'a mut Spanning,
    rooms: &'a mut Rooms,
    leading: &'a mut Leading,
    lending: &'a mut Lending,
    /// True if what gets free is kept for a task of this node.
    keeps_room: bool,
    stops: bool,
}

impl Roles {
    /// Goes on with the search for room, or begins one.
    pub(super) fn span(&mut self, turn: &mut Turn<'_>) {
        let keeps_room = self.backfill.keeps_room(turn.node);
        let stops = self.stopping.is_some();
        let Self { spanning, rooms, leading, lending, .. } = self;
        Searcher { spanning, rooms, leading, lending, keeps_room, stops }.go(turn);
    }

    /// Handles what nodes say about room for tasks that run on several of them.
    pub(super) fn on_room_message(
        &mut self,
        from: NodeId,
        message: PeerMessage,
        turn: &mut Turn<'_>,
    ) {
        match message {
            PeerMessage::AskRoom { room, demand, waits } => {
                let may_serve = self.stopping.is_none() && turn.node.processes.ready;
                let may_pass = !self.backfill.keeps_room(turn.node);
                if may_serve && room.attempt.task.home == from && !demand.is_spanning() {
                    self.rooms.on_ask(room, (demand, waits), may_pass, turn);
                } else {
                    turn.out.send(from, PeerMessage::HasRoomFor { room, given: None });
                }
            }
            PeerMessage::HasRoomFor { room, given } => {
                self.spanning.on_answer(from, (room, given.map(|given| *given)), turn);
            }
            // Before the keeper has reported what runs, nothing can be said.
            PeerMessage::KeepRooms { number, rooms } if turn.node.processes.ready => {
                let gone = self.rooms.keep(rooms, (turn.node, turn.now));
                turn.out.send(from, PeerMessage::RoomsKept { number, gone });
            }
            PeerMessage::RoomsKept { number, gone } => {
                self.leading.on_kept(from, (number, gone), turn);
            }
            PeerMessage::LeaveRooms(rooms) => {
                self.rooms.leave(&rooms, turn.node);
                self.holding.tell_of_room(turn);
            }
            _ => {}
        }
    }
}

impl Searcher<'_> {
    /// Goes on with the search, or begins one.
    fn go(mut self, turn: &mut Turn<'_>) {
        for (room, given) in self.rooms.take_given_here() {
            self.spanning.on_answer(turn.node.me, (room, Some(given)), turn);
            if !self.spanning.searches.iter().any(|search| search.id == room) {
                self.rooms.leave(&[room], turn.node);
            }
        }
        let now = turn.now.moment;
        let due = self.spanning.searches.extract_if(.., |search| search.next_look <= now);
        for search in due.collect::<Vec<_>>() {
            self.go_on(search, turn);
        }
        if self.spanning.searches.iter().all(|search| search.waits) {
            self.begin_search(turn);
        }
    }

    fn begin_search(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let is_ready = turn.node.processes.ready && !self.stops;
        if !is_ready || now < self.spanning.next {
            return;
        }
        let classes = turn.node.book.tasks().classes().filter_map(|class| class.demand);
        let spanning = classes.filter(|it| it.is_spanning()).cloned().collect::<Vec<_>>();
        if spanning.is_empty() {
            self.spanning.tried.clear();
            self.spanning.next = now.plus_ms(LOOK_MS);
            return;
        }
        self.spanning.n_rounds += 1;
        // Each kind has its turn, the most urgent one each second time.
        let n_rounds = usize::try_from(self.spanning.n_rounds).unwrap_or(0);
        let idx = if n_rounds.is_multiple_of(2) { 0 } else { (n_rounds / 2) % spanning.len() };
        let demand = &spanning[idx];
        let number = turn.node.book.next_queued(|it| it == Some(demand));
        self.spanning.next = now.plus_ms(pause_ms(self.spanning.n_rounds, turn.node.me));
        let is_new = |number: &u64| self.spanning.of_task(*number).is_none();
        let Some(number) = number.filter(is_new) else { return };
        let is_left = |number: &u64, turn: &Turn<'_>| {
            turn.node.book.task(*number).is_some_and(Task::is_queued)
        };
        self.spanning.tried.retain(|number, _| is_left(number, turn));
        let first = *self.spanning.tried.entry(number).or_insert(now);
        let instance = turn.node.book.task(number).map_or(0, |task| task.instance) + 1;
        let round = turn.node.options.first_number().wrapping_add(self.spanning.n_rounds);
        let search = Search {
            id: RoomId { attempt: turn.node.attempt(number, instance), round },
            demand: demand.of_one_node(),
            n_nodes: demand.n_nodes() as usize,
            // Two that wait might wait for each other.
            waits: PATIENCE_MS <= now.ms_since(first) && self.spanning.searches.is_empty(),
            tried: None,
            next_try: now,
            repeated: now,
            next_look: now,
            asked: BTreeMap::new(),
        };
        self.go_on(search, turn);
    }

    fn go_on(&mut self, mut search: Search, turn: &mut Turn<'_>) {
        let Attempt { task, instance } = search.id.attempt;
        let is_wanted =
            |it: &Task| it.is_queued() && !it.is_cancel_requested && it.instance < instance;
        let is_wanted = turn.node.book.task(task.number).is_some_and(is_wanted);
        let able = able_nodes(&search.demand, turn);
        let is_able = |node: &NodeId| able.contains(node);
        let is_lost = search.asked.iter().any(|(node, asked)| asked.in_line && !is_able(node));
        if !is_wanted || is_lost || able.len() < search.n_nodes || self.stops {
            self.give_up(&search, turn);
            return;
        }
        let now = turn.now.moment;
        if search.n_nodes <= search.rooms().count() {
            self.commit(search, turn);
            return;
        }
        // A try ends when all have answered, or after a while.
        let is_over = |search: &Search| {
            let is_late = search.tried.is_some_and(|since| TRY_MS <= now.ms_since(since));
            let mut tried = search.asked.values().filter(|it| !it.in_line);
            is_late || tried.all(|it| it.answer.is_some())
        };
        if search.tried.is_some() && is_over(&search) {
            search.tried = None;
            search.next_try = now.plus_ms(TRY_EVERY_MS);
            let tried = search.asked.extract_if(.., |_, asked| !asked.in_line);
            let tried = tried.map(|(node, _)| node).collect::<Vec<_>>();
            self.leave_rooms(&tried, search.id, turn);
            if !search.waits {
                return;
            }
        }
        if search.waits {
            self.wait_in_line(&mut search, &able, turn);
        }
        if search.tried.is_none() && search.next_try <= now {
            search.tried = Some(now);
            for node in &able {
                if !search.asked.contains_key(node) {
                    search.asked.insert(*node, Asked { in_line: false, answer: None });
                    self.ask_for_room(*node, &mut search, false, turn);
                }
            }
        }
        if search.n_nodes <= search.rooms().count() {
            self.commit(search, turn);
            return;
        }
        search.next_look = now.plus_ms(LOOK_MS);
        self.spanning.searches.push(search);
    }

    /// Waits at the first of the nodes, in their order, that has given no room.
    fn wait_in_line(&mut self, search: &mut Search, able: &[NodeId], turn: &mut Turn<'_>) {
        let now = turn.now.moment;
        let targets = able.iter().copied().take(search.n_nodes).collect::<Vec<_>>();
        let is_due = REPEAT_MS <= now.ms_since(search.repeated);
        if is_due {
            search.repeated = now;
        }
        for node in targets {
            let known = search.asked.get(&node);
            // A node of a try that is under way is asked again when that is over.
            if known.is_some_and(|asked| !asked.in_line) {
                return;
            }
            let is_new = known.is_none();
            if is_new {
                search.asked.insert(node, Asked { in_line: true, answer: None });
            }
            if is_new || is_due {
                self.ask_for_room(node, search, true, turn);
            }
            let has_given = |asked: &Asked| matches!(asked.answer, Some(Some(_)));
            if !search.asked.get(&node).is_some_and(has_given) {
                return;
            }
        }
    }

    fn ask_for_room(
        &mut self,
        node: NodeId,
        search: &mut Search,
        waits: bool,
        turn: &mut Turn<'_>,
    ) {
        let (room, demand) = (search.id, search.demand.clone());
        if node != turn.node.me {
            turn.out.send(node, PeerMessage::AskRoom { room, demand, waits });
            return;
        }
        let answer = self.rooms.ask(room, (demand, waits), !self.keeps_room, (turn.node, turn.now));
        if let Some(asked) = search.asked.get_mut(&node) {
            match answer {
                RoomAnswer::Given(room) => asked.answer = Some(Some(room)),
                RoomAnswer::No => asked.answer = Some(None),
                RoomAnswer::Waits => {}
            }
        }
    }

    /// Starts the task on the nodes that have given room: here, or else at the first of them.
    fn commit(&mut self, search: Search, turn: &mut Turn<'_>) {
        let me = turn.node.me;
        let rooms = search.rooms().map(|room| room.node).collect::<Vec<_>>();
        let mut chosen = rooms.iter().copied().filter(|node| *node == me).collect::<Vec<_>>();
        let in_line = |node: &NodeId| search.asked.get(node).is_some_and(|asked| asked.in_line);
        chosen.extend(rooms.iter().copied().filter(|node| *node != me && in_line(node)));
        chosen.extend(rooms.iter().copied().filter(|node| *node != me && !in_line(node)));
        chosen.truncate(search.n_nodes);
        let lead = if chosen.contains(&me) { Some(me) } else { chosen.iter().min().copied() };
        let Some(lead) = lead else { return };
        let others = search.asked.keys().copied().filter(|node| !chosen.contains(node));
        self.leave_rooms(&others.collect::<Vec<_>>(), search.id, turn);
        let of = |node: &NodeId| search.rooms().find(|room| room.node == *node).cloned();
        let others = chosen.iter().filter(|node| **node != lead).filter_map(of).collect();
        let lead_host = of(&lead).map_or_else(|| host(turn.node).to_owned(), |room| room.host);
        let span = NodeSpan { round: search.id.round, host: lead_host, rooms: others };
        let number = search.id.attempt.task.number;
        self.spanning.tried.remove(&number);
        self.spanning.next = turn.now.moment;
        if lead != me {
            self.lending.lend_span(lead, number, span, turn);
            return;
        }
        if let Some(mut allocation) = self.rooms.withdraw(search.id) {
            self.leading.begin(search.id.attempt, &span, turn.now.moment);
            allocation.span = Some(Box::new(span));
            turn.order(number, allocation, None);
        }
    }

    fn give_up(&mut self, search: &Search, turn: &mut Turn<'_>) {
        let all = search.asked.keys().copied().collect::<Vec<_>>();
        self.leave_rooms(&all, search.id, turn);
    }

    fn leave_rooms(&mut self, nodes: &[NodeId], room: RoomId, turn: &mut Turn<'_>) {
        if nodes.contains(&turn.node.me) {
            self.rooms.leave(&[room], turn.node);
        }
        let others = nodes.iter().copied().filter(|node| *node != turn.node.me);
        send_leave(others.collect::<Vec<_>>().into_iter(), room, turn);
    }
}

/// Nodes that could give room, this one and those that are up, by their numbers.
fn able_nodes(demand: &Demand, turn: &Turn<'_>) -> Vec<NodeId> {
    let node = &turn.node;
    let up = node.peers.iter().filter(|member| node.peers.is_up(member.id));
    let others = up.filter(|member| demand.fits(&member.capacity));
    let mut able = others.map(|member| member.id).collect::<Vec<_>>();
    if node.processes.pool.could_fit(Some(demand)) {
        able.push(node.me);
    }
    able.sort_unstable();
    able
}

/// Time until the next try: different for each home and each time, so that two do not stay in step.
fn pause_ms(n_rounds: u64, me: NodeId) -> u64 {
    let mixed = (n_rounds ^ u64::from(me.0) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    PAUSE_MS + (mixed >> 40) % (2 * PAUSE_MS)
}
