//! Tests of the number of workers on synthetic loads.

use super::*;
use crate::network::NetworkSource;
use crate::report::WorkerReport;
use proptest::prelude::*;
use tunlets::built_in;

const LATENCY_S: f64 = 1e-3;
const N_TASKS: u64 = 840;

/// Cost of an iteration by the number of workers: computing of all together, and messages.
#[derive(Clone, Copy)]
struct Load {
    compute_s: f64,
    /// Factor on the computing time by the number of workers.
    burden: fn(u32) -> f64,
}

impl Load {
    fn of(compute_s: f64) -> Self {
        Self { compute_s, burden: |_| 1.0 }
    }

    fn compute_s(self, n_workers: u32) -> f64 {
        self.compute_s * (self.burden)(n_workers)
    }

    fn time_s(self, n_workers: u32) -> f64 {
        let n = f64::from(n_workers);
        (n + 1.0) * LATENCY_S + self.compute_s(n_workers) / n
    }

    fn best(self, n_max: u32) -> u32 {
        (1..=n_max).min_by(|a, b| self.time_s(*a).total_cmp(&self.time_s(*b))).unwrap()
    }
}

/// Run that drives the model as `WorkerTarget` does.
struct Run {
    model: WorkerModel,
    n_max: u32,
    number: u64,
    now_s: f64,
    reasons: Vec<String>,
    /// Measured network.
    network: Option<WorkerNetwork>,
}

impl Run {
    fn new(n_workers: u32, n_max: u32) -> Self {
        let model = WorkerModel::new(&report(0, 0.1, 1.0, n_workers), n_workers, n_max).unwrap();
        Self { model, n_max, number: 1, now_s: 1.0, reasons: Vec::new(), network: None }
    }

    /// Runs an iteration of a master that sends each worker its part, one after the other; returns its
    /// number of workers.
    fn iterate(&mut self, load: Load) -> u32 {
        let n_workers = self.model.n_wanted().min(self.n_max);
        self.reasons.extend(self.model.settle(n_workers));
        let (time_s, compute_s) = (load.time_s(n_workers), load.compute_s(n_workers));
        self.model.iteration_began(self.number, self.now_s);
        for worker in 1..=n_workers {
            let began_s = self.now_s + f64::from(worker) * LATENCY_S;
            let worker_s = compute_s / f64::from(n_workers);
            let (n_tasks, chunk_s) = (N_TASKS / u64::from(n_workers), worker_s / 4.0);
            // A large and a small chunk separate latency from cost per byte.
            self.chunk(worker, n_tasks - n_tasks / 4, [began_s, began_s + 3.0 * chunk_s]);
            self.chunk(worker, n_tasks / 4, [began_s + 3.0 * chunk_s, began_s + worker_s]);
        }
        self.now_s += time_s;
        let report = report(self.number, time_s, compute_s, n_workers);
        let report = IterationReport { network: self.network, ..report };
        self.model.iteration_ended(&report, self.now_s);
        self.number += 1;
        n_workers
    }

    fn chunk(&mut self, worker: u32, n_tasks: u64, [began_s, ended_s]: [f64; 2]) {
        let (batch, shared_bytes, message_s) = (0, 0, Some(LATENCY_S));
        let timed =
            ChunkTimes { worker, batch, n_tasks, shared_bytes, message_s, began_s, ended_s };
        self.model.chunk_done(&timed);
    }

    fn numbers(&mut self, load: Load, n_iterations: u32) -> Vec<u32> {
        (0..n_iterations).map(|_| self.iterate(load)).collect()
    }
}

fn report(iteration: u64, duration_s: f64, compute_s: f64, n_workers: u32) -> IterationReport {
    let compute_s = compute_s / f64::from(n_workers);
    let workers =
        (1..=n_workers).map(|rank| WorkerReport { rank, compute_s, ..Default::default() });
    let (input_bytes, workers) = (N_TASKS * 8, workers.collect());
    let sums = IterationReport { input_bytes, output_bytes: input_bytes, ..Default::default() };
    IterationReport { iteration, n_tasks: N_TASKS, duration_s, workers, ..sums }
}

#[test]
fn fewer_workers_are_taken_when_messages_are_dear() {
    let mut run = Run::new(7, 7);
    let numbers = run.numbers(Load::of(4.0 * LATENCY_S), 6);
    assert_eq!(numbers, [7, 2, 2, 2, 2, 2]);
    assert!(run.reasons[0].starts_with("2 workers instead of 7 because "), "{:?}", run.reasons);
}

#[test]
fn all_are_kept_when_computing_is_dear() {
    let mut run = Run::new(7, 7);
    assert_eq!(run.numbers(Load::of(900.0 * LATENCY_S), 12), vec![7; 12]);
    assert_eq!(run.reasons, Vec::<String>::new());
}

#[test]
fn one_worker_grows_to_the_best_number_in_one_step() {
    let mut run = Run::new(1, 19);
    assert_eq!(run.numbers(Load::of(100.0 * LATENCY_S), 4), [1, 10, 10, 10]);
    let mut run = Run::new(1, 5);
    assert_eq!(run.numbers(Load::of(100.0 * LATENCY_S), 3), [1, 5, 5], "as many as there may be");
}

#[test]
fn what_does_not_pay_is_undone_and_not_repeated() {
    // Above 4 workers cores are shared, which no model of messages covers.
    let burden = |n| if n <= 4 { 1.0 } else { f64::from(n).powi(2) / 8.0 };
    let load = Load { compute_s: 100.0 * LATENCY_S, burden };
    let mut run = Run::new(4, 12);
    let numbers = run.numbers(load, 20);
    assert_eq!(numbers[0], 4);
    assert!(numbers.contains(&10), "{numbers:?}");
    assert_eq!(numbers[6..], [4; 14], "{numbers:?}");
    assert!(run.reasons.iter().any(|reason| reason.starts_with("4 workers again because ")));
}

#[test]
fn wishes_that_are_not_met_are_repeated() {
    let mut run = Run::new(2, 8);
    run.iterate(Load::of(49.0 * LATENCY_S));
    for _ in 0..3 {
        assert_eq!(run.model.n_wanted(), 7);
        run.n_max = 2;
        run.iterate(Load::of(49.0 * LATENCY_S));
    }
    run.n_max = 3;
    run.iterate(Load::of(49.0 * LATENCY_S));
    let said = run.reasons.last().unwrap();
    let expected = "3 workers instead of 2, with 7 wanted because Nopt is 7 ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_forecast_says_what_further_workers_gain() {
    let mut run = Run::new(2, 8);
    run.iterate(Load::of(60.0 * LATENCY_S));
    let gain_s = run.model.forecast().gain_s(6);
    assert!((gain_s - (30.0 - 10.0 - 4.0) * LATENCY_S).abs() < 1e-9, "{gain_s}");
}

/// Measurement of a network without a cost per byte.
fn measured(latency_s: f64, source: NetworkSource) -> Option<WorkerNetwork> {
    Some(WorkerNetwork { latency_s, s_per_byte: 0.0, confidence: 1.0, source })
}

/// Checks the number after iterations with disturbed messages of 1 ms, by what was measured of the network.
#[track_caller]
fn check_network(network: Option<WorkerNetwork>, expected: u32, reckoning: &str) {
    let mut run = Run::new(2, 40);
    run.network = network;
    let numbers = run.numbers(Load::of(100.0 * LATENCY_S), 2);
    assert_eq!(numbers, [2, expected]);
    let said = run.model.reckoning();
    assert!(said.starts_with(reckoning), "{said}");
}

#[test]
fn the_number_follows_from_the_network_that_was_measured() {
    use NetworkSource::{Both, File, Messages, OneSize};
    let as_they_came = "calculated from measured message times";
    check_network(None, 10, as_they_came);
    check_network(measured(1e-9, OneSize), 10, as_they_came);
    let quarter = 0.25 * LATENCY_S;
    let with_it = "calculated with latency 250.0 us and 0.000 ns per byte, ";
    check_network(measured(quarter, Messages), 20, &format!("{with_it}from messages of this run"));
    check_network(measured(quarter, File), 20, &format!("{with_it}from the network file"));
    check_network(measured(quarter, Both), 20, &format!("{with_it}latency from messages"));
}

#[test]
fn a_network_that_becomes_slow_during_the_run_is_answered() {
    let mut run = Run::new(2, 40);
    run.network = measured(0.25 * LATENCY_S, NetworkSource::Messages);
    assert_eq!(run.numbers(Load::of(100.0 * LATENCY_S), 2), [2, 20]);
    run.network = measured(4.0 * LATENCY_S, NetworkSource::Messages);
    assert_eq!(run.numbers(Load::of(100.0 * LATENCY_S), 2), [20, 5]);
    let said = run.reasons.last().unwrap();
    assert!(said.contains("for latency 4.00 ms, 0.00 ns per byte, "), "{said}");
}

#[test]
fn the_description_has_what_tunlets_need() {
    let (application, problems) = app_description::read(DESCRIPTION);
    assert_eq!(problems.len(), 0, "{problems:?}");
    let application = application.unwrap();
    let actors = vec![vec![Rank(0)], vec![Rank(1), Rank(2)]];
    let values = vec![None; application.tuning_points.len()];
    let world = World { n_ranks: 3, actors, values };
    for name in ["factoring", "worker-count", "imbalance"] {
        built_in(name).unwrap().begin(&application, &world).unwrap();
    }
}

proptest! {
    /// In the iteration after a step of the load, whatever came before, no other number is faster by 3 %.
    #[test]
    fn a_step_of_the_load_is_followed_in_the_next_iteration(
        steps in prop::collection::vec((1.0f64..400.0, 2u32..8), 1..8),
        n_max in 1u32..20,
    ) {
        let mut run = Run::new(1, n_max);
        for (compute, n_iterations) in steps {
            let load = Load::of(compute * LATENCY_S);
            let numbers = run.numbers(load, n_iterations);
            let best_s = load.time_s(load.best(n_max));
            for n in &numbers[1..] {
                prop_assert!(load.time_s(*n) <= 1.03 * best_s, "{:?} for {}", numbers, compute);
            }
        }
    }

    /// A load that grows by a few percent an iteration, or swings, is followed one iteration behind.
    #[test]
    fn a_drift_is_followed(start in 20.0f64..200.0, growth in 0.9f64..1.09, n_max in 2u32..20) {
        let mut run = Run::new(1, n_max);
        let mut compute = start;
        run.iterate(Load::of(compute * LATENCY_S));
        for _ in 0..20 {
            compute *= growth;
            let load = Load::of(compute * LATENCY_S);
            let n = run.iterate(load);
            prop_assert!(load.time_s(n) <= 1.05 * load.time_s(load.best(n_max)), "{} for {}", n, compute);
        }
    }
}
