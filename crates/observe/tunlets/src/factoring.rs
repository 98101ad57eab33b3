//! `factoring`: workers wait for the one with the most expensive tasks.
//!
//! The tasks of an iteration are dealt in batches by the shares `F0`, `F1`, `F2` of the remaining tasks (`chunking::predictive`).
//! The tunlet hears the start and the end of every chunk, keeps those of a *window* of iterations, and has two strategies:
//!
//! - *as at the start*: the shares the program began with, one chunk per worker in most programs;
//! - *by factoring*: DAF, `F0 = 1/x0`, `F1 = F2 = 1/xj`. `x0` is at least 2: with a standard deviation of 0 the
//!   formula gives 1, which is a static split, and no later batch could then compensate for imbalance that
//!   turns up. Every complete batch updates the spread, and `F2` follows it.
//!
//! Factoring costs a round trip for each further chunk, during part of which the master serves no other worker,
//! and gains nothing where all sections cost the same. Therefore both strategies are simulated with the
//! measured cost of the tasks by position and the measured cost of dealing. The strategy is changed when the
//! change gains `gain` percent and the last iterations were so uneven that a perfect split would gain as much.
//! Where messages are expensive, factoring that ends early (`F2 = 1`, or `F1 = F2 = 1`: the rest is dealt at
//! once) may be the fastest; it is chosen if it gains `gain` percent more. If iterations are then not faster
//! than before, the start values are restored and the tunlet rests for 8, 16, 32 ... iterations. While
//! factoring, a share is changed only by `step` or more. The history is bounded by `window` iterations.

mod forecast;
mod plan;
mod positions;

use crate::chunks::{Chunks, ComputedChunk, DealingCosts, IterationChunks};
use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Applied, Decision, Detail, EventNews, News, Requests, Tunlet, TunletError, TunletSpec, World,
};
use app_description::Application;
use chunking::Spread;
use display::units::seconds;
use forecast::{Dealing, Profile};
use plan::{FactoringExtent, FactoringPlan, is_same};
pub(crate) use positions::GUIDE;
use positions::{EventPositions, Options};
use std::collections::{BTreeMap, VecDeque};

const NAME: &str = "factoring";
/// Number of iterations seen before anything is changed: the first one warms up caches and buffers.
const N_ITERATIONS_MIN: usize = 2;
/// Number of iterations in which factoring has to prove faster.
const N_PROOF: usize = 3;

/// The `factoring` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Factoring {
    positions: EventPositions,
    options: Options,
    points: Vec<KnownPoint>,
    /// Shares at the start; 1 where unknown.
    start: [f64; 3],
    is_start_unknown: [bool; 3],
    chunks: Chunks,
    window: VecDeque<IterationChunks>,
    costs: DealingCosts,
    batches: BTreeMap<i128, (u64, u64)>,
    strategy: Strategy,
    rest: Rest,
}

/// Current strategy of dealing.
#[derive(Debug, Default)]
enum Strategy {
    #[default]
    AsAtStart,
    /// With the time per unit of work before it and those since, except the first one, which is discarded.
    Factoring { before_s: f64, since_s: Vec<f64>, is_first: bool, kind: FactoringExtent },
}

impl Tunlet for Factoring {
    fn spec(&self) -> TunletSpec {
        let options = [
            ("window", "iterations remembered, 1 to 100 [5]"),
            ("step", "smallest change of a share, 0 to 1 [0.05]"),
            ("gain", "percent of the iteration that a change has to gain, 0 to 50 [3]"),
            ("min_chunk", "tasks in the smallest chunk that the program deals [32]"),
            ("points", "shares of batch 0, batch 1 and later batches [F0,F1,F2]"),
        ];
        GUIDE.spec(NAME, "workers wait for the one with the most expensive tasks", &options)
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let look = Lookup { tunlet: NAME, application, world };
        *self = Self::default();
        self.positions = EventPositions::new(&look)?;
        self.options = Options::new(&look)?;
        self.points = look.points("F0,F1,F2")?;
        self.points.truncate(3);
        self.start = self.shares_now();
        self.is_start_unknown =
            std::array::from_fn(|batch| self.points.get(batch).is_some_and(|p| p.value.is_none()));
        let mut events = vec![Detail::None; application.events.len()];
        let new_batch = self.positions.new_batch.map(|(event, ..)| event);
        for event in [self.positions.start, self.positions.end].into_iter().chain(new_batch) {
            events[event] = Detail::Every;
        }
        let points = self.points.iter().map(|point| point.position).collect();
        Ok(Requests { events, performance: false, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        match news {
            News::Event(event) => self.hear_event(event, decisions),
            News::Iteration(iteration) => {
                self.chunks.end_iteration(*iteration);
                self.end_iterations(decisions);
            }
            News::Applied(applied) => self.hear_applied(applied),
            News::Declined { point, .. } => self.hear_declined(*point),
            News::Summary(_) | News::Performance(_) => {}
        }
    }
}

impl Factoring {
    fn hear_event(&mut self, event: &EventNews, decisions: &mut Vec<Decision>) {
        let whole = |at: usize| event.values.get(at).and_then(|value| value.as_integer());
        if event.event == self.positions.start {
            self.chunks.start(event.rank, event.thread, event.time_s);
        } else if event.event == self.positions.end {
            let Some(batch) = whole(self.positions.batch) else { return };
            let n_tasks =
                event.values.get(self.positions.tasks).map_or(0.0, |value| value.as_f64());
            let (rank, end_s) = (event.rank, event.time_s);
            let chunk = ComputedChunk { rank, batch, n_tasks, start_s: end_s, end_s };
            if self.chunks.end(event.thread, chunk).is_some() {
                self.end_iterations(decisions);
                self.end_batch(batch, decisions);
            }
        } else if let Some((_, batch, count)) =
            self.positions.new_batch.filter(|(new_batch, ..)| *new_batch == event.event)
            && let (Some(batch), Some(count)) = (whole(batch), whole(count))
        {
            let _ = self.batches.insert(batch, (u64::try_from(count).unwrap_or(0), 0));
        }
    }

    fn hear_applied(&mut self, applied: &Applied) {
        let found = self.points.iter().position(|point| point.position == applied.point);
        let Some(batch) = found else { return };
        self.points[batch].applied(applied.new);
        // The program may read its input only after the tunlet began.
        let is_found = !applied.is_own && applied.hit == 0;
        if is_found && matches!(self.strategy, Strategy::AsAtStart) {
            self.start = self.shares_now();
        }
        if self.is_start_unknown[batch] {
            // The first change reports the value before it.
            self.is_start_unknown[batch] = false;
            let batches = if batch + 1 == self.points.len() { batch..3 } else { batch..batch + 1 };
            self.start[batches].fill(applied.old.as_f64());
        }
        if let Strategy::Factoring { is_first, .. } = &mut self.strategy {
            *is_first = true;
        }
        self.see_way();
    }

    fn hear_declined(&mut self, position: usize) {
        let point = self.points.iter_mut().find(|point| point.position == position);
        let Some(point) = point else { return };
        point.declined();
        // The shares are requested together but declined one by one.
        if !self.rest.is_resting() {
            self.rest.begin();
        }
        self.see_way();
    }

    fn see_way(&mut self) {
        if !self.is_waiting() && is_same(self.shares_now(), self.start) {
            self.strategy = Strategy::AsAtStart;
        }
    }

    /// Returns whether a request is neither carried out nor declined yet.
    fn is_waiting(&self) -> bool {
        self.points.iter().any(|point| point.is_waiting)
    }

    fn shares_now(&self) -> [f64; 3] {
        std::array::from_fn(|batch| {
            let point = self.points.get(batch).or(self.points.last());
            point.and_then(|point| point.value).unwrap_or(1.0)
        })
    }

    fn end_iterations(&mut self, decisions: &mut Vec<Decision>) {
        let is_work_known = self.positions.is_work_known;
        while let Some((news, _)) = self.chunks.next_iteration(|_| is_work_known) {
            if let Some(iteration) = self.chunks.take(&news) {
                self.learn(iteration);
                self.decide(decisions);
            }
        }
    }

    fn learn(&mut self, iteration: IterationChunks) {
        self.costs.learn(&iteration);
        let is_settled = !self.is_waiting();
        if let Strategy::Factoring { since_s, is_first, .. } = &mut self.strategy
            && is_settled
            && !std::mem::take(is_first)
            && since_s.len() < N_PROOF
        {
            since_s.push(iteration.work_s);
        }
        self.rest.pass();
        self.window.push_back(iteration);
        if self.options.window < self.window.len() {
            self.window.pop_front();
        }
    }

    /// Computes the plan for factoring from the chunks of the window and those received since.
    fn plan(&self) -> Option<FactoringPlan> {
        let last = self.window.back()?;
        let in_window = self.window.iter().flat_map(|iteration| iteration.chunks.iter());
        let chunks = in_window.chain(self.chunks.waiting());
        let spread = Spread::of_chunks(chunks.map(|chunk| (chunk.n_tasks, chunk.time_s())));
        let n_workers = last.ranks.len();
        Some(FactoringPlan::new(spread, n_workers))
    }

    fn allowed(&self, shares: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|batch| {
            let point = self.points.get(batch).or(self.points.last());
            point.map_or(1.0, |point| point.nearest(shares[batch]))
        })
    }

    fn decide(&mut self, decisions: &mut Vec<Decision>) {
        let Some(plan) = self.plan() else { return };
        let is_new = self.window.len() < N_ITERATIONS_MIN.min(self.options.window);
        if is_new || self.is_waiting() || self.rest.is_resting() {
            return;
        }
        match &self.strategy {
            Strategy::AsAtStart => self.begin_factoring(&plan, decisions),
            Strategy::Factoring { before_s, since_s, kind, .. } => {
                let (before_s, kind, is_proven) = (*before_s, *kind, since_s.len() == N_PROOF);
                let since_s = statistics::median(since_s.clone()).filter(|_| is_proven);
                if let Some(since_s) = since_s.filter(|since_s| before_s < *since_s) {
                    let (since, before) = (seconds(since_s), seconds(before_s));
                    let reason = format!(
                        "factoring did not pay: {since} per unit of work after it, {before} before"
                    );
                    return self.end_factoring(&reason, decisions);
                }
                if is_proven {
                    self.rest.forget();
                }
                self.go_on_factoring(&plan, kind, decisions);
            }
        }
    }

    /// Returns a function that forecasts the duration of an iteration dealt by given shares, in seconds.
    fn forecaster(&self) -> Option<impl Fn([f64; 3]) -> f64 + use<>> {
        let last = self.window.back()?;
        let profile = Profile::new(&self.window);
        let dealing = Dealing {
            #[expect(clippy::cast_possible_truncation, reason = "a count of tasks")]
            #[expect(clippy::cast_sign_loss, reason = "a count of tasks")]
            n_tasks: last.n_tasks as u64,
            n_tasks_min: self.options.n_tasks_min,
            ranks: last.ranks.clone(),
            service: self.costs.service.fit().cost(),
            pause: self.costs.pause.fit().cost(),
        };
        Some(move |shares| profile.iteration_s(shares, &dealing))
    }

    /// Returns the fastest kind of factoring and its forecast; `first` unless another kind gains enough.
    fn best_kind(
        &self,
        plan: &FactoringPlan,
        first: FactoringExtent,
        forecast_s: impl Fn([f64; 3]) -> f64,
    ) -> (FactoringExtent, f64) {
        let forecast_s = |kind| forecast_s(self.allowed(plan.shares_of(kind)));
        let mut best = (first, forecast_s(first));
        for kind in FactoringExtent::ALL {
            let kind_s = forecast_s(kind);
            if kind_s < (1.0 - self.options.gain) * best.1 {
                best = (kind, kind_s);
            }
        }
        best
    }

    fn begin_factoring(&mut self, plan: &FactoringPlan, decisions: &mut Vec<Decision>) {
        let Some(forecast_s) = self.forecaster() else { return };
        let Some(last) = self.window.back() else { return };
        let (kind, factoring_s) = self.best_kind(plan, FactoringExtent::Whole, &forecast_s);
        let shares = self.allowed(plan.shares_of(kind));
        let start_s = forecast_s(self.start);
        let gain_s = (start_s - factoring_s).min(self.uneven_s());
        if is_same(shares, self.start) || gain_s <= self.options.gain * last.duration_s {
            return;
        }
        // Not the median of the whole window, because the imbalance may have begun with the last iteration.
        let recent = self.window.iter().rev().take(N_PROOF).map(|iteration| iteration.work_s);
        let before_s = statistics::median(recent).unwrap_or(0.0).max(last.work_s);
        self.strategy = Strategy::Factoring { before_s, since_s: Vec::new(), is_first: true, kind };
        let (why, dealt, split) = (plan.reason(kind), seconds(factoring_s), seconds(start_s));
        let reason = format!("{why}; forecast {dealt} per iteration against {split}");
        self.ask(shares, 0.0, &reason, decisions);
    }

    /// Returns the smallest gain of a perfect split over the last iterations, which caps the forecast gain: a
    /// larger forecast would rest on the cost of dealing, which is not well known before it is tried.
    fn uneven_s(&self) -> f64 {
        let last = self.window.iter().rev().take(N_ITERATIONS_MIN);
        last.map(IterationChunks::uneven_s).fold(f64::INFINITY, f64::min)
    }

    fn go_on_factoring(
        &mut self,
        plan: &FactoringPlan,
        kind: FactoringExtent,
        decisions: &mut Vec<Decision>,
    ) {
        let Some(forecast_s) = self.forecaster() else { return };
        let Some(last) = self.window.back() else { return };
        let (best, factoring_s) = self.best_kind(plan, kind, &forecast_s);
        let start_s = forecast_s(self.start);
        // Going back costs no more than it gains, so its threshold is lower than that for starting.
        if self.options.gain / 3.0 * last.duration_s < factoring_s - start_s {
            let (split, dealt) = (seconds(start_s), seconds(factoring_s));
            let reason = format!(
                "sigma/mu per task is {:.2}: forecast {split} per iteration with the initial shares, {dealt} with factoring",
                plan.spread.relative()
            );
            return self.end_factoring(&reason, decisions);
        }
        if let Strategy::Factoring { kind, .. } = &mut self.strategy {
            *kind = best;
        }
        let shares = self.allowed(plan.shares_of(best));
        self.ask(shares, self.options.step, &plan.reason(best), decisions);
    }

    fn end_factoring(&mut self, reason: &str, decisions: &mut Vec<Decision>) {
        self.strategy = Strategy::AsAtStart;
        self.rest.begin();
        self.ask(self.start, 0.0, reason, decisions);
    }

    /// Counts a finished chunk of a batch; when the batch is complete, later batches follow the new spread.
    fn end_batch(&mut self, batch: i128, decisions: &mut Vec<Decision>) {
        let Some((n_chunks, n_done)) = self.batches.get_mut(&batch) else { return };
        *n_done += 1;
        if *n_done < *n_chunks {
            return;
        }
        self.batches.remove(&batch);
        let Strategy::Factoring { kind, .. } = self.strategy else { return };
        if self.is_waiting() || self.rest.is_resting() {
            return;
        }
        if let Some(plan) = self.plan() {
            let now = self.shares_now();
            let shares = [now[0], now[1], self.allowed(plan.shares_of(kind))[2]];
            let reason = format!("batch {batch} is complete: {}", plan.reason(kind));
            self.ask(shares, self.options.step, &reason, decisions);
        }
    }

    /// Requests the shares that differ from the current ones by `step` or more.
    fn ask(&mut self, shares: [f64; 3], step: f64, reason: &str, decisions: &mut Vec<Decision>) {
        for (batch, point) in self.points.iter_mut().enumerate() {
            let (wished, now) = (point.nearest(shares[batch]), point.value.unwrap_or(1.0));
            if (wished - now).abs() <= 1e-9 || (wished - now).abs() < step {
                continue;
            }
            decisions.push(point.ask(wished, reason));
        }
    }
}
