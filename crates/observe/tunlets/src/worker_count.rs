//! `worker-count`: too few or too many workers for the iteration.
//!
//! Models the time of an iteration with `models::master_worker::Iteration`, whose parameters are measured live:
//! the latency and the cost of a byte from the time between the master's send and the start of the computation it
//! causes, over the newest messages; the computing time of all workers as the median over a window of iterations;
//! bytes from the work of the iteration and the size of its unit. `NW` is then set, at the start of an iteration,
//! to the number of workers with the lowest objective in the model, if that gains `gain` percent. Messages of a
//! single size cannot separate latency from cost per byte; where this matters, one step is made to observe other
//! sizes. A caller that measures the network itself can supply its cost: see [`WorkerCount::set_network_cost`].
//!
//! # Invariants
//! - Never above the number of workers present, never below 1.
//! - After a change, at least `window` iterations pass before the next one.
//! - Nothing is changed while workers take part whose events are not received, such as those started later.

mod curve;
mod messages;
mod words;

use crate::chunks::{Chunks, ComputedChunk};
use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Decision, Detail, EventNeed, EventNews, Guide, IterationNews, News, PointNeed, Requests,
    Tunlet, TunletError, TunletSpec, World,
};
use app_description::Application;
use curve::Curve;
use events::Rank;
use messages::{MessagesInTransit, all_latency};
use models::master_worker::{Data, IterationModel, Objective, Sends};
use statistics::median;
use std::collections::{HashMap, HashSet, VecDeque};
use words::{in_words, to_measure};

pub use models::master_worker::transfer::Cost;

const NAME: &str = "worker-count";
/// Number of iterations used to estimate the cost of one more worker. The network changes more slowly than the
/// work: a window of one iteration, which follows the work at once, would also follow a disturbance of the network.
const N_EACH_MAX: usize = 5;

/// Guide for users of [`WorkerCount`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "sets the number of workers with which a model of the messages and the computing is fastest",
    iteration: "the work of one `iteration_start`; with `work`, the number of its tasks",
    events: &[
        EventNeed::required(
            "iteration_start",
            "the master begins: workers in use, tasks of the iteration, bytes of a task",
            &["NW", "TheTotalWork", "TheWorkSizeUnitBytes"],
        ),
        EventNeed::required(
            "send_to_worker",
            "the master sends a chunk: rank of the worker, tasks of the chunk",
            &["workerId", "NTareas"],
        ),
        EventNeed::required(
            "compute_start",
            "a worker begins with a chunk; all ranks of its actor may be workers",
            &[],
        ),
        EventNeed {
            more_attributes: &["NTareas"],
            ..EventNeed::required("compute_end", "a worker is done with a chunk: its tasks", &[])
        },
    ],
    points: &[PointNeed {
        name: "NW",
        meaning: "workers in use, read by the program when an iteration starts",
    }],
};

/// The `worker-count` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct WorkerCount {
    positions: EventPositions,
    options: Options,
    point: Option<KnownPoint>,
    n_workers_max: u32,
    chunks: Chunks,
    messages: MessagesInTransit,
    heard: HashSet<Rank>,
    /// Send time of the newest message to each worker that was never heard.
    unheard: HashMap<Rank, f64>,
    /// Cost of a message, if supplied by a caller that knows it better than the observed messages tell.
    network: Option<Cost>,
    compute_s: VecDeque<f64>,
    /// Cost of one more worker that receives the same data as all, in the newest iterations: see [`each_s`].
    each_s: VecDeque<f64>,
    /// Work of the iteration and bytes per unit, from its start event.
    work: Option<(f64, f64)>,
    n_held: usize,
    rest: Rest,
    /// Models fitted before the run; they take precedence over measurements of this run.
    curve: Option<Curve>,
}

/// Positions of events and attributes in the description.
#[derive(Debug, Default)]
struct EventPositions {
    iteration: usize,
    n_workers: usize,
    work: usize,
    unit_bytes: usize,
    send: usize,
    worker: usize,
    tasks: usize,
    start: usize,
    end: usize,
    end_tasks: Option<usize>,
}

#[derive(Debug, Default)]
struct Options {
    objective: Objective,
    sends: Sends,
    is_same: bool,
    returned: f64,
    gain: f64,
    window: usize,
}

impl Tunlet for WorkerCount {
    fn spec(&self) -> TunletSpec {
        let options = [
            ("objective", "time, or index to weigh it against efficiency [time]"),
            ("sends", "synchronous or asynchronous: does the master wait [synchronous]"),
            ("data", "split, or same when each worker gets all of it [split]"),
            ("returned", "bytes that come back per byte of the work [1]"),
            ("gain", "percent of the objective that a change has to gain [2]"),
            ("window", "iterations remembered, and between two changes [3]"),
            ("points", "number of workers in use [NW]"),
            (
                "model",
                "file of `sintonia fit -o`: times over the number of workers, used instead [none]",
            ),
        ];
        GUIDE.spec(NAME, "too few or too many workers for the iteration", &options)
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let look = Lookup { tunlet: NAME, application, world };
        *self = Self::default();
        self.positions = EventPositions::new(&look)?;
        self.options = Options::new(&look)?;
        self.curve = Curve::of(&look)?;
        let point = look.points("NW")?.into_iter().next();
        let actor = application.events[self.positions.start].actor;
        let n_workers = world.actors.get(actor).map_or(0, Vec::len);
        self.n_workers_max = u32::try_from(n_workers).unwrap_or(u32::MAX);
        let mut events = vec![Detail::None; application.events.len()];
        let positions = &self.positions;
        for event in [positions.iteration, positions.send, positions.start, positions.end] {
            events[event] = Detail::Every;
        }
        let points = point.iter().map(|point| point.position).collect();
        self.point = point;
        Ok(Requests { events, performance: false, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        match news {
            News::Event(event) => {
                self.hear_event(event);
                self.end_iterations(decisions);
            }
            News::Iteration(iteration) => {
                self.chunks.end_iteration(*iteration);
                self.end_iterations(decisions);
            }
            News::Applied(applied) => {
                let mine = self.point.as_mut().filter(|point| point.position == applied.point);
                if let Some(point) = mine {
                    point.applied(applied.new);
                    self.n_held = 0;
                }
            }
            News::Declined { point: position, .. } => {
                let mine = self.point.as_mut().filter(|point| point.position == *position);
                if let Some(point) = mine {
                    point.declined();
                    self.rest.begin();
                }
            }
            News::Summary(_) | News::Performance(_) => {}
        }
    }
}

impl EventPositions {
    fn new(look: &Lookup<'_>) -> Result<Self, TunletError> {
        let iteration = look.event("iteration_start")?;
        let (send, end) = (look.event("send_to_worker")?, look.event("compute_end")?);
        Ok(Self {
            iteration,
            n_workers: look.attribute(iteration, "NW")?,
            work: look.attribute(iteration, "TheTotalWork")?,
            unit_bytes: look.attribute(iteration, "TheWorkSizeUnitBytes")?,
            send,
            worker: look.attribute(send, "workerId")?,
            tasks: look.attribute(send, "NTareas")?,
            start: look.event("compute_start")?,
            end,
            end_tasks: look.maybe_attribute(end, "NTareas"),
        })
    }
}

impl Options {
    fn new(look: &Lookup<'_>) -> Result<Self, TunletError> {
        let objectives = [Objective::Time, Objective::Index];
        let sends = [Sends::Synchronous, Sends::Asynchronous];
        Ok(Self {
            objective: objectives[look.word("objective", &["time", "index"])?],
            sends: sends[look.word("sends", &["synchronous", "asynchronous"])?],
            is_same: look.word("data", &["split", "same"])? == 1,
            returned: look.number("returned", 1.0, 0.0..=1e6)?,
            gain: look.number("gain", 2.0, 0.0..=50.0)? / 100.0,
            window: look.count("window", 3, 1..=100)?,
        })
    }
}

impl WorkerCount {
    /// Sets the cost of a message from now on; `None` to learn it from the observed messages.
    pub fn set_network_cost(&mut self, network: Option<Cost>) {
        self.network = network;
    }

    fn hear_event(&mut self, event: &EventNews) {
        let number = |at: usize| event.values.get(at).map_or(0.0, |value| value.as_f64());
        let positions = &self.positions;
        if event.event == positions.iteration {
            self.work = Some((number(positions.work), number(positions.unit_bytes)));
            let n_workers = event.values.get(positions.n_workers).copied();
            // The value of a pending change takes precedence over an older event.
            let point = self.point.as_mut().filter(|point| !point.is_waiting);
            if let (Some(point), Some(n_workers)) = (point, n_workers) {
                point.value = Some(n_workers.as_f64());
            }
        } else if event.event == positions.send {
            let unit_bytes = self.work.map_or(0.0, |(_, unit_bytes)| unit_bytes);
            let rank = event.values.get(positions.worker).and_then(|value| value.as_integer());
            if let Some(rank) = rank.and_then(|rank| u32::try_from(rank).ok()) {
                let bytes = number(positions.tasks) * unit_bytes;
                self.messages.sent(Rank(rank), event.time_s, bytes);
                if !self.heard.contains(&Rank(rank)) {
                    self.unheard.insert(Rank(rank), event.time_s);
                }
            }
        } else if event.event == positions.start {
            if self.heard.insert(event.rank) {
                self.unheard.remove(&event.rank);
            }
            self.messages.arrived(event.rank, event.time_s);
            self.chunks.start(event.rank, event.thread, event.time_s);
        } else if event.event == positions.end {
            let n_tasks = positions.end_tasks.map_or(1.0, number);
            let (rank, end_s) = (event.rank, event.time_s);
            let chunk = ComputedChunk { rank, batch: 0, n_tasks, start_s: end_s, end_s };
            let _ = self.chunks.end(event.thread, chunk);
        }
    }

    fn end_iterations(&mut self, decisions: &mut Vec<Decision>) {
        let has_tasks = self.positions.end_tasks.is_some();
        let is_work_known = |news: &IterationNews| has_tasks && 1.0 < news.work;
        while let Some((news, is_complete)) = self.chunks.next_iteration(is_work_known) {
            let Some(iteration) = self.chunks.take(&news) else { continue };
            let began_s = news.end_s - news.duration_s;
            if !is_complete && self.unheard.values().any(|sent_s| began_s <= *sent_s) {
                self.compute_s.clear();
                self.each_s.clear();
                self.n_held = 0;
                continue;
            }
            self.compute_s.push_back(iteration.chunks.iter().map(ComputedChunk::time_s).sum());
            self.each_s.push_back(each_s(&iteration.chunks, &news));
            if self.options.window < self.compute_s.len() {
                self.compute_s.pop_front();
            }
            if N_EACH_MAX < self.each_s.len() {
                self.each_s.pop_front();
            }
            self.n_held += 1;
            self.rest.pass();
            self.decide(decisions);
        }
    }

    /// Returns the model of the iteration with the current measurements.
    fn model(&self) -> Option<IterationModel> {
        let (work, unit_bytes) = self.work?;
        let mut cost = match self.network {
            Some(cost) => cost,
            None => self.messages.fit()?.cost(),
        };
        let bytes = work * unit_bytes;
        let returned_bytes = bytes * self.options.returned;
        let data = if self.options.is_same {
            cost = Cost {
                // The cost per worker already contains the latency, unless only a short message is sent.
                latency_s: self.network.map_or(0.0, |network| network.latency_s),
                byte_s: median(self.each_s.iter().copied()).unwrap_or(0.0) / bytes.max(1.0),
            };
            Data::Same { each_bytes: bytes, returned_bytes }
        } else {
            let total_bytes = bytes + returned_bytes;
            let share_sent = if 0.0 < total_bytes { bytes / total_bytes } else { 0.5 };
            Data::Split { total_bytes, share_sent }
        };
        Some(IterationModel {
            latency_s: cost.latency_s,
            byte_s: cost.byte_s,
            compute_s: median(self.compute_s.iter().copied()).unwrap_or(0.0),
            data,
            sends: self.options.sends,
        })
    }

    fn decide(&mut self, decisions: &mut Vec<Decision>) {
        if let Some(curve) = self.curve.take() {
            self.decide_by(&curve, decisions);
            self.curve = Some(curve);
            return;
        }
        let Some(model) = self.model() else { return };
        let is_separable = self.options.is_same
            || self.network.is_some()
            || self.messages.fit().is_some_and(|line| line.is_told_apart());
        let Some(point) = &mut self.point else { return };
        let Some(now) = point.value else { return };
        let is_early = self.n_held < self.options.window;
        if is_early || point.is_waiting || self.rest.is_resting() || model.compute_s <= 0.0 {
            return;
        }
        let objective = self.options.objective;
        let best = |model: &IterationModel| model.best(objective, self.n_workers_max.max(1)).into();
        let allowed = point.nearest(best(&model));
        let [now_s, then_s] = [now, allowed].map(|n| model.cost_s(objective, n));
        if 0.5 < (allowed - now).abs() && self.options.gain * now_s < now_s - then_s {
            let reason = in_words(&model, objective, [now_s, then_s]);
            decisions.push(point.ask(allowed, &reason));
        } else if !is_separable {
            let seen = all_latency(&model, now);
            let half = point.nearest(f64::midpoint(now, best(&seen)));
            if 0.5 < (half - now).abs() {
                decisions.push(point.ask(half, &to_measure(&seen)));
            }
        }
    }
}

/// Estimates the cost, in seconds, of one more worker to the others when all get the same data. Messages that leave
/// together share a link, in sequence or in parallel: once `k` have arrived, it has carried at least `k` of them,
/// so the smallest ratio of arrival time to `k` is the best estimate. Workers that join later then do not matter.
fn each_s(chunks: &[ComputedChunk], news: &IterationNews) -> f64 {
    let mut first_s: HashMap<Rank, f64> = HashMap::new();
    for chunk in chunks {
        let first_s = first_s.entry(chunk.rank).or_insert(chunk.start_s);
        *first_s = first_s.min(chunk.start_s);
    }
    let began_s = news.end_s - news.duration_s;
    let mut late_s: Vec<f64> = first_s.values().map(|first_s| first_s - began_s).collect();
    late_s.sort_by(f64::total_cmp);
    let shares_s = (1..).zip(late_s).map(|(k, late_s)| late_s.max(0.0) / f64::from(k));
    shares_s.reduce(f64::min).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the estimate for workers that begin this long after the start, in ms.
    #[track_caller]
    fn check(begun_ms: &[f64], expected_ms: f64) {
        let chunk = |(rank, begun_ms): (u32, &f64)| {
            let (start_s, end_s) = (5.0 + 1e-3 * begun_ms, 6.0);
            ComputedChunk { rank: Rank(rank), batch: 0, n_tasks: 1.0, start_s, end_s }
        };
        let mut chunks: Vec<ComputedChunk> = (1..).zip(begun_ms).map(chunk).collect();
        // Later chunks of a worker tell nothing about the common data.
        chunks.extend((1..).zip(&vec![900.0; begun_ms.len()]).map(chunk));
        let news = IterationNews { number: 3, end_s: 6.0, duration_s: 1.0, work: 1.0 };
        assert!((each_s(&chunks, &news) - 1e-3 * expected_ms).abs() < 1e-12);
    }

    #[test]
    fn a_further_worker_costs_its_share_of_the_link() {
        check(&[8.0], 8.0);
        check(&[8.0, 16.0, 24.0, 32.0], 8.0);
        check(&[32.0, 32.0, 32.0, 32.0], 8.0);
        check(&[16.0, 8.0, 300.0, 308.0], 8.0);
        check(&[-1.0], 0.0);
        check(&[], 0.0);
    }
}
