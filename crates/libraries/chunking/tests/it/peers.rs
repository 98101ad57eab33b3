//! The rules of DLS4LB (<https://github.com/unibas-dmi-hpc/DLS4LB>), the MPI library of these policies that its authors
//! checked against the publications, reimplemented from its formulas and compared with ours.

use chunking::{ChunkScheduler, Completed, Settings, Spread, by_name};
use proptest::prelude::*;

/// Returns the chunks that one of their rules deals, given the tasks left and the index of the chunk.
fn theirs(n_tasks: u64, mut rule: impl FnMut(u64, u64) -> u64) -> Vec<u64> {
    let (mut n_left, mut dealt) = (n_tasks, Vec::new());
    while n_left != 0 {
        let n_tasks = rule(n_left, dealt.len() as u64).clamp(1, n_left);
        dealt.push(n_tasks);
        n_left -= n_tasks;
    }
    dealt
}

fn ours(name: &str, settings: &Settings, n_tasks: u64, n_workers: u64) -> Vec<u64> {
    let n_workers = u32::try_from(n_workers).expect("few workers");
    let mut scheduler = ChunkScheduler::new(by_name(name).expect("a policy").policy(settings));
    scheduler.begin(n_tasks, n_workers);
    let in_turn = (0..n_workers).cycle().map(|worker| {
        let tasks = scheduler.deal(worker, 0.0);
        tasks.end - tasks.start
    });
    in_turn.take_while(|n_tasks| *n_tasks != 0).collect()
}

proptest! {
    #[test]
    fn the_rules_without_memory_are_the_same(n_tasks in 1..100_000_u64, n_workers in 2..100_u64) {
        let usual = Settings::default();
        let gss = theirs(n_tasks, |n_left, _| n_left.div_ceil(n_workers));
        prop_assert_eq!(ours("gss", &usual, n_tasks, n_workers), gss);
        prop_assert_eq!(ours("ss", &usual, n_tasks, n_workers), theirs(n_tasks, |_, _| 1));
        let first = n_tasks.div_ceil(2 * n_workers);
        let n_chunks = (2 * n_tasks).div_ceil(first + 1);
        let step = (first - 1) / (n_chunks - 1).max(1);
        let tss = theirs(n_tasks, |_, chunk| first.saturating_sub(chunk * step));
        prop_assert_eq!(ours("tss", &usual, n_tasks, n_workers), tss);
    }

    /// `K = ceil((sqrt(2)*M*h / (sigma*N*sqrt(ln N)))^(2/3))`, limited to an equal part here.
    #[test]
    fn the_fixed_size_is_the_same(
        n_tasks in 1..100_000_u64,
        n_workers in 2..100_u64,
        overhead_s in 1e-6_f64..1e-2,
        deviation_s in 1e-5_f64..1e-2,
    ) {
        let (m, n) = (n_tasks as f64, n_workers as f64);
        let late_s = deviation_s * n * n.ln().sqrt();
        let wished = (2.0_f64.sqrt() * m * overhead_s / late_s).powf(2.0 / 3.0);
        let part = n_tasks.div_ceil(n_workers);
        let size = (1..part).find(|size| wished <= *size as f64).unwrap_or(part);
        let spread = Some(Spread { mean_s: 1e-3, deviation_s });
        let known = Settings { overhead_s: Some(overhead_s), spread, ..Settings::default() };
        let fsc = theirs(n_tasks, |_, _| size);
        prop_assert_eq!(ours("fsc", &known, n_tasks, n_workers), fsc);
    }

    /// DLS4LB halves the remaining tasks, rounded up, at each batch, as the algorithm of 1992 does; we halve the chunk,
    /// as its formula for the size does. The two differ by the rounding of a batch.
    #[test]
    fn factoring_by_two_differs_by_a_task(n_tasks in 1..100_000_u64, n_workers in 2..100_u64) {
        let mut size = 0;
        let fac2 = theirs(n_tasks, |n_left, chunk| {
            if chunk % n_workers == 0 {
                size = n_left.div_ceil(2 * n_workers);
            }
            size
        });
        let own = ours("fac2", &Settings::default(), n_tasks, n_workers);
        for (own, other) in own.iter().zip(&fac2).take(own.len() - 1) {
            prop_assert!(own.abs_diff(*other) <= 1, "{own} {other}");
        }
    }

    /// Weights of AWF: `N * (1/t_w) / sum(1/t)` of the weighted average times per task `t`.
    #[test]
    fn the_weights_are_the_same(task_ms in prop::collection::vec(1_u32..100, 4)) {
        let mut scheduler = ChunkScheduler::new(by_name("awf-c").unwrap().policy(&Settings::default()));
        scheduler.begin(8000, 4);
        let times: Vec<f64> = task_ms.iter().map(|ms| f64::from(*ms) / 1e3).collect();
        for (worker, task_s) in (0..4).zip(&times) {
            let compute_s = 10.0 * task_s;
            let done = Completed { worker, n_tasks: 10, compute_s, ..Completed::default() };
            scheduler.completed(&done);
        }
        let speeds: f64 = times.iter().map(|task_s| 1.0 / task_s).sum();
        let weight = 4.0 / times[2] / speeds;
        let expected = weight * 1000.0;
        prop_assert!((scheduler.deal(2, 0.0).count() as f64 - expected).abs() <= 1.0);
    }
}
