//! `search`: tries values without a model.
//!
//! Tries values of the tuning points named in `points` and keeps those with the shortest iterations per unit of
//! work. Several points are searched by the method of Nelder and Mead ([`simplex`]), a single one by steps
//! along it ([`line_search`]). Both work in the unit cube; values are rounded to allowed ones, and values tried before
//! are not measured again. Values are judged by the median of `repeats` iterations, skipping the first one
//! after a change. At the end of the search, or after `budget` values, the best ones are set and held; when
//! they become `drift` percent slower, a new search begins around them.
//!
//! Trying bad values is part of the search: with a small `limit_percent`, changes are undone before much is
//! learned. Declined values count as slow.
//!
//! # Invariants
//! - At most `budget` values are tried in one search.

mod line_search;
mod simplex;

use crate::lookup::{KnownPoint, Lookup};
use crate::tunlet::{
    Decision, Detail, Guide, IterationNews, News, Requests, Tunlet, TunletError, TunletSpec, World,
};
use app_description::{Application, ChangeKind, TuningPoint};
use display::units::{seconds, trimmed};
use line_search::LineSearch;
use simplex::Simplex;
use std::collections::BTreeMap;

const NAME: &str = "search";

/// Guide for users of [`Search`].
pub(crate) const GUIDE: Guide = Guide {
    remedy: "tries values of all points with a range, or of those that you name, and holds the fastest",
    iteration: "what is to become faster; with `work`, by its unit",
    events: &[],
    points: &[],
};

/// Number of iterations skipped after a change.
const N_SETTLE: usize = 1;
/// Factor on the slowest time by which declined values are counted.
const DECLINED_TIMES: f64 = 1.5;

/// The `search` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Search {
    points: Vec<KnownPoint>,
    options: Options,
    method: Option<Method>,
    /// Values tried, in units of 1e-9 of the range, and their times.
    tried: BTreeMap<Vec<i64>, f64>,
    n_tried: usize,
    best: Option<(Vec<f64>, f64)>,
    /// Position in the unit cube that is being measured.
    at: Vec<f64>,
    times_s: Vec<f64>,
    n_left_out: usize,
    is_declined: bool,
    is_holding: bool,
    start: Start,
}

/// Known values at the start; the first change reports the value before it.
#[derive(Debug, Default)]
struct Start {
    values: Vec<Option<f64>>,
    /// Time per unit of work with the start values, if some of them were unknown.
    time_s: Option<f64>,
}

#[derive(Debug, Default)]
struct Options {
    repeats: usize,
    budget: usize,
    drift: f64,
}

/// Search method in the unit cube: proposes a position, and is told its cost.
#[derive(Debug)]
enum Method {
    Line(LineSearch),
    Simplex(Simplex),
}

impl Method {
    fn new(start: &[f64], grain: &[f64]) -> Self {
        match (start, grain) {
            ([start], [grain]) => Self::Line(LineSearch::new(*start, *grain)),
            _ => Self::Simplex(Simplex::new(start, grain)),
        }
    }

    /// Returns the next position to try; `None` at the end.
    fn ask(&self) -> Option<Vec<f64>> {
        match self {
            Self::Line(line) => line.ask().map(|at| vec![at]),
            Self::Simplex(simplex) => simplex.ask(),
        }
    }

    /// Reports the cost of the proposed position; smaller is better.
    fn tell(&mut self, cost: f64) {
        match self {
            Self::Line(line) => line.tell(cost),
            Self::Simplex(simplex) => simplex.tell(cost),
        }
    }
}

impl Tunlet for Search {
    fn spec(&self) -> TunletSpec {
        let options = [
            (
                "points",
                "tuning points to search over, NAME,NAME,... [all with a range, and replacements]",
            ),
            ("repeats", "iterations by which values are judged, 1 to 99 [3]"),
            ("budget", "values tried in one search, 2 to 10000 [40]"),
            ("drift", "percent slower at which the search begins again [20]"),
        ];
        GUIDE.spec(NAME, "the best values are unknown", &options)
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let look = Lookup { tunlet: NAME, application, world };
        let is_searched = |point: &&TuningPoint| {
            point.range.is_some() || matches!(point.change, ChangeKind::Replace { .. })
        };
        let searched = application.tuning_points.iter().filter(is_searched);
        let all = searched.map(|point| point.name.as_str()).collect::<Vec<_>>().join(",");
        *self = Self {
            points: look.points(&all)?,
            options: Options {
                repeats: look.count("repeats", 3, 1..=99)?,
                budget: look.count("budget", 40, 2..=10_000)?,
                drift: look.number("drift", 20.0, 1.0..=1000.0)? / 100.0,
            },
            ..Self::default()
        };
        if self.points.is_empty() {
            return Err(TunletError::Unable {
                tunlet: NAME.to_owned(),
                reason: "no tuning point has a range to search, or is a replacement".to_owned(),
            });
        }
        self.start.values = self.points.iter().map(|point| point.value).collect();
        self.start_from(self.here());
        let points = self.points.iter().map(|point| point.position).collect();
        let events = vec![Detail::None; application.events.len()];
        Ok(Requests { events, performance: false, points })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        match news {
            News::Iteration(iteration) => self.hear_iteration(iteration, decisions),
            News::Applied(applied) => {
                let mut points = self.points.iter();
                if let Some(idx) = points.position(|point| point.position == applied.point) {
                    self.points[idx].applied(applied.new);
                    // What the program called a function with before is not known.
                    let old = Some(applied.old.as_f64()).filter(|old| !old.is_nan());
                    self.start.values[idx] = self.start.values[idx].or(old);
                    self.times_s.clear();
                    self.n_left_out = N_SETTLE;
                }
            }
            News::Declined { point: position, .. } => {
                let mut points = self.points.iter_mut();
                if let Some(point) = points.find(|point| point.position == *position) {
                    point.declined();
                    self.is_declined = true;
                }
            }
            News::Event(_) | News::Summary(_) | News::Performance(_) => {}
        }
    }
}

impl Search {
    /// Returns the current position in the unit cube; the middle along axes whose value is unknown.
    fn here(&self) -> Vec<f64> {
        self.points.iter().map(|point| place_of(point, point.value)).collect()
    }

    fn start_from(&mut self, start: Vec<f64>) {
        let grain: Vec<f64> = self.points.iter().map(KnownPoint::grain).collect();
        self.method = Some(Method::new(&start, &grain));
        self.tried.clear();
        self.n_tried = 0;
        self.best = None;
        self.is_holding = false;
        self.times_s.clear();
        self.at = start;
    }

    fn hear_iteration(&mut self, iteration: &IterationNews, decisions: &mut Vec<Decision>) {
        if self.points.iter().any(|point| point.is_waiting) {
            return;
        }
        if std::mem::take(&mut self.is_declined) {
            self.times_s.clear();
            self.n_left_out = N_SETTLE;
            if self.is_holding {
                return;
            }
            let slowest_s = self.tried.values().copied().fold(iteration_s(iteration), f64::max);
            self.judge(DECLINED_TIMES * slowest_s, decisions);
            return;
        }
        if 0 < self.n_left_out {
            self.n_left_out -= 1;
            return;
        }
        self.times_s.push(iteration_s(iteration));
        if self.times_s.len() < self.options.repeats {
            return;
        }
        let time_s = statistics::median(std::mem::take(&mut self.times_s)).unwrap_or(0.0);
        if self.is_holding {
            self.hold(time_s, decisions);
        } else if self.points.iter().any(|point| point.value.is_none()) {
            self.start.time_s = Some(time_s);
            let middle = self.at.clone();
            self.set(&middle, "its value is not known: the search begins in the middle", decisions);
        } else {
            self.judge(time_s, decisions);
        }
    }

    /// Records the time of the current position and goes on to the next position to measure.
    fn judge(&mut self, time_s: f64, decisions: &mut Vec<Decision>) {
        let is_start_known = self.start.values.iter().all(Option::is_some);
        if let Some(start_s) = self.start.time_s.take().filter(|_| is_start_known) {
            let known = self.points.iter().zip(&self.start.values);
            let position: Vec<f64> = known.map(|(point, value)| place_of(point, *value)).collect();
            self.tried.insert(self.key(&position), start_s);
            self.best = Some((position, start_s));
        }
        self.n_tried += 1;
        self.tried.insert(self.key(&self.at), time_s);
        if self.best.as_ref().is_none_or(|(_, best_s)| time_s < *best_s) {
            self.best = Some((self.here(), time_s));
        }
        let mut last_s = time_s;
        // Known positions are answered at once; a method that proposes only known positions is at its end.
        for _ in 0..self.options.budget {
            let Some(method) = &mut self.method else { break };
            method.tell(last_s);
            let Some(next) = method.ask().filter(|_| self.n_tried < self.options.budget) else {
                break;
            };
            match self.tried.get(&self.key(&next)) {
                Some(known_s) => last_s = *known_s,
                None => return self.go_to(next, last_s, decisions),
            }
        }
        self.is_holding = true;
        if let Some((best, best_s)) = self.best.clone() {
            let n_tried = self.n_tried;
            let reason = format!(
                "it is the best of {n_tried} values tried, {} per unit of work",
                seconds(best_s)
            );
            self.set(&best, &reason, decisions);
        }
    }

    fn go_to(&mut self, next: Vec<f64>, last_s: f64, decisions: &mut Vec<Decision>) {
        let best_s = self.best.as_ref().map_or(last_s, |(_, best_s)| *best_s);
        let reason = format!(
            "value {} of {} is tried; the best one so far takes {} per unit of work",
            self.n_tried + 1,
            self.options.budget,
            seconds(best_s)
        );
        self.set(&next, &reason, decisions);
        self.at = next;
    }

    fn set(&mut self, position: &[f64], reason: &str, decisions: &mut Vec<Decision>) {
        for (point, at) in self.points.iter_mut().zip(position) {
            let allowed = point.nearest(point.low + at * (point.high - point.low));
            if point.value.is_none_or(|now| 1e-9 < (now - allowed).abs()) {
                decisions.push(point.ask(allowed, reason));
            }
        }
    }

    /// Begins a new search when the best values have become slower by more than `drift`.
    fn hold(&mut self, time_s: f64, decisions: &mut Vec<Decision>) {
        let Some((position, best_s)) = self.best.clone() else { return };
        if time_s <= (1.0 + self.options.drift) * best_s {
            return;
        }
        let percent = trimmed((time_s / best_s - 1.0) * 100.0, 3);
        self.start_from(position);
        let first = decisions.len();
        self.judge(time_s, decisions);
        for decision in &mut decisions[first..] {
            decision.reason.push_str(&format!("; iterations became {percent} % slower"));
        }
    }

    /// Returns the allowed values as a key, equal for all positions that are rounded to them.
    #[expect(clippy::cast_possible_truncation, reason = "a share of the range")]
    fn key(&self, position: &[f64]) -> Vec<i64> {
        let parts = self.points.iter().zip(position).map(|(point, at)| {
            let width = (point.high - point.low).max(f64::MIN_POSITIVE);
            let allowed = point.nearest(point.low + at * width);
            ((allowed - point.low) / width * 1e9).round() as i64
        });
        parts.collect()
    }
}

/// Returns the position of a value in its range, from 0 to 1; the middle if it is unknown.
fn place_of(point: &KnownPoint, value: Option<f64>) -> f64 {
    match value {
        Some(value) if point.low < point.high => {
            ((value - point.low) / (point.high - point.low)).clamp(0.0, 1.0)
        }
        _ => 0.5,
    }
}

/// Returns the duration of an iteration per unit of work.
fn iteration_s(iteration: &IterationNews) -> f64 {
    if 0.0 < iteration.work { iteration.duration_s / iteration.work } else { iteration.duration_s }
}
