//! Program of a job that runs: the work that it has done, and what it has measured.

use super::{QueueJob, QueueScenario};
use random::Random;
use resize_plan::payoff::{Curve, Estimate, History, Prospect, pays};
use resize_plan::queue::Outlook;

/// Number of iterations of a program.
pub(super) const N_ITERATIONS: f64 = 1000.0;
/// Number of iterations at a size after which it is known, and most of those that are measured.
const N_MEASURED: u32 = 3;
const N_MEASURED_MAX: u32 = 64;
/// Most sizes of an outlook.
const N_FORECASTS_MAX: usize = 64;

/// Program of a job.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) job: QueueJob,
    /// Fewest and most nodes that it may have.
    pub(super) range: (u32, u32),
    pub(super) began_s: f64,
    /// Its nodes.
    pub(super) nodes: Vec<(u32, f64)>,
    /// Nodes that it will have after the change under way, and when that is over.
    pub(super) change: Option<(u32, f64)>,
    pub(super) changed_s: Option<f64>,
    pub(super) n_resizes: u32,
    /// Work done, as time on one node, in s.
    pub(super) done_s: f64,
    /// The same when it got its present size.
    done_before_s: f64,
    /// Time up to which the work is counted.
    at_s: f64,
    history: History,
    /// Predicted times of an iteration.
    curve: Option<Vec<(u32, Estimate)>>,
    /// Number of iterations measured at the present size.
    n_measured: u32,
    random: Random,
}

impl Program {
    pub(super) fn new(
        scenario: &QueueScenario,
        job: QueueJob,
        nodes: Vec<u32>,
        now_s: f64,
    ) -> Self {
        Self {
            job,
            range: (scenario.smallest(&job), scenario.n_nodes),
            began_s: now_s,
            nodes: nodes.into_iter().map(|node| (node, now_s)).collect(),
            change: None,
            changed_s: None,
            n_resizes: 0,
            done_s: 0.0,
            done_before_s: 0.0,
            at_s: now_s,
            history: History::default(),
            curve: None,
            n_measured: 0,
            random: Random::stream(scenario.seed ^ job.number, 4),
        }
    }

    /// Number of nodes.
    pub(super) fn n_nodes(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    fn left_s(&self) -> f64 {
        (self.job.work_s() - self.done_s).max(0.0)
    }

    /// Work until `now_s`; none while the size changes.
    pub(super) fn advance(&mut self, now_s: f64) {
        if self.change.is_none() {
            let worked_s = (now_s - self.at_s) * self.job.speedup.on(self.n_nodes());
            self.done_s = (self.done_s + worked_s).min(self.job.work_s());
        }
        self.at_s = now_s;
    }

    /// Time of its end, if nothing changes.
    pub(super) fn ends_s(&self) -> f64 {
        match self.change {
            Some((n_nodes, until_s)) => until_s + self.left_s() / self.job.speedup.on(n_nodes),
            None => self.at_s + self.left_s() / self.job.speedup.on(self.n_nodes()),
        }
    }

    /// Time of its end by its limit of time, whatever its size, from now on.
    pub(super) fn limit_ends_s(&self, now_s: f64) -> f64 {
        let limit_work_s = self.job.limit_s * self.job.speedup.on(self.job.n_nodes);
        let n_nodes = self.change.map_or(self.n_nodes(), |(n_nodes, _)| n_nodes);
        now_s + (limit_work_s - self.done_s).max(0.0) / self.job.speedup.on(n_nodes)
    }

    /// Starts a change; nodes that it gets are there already.
    pub(super) fn start_change(&mut self, n_nodes: u32, until_s: f64) {
        self.change = Some((n_nodes, until_s));
        self.n_resizes += 1;
    }

    /// Ends the change under way; returns the nodes that it gives back.
    pub(super) fn end_change(&mut self, now_s: f64) -> Vec<(u32, f64)> {
        let Some((n_nodes, _)) = self.change.take() else { return Vec::new() };
        (self.changed_s, self.done_before_s, self.at_s) = (Some(now_s), self.done_s, now_s);
        self.n_measured = 0;
        let n_kept = usize::try_from(n_nodes).unwrap_or(usize::MAX).min(self.nodes.len());
        self.nodes.split_off(n_kept)
    }

    /// Time that it still needs by its number of nodes, for all that it has measured.
    pub(super) fn outlook(&mut self, noise: f64, price_s: f64) -> Outlook {
        self.measure(noise);
        let Some(forecasts) = &self.curve else { return Outlook::default() };
        let work_s = self.job.work_s();
        let n_left = N_ITERATIONS * self.left_s() / work_s;
        let times = |s: &Estimate| Estimate {
            value: n_left * s.value,
            low: n_left * s.low,
            high: n_left * s.high,
        };
        let outlook = Outlook::new(forecasts.iter().map(|(n, seconds)| (*n, times(seconds))));
        if self.is_fastest(forecasts, n_left, price_s) { outlook.at_its_fastest() } else { outlook }
    }

    /// Judges as a program does with `--model`.
    fn is_fastest(&self, forecasts: &[(u32, Estimate)], n_left: f64, price_s: f64) -> bool {
        let candidates: Vec<u32> = forecasts.iter().map(|(n_nodes, _)| *n_nodes).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
        let n_iterations_left = n_left.ceil() as u64;
        let size = self.n_nodes();
        let prospect = Prospect { size, n_iterations_left, candidates: &candidates };
        let seconds =
            |size| forecasts.iter().find(|(n, _)| *n == size).map(|(_, seconds)| *seconds);
        pays(&prospect, seconds, |_| Estimate::around(price_s, 0.0)).is_fastest
    }

    /// Measures the iterations at the present size, and judges anew whenever there are twice as many.
    fn measure(&mut self, noise: f64) {
        let n_nodes = self.n_nodes();
        let iteration_s = self.job.work_s() / N_ITERATIONS;
        let n_done = (self.done_s - self.done_before_s) / iteration_s;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
        let n_done = (n_done as u32).min(N_MEASURED_MAX);
        if n_done < N_MEASURED.max(2 * self.n_measured) {
            return;
        }
        let seconds = iteration_s / self.job.speedup.on(n_nodes);
        for _ in self.n_measured..n_done {
            // What disturbs an iteration makes it longer.
            self.history.add(n_nodes, seconds * (1.0 + noise * self.random.normal().abs()), 1);
        }
        self.n_measured = n_done;
        self.curve = Curve::through(&self.history.seen()).map(|curve| self.forecasts(&curve));
    }

    fn forecasts(&self, curve: &Curve) -> Vec<(u32, Estimate)> {
        let (least, most) = self.range;
        let step = usize::try_from(most - least).unwrap_or(0) / N_FORECASTS_MAX + 1;
        let sizes = (least..=most).step_by(step).chain([self.n_nodes(), most]);
        let sizes: std::collections::BTreeSet<u32> = sizes.collect();
        let forecasts = sizes.into_iter().map(|size| (size, curve.seconds(size)));
        forecasts.filter(|(_, seconds)| seconds.high.is_finite()).collect()
    }
}
