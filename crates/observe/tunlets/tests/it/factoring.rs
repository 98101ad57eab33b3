//! `factoring` gains as much as a perfect split would, and costs nothing where there is nothing to gain.

use crate::simulated::{Run, Simulated, noise};

const N_ITERATIONS: u64 = 30;

fn run(simulated: &mut Simulated, n_iterations: u64) -> Run {
    Run::new(simulated, ("factoring", &[]), n_iterations)
}

/// Returns a task cost of 5 us, doubled between `from` and `to` of the sequence of tasks.
fn below(from: f64, to: f64) -> impl Fn(u64, f64, u32) -> f64 + 'static {
    move |_, at, _| if from <= at && at < to { 10e-6 } else { 5e-6 }
}

/// Checks that, after `n_learning` iterations, the gain is 90 % of that of a perfect split.
#[track_caller]
fn check_gain(n_workers: u32, n_learning: u64, task_s: impl Fn(u64, f64, u32) -> f64 + 'static) {
    let mut simulated = Simulated::new(n_workers, task_s);
    simulated.n_tasks = 10_000 * u64::from(n_workers);
    let last = N_ITERATIONS - 1;
    let (_, plain_s) = simulated.iterate(last, 0.0);
    let perfect_s = simulated.perfect_s(last);
    let run = run(&mut simulated, N_ITERATIONS);
    for number in n_learning..N_ITERATIONS {
        let tuned_s = run.iterations_s[usize::try_from(number).expect("small")];
        let share = (plain_s - tuned_s) / (plain_s - perfect_s);
        assert!(
            0.9 <= share,
            "{n_workers} workers, iteration {number}: {tuned_s} of {plain_s}, perfect {perfect_s}; {:#?}",
            run.decisions
        );
    }
}

#[test]
fn with_imbalance_it_gains_what_a_perfect_split_would() {
    for n_workers in 2..=7 {
        check_gain(n_workers, 4, below(0.5, 1.0));
        check_gain(n_workers, 4, below(0.0, 0.3));
        check_gain(n_workers, 4, below(0.8, 1.0));
    }
    check_gain(16, 4, below(0.5, 1.0));
}

#[test]
fn a_slow_worker_gets_fewer_tasks() {
    check_gain(7, 4, |_, _, worker| if worker == 3 { 10e-6 } else { 5e-6 });
    let later = |number, _, worker| if worker == 3 && 10 <= number { 10e-6 } else { 5e-6 };
    check_gain(7, 15, later);
}

/// Checks that all iterations together take at most 1 % longer than without a tunlet.
#[track_caller]
fn check_cost(n_workers: u32, noise_share: f64) {
    let task_s = move |number: u64, at: f64, worker: u32| {
        let seed = (at * 1e6) as u64 ^ (number << 32) ^ (u64::from(worker) << 56);
        5e-6 * (1.0 + noise_share * (noise(seed) - 0.5))
    };
    let mut simulated = Simulated::new(n_workers, task_s);
    let plain_s: f64 = (0..N_ITERATIONS).map(|number| simulated.iterate(number, 0.0).1).sum();
    let run = run(&mut simulated, N_ITERATIONS);
    let tuned_s = run.total_s();
    assert!(
        tuned_s <= 1.01 * plain_s,
        "{n_workers} workers: {tuned_s} s, plain {plain_s} s; {:#?}",
        run.decisions
    );
}

#[test]
fn without_imbalance_it_costs_nothing() {
    for n_workers in 2..=7 {
        for noise_share in [0.0, 0.2, 1.0] {
            check_cost(n_workers, noise_share);
        }
    }
}

#[test]
fn it_goes_back_to_the_start_when_the_imbalance_is_over() {
    let task_s = |number, at, _| if number < 10 && at < 0.3 { 10e-6 } else { 5e-6 };
    let mut simulated = Simulated::new(5, task_s);
    simulated.latency_s = 300e-6;
    let run = run(&mut simulated, N_ITERATIONS);
    let plain_s = Simulated { shares: [1.0; 3], ..simulated }.iterate(N_ITERATIONS, 0.0).1;
    assert!(
        run.settled_s(5) <= 1.01 * plain_s,
        "{} {plain_s} {:#?}",
        run.settled_s(5),
        run.decisions
    );
    let first = run.decisions.first().expect("there was imbalance");
    assert!(first.1.reason.contains("sigma/mu"), "{}", first.1.reason);
}

#[test]
fn a_quiet_run_sees_few_changes() {
    let mut simulated = Simulated::new(7, below(0.5, 1.0));
    let run = run(&mut simulated, 100);
    assert!(run.decisions.len() <= 12, "{:#?}", run.decisions);
}
