//! Jobs with resources and dependencies, on the cores of simulated nodes.

use proptest::prelude::*;
use simulator::balance::Durations;
use simulator::jobs::{EntryDependency, JobEntry, JobNode, JobResults, JobScenario, simulate_jobs};
use task_api::{ArrayIndices, Demand, DependencyKind, Resources, Submission};

fn nodes(n: usize, n_cores: u32) -> Vec<JobNode> {
    let capacity = Resources { cpus: n_cores, memory_bytes: 64 << 30, ..Resources::nothing() };
    (0..n).map(|_| JobNode { capacity: capacity.clone(), speed: 1.0 }).collect()
}

fn entry(name: &str, n_tasks: u64, asks: Resources, task_s: f64) -> JobEntry {
    let submission = Submission {
        command: vec!["true".to_owned()],
        folder: "/".to_owned(),
        array: (n_tasks != 1)
            .then(|| format!("1-{n_tasks}").parse::<ArrayIndices>().expect("a range")),
        demand: Demand { variants: vec![asks], ..Demand::default() },
        ..Submission::default()
    };
    let (name, durations) = (name.to_owned(), Durations::Constant { task_s });
    JobEntry { name, submission, after: Vec::new(), durations }
}

fn cores(cpus: u32) -> Resources {
    Resources { cpus, ..Resources::default() }
}

fn after(entry: usize, is_each: bool) -> EntryDependency {
    EntryDependency { entry, when: DependencyKind::Succeeded, is_each }
}

fn simulated(nodes: Vec<JobNode>, entries: Vec<JobEntry>) -> JobResults {
    let scenario = JobScenario {
        nodes,
        entries,
        policy: balancing_policies::Policy::DEFAULT,
        latency_s: 1e-4,
        seed: 1,
    };
    let results = simulate_jobs(&scenario, &mut |_| ()).expect("a scenario");
    check(&scenario, &results);
    results
}

/// Checks that nothing is given twice, nothing runs before what it waits for, and no bound is broken.
fn check(scenario: &JobScenario, results: &JobResults) {
    for (idx, node) in scenario.nodes.iter().enumerate() {
        let mut changes = Vec::new();
        for run in &results.runs {
            let here = run.nodes.iter().filter(|(at, _)| *at == idx);
            let n_cores: i64 = here.map(|(_, n)| i64::from(*n)).sum();
            changes.extend([(run.started_s, n_cores), (run.ended_s, -n_cores)]);
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut used = 0;
        for (at_s, change) in changes {
            used += change;
            assert!(used <= i64::from(node.capacity.cpus), "{used} cores of n{idx} at {at_s} s");
        }
    }
    for run in &results.runs {
        for after in &scenario.entries[run.entry].after {
            let before = results
                .runs
                .iter()
                .filter(|it| it.entry == after.entry && (!after.is_each || it.task == run.task));
            for before in before {
                assert!(before.ended_s <= run.started_s, "{before:?} ends behind {run:?} begins");
            }
        }
    }
    assert!(results.n_left == 0 && results.runs.len() as u64 == results.n_tasks);
    // Simulated time counts nanoseconds.
    let slack = 1.0 + 1e-9 * (1 + scenario.entries.len()) as f64 / results.makespan_s;
    assert!(results.ratio() <= slack, "{} {}", results.path_s, results.area_s);
}

#[test]
fn equal_tasks_fill_the_nodes() {
    let results = simulated(nodes(4, 8), vec![entry("all", 320, cores(1), 10.0)]);
    assert!(results.makespan_s < 101.0 && results.ratio() > 0.99, "{}", results.makespan_s);
    let results = simulated(nodes(4, 8), vec![entry("all", 80, cores(4), 10.0)]);
    assert!(results.makespan_s < 101.0, "{}", results.makespan_s);
    assert!(results.nodes.iter().all(|node| node.busy_share > 0.98));
}

#[test]
fn memory_bounds_what_runs_at_once() {
    let large = Resources { cpus: 1, memory_bytes: 40 << 30, ..Resources::nothing() };
    let results = simulated(nodes(2, 8), vec![entry("large", 6, large, 10.0)]);
    // One at a time on each node, as two have no room.
    assert!((30.0..31.0).contains(&results.makespan_s), "{}", results.makespan_s);
}

#[test]
fn tasks_wait_for_others_and_chains_bound_the_time() {
    let mut second = entry("second", 40, cores(1), 5.0);
    second.after = vec![after(0, true)];
    let mut last = entry("last", 1, cores(8), 7.0);
    last.after = vec![after(1, false)];
    let results = simulated(nodes(2, 8), vec![entry("first", 40, cores(1), 10.0), second, last]);
    assert!((results.path_s - 22.0).abs() < 1e-9, "{}", results.path_s);
    assert!((45.0..50.5).contains(&results.makespan_s), "{}", results.makespan_s);
    assert!(results.entries[2].span_s.unwrap()[0] > 35.0);
}

#[test]
fn a_large_task_is_not_passed_for_ever() {
    let mut small = entry("small", 200, cores(1), 3.0);
    small.durations = Durations::Uniform { low_s: 1.0, high_s: 6.0 };
    let entries = vec![
        small.clone(),
        entry("large", 4, cores(8), 10.0),
        JobEntry { name: "later".into(), ..small },
    ];
    let results = simulated(nodes(2, 8), entries);
    let [_, large_end_s] = results.entries[1].span_s.unwrap();
    assert!(large_end_s < results.makespan_s - 10.0, "{large_end_s} of {}", results.makespan_s);
}

#[test]
fn tasks_over_several_nodes_have_room_on_all_of_them() {
    let mut wide = entry("wide", 3, cores(6), 20.0);
    wide.submission.demand.nodes = 3;
    let results = simulated(nodes(4, 8), vec![entry("small", 60, cores(1), 5.0), wide]);
    let wide = results.runs.iter().filter(|run| run.entry == 1).collect::<Vec<_>>();
    assert!(wide.iter().all(|run| run.nodes.len() == 3 && run.nodes.iter().all(|(_, n)| *n == 6)));
}

#[test]
fn tasks_that_take_too_long_are_ended() {
    let mut slow = entry("slow", 4, cores(1), 100.0);
    slow.submission.demand.time_limit_ms = Some(2_000);
    let results = simulated(nodes(1, 4), vec![slow.clone()]);
    assert_eq!(results.n_cut_off, 4);
    assert!((2.0..2.5).contains(&results.makespan_s), "{}", results.makespan_s);
    // What waits for their success never runs, and bounds nothing; nor does work that a slow node cuts off.
    let mut never = entry("never", 3, cores(1), 50.0);
    never.after = vec![after(0, false)];
    let mut machines = nodes(2, 4);
    machines[1].speed = 0.5;
    let scenario = JobScenario {
        nodes: machines,
        entries: vec![slow, never],
        policy: balancing_policies::Policy::DEFAULT,
        latency_s: 1e-4,
        seed: 1,
    };
    let results = simulate_jobs(&scenario, &mut |_| ()).expect("a scenario");
    assert!(results.runs.len() == 4 && results.ratio() <= 1.0, "{}", results.ratio());
}

#[test]
fn what_no_node_has_is_said() {
    let scenario = JobScenario {
        nodes: nodes(2, 8),
        entries: vec![entry("huge", 1, cores(9), 1.0)],
        policy: balancing_policies::Policy::DEFAULT,
        latency_s: 1e-4,
        seed: 1,
    };
    let error = simulate_jobs(&scenario, &mut |_| ()).unwrap_err().to_string();
    assert_eq!(error, "`huge` asks for 9 cores, which 0 of 2 nodes have");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_is_given_twice_and_all_ends(
        n_nodes in 1_usize..5,
        asked in proptest::collection::vec((1_u32..9, 1_u64..30, 0.05_f64..8.0, any::<bool>()), 1..6),
    ) {
        let mut entries = Vec::<JobEntry>::new();
        for (idx, (cpus, n_tasks, task_s, waits)) in asked.into_iter().enumerate() {
            let mut entry = entry(&format!("e{idx}"), n_tasks, cores(cpus), task_s);
            entry.after = (waits && 0 < idx).then(|| after(idx - 1, false)).into_iter().collect();
            entries.push(entry);
        }
        simulated(nodes(n_nodes, 8), entries);
    }
}
