//! Clock, network and nodes of a simulation of jobs.

use std::collections::{BTreeMap, HashMap};

use node_core::book::{Book, BookLimits, JournalRecord};
use node_core::interface::{
    Attempt, AttemptEnd, ClientId, CoreEvent, CoreTimer, EndedAttempt, Job, KeeperEvent,
    KeeperOrder, Killed, Measurement, Member, Moment, NodeCapacity, NodeId, Now, Out, PeerMessage,
    node_id,
};
use node_core::{Core, CoreOptions};
use task_api::{ClientRequest, DaemonAnswer, Dependency, Presence, TaskRange};

use super::processes::{Process, Processes, TURN_NS};
use super::results::{JobResults, TaskRun};
use super::{JobProgress, JobScenario, JobScenarioError, node_name};

/// Events between two reports of progress.
const N_EVENTS_REPORT: u64 = 1 << 12;
/// Time without any process after which tasks that are left will never run, in ns.
const STUCK_NS: u64 = 120_000_000_000;
/// The client that submits.
const CLIENT: ClientId = ClientId(1);

pub(super) struct JobWorld<'a> {
    scenario: &'a JobScenario,
    nodes: Vec<Node>,
    by_id: HashMap<NodeId, usize>,
    queue: BTreeMap<(u64, u64), WorldEvent>,
    n_events: u64,
    now_ns: u64,
    /// Number of the first task of each entry: they are numbered from 1.
    firsts: Vec<u64>,
    /// Tasks of the entries that have been submitted.
    tasks: Vec<TaskRange>,
    /// What the first node has answered.
    answers: Vec<DaemonAnswer>,
    runs: Vec<TaskRun>,
    n_messages: u64,
    /// Time of the last start or end.
    active_ns: u64,
}

struct Node {
    core: Core,
    processes: Processes,
}

enum WorldEvent {
    Timer(usize, CoreTimer),
    Message {
        from: NodeId,
        to: usize,
        message: Box<PeerMessage>,
    },
    End(usize, Attempt),
    /// Attempts may have waited too long for their turn.
    Turn(usize),
}

/// What a core does in one call.
#[derive(Default)]
struct Acts {
    messages: Vec<(NodeId, PeerMessage)>,
    answers: Vec<DaemonAnswer>,
    orders: Vec<KeeperOrder>,
    timers: Vec<(CoreTimer, Moment)>,
}

impl Out for Acts {
    fn send(&mut self, to: NodeId, message: PeerMessage) {
        self.messages.push((to, message));
    }

    fn answer(&mut self, _client: ClientId, answer: DaemonAnswer) {
        self.answers.push(answer);
    }

    fn keeper(&mut self, order: KeeperOrder) {
        self.orders.push(order);
    }

    fn timer(&mut self, timer: CoreTimer, at: Moment) {
        self.timers.push((timer, at));
    }

    fn presence(&mut self, _presence: Presence) {}

    /// Disks cost no time here.
    fn append(&mut self, _record: &JournalRecord) {}

    fn leave(&mut self) {}
}

impl<'a> JobWorld<'a> {
    pub(super) fn new(scenario: &'a JobScenario) -> Self {
        let names: Vec<String> = (0..scenario.nodes.len()).map(node_name).collect();
        let mut world = Self {
            scenario,
            nodes: Vec::new(),
            by_id: names.iter().enumerate().map(|(idx, name)| (node_id(name), idx)).collect(),
            queue: BTreeMap::new(),
            n_events: 0,
            now_ns: 0,
            firsts: firsts(scenario),
            tasks: Vec::new(),
            answers: Vec::new(),
            runs: Vec::new(),
            n_messages: 0,
            active_ns: 0,
        };
        for (idx, node) in scenario.nodes.iter().enumerate() {
            let n_cores = node.capacity.cpus;
            let options = CoreOptions {
                policy: scenario.policy,
                seed: scenario.seed.wrapping_add(idx as u64),
                measurement: Measurement { n_cores, speed: node.speed },
                capacity: NodeCapacity {
                    cores: vec![(0..n_cores).collect()],
                    amounts: node.capacity.clone(),
                },
                ..CoreOptions::new(&names[idx])
            };
            let book = Book::new(node_id(&names[idx]), BookLimits::default());
            let mut acts = Acts::default();
            let core = Core::new(options, world.now(), book, &mut acts);
            world.nodes.push(Node { core, processes: Processes::default() });
            world.carry_out(idx, acts);
        }
        for idx in 0..world.nodes.len() {
            let others = world.members_for(idx);
            world.event(idx, CoreEvent::Members(others));
            let (running, ended) = (Vec::new(), Vec::new());
            world.event(idx, CoreEvent::Keeper(KeeperEvent::Inventory { running, ended }));
        }
        world
    }

    fn members_for(&self, me: usize) -> Vec<Member> {
        let others = self.scenario.nodes.iter().enumerate().filter(|(idx, _)| *idx != me);
        let member = |(idx, node): (usize, &super::JobNode)| Member {
            id: node_id(&node_name(idx)),
            name: node_name(idx),
            address: format!("{}:1", node_name(idx)),
            incarnation: 1,
            presence: Presence::Up,
            n_cores: node.capacity.cpus,
            speed: node.speed,
            capacity: node.capacity.clone(),
        };
        let mut members = others.map(member).collect::<Vec<_>>();
        members.sort_by_key(|member| member.id);
        members
    }

    /// Submits all entries to the first node.
    pub(super) fn submit(&mut self) -> Result<(), JobScenarioError> {
        let scenario = self.scenario;
        for entry in &scenario.entries {
            let mut submission = entry.submission.clone();
            let after = entry.after.iter().map(|it| Dependency {
                tasks: self.tasks[it.entry].clone(),
                when: it.when,
                is_each: it.is_each,
            });
            submission.schedule.after = after.collect();
            let request = ClientRequest::Submit { submission: Box::new(submission) };
            self.event(0, CoreEvent::FromClient { client: CLIENT, request });
            let submitted = self.answers.drain(..).find_map(|answer| match answer {
                DaemonAnswer::Submitted { tasks } => Some(Ok(tasks)),
                DaemonAnswer::Refused { sentence } => Some(Err(sentence)),
                _ => None,
            });
            let submitted = submitted.unwrap_or_else(|| Err("the node does not answer".to_owned()));
            let refused = |why| JobScenarioError::Refused { entry: entry.name.clone(), why };
            self.tasks.push(submitted.map_err(refused)?);
        }
        Ok(())
    }

    /// Runs until all tasks have ended, or those that are left will never run.
    pub(super) fn run(&mut self, report: &mut dyn FnMut(JobProgress)) {
        let n_tasks = self.scenario.n_tasks();
        while 0 < self.nodes[0].core.book().n_open() {
            let Some(((at_ns, _), event)) = self.queue.pop_first() else { return };
            self.now_ns = at_ns;
            if self.n_events.is_multiple_of(N_EVENTS_REPORT) {
                let n_ended = n_tasks.saturating_sub(self.nodes[0].core.book().n_open());
                report(JobProgress { n_ended, n_tasks, now_s: at_ns as f64 * 1e-9 });
                let runs = self.nodes.iter().any(|node| 0 < node.processes.n_running());
                if !runs && self.active_ns + STUCK_NS < at_ns {
                    return;
                }
            }
            match event {
                WorldEvent::Timer(idx, timer) => self.event(idx, CoreEvent::Timer(timer)),
                WorldEvent::Message { from, to, message } => {
                    self.event(to, CoreEvent::FromPeer { from, message: *message });
                }
                WorldEvent::End(idx, attempt) => self.end(idx, attempt),
                WorldEvent::Turn(idx) => {
                    let late = self.nodes[idx].processes.late(self.now_ns);
                    self.ended(idx, late);
                }
            }
        }
    }

    fn now(&self) -> Now {
        Now { moment: Moment(self.now_ns), unix_ms: self.now_ns / 1_000_000 }
    }

    fn push(&mut self, at_ns: u64, event: WorldEvent) {
        self.n_events += 1;
        self.queue.insert((at_ns.max(self.now_ns), self.n_events), event);
    }

    fn event(&mut self, idx: usize, event: CoreEvent) {
        let mut acts = Acts::default();
        let now = self.now();
        self.nodes[idx].core.on(now, event, &mut acts);
        self.carry_out(idx, acts);
    }

    fn carry_out(&mut self, idx: usize, acts: Acts) {
        let from = node_id(&node_name(idx));
        for (timer, at) in acts.timers {
            self.push(at.0, WorldEvent::Timer(idx, timer));
        }
        let latency_ns = crate::balance::nanoseconds(self.scenario.latency_s);
        for (to, message) in acts.messages {
            self.n_messages += 1;
            if let Some(&to) = self.by_id.get(&to) {
                let message = Box::new(message);
                self.push(self.now_ns + latency_ns, WorldEvent::Message { from, to, message });
            }
        }
        self.answers.extend(acts.answers);
        acts.orders.into_iter().for_each(|order| self.order(idx, order));
    }

    fn order(&mut self, idx: usize, order: KeeperOrder) {
        match order {
            KeeperOrder::Start(job) => {
                if self.nodes[idx].processes.waits_for_turn(&job, self.now_ns) {
                    self.push(self.now_ns + TURN_NS, WorldEvent::Turn(idx));
                } else {
                    self.start(idx, &job);
                }
            }
            KeeperOrder::Kill { attempt, because } => {
                let killed = self.nodes[idx].processes.kill(attempt, because, self.now_ns);
                let (runs, report) = killed;
                if runs {
                    self.push(self.now_ns, WorldEvent::End(idx, attempt));
                }
                self.ended(idx, report.into_iter().collect());
            }
            KeeperOrder::Peek { peek, .. } => {
                let found = Vec::new();
                self.event(idx, CoreEvent::Keeper(KeeperEvent::Peeked { peek, found }));
            }
            // Leases are renewed always, and nothing is kept here.
            KeeperOrder::Forget(_) | KeeperOrder::Extend { .. } | KeeperOrder::Leave => {}
        }
    }

    fn start(&mut self, idx: usize, job: &Job) {
        let number = job.attempt.task.number;
        let entry = self.entry_of(number);
        let work_s = self.scenario.work_s(entry, number);
        let lasts_ns = crate::balance::nanoseconds(work_s / self.scenario.nodes[idx].speed);
        let limit = job.work.demand.as_deref().and_then(|demand| demand.time_limit_ms);
        let limit_ns = limit.map_or(u64::MAX, |ms| ms.saturating_mul(1_000_000));
        let end = match limit_ns < lasts_ns {
            true => AttemptEnd::Killed(Killed::TimeLimit),
            false => AttemptEnd::Exit(0),
        };
        let ends_ns = self.now_ns + lasts_ns.min(limit_ns);
        let (started_ns, allocation) = (self.now_ns, job.allocation.clone());
        let process = Process { started_ns, ends_ns, end, allocation };
        self.nodes[idx].processes.start(job.attempt, process);
        self.active_ns = self.now_ns;
        self.push(ends_ns, WorldEvent::End(idx, job.attempt));
    }

    fn entry_of(&self, number: u64) -> usize {
        self.firsts.partition_point(|first| *first <= number).saturating_sub(1)
    }

    fn end(&mut self, idx: usize, attempt: Attempt) {
        let Some((process, report)) = self.nodes[idx].processes.end(attempt, self.now_ns) else {
            return;
        };
        self.active_ns = self.now_ns;
        let entry = self.entry_of(attempt.task.number);
        let first = self.firsts[entry];
        let mut nodes = vec![(idx, process.allocation.cpus)];
        let rooms = process.allocation.span.iter().flat_map(|span| &span.rooms);
        nodes.extend(
            rooms.filter_map(|room| Some((*self.by_id.get(&room.node)?, room.allocation.cpus))),
        );
        self.runs.push(TaskRun {
            entry,
            task: attempt.task.number - first,
            nodes,
            started_s: process.started_ns as f64 * 1e-9,
            ended_s: self.now_ns as f64 * 1e-9,
            succeeded: report.end == AttemptEnd::Exit(0),
        });
        while let Some(job) = self.nodes[idx].processes.next_in_turn() {
            self.start(idx, &job);
        }
        self.ended(idx, vec![report]);
    }

    fn ended(&mut self, idx: usize, reports: Vec<EndedAttempt>) {
        if !reports.is_empty() {
            self.event(idx, CoreEvent::Keeper(KeeperEvent::Ended(reports)));
        }
    }

    pub(super) fn results(self) -> JobResults {
        let n_left = self.nodes[0].core.book().n_open();
        JobResults::new(self.scenario, self.runs, n_left, self.n_messages)
    }
}

fn firsts(scenario: &JobScenario) -> Vec<u64> {
    let mut next = 1;
    let first = |entry: &super::JobEntry| {
        let first = next;
        next += entry.submission.n_tasks();
        first
    };
    scenario.entries.iter().map(first).collect()
}
