//! The tunlet `damping`: keeps an integer at the value with which steps take the least time.
//!
//! Measurement point: the event `step_end`, once per step. Tuning point: `sweeps`. Model: [`next_value`].

pub mod abi;
pub mod sintonia_tunlet;

use sintonia_tunlet::{Decision, Description, Detail, News, Requests, Spec, Tunlet, Value};

/// The model: the neighbor that costs less, else one that is unknown, else the value itself.
pub fn next_value(costs: &[Option<f64>], at: usize) -> usize {
    let neighbors = || [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
    let cost = |value: usize| costs.get(value).copied().flatten().unwrap_or(f64::INFINITY);
    let cheapest = neighbors().min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
    if let Some(cheaper) = cheapest.filter(|value| cost(*value) < cost(at)) {
        return cheaper;
    }
    let unknown = neighbors().find(|value| costs.get(*value) == Some(&None));
    unknown.unwrap_or(at)
}

/// See the module. Values are counted from the lowest.
#[derive(Debug, Default)]
pub struct Climb {
    event: usize,
    point: usize,
    /// The rank whose steps count.
    rank: u32,
    /// Steps that are measured before the next decision.
    n_window: usize,
    low: i64,
    /// Fastest step by value.
    costs: Vec<Option<f64>>,
    at: usize,
    /// The value of a decision that is on its way.
    asked: Option<usize>,
    last_s: Option<f64>,
    /// Steps measured at this value.
    steps_s: Vec<f64>,
}

impl Climb {
    fn measure_anew(&mut self) {
        self.last_s = None;
        self.steps_s.clear();
    }

    fn hear_step(&mut self, time_s: f64) -> Option<Decision> {
        self.steps_s.extend(self.last_s.map(|last_s| time_s - last_s));
        self.last_s = Some(time_s);
        if self.steps_s.len() < self.n_window || self.asked.is_some() {
            return None;
        }
        let fastest_s = self.steps_s.iter().copied().fold(f64::INFINITY, f64::min);
        self.measure_anew();
        self.decide(fastest_s)
    }

    fn decide(&mut self, here_s: f64) -> Option<Decision> {
        self.costs[self.at] = Some(here_s);
        let asked = next_value(&self.costs, self.at);
        if asked == self.at {
            return None;
        }
        let (now, next) = (self.low + self.at as i64, self.low + asked as i64);
        let reason = match self.costs[asked] {
            None => format!("steps take {here_s:.4} s at {now}; {next} was not tried"),
            Some(there_s) => {
                format!("steps take {there_s:.4} s at {next}, not {here_s:.4} s as at {now}")
            }
        };
        self.asked = Some(asked);
        Some(Decision { point: self.point, value: Value::Int(next), reason })
    }
}

impl Tunlet for Climb {
    fn spec() -> Spec {
        Spec {
            name: "damping",
            problem: "too few or too many sweeps in a step",
            needs_events: &["step_end"],
            needs_points: &["sweeps"],
            options: &[("window", "steps measured at each value (3)")],
        }
    }

    fn begin(&mut self, description: &Description) -> Result<Requests, String> {
        self.event = description.event("step_end")?;
        self.point = description.point("sweeps")?;
        self.n_window = description.option("window", 3)?;
        let actor = &description.actors[description.events[self.event].actor];
        self.rank = *actor.ranks.first().ok_or("nobody passes `step_end`")?;
        let point = &description.points[self.point];
        let (low, high) = point.range.ok_or("`sweeps` needs a range")?;
        let value = point.value.ok_or("`sweeps` needs a value")?.as_f64();
        if self.n_window == 0 || value < low || high < value {
            return Err("`window` or `sweeps` is outside its range".into());
        }
        self.low = low.ceil() as i64;
        self.costs = vec![None; 1 + (high.floor() as i64 - self.low).clamp(0, 1000) as usize];
        self.at = ((value as i64 - self.low) as usize).min(self.costs.len() - 1);
        Ok(Requests {
            events: vec![(self.event, Detail::Every)],
            points: vec![self.point],
            ..Requests::default()
        })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        match *news {
            News::Event { event, rank, time_s, .. } if event == self.event && rank == self.rank => {
                decisions.extend(self.hear_step(time_s));
            }
            News::Applied { point, new, .. } if point == self.point => {
                let at = (new.as_f64() as i64 - self.low).max(0) as usize;
                self.at = at.min(self.costs.len() - 1);
                self.asked = None;
                self.measure_anew();
            }
            News::Declined { point, .. } if point == self.point => {
                if let Some(asked) = self.asked.take() {
                    self.costs[asked] = Some(f64::INFINITY);
                }
            }
            _ => {}
        }
    }
}

/// Where the host enters; it calls this once.
#[unsafe(no_mangle)]
pub extern "C" fn sintonia_tunlet_v1() -> *const abi::sintonia_tunlet {
    sintonia_tunlet::entry::<Climb>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_tunlet::{Actor, EventPoint, Point};

    fn description(sweeps: i64, window: &str) -> Description {
        let event = EventPoint { name: "step_end".into(), is_exit: true, ..EventPoint::default() };
        let point = Point {
            name: "sweeps".into(),
            range: Some((1.0, 9.0)),
            value: Some(Value::Int(sweeps)),
            ..Point::default()
        };
        Description {
            n_ranks: 2,
            actors: vec![Actor { name: "all".into(), ranks: vec![0, 1] }],
            events: vec![event],
            points: vec![point],
            options: [("window".into(), window.into())].into(),
            ..Description::default()
        }
    }

    /// The value at the end of a program that starts with `sweeps` and is fastest with `best`.
    fn tuned(mut sweeps: i64, best: i64, window: &str) -> Result<i64, String> {
        let mut tunlet = Climb::default();
        tunlet.begin(&description(sweeps, window))?;
        let mut now_s = 0.0;
        for _ in 0..500 {
            now_s += 0.010 + 0.001 * (sweeps - best).abs() as f64;
            let step =
                News::Event { event: 0, rank: 0, thread: 0, time_s: now_s, values: Vec::new() };
            let mut decisions = Vec::new();
            tunlet.hear(&step, &mut decisions);
            for decision in decisions {
                let (old, new) = (Value::Int(sweeps), decision.value);
                sweeps = new.as_f64() as i64;
                let applied =
                    News::Applied { point: 0, old, new, time_s: now_s, hit: 1, is_own: true };
                tunlet.hear(&applied, &mut Vec::new());
            }
        }
        Ok(sweeps)
    }

    #[track_caller]
    fn check(sweeps: i64, best: i64, window: &str, expected: Option<i64>) {
        assert_eq!(tuned(sweeps, best, window).ok(), expected);
    }

    #[test]
    fn it_ends_where_steps_are_fastest() {
        check(2, 6, "3", Some(6));
        check(9, 1, "5", Some(1));
        check(4, 4, "1", Some(4));
        check(4, 20, "3", Some(9));
        check(4, 4, "none", None);
        check(4, 4, "0", None);
    }
}
