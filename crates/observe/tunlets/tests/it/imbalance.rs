//! `imbalance` changes its tuning points toward a better load balance, and names the culprit.

use crate::simulated::application;
use events::{Rank, Value};
use tunlets::{Applied, Decision, News, Performance, Tunlet, World, built_in};

/// A program whose load balance depends on F0 and F1.
struct Program {
    values: [f64; 3],
    balance: fn(&[f64; 3]) -> f64,
    decisions: Vec<Decision>,
}

impl Program {
    fn new(values: [f64; 3], balance: fn(&[f64; 3]) -> f64) -> Self {
        Self { values, balance, decisions: Vec::new() }
    }

    fn run(&mut self, points: &str, n: u32) {
        let application = application(&[("imbalance", &[("points", points)])]);
        let mut tunlet = built_in("imbalance").expect("it is built in");
        let values = self.values.map(|value| Some(Value::Float(value))).to_vec();
        let world = World { values, ..World::default() };
        let requests = tunlet.begin(&application, &world).expect("the description has all");
        assert!(requests.performance);
        for second in 0..n {
            self.measure(tunlet.as_mut(), f64::from(second));
        }
    }

    fn measure(&mut self, tunlet: &mut dyn Tunlet, start_s: f64) {
        let performance = Performance {
            span_s: (start_s, start_s + 1.0),
            load_balance: (self.balance)(&self.values),
            culprit: Some((Rank(3), "solve".to_owned(), 0.25)),
            ..Performance::default()
        };
        let mut decisions = Vec::new();
        tunlet.hear(&News::Performance(performance), &mut decisions);
        for decision in decisions {
            let new = decision.value;
            let old = std::mem::replace(&mut self.values[decision.point], new.as_f64());
            let (point, old, hit) = (decision.point, Value::Float(old), 1);
            let applied = Applied { point, old, new, time_s: start_s + 0.5, hit, is_own: true };
            tunlet.hear(&News::Applied(applied), &mut Vec::new());
            self.decisions.push(decision);
        }
    }
}

#[track_caller]
fn check(start: [f64; 3], points: &str, balance: fn(&[f64; 3]) -> f64, at_least: f64) {
    let mut program = Program::new(start, balance);
    program.run(points, 200);
    let reached = balance(&program.values);
    assert!(at_least <= reached, "{reached} with {:?}: {:#?}", program.values, program.decisions);
}

#[test]
fn it_turns_towards_a_better_balance_until_it_is_enough() {
    check([1.0; 3], "F0", |v| 1.0 - (v[0] - 0.3).abs(), 0.9);
    check([0.1; 3], "F0", |v| 1.0 - (v[0] - 0.8).abs(), 0.9);
    check([1.0; 3], "F0,F1", |v| 1.0 - 0.5 * (v[1] - 0.3).abs(), 0.95);
}

#[test]
fn where_nothing_helps_everything_is_as_it_was() {
    let mut program = Program::new([0.5; 3], |_| 0.6);
    program.run("F0,F1", 200);
    assert!(program.decisions.len().is_multiple_of(2), "every step is taken back");
    assert!(program.decisions.len() <= 40, "{}", program.decisions.len());
    assert!(program.values.iter().all(|value| (value - 0.5).abs() < 1e-9), "{:?}", program.values);
}

#[test]
fn it_does_nothing_when_the_balance_is_enough_or_it_may_turn_nothing() {
    for (points, balance) in [("F0", (|_| 0.96) as fn(&[f64; 3]) -> f64), ("", |_| 0.3)] {
        let mut program = Program::new([0.5; 3], balance);
        program.run(points, 50);
        assert!(program.decisions.is_empty(), "{:#?}", program.decisions);
    }
}

#[test]
fn its_reason_names_the_culprit() {
    let mut program = Program::new([0.5; 3], |_| 0.6);
    program.run("F0", 3);
    let reason = &program.decisions.first().expect("the balance is low").reason;
    let expected = "the load balance is 0.60, below 0.95: rank 3 computes \
                    250 ms longer than the others in `solve`";
    assert_eq!(reason, expected);
}
