//! `imbalance`: most ranks wait for one of them, in any program.
//!
//! Uses the efficiencies of the last few seconds (`models::pop`). While the load balance is below `enough`, it
//! changes the tuning points named in `points`, one step of one point at a time, and keeps the direction in
//! which the load balance rises. A step that does not raise it by `better` is undone: the other direction is
//! tried, then the next point. When no step of any point helps, the tunlet rests. Every reason names the rank
//! with the most work, and the region.
//!
//! # Invariants
//! - Only tuning points offered by the description are changed, one at a time.
//! - A step is judged by efficiencies whose time span begins after it.

use crate::lookup::{KnownPoint, Lookup};
use crate::rest::Rest;
use crate::tunlet::{
    Applied, Decision, Detail, Guide, News, Performance, Requests, Tunlet, TunletError, TunletSpec,
    World,
};
use app_description::Application;
use display::units::{seconds, trimmed};

const NAME: &str = "imbalance";

/// Guide for users of [`Imbalance`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "turns the points that you name in the direction in which the load balance rises",
    iteration: "none; with iterations, what made them slower is taken back",
    events: &[],
    points: &[],
};

/// The `imbalance` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Imbalance {
    points: Vec<KnownPoint>,
    options: Options,
    /// Index of the tuning point being changed.
    at: usize,
    /// True if its value is raised, false if it is lowered.
    is_up: bool,
    n_failed: usize,
    step: Option<Step>,
    since_s: f64,
    seen: Vec<f64>,
    rest: Rest,
}

#[derive(Debug, Default)]
struct Options {
    enough: f64,
    better: f64,
    step: f64,
    patience: usize,
}

/// A step that was made and is not judged yet.
#[derive(Clone, Copy, Debug)]
struct Step {
    point: usize,
    before: f64,
    from: f64,
    is_done: bool,
}

impl Tunlet for Imbalance {
    fn spec(&self) -> TunletSpec {
        let options = [
            ("points", "tuning points it may turn, NAME,NAME,...; none: it only reports []"),
            ("enough", "load balance at which it stops, 0 to 1 [0.95]"),
            ("better", "rise of the load balance that counts, 0 to 1 [0.01]"),
            ("step", "a step as a share of the range, 0 to 1 [0.1]"),
            ("patience", "measurements by which a step is judged [2]"),
        ];
        GUIDE.spec(NAME, "most ranks wait for one overloaded rank", &options)
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let look = Lookup { tunlet: NAME, application, world };
        *self = Self {
            points: look.points("")?,
            options: Options {
                enough: look.number("enough", 0.95, 0.0..=1.0)?,
                better: look.number("better", 0.01, 0.0..=1.0)?,
                step: look.number("step", 0.1, 0.0..=1.0)?,
                patience: look.count("patience", 2, 1..=100)?,
            },
            ..Self::default()
        };
        let points = self.points.iter().map(|point| point.position).collect();
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: true, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        match news {
            News::Performance(performance) => self.hear_performance(performance, decisions),
            News::Applied(applied) => self.hear_applied(applied),
            News::Declined { point, .. } => self.hear_declined(*point),
            News::Event(_) | News::Summary(_) | News::Iteration(_) => {}
        }
    }
}

impl Imbalance {
    fn hear_applied(&mut self, applied: &Applied) {
        let point = self.points.iter_mut().find(|point| point.position == applied.point);
        let Some(point) = point else { return };
        point.applied(applied.new);
        self.since_s = applied.time_s;
        self.seen.clear();
        if let Some(step) = &mut self.step {
            step.is_done = true;
            step.from = if applied.is_own { applied.old.as_f64() } else { step.from };
        }
    }

    fn hear_declined(&mut self, position: usize) {
        let point = self.points.iter_mut().find(|point| point.position == position);
        let Some(point) = point else { return };
        point.declined();
        if self.step.take().is_some() {
            self.turn_around();
        }
    }

    fn hear_performance(&mut self, performance: &Performance, decisions: &mut Vec<Decision>) {
        let is_waiting = self.points.iter().any(|point| point.is_waiting);
        if is_waiting || performance.span_s.0 < self.since_s || self.points.is_empty() {
            return;
        }
        self.rest.pass();
        self.seen.push(performance.load_balance);
        if self.seen.len() < self.options.patience {
            return;
        }
        let balance = self.seen.iter().sum::<f64>() / self.seen.len() as f64;
        self.seen.clear();
        if let Some(step) = self.step.take_if(|step| step.is_done) {
            let is_better = step.before + self.options.better <= balance;
            if !is_better && balance < self.options.enough {
                decisions.push(self.take_back(step, balance));
                return;
            }
            self.n_failed = 0;
        }
        if balance < self.options.enough && !self.rest.is_resting() {
            let reason = in_words(balance, self.options.enough, performance);
            decisions.extend(self.make_step(balance, &reason));
        }
    }

    fn take_back(&mut self, step: Step, balance: f64) -> Decision {
        self.turn_around();
        let reason = format!("the load balance is {balance:.2}, {:.2} before", step.before);
        let point = &mut self.points[step.point];
        point.ask(point.nearest(step.from), &reason)
    }

    /// Switches to the other direction, or after both to the next point; rests when none has helped.
    fn turn_around(&mut self) {
        self.is_up = !self.is_up;
        if !self.is_up {
            self.at = (self.at + 1) % self.points.len();
        }
        self.n_failed += 1;
        if 2 * self.points.len() <= self.n_failed {
            self.n_failed = 0;
            self.rest.begin();
        }
    }

    /// Makes one step in the first direction, from the current one on, that is not at the end of its range.
    fn make_step(&mut self, balance: f64, reason: &str) -> Option<Decision> {
        for _ in 0..2 * self.points.len() {
            let point = &mut self.points[self.at];
            let from = point.value.unwrap_or_else(|| f64::midpoint(point.low, point.high));
            let length = self.options.step.max(point.grain()) * (point.high - point.low);
            let to = point.nearest(if self.is_up { from + length } else { from - length });
            if 1e-9 < (to - from).abs() {
                self.step = Some(Step { point: self.at, before: balance, from, is_done: false });
                return Some(point.ask(to, reason));
            }
            self.turn_around();
        }
        None
    }
}

fn in_words(balance: f64, enough: f64, performance: &Performance) -> String {
    let culprit = match &performance.culprit {
        Some((rank, region, above_s)) => {
            format!(
                ": rank {} computes {} longer than the others in `{region}`",
                rank.0,
                seconds(*above_s)
            )
        }
        None => String::new(),
    };
    format!("the load balance is {balance:.2}, below {}{culprit}", trimmed(enough, 3))
}
