//! Laws of simulated queues, and what is known to come out.

use proptest::prelude::*;
use simulator::queue::{
    QueueJob, QueueResults, QueueScenario, QueueWay, Speedup, draw_jobs, simulate_queue,
};

fn scenario(n_nodes: u32, jobs: Vec<QueueJob>, way: QueueWay, price_s: f64) -> QueueScenario {
    let (smallest_share, interval_s, noise) = (0.25, 10.0, 0.02);
    QueueScenario { n_nodes, jobs, way, smallest_share, price_s, interval_s, noise, seed: 1 }
}

fn job(number: u64, submitted_s: f64, n_nodes: u32, run_s: f64, parallelism: f64) -> QueueJob {
    let speedup = Speedup { parallelism, variance: 0.0 };
    QueueJob { number, submitted_s, n_nodes, run_s, limit_s: run_s, speedup }
}

fn run(n_nodes: u32, jobs: &[QueueJob], way: QueueWay, price_s: f64) -> QueueResults {
    simulate_queue(&scenario(n_nodes, jobs.to_vec(), way, price_s)).expect("it can be")
}

fn jobs(n_nodes: u32) -> impl Strategy<Value = Vec<QueueJob>> {
    let one = (1..=n_nodes, 1.0..3000.0_f64, 0.0..900.0_f64, 1.0..64.0_f64, 0.0..2.0_f64);
    prop::collection::vec(one, 1..12).prop_map(|drawn| {
        let jobs = drawn.into_iter().zip(1..);
        let jobs = jobs.map(|((n_nodes, run_s, at_s, parallelism, variance), number)| QueueJob {
            speedup: Speedup { parallelism, variance },
            ..job(number, at_s, n_nodes, run_s, 1.0)
        });
        jobs.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_node_has_one_job_and_a_job_loses_no_work(
        jobs in jobs(8), way in prop::sample::select(QueueWay::ALL.to_vec()), price_s in 0.0..60.0_f64,
    ) {
        let results = run(8, &jobs, way, price_s);
        let mut spans = results.spans.clone();
        spans.sort_by(|a, b| (a.node, a.from_s).partial_cmp(&(b.node, b.from_s)).unwrap());
        for two in spans.windows(2) {
            prop_assert!(two[0].node != two[1].node || two[0].to_s <= two[1].from_s, "{two:?}");
        }
        for (job, times) in jobs.iter().zip(&results.jobs) {
            prop_assert!((times.done_s - job.work_s()).abs() <= 1e-6 * job.work_s());
            prop_assert!(job.submitted_s <= times.began_s && times.began_s < times.ended_s);
            // No program is faster than its work on all nodes, and none did it without nodes.
            let least_s = job.work_s() / (1..=8).map(|n| job.speedup.on(n)).fold(1.0, f64::max);
            prop_assert!(least_s <= (times.ended_s - times.began_s) * (1.0 + 1e-9) + 1e-6);
            let held_s: f64 = spans.iter().filter(|span| span.job == job.number).map(|span| span.to_s - span.from_s).sum();
            let stops_s = f64::from(times.n_resizes) * price_s;
            prop_assert!(times.ended_s - times.began_s <= held_s * (1.0 + 1e-9) + 1e-6);
            prop_assert!(job.work_s() / job.speedup.parallelism.max(1.0) + stops_s <= (times.ended_s - times.began_s) * (1.0 + 1e-9) + 1e-6);
            prop_assert!(way.is_malleable() || times.n_resizes == 0);
        }
        let hours: f64 = spans.iter().map(|span| (span.to_s - span.from_s) / 3600.0).sum();
        prop_assert!((hours - results.node_hours()).abs() < 1e-6);
        prop_assert!(results.node_hours() * 3600.0 <= 8.0 * results.makespan_s() * (1.0 + 1e-9));
        prop_assert_eq!(run(8, &jobs, way, price_s), results);
    }
}

#[track_caller]
fn check_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

#[test]
fn a_job_grows_into_idle_nodes() {
    let jobs = [job(1, 0.0, 4, 1000.0, 4.0)];
    for (way, expected_s) in
        [(QueueWay::Rigid, 1000.0), (QueueWay::Small, 4000.0), (QueueWay::Range, 1000.0)]
    {
        check_near(run(4, &jobs, way, 1.0).makespan_s(), expected_s);
    }
    for way in [QueueWay::Malleable, QueueWay::MalleableByCurve] {
        let results = run(4, &jobs, way, 1.0);
        assert!(results.makespan_s() < 1200.0 && 0 < results.n_resizes(), "{way:?} {results:?}");
    }
}

/// One that does not scale: by the curve it keeps its node, without it gets four for nothing.
#[test]
fn a_program_that_is_no_faster_gets_no_nodes() {
    let jobs = [job(1, 0.0, 1, 3000.0, 1.0)];
    assert!(3.0 < run(4, &jobs, QueueWay::Malleable, 1.0).node_hours());
    // It is tried once, on two nodes.
    let results = run(4, &jobs, QueueWay::MalleableByCurve, 1.0);
    assert!(results.n_resizes() <= 2 && results.node_hours() < 1.1, "{results:?}");
}

#[test]
fn who_comes_later_gets_room() {
    let jobs = [job(1, 0.0, 4, 1000.0, 4.0), job(2, 500.0, 4, 500.0, 4.0)];
    let waited_s = |way| run(4, &jobs, way, 1.0).jobs[1].began_s - 500.0;
    check_near(waited_s(QueueWay::Rigid), 500.0);
    for way in [QueueWay::Malleable, QueueWay::MalleableByCurve] {
        assert!(waited_s(way) < 15.0, "{way:?} {}", waited_s(way));
    }
}

#[test]
fn what_cannot_be_is_said() {
    let check = |n_nodes, jobs: &[QueueJob], price_s, expected: &str| {
        let scenario = scenario(n_nodes, jobs.to_vec(), QueueWay::Rigid, price_s);
        let said = simulate_queue(&scenario).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    };
    let one = job(1, 0.0, 4, 10.0, 4.0);
    check(0, &[one], 1.0, "there are 0 nodes");
    check(4, &[], 1.0, "there are 0 jobs");
    check(2, &[one], 1.0, "job 1 asks for 4 of 2 nodes");
    check(4, &[one], f64::NAN, "have to be numbers");
    check(4, &[QueueJob { run_s: 0.0, ..one }], 1.0, "job 1 needs a run time");
}

/// Not a law of all queues: what the generator's first queue shows, so that a change of the rule is seen.
#[test]
fn the_curve_shortens_the_first_queue() {
    let jobs = draw_jobs(40, 32, Some(0.9), 1);
    let completion_s = |way| run(32, &jobs, way, 5.0).completion_s();
    let by_curve_s = completion_s(QueueWay::MalleableByCurve);
    for way in [QueueWay::Rigid, QueueWay::Small, QueueWay::Range] {
        assert!(by_curve_s < completion_s(way), "{way:?}");
    }
}
