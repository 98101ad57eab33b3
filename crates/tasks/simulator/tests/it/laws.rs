//! Laws that hold for every policy on every workload and machine.

use chunking::all;
use proptest::prelude::*;
use simulator::chunking::{
    Block, ChunkSpan, Distribution, Machine, Scenario, Slowdown, Workload, simulate,
};
use std::collections::BTreeSet;

fn workload() -> impl Strategy<Value = Workload> {
    let block = (0.0..0.9, 0.01..0.1, 0.1..10.0).prop_map(|(start, length, factor)| Block {
        start,
        length,
        factor,
    });
    let distribution = prop_oneof![
        Just(Distribution::Constant { ms: 1.0 }),
        Just(Distribution::Exponential { mean_ms: 0.3 }),
        Just(Distribution::Uniform { low_ms: 0.0, high_ms: 20.0 }),
    ];
    (1..2000_u64, distribution, prop::collection::vec(block, 0..3), any::<u64>()).prop_map(
        |(n_tasks, distribution, blocks, seed)| {
            Workload::drawn(n_tasks, distribution, &blocks, seed).expect("tasks")
        },
    )
}

fn machine() -> impl Strategy<Value = Machine> {
    let slow = (0..8_u32, 0.2..5.0, 0.0..1.2).prop_map(|(worker, factor, at)| Slowdown {
        worker,
        factor,
        at,
    });
    (1..9_u32, 0.0..1e-3, 0.0..1e-4, any::<bool>(), prop::collection::vec(slow, 0..4)).prop_map(
        |(n_workers, overhead_s, serve_s, prefetch, mut slowdowns)| {
            slowdowns.retain(|slowdown| slowdown.worker < n_workers);
            Machine { n_workers, overhead_s, serve_s, prefetch, slowdowns }
        },
    )
}

fn scenario() -> impl Strategy<Value = Scenario> {
    (workload(), machine(), 1..4_u32, 1..20_u64).prop_map(
        |(workload, machine, n_iterations, n_tasks_min)| Scenario {
            workload,
            machine,
            later: Vec::new(),
            n_iterations,
            n_tasks_min,
        },
    )
}

/// Checks that every task is dealt once in every iteration, and that no worker has two chunks at once.
fn check(scenario: &Scenario, spans: &[ChunkSpan]) {
    let n_tasks = scenario.workload.n_tasks();
    let mut dealt = BTreeSet::new();
    let mut free_s = vec![0.0; scenario.machine.n_workers as usize];
    for span in spans {
        for task in span.first..span.first + span.n_tasks {
            assert!(task < n_tasks && dealt.insert((span.iteration, task)), "{span:?}");
        }
        let free_s = &mut free_s[span.worker as usize];
        assert!(*free_s <= span.start_s && span.start_s <= span.end_s, "{span:?}");
        *free_s = span.end_s;
    }
    assert_eq!(dealt.len() as u64, n_tasks * u64::from(scenario.n_iterations));
}

proptest! {
    #[test]
    fn nothing_is_faster_than_the_ideal(scenario in scenario()) {
        for spec in all() {
            let mut spans = Vec::new();
            let outcome = simulate(&scenario, spec, &mut |span| spans.push(span));
            prop_assert!(1.0 - 1e-9 <= outcome.makespan_over_ideal(), "{outcome:?}");
            prop_assert_eq!(outcome.n_chunks, spans.len() as u64);
            let last_s = spans.iter().map(|span| span.end_s).fold(0.0, f64::max);
            prop_assert!((outcome.makespan_s - last_s).abs() <= 1e-9 * last_s);
            check(&scenario, &spans);
        }
    }

    #[test]
    fn asking_early_hides_what_chunks_cost(workload in workload(), n_workers in 1..9_u32) {
        let machine = Machine::new(n_workers, 1e-4);
        let early = Machine { prefetch: true, ..machine.clone() };
        let [late, early] = [machine, early].map(|machine| {
            let workload = workload.clone();
            let scenario =
                Scenario { workload, later: Vec::new(), machine, n_iterations: 1, n_tasks_min: 1 };
            let static_split = chunking::by_name("static").unwrap();
            simulate(&scenario, static_split, &mut |_| {}).makespan_s
        });
        prop_assert!(early <= late + 1e-12, "{early} {late}");
    }
}
