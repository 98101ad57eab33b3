//! The tunlet `worker-count` inside the program: the same rule as from outside, fed with the same events.
//!
//! It decides after every iteration, by that iteration alone (a window of one): when the load changes in an
//! iteration, the next one has the number that suits it. [`Trials`] undoes what makes iterations slower.
//!
//! The cost of a message is the one measured in this run, or that of a file: [`WorkerNetwork`]. Where that does not
//! separate latency from cost per byte, the tunlet's own measurement of messages is used, as from outside.
//!
//! The unit of work is a byte here, so that shared data count with the first chunk.

use super::trials::{TaskTimes, Trials, Undo};
use super::{ChunkTimes, Forecast};
use crate::network::WorkerNetwork;
use crate::report::IterationReport;
use crate::tuning_points::DESCRIPTION;
use app_description::Application;
use events::{Rank, Value};
use std::fmt;
use tunlets::worker_count::{Cost, WorkerCount};
use tunlets::{Applied, Decision, EventNews, IterationNews, News, Tunlet, World};

const TUNLET: &str = "worker-count";

/// Model of the number of workers; see the module.
pub(crate) struct WorkerModel {
    tunlet: WorkerCount,
    /// Cost of messages that the tunlet calculates with.
    network: Option<WorkerNetwork>,
    indices: PointIndices,
    n_workers: u32,
    wanted: Option<Wanted>,
    bytes: Bytes,
    trials: Trials,
    messages: Messages,
    /// Computing time of the last iteration, in seconds.
    compute_s: f64,
    /// Tasks whose results came in this iteration.
    n_tasks: u64,
    ended_s: f64,
    decisions: Vec<Decision>,
}

/// Different number of workers for the next iteration.
struct Wanted {
    n_workers: u32,
    reason: String,
    is_undo: bool,
}

/// Bytes sent in an iteration.
struct Bytes {
    /// Bytes to all workers together, or to each when all get the same.
    total: u64,
    is_same: bool,
    /// Input bytes per task.
    of_task: f64,
}

/// Timed messages of an iteration.
#[derive(Default)]
struct Messages {
    n: u32,
    sum_s: f64,
    /// Mean time of the last iteration that had any, in seconds.
    mean_s: f64,
}

/// Positions of events and variables in the description.
struct PointIndices {
    iteration_start: usize,
    send: usize,
    compute_start: usize,
    compute_end: usize,
    n_workers: usize,
}

impl fmt::Debug for WorkerModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkerModel")
            .field("n_workers", &self.n_workers)
            .finish_non_exhaustive()
    }
}

impl WorkerModel {
    /// Creates the model after the first iteration, which shows what is sent. It never asks for more than `n_max`.
    pub(crate) fn new(first: &IterationReport, n_workers: u32, n_max: u32) -> Option<Self> {
        let (application, _) = app_description::read(DESCRIPTION);
        let mut application = application?;
        let indices = PointIndices::new(&application)?;
        let bytes = Bytes::of(first, first.input_bytes < first.shared_bytes);
        let returned = first.output_bytes as f64 / bytes.total.max(1) as f64;
        let options = [
            ("sends", "asynchronous".to_owned()),
            ("data", if bytes.is_same { "same" } else { "split" }.to_owned()),
            ("returned", returned.min(1e6).to_string()),
            ("window", "1".to_owned()),
        ];
        let options = options.map(|(name, value)| (name.to_owned(), value)).into();
        application.tunlet_options.insert(TUNLET.to_owned(), options);
        let mut world = World { n_ranks: n_max + 1, ..World::default() };
        world.actors = vec![vec![Rank(0)], (1..=n_max).map(Rank).collect()];
        world.values = vec![None; application.tuning_points.len()];
        world.values[indices.n_workers] = Some(Value::Int(i64::from(n_workers)));
        let mut tunlet = WorkerCount::default();
        tunlet.begin(&application, &world).ok()?;
        Some(Self {
            tunlet,
            network: None,
            indices,
            n_workers,
            wanted: None,
            bytes,
            trials: Trials::default(),
            messages: Messages::default(),
            compute_s: 0.0,
            n_tasks: 0,
            ended_s: 0.0,
            decisions: Vec::new(),
        })
    }

    /// Number of workers for the next iteration.
    pub(crate) fn n_wanted(&self) -> u32 {
        self.wanted.as_ref().map_or(self.n_workers, |wanted| wanted.n_workers)
    }

    /// Basis of the number, in words.
    pub(crate) fn reckoning(&self) -> String {
        match (self.bytes.is_same, self.network) {
            (false, Some(network)) => format!("calculated with {network}"),
            (false, None) => "calculated from measured message times".to_owned(),
            (true, network) => {
                let latency = network.map(|known| format!(" and {:.1} us", 1e6 * known.latency_s));
                let latency = latency.map_or_else(String::new, |text| text + " of latency");
                format!(
                    "calculated from the measured cost of each further worker that got the same data{latency}"
                )
            }
        }
    }

    /// Gain expected from other numbers.
    pub(crate) fn forecast(&self) -> Forecast {
        let (n_workers, compute_s) = (self.n_workers, self.compute_s);
        Forecast { n_workers, compute_s, message_s: self.messages.mean_s }
    }

    /// Fixes the number of the next iteration, wanted or not; returns the reason when it differs from the last
    /// one.
    pub(crate) fn settle(&mut self, n_workers: u32) -> Option<String> {
        let old = self.n_workers;
        let wanted = self.wanted.take();
        if wanted.is_none() && n_workers == old {
            return None;
        }
        if n_workers != old && !wanted.as_ref().is_some_and(|wanted| wanted.is_undo) {
            self.trials.changed(old);
        }
        let [from, to] = [old, n_workers].map(|n| Value::Int(i64::from(n)));
        let (point, time_s) = (self.indices.n_workers, self.ended_s);
        let is_own = wanted.as_ref().is_some_and(|wanted| wanted.n_workers == n_workers);
        let applied = Applied { point, old: from, new: to, time_s, hit: 1, is_own };
        self.tunlet.hear(&News::Applied(applied), &mut Vec::new());
        self.n_workers = n_workers;
        let Wanted { n_workers: wanted, reason, is_undo } = wanted.filter(|_| n_workers != old)?;
        Some(match (is_undo, n_workers == wanted) {
            (true, _) => format!("{n_workers} workers again because {reason}"),
            (false, true) => format!("{n_workers} workers instead of {old} because {reason}"),
            (false, false) => {
                format!(
                    "{n_workers} workers instead of {old}, with {wanted} wanted because {reason}"
                )
            }
        })
    }

    /// Notes that workers joined during an iteration, whose time therefore describes neither number.
    pub(crate) fn joined(&mut self, n_workers: u32) {
        self.trials = Trials::default();
        let [old, new] = [self.n_workers, n_workers].map(|n| Value::Int(i64::from(n)));
        let (point, time_s) = (self.indices.n_workers, self.ended_s);
        let applied = Applied { point, old, new, time_s, hit: 1, is_own: false };
        self.tunlet.hear(&News::Applied(applied), &mut Vec::new());
        self.n_workers = n_workers;
    }

    pub(crate) fn iteration_began(&mut self, number: u64, began_s: f64) {
        self.n_tasks = 0;
        let n_workers = u64::from(self.n_workers);
        let values = [number, n_workers, self.bytes.total, 1].map(whole).into();
        self.hear_event(self.indices.iteration_start, 0, began_s, values);
    }

    pub(crate) fn chunk_done(&mut self, chunk: &ChunkTimes) {
        let (worker, batch) = (chunk.worker, u64::from(chunk.batch));
        self.n_tasks += chunk.n_tasks;
        if let Some(message_s) = chunk.message_s {
            self.messages.add(message_s);
            let n_bytes = self.bytes.of_chunk(chunk);
            let sent = [u64::from(worker), batch, n_bytes].map(whole).into();
            self.hear_event(self.indices.send, 0, chunk.began_s - message_s, sent);
        }
        let computed: Vec<Value> = [0, batch, chunk.n_tasks].map(whole).into();
        self.hear_event(self.indices.compute_start, worker, chunk.began_s, computed.clone());
        self.hear_event(self.indices.compute_end, worker, chunk.ended_s, computed);
    }

    /// Feeds an iteration to the tunlet, which may then want another number.
    pub(crate) fn iteration_ended(&mut self, report: &IterationReport, ended_s: f64) {
        self.ended_s = ended_s;
        self.compute_s = report.compute_s();
        self.messages.average();
        self.network = report.network.filter(WorkerNetwork::is_separated);
        let cost =
            |known: WorkerNetwork| Cost { latency_s: known.latency_s, byte_s: known.s_per_byte };
        self.tunlet.set_network_cost(self.network.map(cost));
        self.bytes = Bytes::of(report, self.bytes.is_same);
        if self.n_tasks == 0 {
            return;
        }
        let (number, duration_s, work) = (report.iteration, report.duration_s, self.n_tasks as f64);
        let news = IterationNews { number, end_s: ended_s, duration_s, work };
        self.tunlet.hear(&News::Iteration(news), &mut self.decisions);
        let n_tasks = report.n_tasks.max(1) as f64;
        let seen =
            TaskTimes { task_s: duration_s / n_tasks, compute_task_s: self.compute_s / n_tasks };
        let undo = self.trials.iteration(self.n_workers, seen);
        let decision = self.decisions.drain(..).next_back();
        self.wanted = match undo {
            Some(undo) => Some(self.undone(undo)),
            None => decision.and_then(|decision| self.decided(&decision)),
        };
    }

    fn decided(&self, decision: &Decision) -> Option<Wanted> {
        let n_workers = count(decision.value)?;
        // A refused number is settled with the present one: the tunlet learns that its decision had no effect.
        let is_refused = self.trials.is_refused(n_workers);
        let n_workers = if is_refused { self.n_workers } else { n_workers };
        Some(Wanted { n_workers, reason: decision.reason.clone(), is_undo: false })
    }

    fn undone(&self, undo: Undo) -> Wanted {
        let (tried, n_before) = (self.n_workers, undo.n_before);
        let [before_s, now_s] = undo.task_s;
        let reason = format!(
            "{tried} made iterations slower: {:.3} us per task against {:.3}",
            1e6 * now_s,
            1e6 * before_s
        );
        Wanted { n_workers: n_before, reason, is_undo: true }
    }

    fn hear_event(&mut self, event: usize, rank: u32, time_s: f64, values: Vec<Value>) {
        let news = EventNews { event, rank: Rank(rank), thread: 0, time_s, values };
        self.tunlet.hear(&News::Event(news), &mut self.decisions);
    }
}

impl Bytes {
    fn of(report: &IterationReport, is_same: bool) -> Self {
        let total = if is_same { report.shared_bytes } else { report.input_bytes };
        Self { total, is_same, of_task: report.input_bytes as f64 / report.n_tasks.max(1) as f64 }
    }

    /// Bytes sent with a chunk and just before it.
    #[expect(clippy::cast_possible_truncation, reason = "a conversion of floats saturates")]
    #[expect(clippy::cast_sign_loss, reason = "a conversion of floats saturates")]
    fn of_chunk(&self, chunk: &ChunkTimes) -> u64 {
        chunk.shared_bytes + (self.of_task * chunk.n_tasks as f64) as u64
    }
}

impl Messages {
    fn add(&mut self, message_s: f64) {
        self.n += 1;
        self.sum_s += message_s;
    }

    fn average(&mut self) {
        if self.n != 0 {
            self.mean_s = self.sum_s / f64::from(self.n);
        }
        (self.n, self.sum_s) = (0, 0.0);
    }
}

impl PointIndices {
    fn new(application: &Application) -> Option<Self> {
        let event = |name| application.events.iter().position(|event| event.name == name);
        Some(Self {
            iteration_start: event("iteration_start")?,
            send: event("send_to_worker")?,
            compute_start: event("compute_start")?,
            compute_end: event("compute_end")?,
            n_workers: application.tuning_points.iter().position(|point| point.name == "NW")?,
        })
    }
}

fn whole(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn count(value: Value) -> Option<u32> {
    u32::try_from(value.as_integer()?).ok().filter(|count| *count != 0)
}

#[cfg(test)]
mod tests;
