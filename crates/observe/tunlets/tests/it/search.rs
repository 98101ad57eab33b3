//! `search` finds the minimum of a noisy function within its budget, and finds it again when it moves.

use crate::simulated::{application, noise};
use events::Value;
use tunlets::{Applied, Decision, IterationNews, News, Tunlet, World, built_in};

/// Values of F0, F1, F2 and NW, and the iteration time as a function of them.
struct Bowl {
    values: [Value; 4],
    time_s: fn(&[f64; 4], u64) -> f64,
    noise_share: f64,
    n_changes: usize,
}

impl Bowl {
    /// Runs `n` iterations under the tunlet, from iteration `first` on.
    fn run(&mut self, tunlet: &mut dyn Tunlet, first: u64, n: u64) {
        for number in first..first + n {
            let values = self.values.map(Value::as_f64);
            let duration_s =
                (self.time_s)(&values, number) * (1.0 + self.noise_share * noise(number));
            let iteration = IterationNews { number, end_s: number as f64, duration_s, work: 1.0 };
            let mut decisions = Vec::new();
            tunlet.hear(&News::Iteration(iteration), &mut decisions);
            for decision in decisions {
                let (point, new) = (decision.point, decision.value);
                let old = std::mem::replace(&mut self.values[point], new);
                let (time_s, hit) = (number as f64, 1);
                let applied = Applied { point, old, new, time_s, hit, is_own: true };
                tunlet.hear(&News::Applied(applied), &mut Vec::new());
                self.n_changes += 1;
            }
        }
    }
}

/// Returns the tunlet after its start in a program with these values, as far as it is told them.
fn begun(points: &str, values: Vec<Option<Value>>) -> Box<dyn Tunlet> {
    let mut search = built_in("search").expect("it is built in");
    let world = World { values, ..World::default() };
    let options = [("points", points), ("budget", "40"), ("repeats", "3")];
    search.begin(&application(&[("search", &options)]), &world).expect("the description has all");
    search
}

/// Checks that the minimum is reached; with `is_known`, the tunlet is told the start values.
#[track_caller]
fn check(points: &str, time_s: fn(&[f64; 4], u64) -> f64, noise_share: f64, is_known: bool) {
    let values = [0.9, 0.9, 0.9].map(Value::Float);
    let values = [values[0], values[1], values[2], Value::Int(900)];
    let mut bowl = Bowl { values, time_s, noise_share, n_changes: 0 };
    let known = if is_known { values.map(Some).to_vec() } else { Vec::new() };
    let mut search = begun(points, known);
    // Each value takes three iterations and one that is skipped.
    bowl.run(search.as_mut(), 0, 42 * 4);
    let reached_s = time_s(&bowl.values.map(Value::as_f64), 0);
    assert!(reached_s <= 1.03, "{points}: {reached_s} with {:?}", bowl.values);
    let n_changes = bowl.n_changes;
    bowl.run(search.as_mut(), 42 * 4, 100);
    assert_eq!(bowl.n_changes, n_changes, "it holds what it has found");
}

#[test]
fn it_finds_the_lowest_place_within_its_budget() {
    for is_known in [true, false] {
        check("F0", |v, _| 1.0 + (v[0] - 0.3).powi(2), 0.0, is_known);
        check("F0", |v, _| 1.0 + (v[0] - 0.3).powi(2), 0.02, is_known);
        check("NW", |v, _| 1.0 + ((v[3] - 300.0) / 300.0).powi(2), 0.02, is_known);
        check("F0,F1", |v, _| 1.0 + (v[0] - 0.3).powi(2) + (v[1] - 0.6).powi(2), 0.02, is_known);
        let three = |v: &[f64; 4], _| {
            1.0 + (v[0] - 0.3).powi(2) + (v[1] - 0.6).powi(2) + ((v[3] - 400.0) / 1000.0).powi(2)
        };
        check("F0,F1,NW", three, 0.01, is_known);
    }
}

#[test]
fn it_begins_again_when_the_best_values_become_slow() {
    let moving = |v: &[f64; 4], number: u64| {
        let lowest = if number < 300 { 0.2 } else { 0.8 };
        1.0 + 2.0 * (v[0] - lowest).powi(2)
    };
    let values = [Value::Float(0.5), Value::Float(1.0), Value::Float(1.0), Value::Int(1)];
    let mut bowl = Bowl { values, time_s: moving, noise_share: 0.01, n_changes: 0 };
    let mut search = begun("F0", values.map(Some).to_vec());
    bowl.run(search.as_mut(), 0, 300);
    assert!((bowl.values[0].as_f64() - 0.2).abs() < 0.1, "{:?}", bowl.values);
    bowl.run(search.as_mut(), 300, 200);
    assert!((bowl.values[0].as_f64() - 0.8).abs() < 0.1, "{:?}", bowl.values);
}

#[test]
fn what_is_declined_counts_as_slow() {
    let mut search = begun("F0", vec![Some(Value::Float(0.5)); 4]);
    let mut n_asked = 0;
    for number in 0..400 {
        let iteration = IterationNews { number, end_s: 0.0, duration_s: 1.0, work: 1.0 };
        let mut decisions = Vec::new();
        search.hear(&News::Iteration(iteration), &mut decisions);
        for decision in decisions {
            n_asked += 1;
            let reason = "not allowed".to_owned();
            search.hear(&News::Declined { point: decision.point, reason }, &mut Vec::new());
        }
    }
    assert!((2..40).contains(&n_asked), "{n_asked}");
}

#[test]
fn a_function_whose_last_argument_is_unknown_is_called_with_the_best() {
    let mut search = begun("F0", vec![None; 4]);
    let (mut value, mut decisions) = (f64::NAN, Vec::new());
    for number in 0..200 {
        // Before the first call, iterations are slow for a reason that no argument has.
        let duration_s = if value.is_nan() { 3.0 } else { 1.0 + (value - 0.2).powi(2) };
        let end_s = number as f64;
        let iteration = IterationNews { number, end_s, duration_s, work: 1.0 };
        search.hear(&News::Iteration(iteration), &mut decisions);
        for Decision { point, value: new, .. } in std::mem::take(&mut decisions) {
            let old = Value::Float(std::mem::replace(&mut value, new.as_f64()));
            let (time_s, hit, is_own) = (end_s, 0, true);
            let applied = Applied { point, old, new, time_s, hit, is_own };
            search.hear(&News::Applied(applied), &mut decisions);
        }
    }
    assert!((value - 0.2).abs() < 0.02, "{value}");
}
