//! Tests of 100,000 tasks of 1 ms, 7 workers, 50 us per chunk: how near to the ideal each policy comes.

use chunking::by_name;
use simulator::chunking::{ChunkingResults, Distribution, Machine, Scenario, Workload, simulate};

fn scenario(blocks: &[&str], slow: &[&str]) -> Scenario {
    let blocks: Vec<_> = blocks.iter().map(|text| text.parse().expect("a block")).collect();
    let constant = Distribution::Constant { ms: 1.0 };
    Scenario {
        workload: Workload::drawn(100_000, constant, &blocks, 1).expect("tasks"),
        machine: Machine {
            slowdowns: slow.iter().map(|text| text.parse().expect("a slowdown")).collect(),
            ..Machine::new(7, 50e-6)
        },
        later: Vec::new(),
        n_iterations: 1,
        n_tasks_min: 1,
    }
}

fn outcome(scenario: &Scenario, policy: &str) -> ChunkingResults {
    simulate(scenario, by_name(policy).expect("a policy"), &mut |_| {})
}

/// Compares the policies' ratios in a scenario with figures rounded to three decimals.
#[track_caller]
fn check(scenario: &Scenario, expected: &[(&str, f64)]) {
    for &(policy, ratio) in expected {
        let found = outcome(scenario, policy).makespan_over_ideal();
        assert!((found - ratio).abs() <= 0.0005001, "{policy}: {found}, not {ratio}");
    }
}

const BLOCKS: [&str; 3] = ["0:0.4:3", "0.3:0.4:3", "0.6:0.4:3"];

#[test]
fn the_default_is_near_the_ideal() {
    let mut scenarios = vec![scenario(&[], &[])];
    scenarios.extend(BLOCKS.map(|block| scenario(&[block], &[])));
    scenarios.extend((0..7).map(|worker| scenario(&[], &[&format!("{worker}:2@0.5")])));
    for scenario in scenarios {
        let found = outcome(&scenario, "best");
        assert!(found.makespan_over_ideal() <= 1.002, "{found:?} of {:?}", scenario.machine);
    }
}

#[test]
fn the_default_is_near_the_ideal_wherever_it_is_uneven() {
    for hundredths in 0..100 {
        let at = f64::from(hundredths) / 100.0;
        // A block or slowdown that begins late lasts as long as the remaining tasks.
        let length = f64::from(10.min(100 - hundredths)) / 100.0;
        for scenario in [
            scenario(&[&format!("{at}:{length}:10")], &[]),
            scenario(&[], &[&format!("0:10@{at}")]),
            scenario(&[], &["1:2@0", "2:4@0", &format!("3:3@{at}"), &format!("1:1@{at}")]),
        ] {
            let found = outcome(&scenario, "best");
            assert!(found.makespan_over_ideal() <= 1.002, "{found:?} of {:?}", scenario.machine);
        }
    }
}

/// Iterations of 70 ms of work for 7 workers, divided into `n_tasks` tasks.
fn short(n_tasks: u64, low: f64, high: f64, n_iterations: u32) -> Scenario {
    let (low_ms, high_ms) = (low * 70.0 / n_tasks as f64, high * 70.0 / n_tasks as f64);
    let distribution = Distribution::Uniform { low_ms, high_ms };
    let workload = Workload::drawn(n_tasks, distribution, &[], 3).expect("tasks");
    let (machine, later) = (Machine::new(7, 50e-6), Vec::new());
    Scenario { workload, later, machine, n_iterations, n_tasks_min: 1 }
}

#[test]
fn the_default_costs_little_where_equal_parts_are_best() {
    for n_tasks in [70, 700, 7000, 70_000] {
        // The first iteration of 10 ms includes an insurance of 0.2 ms (see `chunking`).
        for (n_iterations, more) in [(1, 0.021), (10, 0.0025), (100, 0.0006)] {
            let scenario = short(n_tasks, 0.9999, 1.0001, n_iterations);
            let [best, equal] =
                ["best", "static"].map(|policy| outcome(&scenario, policy).makespan_over_ideal());
            assert!(best <= equal + more, "{n_tasks} tasks, {n_iterations}: {best} after {equal}");
        }
    }
}

/// Like an integral over a function that oscillates ever faster: half of the work is in 20 of 20,000 tasks, the
/// last ones.
#[test]
fn the_default_finds_the_few_tasks_that_are_the_work() {
    let place = |task: u32| 1.0 - f64::from(task + 1) * 0.999 / 20_000.0;
    let times: Vec<f64> = (0..20_000).map(|task| place(task).powi(-2)).collect();
    let work: f64 = times.iter().sum();
    let lines: String = times.iter().map(|time| format!("{:.9}\n", 200.0 * time / work)).collect();
    for (n_iterations, limit) in [(1, 1.05), (5, 1.05)] {
        let workload = Workload::from_trace(&lines).expect("times");
        let machine = Machine::new(2, 8e-6);
        let later = Vec::new();
        let found =
            outcome(&Scenario { workload, later, machine, n_iterations, n_tasks_min: 1 }, "best");
        assert!(found.makespan_over_ideal() <= limit, "{found:?}");
    }
}

#[test]
fn the_default_does_better_where_tasks_differ() {
    for n_tasks in [70, 700, 7000] {
        let scenario = short(n_tasks, 0.0, 2.0, 10);
        let [best, equal] =
            ["best", "static"].map(|policy| outcome(&scenario, policy).makespan_over_ideal());
        assert!(best < equal, "{n_tasks} tasks: {best} after {equal}");
    }
}

#[test]
fn published_policies_lose_what_they_are_known_to_lose() {
    check(&scenario(&[], &[]), &[("static", 1.0), ("ss", 1.05), ("gss", 1.0), ("fac2", 1.0)]);
    check(&scenario(&["0:0.4:3"], &[]), &[("static", 1.667), ("gss", 1.667)]);
    // However sizes are rounded: two expensive chunks of a quarter follow a cheap one of a half.
    check(&scenario(&["0.3:0.4:3"], &[]), &[("static", 1.667), ("fac2", 1.111), ("gss", 1.050)]);
    check(&scenario(&["0.6:0.4:3"], &[]), &[("static", 1.667)]);
    check(&scenario(&[], &["3:2@0.5"]), &[("static", 1.444), ("fac2", 1.001)]);
    check(&scenario(&[], &["0:2@0.3"]), &[("static", 1.613), ("fac2", 1.139)]);
}
