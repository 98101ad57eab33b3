//! Simulates one policy on one workload and machine.

use crate::chunking::machine::{Machine, Speeds};
use crate::chunking::workload::Workload;
use chunking::{ChunkScheduler, Completed, PolicySpec, Settings};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Workload, machine and number of iterations to simulate.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The tasks of the first iteration, and of every later one unless `later` has others.
    pub workload: Workload,
    /// The tasks of later iterations, in turn.
    pub later: Vec<Workload>,
    /// Machine that computes.
    pub machine: Machine,
    /// Number of iterations, all with the same policy, which may learn.
    pub n_iterations: u32,
    /// Least number of tasks in a chunk.
    pub n_tasks_min: u64,
}

/// Results of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkingResults {
    /// Name of the policy.
    pub policy: &'static str,
    /// Time until the last chunk of the last iteration ends, in s.
    pub makespan_s: f64,
    /// Time of a perfect split, in s; see [`super`].
    pub ideal_s: f64,
    /// Number of chunks dealt.
    pub n_chunks: u64,
    /// Time of the first iteration, in s: the policy had learned nothing.
    pub first_iteration_s: f64,
    /// Time of the last one, in s: the policy had learned all that it can.
    pub last_iteration_s: f64,
}

/// Chunk on its worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkSpan {
    /// Number of the worker.
    pub worker: u32,
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// First task.
    pub first: u64,
    /// Number of tasks.
    pub n_tasks: u64,
    /// Time when its computation begins, in s.
    pub start_s: f64,
    /// Time when it ends, in s.
    pub end_s: f64,
}

impl ChunkingResults {
    /// Returns the makespan divided by the ideal; 1 is perfect.
    pub fn makespan_over_ideal(&self) -> f64 {
        self.makespan_s / self.ideal_s
    }
}

impl Scenario {
    /// Returns the time of a perfect split, in s; see [`super`].
    pub fn ideal_s(&self) -> f64 {
        self.speeds().ideal_s(self.work_s())
    }

    pub(super) fn work_s(&self) -> f64 {
        (0..self.n_iterations).map(|iteration| self.workload_of(iteration).work_s()).sum()
    }

    /// Returns the tasks of an iteration, counted from 0.
    pub fn workload_of(&self, iteration: u32) -> &Workload {
        let turn = iteration.checked_sub(1).filter(|_| !self.later.is_empty());
        turn.map_or(&self.workload, |turn| &self.later[turn as usize % self.later.len()])
    }

    fn speeds(&self) -> Speeds {
        Speeds::new(&self.machine, self.work_s())
    }

    /// Settings of a policy: those that were published for known times get these.
    fn settings(&self, spec: &PolicySpec) -> Settings {
        let (n_tasks_min, asks_ahead) = (self.n_tasks_min, self.machine.prefetch);
        if !spec.assumes_known {
            return Settings { n_tasks_min, asks_ahead, ..Settings::default() };
        }
        let overhead_s = Some(self.machine.overhead_s + self.machine.serve_s);
        let spread = Some(self.workload.spread());
        Settings { n_tasks_min, overhead_s, spread, asks_ahead, ..Settings::default() }
    }
}

/// Simulates a scenario with a policy. Calls `watch` with every chunk, in the order of dealing.
///
/// The machine has to pass [`Machine::check`].
pub fn simulate(
    scenario: &Scenario,
    spec: &PolicySpec,
    watch: &mut dyn FnMut(ChunkSpan),
) -> ChunkingResults {
    let mut play = Play {
        scenario,
        speeds: scenario.speeds(),
        scheduler: ChunkScheduler::new(spec.policy(&scenario.settings(spec))),
        events: BinaryHeap::new(),
        free_s: vec![0.0; scenario.machine.n_workers as usize],
        master_s: 0.0,
        n_chunks: 0,
        waiting: Vec::new(),
        watch,
    };
    let (mut now_s, mut first_iteration_s, mut last_iteration_s) = (0.0, 0.0, 0.0);
    for iteration in 0..scenario.n_iterations {
        let ended_s = play.iterate(iteration, now_s);
        last_iteration_s = ended_s - now_s;
        now_s = ended_s;
        if iteration == 0 {
            first_iteration_s = last_iteration_s;
        }
    }
    ChunkingResults {
        policy: spec.name,
        makespan_s: now_s,
        ideal_s: scenario.ideal_s(),
        n_chunks: play.n_chunks,
        first_iteration_s,
        last_iteration_s,
    }
}

/// Event of a worker; at equal times, completed chunks come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Completed { worker: u32, first: u64, n_tasks: u64, times: Times },
    Asks { worker: u32 },
}

/// Times in s as bits, which have the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Times {
    compute: u64,
    overhead: u64,
}

struct Play<'a> {
    scenario: &'a Scenario,
    speeds: Speeds,
    scheduler: ChunkScheduler,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// Time at which each worker has computed all that it has, in s.
    free_s: Vec<f64>,
    master_s: f64,
    n_chunks: u64,
    /// Workers that were told to wait.
    waiting: Vec<u32>,
    watch: &'a mut dyn FnMut(ChunkSpan),
}

impl Play<'_> {
    /// Runs one iteration; returns when it ends.
    fn iterate(&mut self, iteration: u32, start_s: f64) -> f64 {
        let n_workers = self.scenario.machine.n_workers;
        self.scheduler.begin(self.scenario.workload_of(iteration).n_tasks(), n_workers);
        self.free_s.fill(start_s);
        self.master_s = start_s;
        for worker in 0..n_workers {
            self.at(start_s, Event::Asks { worker });
        }
        let mut now_s = start_s;
        while let Some(Reverse((now, event))) = self.events.pop() {
            now_s = f64::from_bits(now);
            match event {
                Event::Asks { worker } => self.deal(iteration, worker, now_s),
                Event::Completed { worker, first, n_tasks, times } => {
                    let [compute_s, overhead_s] =
                        [times.compute, times.overhead].map(f64::from_bits);
                    let done = Completed { worker, first, n_tasks, compute_s, overhead_s, now_s };
                    self.scheduler.completed(&done);
                    for worker in std::mem::take(&mut self.waiting) {
                        self.at(now_s, Event::Asks { worker });
                    }
                }
            }
        }
        self.free_s.iter().copied().fold(now_s, f64::max)
    }

    fn deal(&mut self, iteration: u32, worker: u32, now_s: f64) {
        let tasks = self.scheduler.deal(worker, now_s);
        if tasks.is_empty() {
            if 0 < self.scheduler.n_left() {
                self.waiting.push(worker);
            }
            return;
        }
        let (first, n_tasks) = (tasks.start, tasks.end - tasks.start);
        let machine = &self.scenario.machine;
        self.master_s = self.master_s.max(now_s) + machine.serve_s;
        let free_s = self.free_s[worker as usize];
        let start_s = (self.master_s + machine.overhead_s).max(free_s);
        let work_s = self.scenario.workload_of(iteration).chunk_s(first, n_tasks);
        let end_s = self.speeds.end_s(worker, start_s, work_s).max(start_s);
        self.free_s[worker as usize] = end_s;
        self.n_chunks += 1;
        let asks_s = if machine.prefetch {
            (end_s - machine.overhead_s - machine.serve_s).max(start_s)
        } else {
            end_s
        };
        let compute = (end_s - start_s).max(0.0).to_bits();
        let times = Times { compute, overhead: (start_s - free_s).max(0.0).to_bits() };
        self.at(end_s, Event::Completed { worker, first, n_tasks, times });
        self.at(asks_s, Event::Asks { worker });
        (self.watch)(ChunkSpan { worker, iteration, first, n_tasks, start_s, end_s });
    }

    fn at(&mut self, time_s: f64, event: Event) {
        self.events.push(Reverse((time_s.to_bits(), event)));
    }
}
