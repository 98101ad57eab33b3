//! `worker-count` finds the best number of workers, in simulated time.

use crate::simulated::{Run, Simulated};

const N_WORKERS: u32 = 24;

fn run(simulated: &mut Simulated, options: &[(&str, &str)], n_iterations: u64) -> Run {
    Run::new(simulated, ("worker-count", options), n_iterations)
}

/// Returns the number of workers that minimizes `cost` of the iteration time.
fn best(simulated: &mut Simulated, cost: impl Fn(f64, f64) -> f64) -> u32 {
    let cost_of = |n: u32| {
        simulated.nw = n;
        cost(f64::from(n), simulated.iterate(0, 0.0).1)
    };
    let costs: Vec<f64> = (1..=N_WORKERS).map(cost_of).collect();
    let best = (1..).zip(costs).min_by(|a, b| a.1.total_cmp(&b.1));
    best.expect("there are workers").0
}

#[track_caller]
fn check(latency_s: f64, byte_s: f64, first: u32, objective: &str) {
    let mut simulated = Simulated::new(N_WORKERS, |_, _, _| 5e-6);
    (simulated.latency_s, simulated.byte_s) = (latency_s, byte_s);
    let expected = match objective {
        "index" => best(&mut simulated, |n, time_s| n * time_s * time_s),
        _ => best(&mut simulated, |_, time_s| time_s),
    };
    simulated.nw = first;
    let run = run(&mut simulated, &[("objective", objective), ("gain", "0.1")], 40);
    assert!(
        simulated.nw.abs_diff(expected) <= 1,
        "{} {expected} {:#?}",
        simulated.nw,
        run.decisions
    );
    assert!(run.decisions.len() <= 4, "{:#?}", run.decisions);
}

#[test]
fn it_ends_at_the_best_number_of_workers() {
    for (latency_s, byte_s) in [(1e-3, 1e-9), (4e-3, 1e-8), (3e-4, 1e-7), (1e-2, 1e-9)] {
        for first in [1, 24] {
            check(latency_s, byte_s, first, "time");
            check(latency_s, byte_s, first, "index");
        }
    }
    check(1e-6, 1e-10, 1, "time");
}

#[test]
fn nothing_is_changed_while_workers_are_not_heard() {
    let mut simulated = Simulated::new(24, |_, _, _| 5e-6);
    (simulated.latency_s, simulated.n_heard) = (1e-3, 12);
    let run = run(&mut simulated, &[], 10);
    assert!(run.decisions.is_empty(), "{:#?}", run.decisions);
}

#[test]
fn its_reason_names_the_numbers_it_follows_from() {
    let mut simulated = Simulated::new(24, |_, _, _| 5e-6);
    simulated.latency_s = 1e-3;
    let run = run(&mut simulated, &[], 10);
    let [first, .., last] = &run.decisions[..] else { panic!("24 are too many") };
    let reason = &first.1.reason;
    assert!(reason.contains("messages of a single size, 1.01 ms"), "{reason}");
    let reason = &last.1.reason;
    for part in ["Nopt is ", "(eq. 3)", "latency ", "ns per byte", "of computing"] {
        assert!(reason.contains(part), "{reason}");
    }
}

/// Returns models of `work_s / workers + each_s * workers`, as `sintonia fit` writes them.
fn fitted(work_s: f64, each_s: f64) -> String {
    let mut measured = fitting::Measurements::of(vec!["workers".into()]);
    for n in [1.0_f64, 2.0, 4.0, 8.0, 16.0, 24.0] {
        measured.add("all", "time", &[n], &[work_s / n + each_s * n]);
    }
    let models = fitting::fit(&measured, &fitting::Settings::default());
    let models = models.into_iter().map(|model| model.expect("six points")).collect();
    fitting::ModelFile::of(models).write().expect("numbers are finite")
}

#[track_caller]
fn check_fitted(first: u32, each_s: f64, expected: u32) {
    let mut simulated = Simulated::new(N_WORKERS, |_, _, _| 5e-6);
    // The network of the run has the same cost, so the trial of the change keeps it.
    (simulated.latency_s, simulated.byte_s, simulated.nw) = (each_s, 1e-10, first);
    let run = run(&mut simulated, &[("model", &fitted(0.1, each_s))], 12);
    assert_eq!(simulated.nw, expected, "{:#?}", run.decisions);
    assert!(
        run.decisions.iter().all(|(_, decision)| decision.reason.contains("by the fitted models"))
    );
}

#[test]
fn a_fitted_model_says_the_number_of_workers() {
    check_fitted(2, 1e-3, 10);
    check_fitted(24, 1e-3, 10);
    check_fitted(1, 1e-5, 24);
    check_fitted(10, 1e-3, 10);
}
