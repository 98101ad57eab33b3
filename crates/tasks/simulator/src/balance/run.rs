//! Simulates one scenario, event by event.

use super::node::{SimulatedNode, members};
use super::outcome::{ScenarioResults, SimulationProgress, Tally};
use super::processor_sharing::SimulatedTask;
use super::queue::NodeQueue;
use super::scenario::{Detection, Scenario, ScenarioError};
use super::tasks::{Tasks, nanoseconds};
use balancing_policies::{
    DriverAction, Members, Moment, NodeId, PolicyCounters, PolicyMessage, Timer,
};
use random::Random;
use std::sync::Arc;

/// Events between two reports of progress.
const N_EVENTS_REPORT: u64 = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(super) enum ScenarioEvent {
    /// The next task arrives.
    Task(SimulatedTask),
    End {
        node: u32,
        version: u32,
    },
    Message {
        from: u32,
        to: u32,
        message: PolicyMessage,
    },
    /// The receiver has time for the message.
    Delivered {
        from: u32,
        to: u32,
        message: PolicyMessage,
    },
    Timer {
        node: u32,
        incarnation: u32,
        timer: Timer,
    },
    Observe {
        node: u32,
        incarnation: u32,
    },
    Moved {
        from: u32,
        to: u32,
        task: SimulatedTask,
        is_last: bool,
    },
    /// A task waits again where it arrived.
    Home(SimulatedTask),
    Fail(u32),
    Silent(u32),
    Back(u32),
}

pub(super) struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) members: Arc<Members>,
    pub(super) nodes: Vec<SimulatedNode>,
    pub(super) queue: NodeQueue<ScenarioEvent>,
    pub(super) tasks: Tasks,
    pub(super) tally: Tally,
    /// Random numbers of the network.
    random: Random,
    pub(super) now_ns: u64,
    latency_ns: u64,
    service_ns: u64,
    observation_period_ns: u64,
    pub(super) out: Vec<DriverAction>,
}

/// Simulates a scenario.
///
/// # Errors
/// When the scenario is impossible: see [`Scenario::check`].
pub fn simulate(
    scenario: &Scenario,
    report: &mut dyn FnMut(SimulationProgress),
) -> Result<ScenarioResults, ScenarioError> {
    scenario.check()?;
    let mut simulation = Simulation::new(scenario);
    simulation.begin();
    while simulation.tally.n_ended < scenario.n_tasks {
        let Some((at_ns, event)) = simulation.queue.pop() else { break };
        simulation.now_ns = at_ns;
        simulation.tally.n_events += 1;
        simulation.dispatch(event);
        if simulation.tally.n_events.is_multiple_of(N_EVENTS_REPORT) {
            report(simulation.progress());
            if simulation.is_stuck() {
                break;
            }
        }
    }
    Ok(simulation.outcome())
}

impl<'a> Simulation<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            members: members(scenario),
            nodes: (0..scenario.n_nodes).map(|id| SimulatedNode::new(scenario, id)).collect(),
            queue: NodeQueue::new(),
            tasks: Tasks::new(scenario),
            tally: Tally::default(),
            random: Random::new(scenario.seed ^ 0x6e65_7477_6f72_6b00),
            now_ns: 0,
            latency_ns: nanoseconds(scenario.network.latency_s),
            service_ns: nanoseconds(scenario.network.service_s),
            observation_period_ns: nanoseconds(scenario.measure_s),
            out: Vec::new(),
        }
    }

    fn begin(&mut self) {
        for node in 0..self.scenario.n_nodes {
            let n_free = self.nodes[node as usize].n_free_cores();
            self.tally.changed(0, (0, 0), (n_free, 0));
            self.start_node(node);
        }
        for failure in &self.scenario.failures {
            self.queue.push(nanoseconds(failure.at_s), ScenarioEvent::Fail(failure.node));
            if let Some(back_s) = failure.back_s {
                self.queue.push(nanoseconds(back_s), ScenarioEvent::Back(failure.node));
            }
        }
        self.await_task();
    }

    fn dispatch(&mut self, event: ScenarioEvent) {
        match event {
            ScenarioEvent::Task(task) => {
                self.tally.arrived(task.work_s);
                self.await_task();
                self.add(task.home, task);
            }
            ScenarioEvent::Home(task) => self.add(task.home, task),
            ScenarioEvent::End { node, version } => self.end(node, version),
            ScenarioEvent::Message { from, to, message } => self.arrive(from, to, message),
            ScenarioEvent::Delivered { from, to, message } => self.deliver(from, to, message),
            ScenarioEvent::Timer { node, incarnation, timer } => {
                if self.is_live(node, incarnation) {
                    let now = Moment(self.now_ns);
                    self.nodes[node as usize].balance.on_timer(now, timer, &mut self.out);
                    self.act(node);
                }
            }
            ScenarioEvent::Observe { node, incarnation } => {
                if self.is_live(node, incarnation) {
                    self.nodes[node as usize].is_observation_scheduled = false;
                    self.observe(node);
                }
            }
            ScenarioEvent::Moved { from, to, task, is_last } => {
                self.receive(from, to, task, is_last)
            }
            ScenarioEvent::Fail(node) => self.fail(node),
            ScenarioEvent::Silent(node) => self.lose(node),
            ScenarioEvent::Back(node) => self.come_back(node),
        }
    }

    fn is_live(&self, node: u32, incarnation: u32) -> bool {
        let node = &self.nodes[node as usize];
        node.is_up && node.incarnation == incarnation
    }

    /// Starts a node: it learns the members, and measures its load.
    pub(super) fn start_node(&mut self, node: u32) {
        let now = Moment(self.now_ns);
        let it = &mut self.nodes[node as usize];
        it.balance.on_peers(now, &self.members, &mut self.out);
        let incarnation = it.incarnation;
        self.act(node);
        // Nodes do not measure at the same time.
        let first_ns = self.now_ns + nanoseconds(self.random.share() * self.scenario.measure_s);
        self.nodes[node as usize].first_observation_ns = first_ns;
        if self.sees_ends_at_once() {
            return self.start_and_measure(node);
        }
        self.queue.push(first_ns, ScenarioEvent::Observe { node, incarnation });
        self.nodes[node as usize].is_observation_scheduled = true;
    }

    fn await_task(&mut self) {
        if let Some((at_ns, task)) = self.tasks.next(self.scenario) {
            self.queue.push(at_ns.max(self.now_ns), ScenarioEvent::Task(task));
        }
    }

    /// Adds a waiting task to a node. A task of a node that is down waits until the node is back.
    fn add(&mut self, node: u32, task: SimulatedTask) {
        let it = &mut self.nodes[node as usize];
        let before = it.free_and_waiting();
        it.machine.queue.push_back(task);
        self.tally.changed(self.now_ns, before, (before.0, before.1 + 1));
        if self.nodes[node as usize].is_up {
            self.start_and_measure(node);
        }
    }

    fn end(&mut self, node: u32, version: u32) {
        let it = &mut self.nodes[node as usize];
        if it.machine.version != version {
            return;
        }
        let before = it.free_and_waiting();
        let Some(task) = it.machine.end(self.now_ns) else { return };
        let after = (it.n_free_cores(), before.1);
        self.tally.ended(self.now_ns, task.arrival_ns);
        self.tally.changed(self.now_ns, before, after);
        self.schedule_end(node);
        if self.sees_ends_at_once() {
            self.observe(node);
        }
    }

    fn schedule_end(&mut self, node: u32) {
        let machine = &self.nodes[node as usize].machine;
        if let Some(at_ns) = machine.next_end_ns() {
            self.queue.push(at_ns, ScenarioEvent::End { node, version: machine.version });
        }
    }

    fn sees_ends_at_once(&self) -> bool {
        self.scenario.detection == Detection::AtOnce
    }

    fn observe(&mut self, node: u32) {
        let stray = self.scenario.stray;
        let n_stray = u32::from(0.0 < stray && self.random.share() < stray);
        let it = &mut self.nodes[node as usize];
        it.n_running_known = it.machine.n_running() + n_stray;
        it.n_running_measured = it.n_running_known;
        while let Some(from) = it.came_from.pop() {
            it.balance.on_received(from);
        }
        self.start_and_measure(node);
    }

    /// Schedules the next measurement where it matters: a node that sees all ends at once only repeats requests for
    /// waiting tasks.
    fn schedule_observation(&mut self, node: u32) {
        let is_wanted =
            !self.sees_ends_at_once() || !self.nodes[node as usize].machine.queue.is_empty();
        let it = &mut self.nodes[node as usize];
        if is_wanted && !it.is_observation_scheduled {
            it.is_observation_scheduled = true;
            let event = ScenarioEvent::Observe { node, incarnation: it.incarnation };
            let at_ns = it.next_observation_ns(self.now_ns, self.observation_period_ns);
            self.queue.push(at_ns, event);
        }
    }

    fn start_and_measure(&mut self, node: u32) {
        let it = &mut self.nodes[node as usize];
        let before = it.free_and_waiting();
        let n_slots = it.balance.n_slots().max(it.machine.n_cores);
        let mut has_started = false;
        let n_kept = it.balance.n_kept(Moment(self.now_ns));
        while it.n_running_known < n_slots
            && let Some(task) = it.machine.pop_queued(node, n_kept)
        {
            it.machine.start(self.now_ns, task);
            it.n_running_known += 1;
            self.tally.started(self.now_ns);
            has_started = true;
        }
        self.tally.changed(self.now_ns, before, it.free_and_waiting());
        if self.scenario.detection == Detection::AtOnce {
            it.n_running_measured = it.n_running_known;
        }
        if has_started {
            self.schedule_end(node);
        }
        self.measure(node);
        self.schedule_observation(node);
    }

    fn measure(&mut self, node: u32) {
        let it = &mut self.nodes[node as usize];
        it.balance.on_measurement(Moment(self.now_ns), it.load(), &mut self.out);
        self.act(node);
    }

    /// Carries out the actions of a node's rules.
    pub(super) fn act(&mut self, node: u32) {
        let mut out = std::mem::take(&mut self.out);
        let mut has_moved = false;
        for action in out.drain(..) {
            match action {
                DriverAction::Send { to, message } => self.send(node, to.0, message),
                DriverAction::Timer { timer, at } => {
                    let incarnation = self.nodes[node as usize].incarnation;
                    let at_ns = at.0.max(self.now_ns);
                    self.queue.push(at_ns, ScenarioEvent::Timer { node, incarnation, timer });
                }
                DriverAction::Move { to, n_tasks } => {
                    self.hand_over(node, to.0, n_tasks);
                    has_moved = true;
                }
            }
        }
        self.out = out;
        // As a daemon does; nodes of the source notice it at their next measurement.
        if has_moved && self.sees_ends_at_once() {
            self.measure(node);
        }
    }

    fn send(&mut self, from: u32, to: u32, message: PolicyMessage) {
        self.tally.sent(NodeId(from), message);
        let loss = self.scenario.network.loss;
        if loss == 0.0 || loss <= self.random.share() {
            self.queue
                .push(self.now_ns + self.latency_ns, ScenarioEvent::Message { from, to, message });
        }
    }

    fn hand_over(&mut self, from: u32, to: u32, n_tasks: u32) {
        let it = &mut self.nodes[from as usize];
        let before = it.free_and_waiting();
        let n_moved = n_tasks.min(it.machine.n_queued());
        for k in 0..n_moved {
            if let Some(task) = it.machine.queue.pop_front() {
                let event = ScenarioEvent::Moved { from, to, task, is_last: k + 1 == n_moved };
                self.queue.push(self.now_ns + self.latency_ns, event);
            }
        }
        let after = (before.0, it.machine.n_queued().into());
        self.tally.changed(self.now_ns, before, after);
    }

    fn arrive(&mut self, from: u32, to: u32, message: PolicyMessage) {
        if self.service_ns == 0 {
            return self.deliver(from, to, message);
        }
        let it = &mut self.nodes[to as usize];
        it.busy_until_ns = it.busy_until_ns.max(self.now_ns) + self.service_ns;
        self.queue.push(it.busy_until_ns, ScenarioEvent::Delivered { from, to, message });
    }

    fn deliver(&mut self, from: u32, to: u32, message: PolicyMessage) {
        let it = &mut self.nodes[to as usize];
        if it.is_up {
            let now = Moment(self.now_ns);
            it.balance.on_message(now, NodeId(from), message, &mut self.out);
            self.act(to);
        }
    }

    fn receive(&mut self, from: u32, to: u32, task: SimulatedTask, is_last: bool) {
        if !self.nodes[to as usize].is_up {
            // The task cannot be taken there: it goes back to the sender.
            let it = &mut self.nodes[from as usize];
            if it.is_up {
                let now = Moment(self.now_ns);
                it.balance.on_moved(now, NodeId(to), (1, 0), &mut self.out);
                self.act(from);
                self.add(from, task);
            } else {
                self.add(task.home, task);
            }
            return;
        }
        let it = &mut self.nodes[to as usize];
        if is_last && self.scenario.detection == Detection::AtOnce {
            it.balance.on_received(NodeId(from));
        } else if is_last {
            // The node still has the state of its last measurement.
            it.came_from.push(NodeId(from));
        }
        self.add(to, task);
    }

    fn progress(&self) -> SimulationProgress {
        let (n_ended, n_events) = (self.tally.n_ended, self.tally.n_events);
        let now_s = self.now_ns as f64 * 1e-9;
        SimulationProgress { n_ended, n_tasks: self.scenario.n_tasks, now_s, n_events }
    }

    fn outcome(&self) -> ScenarioResults {
        let mut counts = PolicyCounters::default();
        self.nodes.iter().for_each(|node| counts += node.balance.counts());
        self.tally.outcome(self.scenario, counts)
    }
}
