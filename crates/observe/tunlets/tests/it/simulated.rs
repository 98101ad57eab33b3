//! Master and workers in simulated time that emit the same events as xfire.
//!
//! The master sends one message at a time and serves workers in the order of their answers. A message costs a
//! latency and a time per task. Chunks come from `chunking`, which deals as xfire's `factoring.c` does (its
//! tests hold the same numbers). Decisions are carried out when the next iteration starts.

use app_description::Application;
use chunking::Work;
use chunking::predictive::{Chunk, chunks};
use events::{Rank, Value};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use tunlets::{Applied, Decision, Detail, EventNews, IterationNews, News, World, built_in};

const DESCRIPTION: &str = "
format = 1
program = 'simulated'
actors = { master = '0', worker = '1-' }
iteration = { start = 'iteration_start', end = 'iteration_end', work = 'TheTotalWork' }
event = [
  { name = 'iteration_start', actor = 'master', function = 'iterate', at = 'entry', attributes = ['iterId', 'NW', 'TheTotalWork', 'TheWorkSizeUnitBytes'] },
  { name = 'iteration_end', actor = 'master', function = 'iterate', at = 'exit', attributes = ['iterId'] },
  { name = 'send_to_worker', actor = 'master', function = 'send', at = 'entry', attributes = ['workerId', 'batchId', 'NTareas'] },
  { name = 'receive_from_worker', actor = 'master', function = 'receive', at = 'exit', attributes = ['workerId', 'batchId', 'NTareas'] },
  { name = 'compute_start', actor = 'worker', function = 'compute', at = 'entry', attributes = ['iterId', 'batchId'] },
  { name = 'compute_end', actor = 'worker', function = 'compute', at = 'exit', attributes = ['iterId', 'batchId', 'NTareas'] },
  { name = 'new_batch', actor = 'master', function = 'deal', at = 'exit', attributes = ['batchId', 'numChunk'] },
]
tuning_point = [
  { name = 'F0', actor = 'master', type = 'double', range = [0.01, 1], at = 'iteration_start' },
  { name = 'F1', actor = 'master', type = 'double', range = [0.01, 1], at = 'iteration_start' },
  { name = 'F2', actor = 'master', type = 'double', range = [0.01, 1], at = 'iteration_start' },
  { name = 'NW', actor = 'master', type = 'int', range = [1, 1000], at = 'iteration_start' },
]
";
pub(crate) const BYTES_PER_TASK: f64 = 16.0;

/// The program and its machine.
pub(crate) struct Simulated {
    pub(crate) n_tasks: u64,
    pub(crate) n_workers: u32,
    /// Number of workers that emit computing events, the first ones.
    pub(crate) n_heard: u32,
    pub(crate) n_tasks_min: u64,
    pub(crate) latency_s: f64,
    pub(crate) byte_s: f64,
    /// Cost of a task: iteration, position from 0 to 1, worker from 1.
    pub(crate) task_s: Box<dyn Fn(u64, f64, u32) -> f64>,
    pub(crate) shares: [f64; 3],
    pub(crate) nw: u32,
}

impl Simulated {
    pub(crate) fn new(n_workers: u32, task_s: impl Fn(u64, f64, u32) -> f64 + 'static) -> Self {
        Self {
            n_tasks: 20_000,
            n_workers,
            n_heard: n_workers,
            n_tasks_min: 32,
            latency_s: 20e-6,
            byte_s: 1e-9,
            task_s: Box::new(task_s),
            shares: [1.0; 3],
            nw: n_workers,
        }
    }

    /// Returns the computing time of a chunk, sampled at its tasks, or at 64 of them.
    fn compute_s(&self, number: u64, chunk: Chunk, worker: u32) -> f64 {
        let n_samples = chunk.n_tasks.min(64);
        let at = |k: u64| {
            let inside = (k as f64 + 0.5) / n_samples as f64 * chunk.n_tasks as f64;
            (chunk.first as f64 + inside) / self.n_tasks as f64
        };
        let sum_s: f64 = (0..n_samples).map(|k| (self.task_s)(number, at(k), worker)).sum();
        sum_s / n_samples as f64 * chunk.n_tasks as f64
    }

    /// Returns the time of an iteration in which all workers compute equally long.
    pub(crate) fn perfect_s(&self, number: u64) -> f64 {
        let all = Chunk { batch: 0, first: 0, n_tasks: self.n_tasks };
        let alone_s: f64 = (1..=self.n_workers).map(|w| 1.0 / self.fine_s(number, all, w)).sum();
        1.0 / alone_s + 2.0 * self.latency_s
    }

    fn fine_s(&self, number: u64, all: Chunk, worker: u32) -> f64 {
        let n = 1000.0;
        let mean_s: f64 =
            (0..1000).map(|k| (self.task_s)(number, (f64::from(k) + 0.5) / n, worker) / n).sum();
        mean_s * all.n_tasks as f64
    }

    pub(crate) fn value(&self, point: usize) -> Value {
        self.shares.get(point).map_or(Value::Int(self.nw.into()), |share| Value::Float(*share))
    }

    /// Sets a tuning point and returns its old value.
    pub(crate) fn set(&mut self, point: usize, value: Value) -> Value {
        if point == 3 {
            let old = std::mem::replace(&mut self.nw, value.as_f64() as u32);
            return Value::Int(old.into());
        }
        Value::Float(std::mem::replace(&mut self.shares[point], value.as_f64()))
    }

    /// Runs one iteration from `start_s` on; returns its news in order of time, and its end.
    pub(crate) fn iterate(&self, number: u64, start_s: f64) -> (Vec<News>, f64) {
        let mut told = Told::default();
        let n_workers = self.nw.clamp(1, self.n_workers);
        let header = [number as f64, f64::from(n_workers), self.n_tasks as f64, BYTES_PER_TASK];
        told.event(0, 0, start_s, &header);
        let all = Work { n_tasks: self.n_tasks, n_workers };
        let dealt = chunks(self.shares, all, self.n_tasks_min);
        let mut per_batch: BTreeMap<u64, u32> = BTreeMap::new();
        for chunk in &dealt {
            *per_batch.entry(chunk.batch).or_default() += 1;
        }
        // Workers ordered by the time of their answer, with its contents.
        let mut workers: BinaryHeap<Reverse<(u64, u32, u64, u64)>> =
            (1..=n_workers).map(|worker| Reverse((start_s.to_bits(), worker, 0, 0))).collect();
        let (mut master_s, mut batch) = (start_s, None);
        for chunk in dealt {
            let Reverse((back, worker, of, n)) = workers.pop().expect("workers come back");
            master_s = f64::max(master_s, f64::from_bits(back));
            told.answer(master_s, worker, of, n);
            if batch != Some(chunk.batch) {
                batch = Some(chunk.batch);
                let n_chunks = per_batch[&chunk.batch].into();
                told.event(6, 0, master_s, &[chunk.batch as f64, n_chunks]);
            }
            let what = [f64::from(worker), chunk.batch as f64, chunk.n_tasks as f64];
            told.event(2, 0, master_s, &what);
            let message_s = self.latency_s + self.byte_s * BYTES_PER_TASK * what[2];
            master_s += message_s;
            let end_s = master_s + self.compute_s(number, chunk, worker);
            if worker <= self.n_heard {
                told.event(4, worker, master_s, &[number as f64, what[1]]);
                told.event(5, worker, end_s, &[number as f64, what[1], what[2]]);
            }
            let back = (end_s + message_s).to_bits();
            workers.push(Reverse((back, worker, chunk.batch, chunk.n_tasks)));
        }
        let mut end_s = master_s;
        while let Some(Reverse((back, worker, of, n))) = workers.pop() {
            end_s = end_s.max(f64::from_bits(back));
            told.answer(end_s, worker, of, n);
        }
        told.event(1, 0, end_s, &[number as f64]);
        (told.in_order(), end_s)
    }

    /// Returns the description's initial state: one master, the other ranks workers.
    fn world(&self) -> World {
        let workers = (1..=self.n_workers).map(Rank).collect();
        let [f0, f1, f2] = self.shares.map(|share| Some(Value::Float(share)));
        World {
            n_ranks: self.n_workers + 1,
            actors: vec![vec![Rank(0)], workers],
            values: vec![f0, f1, f2, Some(Value::Int(self.nw.into()))],
        }
    }
}

/// Events of an iteration.
#[derive(Default)]
struct Told(Vec<EventNews>);

impl Told {
    fn event(&mut self, event: usize, rank: u32, time_s: f64, values: &[f64]) {
        let values = values.iter().map(|value| Value::Int(*value as i64)).collect();
        self.0.push(EventNews { event, rank: Rank(rank), thread: 0, time_s, values });
    }

    fn answer(&mut self, time_s: f64, worker: u32, batch: u64, n_tasks: u64) {
        if 0 < n_tasks {
            self.event(3, 0, time_s, &[f64::from(worker), batch as f64, n_tasks as f64]);
        }
    }

    fn in_order(mut self) -> Vec<News> {
        self.0.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        self.0.into_iter().map(News::Event).collect()
    }
}

/// Returns the description of the simulated program, with these tunlet options.
pub(crate) fn application(options: &[(&str, &[(&str, &str)])]) -> Application {
    let (application, problems) = app_description::read(DESCRIPTION);
    assert_eq!(problems, []);
    let mut application = application.expect("a description without problems");
    for (tunlet, options) in options {
        let texts = options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        application.tunlet_options.insert((*tunlet).to_owned(), texts.collect());
    }
    application
}

/// A run of the simulated program under a tunlet.
pub(crate) struct Run {
    pub(crate) iterations_s: Vec<f64>,
    pub(crate) decisions: Vec<(u64, Decision)>,
}

impl Run {
    /// Runs `n_iterations` under a tunlet; every decision is carried out at the start of the next iteration.
    pub(crate) fn new(
        simulated: &mut Simulated,
        (name, options): (&str, &[(&str, &str)]),
        n_iterations: u64,
    ) -> Self {
        let mut tunlet = built_in(name).expect("it is built in");
        let begun = tunlet.begin(&application(&[(name, options)]), &simulated.world());
        let requests = begun.expect("the description has all");
        let (mut now_s, mut waiting) = (0.0, Vec::new());
        let mut run = Self { iterations_s: Vec::new(), decisions: Vec::new() };
        for number in 0..n_iterations {
            for decision in waiting.drain(..) {
                let applied = carry_out(simulated, &decision, now_s);
                tunlet.hear(&News::Applied(applied), &mut Vec::new());
                run.decisions.push((number, decision));
            }
            let (mut news, end_s) = simulated.iterate(number, now_s);
            let duration_s = end_s - now_s;
            let work = simulated.n_tasks as f64;
            news.push(News::Iteration(IterationNews { number, end_s, duration_s, work }));
            news.retain(|news| match news {
                News::Event(event) => requests.events[event.event] == Detail::Every,
                _ => true,
            });
            news.iter().for_each(|news| tunlet.hear(news, &mut waiting));
            run.iterations_s.push(duration_s);
            now_s = end_s;
        }
        run
    }

    /// Returns the median of the last `n` iterations, in seconds.
    pub(crate) fn settled_s(&self, n: usize) -> f64 {
        let mut last = self.iterations_s[self.iterations_s.len() - n..].to_vec();
        last.sort_by(f64::total_cmp);
        last[n / 2]
    }

    pub(crate) fn total_s(&self) -> f64 {
        self.iterations_s.iter().sum()
    }
}

fn carry_out(simulated: &mut Simulated, decision: &Decision, time_s: f64) -> Applied {
    let old = simulated.set(decision.point, decision.value);
    Applied { point: decision.point, old, new: decision.value, time_s, hit: 1, is_own: true }
}

/// Returns a reproducible pseudo-random number from 0 to 1.
pub(crate) fn noise(seed: u64) -> f64 {
    random::Random::new(seed).share()
}
