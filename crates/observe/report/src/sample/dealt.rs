//! Sample run of a master and workers.

use dealing_report::{ChunkRecord, DealingReport, Iterated, Sums, Worker};

const N_TASKS: u64 = 1000;
const TASK_S: f64 = 0.4e-3;
const WAY_S: f64 = 0.6e-3;

/// Returns `n_iterations` iterations, dealt by factoring to `n_workers`, and to fewer in the second half.
#[must_use]
pub fn dealt(n_workers: u32, n_iterations: u64) -> DealingReport {
    let mut dealt = DealingReport::new("fac2");
    for number in 0..n_iterations {
        let n_used = if number < n_iterations / 2 { n_workers } else { (n_workers * 3 / 4).max(1) };
        let heavier = 1.0 + 0.3 * (number as f64 / 5.0).sin();
        let mut one = iteration(number, n_used, heavier);
        one.parked = (n_used + 1..=n_workers).collect();
        one.reason = format!("{n_used} workers because the model expects 61.2 ms with so many");
        one.shares = (5 < number).then_some([0.5, 0.38, 0.38]);
        dealt.add(one);
    }
    dealt
}

/// Returns an iteration in which the last tasks are the most expensive.
fn iteration(number: u64, n_workers: u32, heavier: f64) -> Iterated {
    let mut workers: Vec<Worker> =
        (1..=n_workers).map(|rank| Worker { rank, ..Worker::default() }).collect();
    let mut free_s = vec![0.0_f64; workers.len()];
    let mut chunks = Vec::new();
    let mut n_left = N_TASKS;
    while n_left != 0 {
        let earliest = (0..free_s.len()).min_by(|a, b| free_s[*a].total_cmp(&free_s[*b]));
        let idx = earliest.unwrap_or(0);
        let batch = chunks.len() / workers.len();
        let n_tasks = N_TASKS.div_ceil(u64::from(n_workers) << (batch + 1).min(20)).min(n_left);
        let from = (N_TASKS - n_left) as f64 / N_TASKS as f64;
        let compute_s = n_tasks as f64 * TASK_S * heavier * (0.6 + from);
        let began_s = free_s[idx] + WAY_S;
        free_s[idx] = began_s + compute_s;
        let worker = &mut workers[idx];
        if worker.n_chunks == 0 {
            worker.start_s = began_s;
        } else {
            worker.waited_s += WAY_S;
        }
        worker.n_chunks += 1;
        worker.n_tasks += n_tasks;
        worker.compute_s += compute_s;
        let (rank, chunk) = (worker.rank, chunks.len() as u64);
        let batch = u32::try_from(batch).unwrap_or(u32::MAX);
        let (first, ended_s) = (N_TASKS - n_left, free_s[idx]);
        chunks.push(ChunkRecord { rank, chunk, first, n_tasks, batch, began_s, ended_s });
        n_left -= n_tasks;
    }
    let duration_s = free_s.iter().copied().fold(0.0, f64::max);
    for (worker, end_s) in workers.iter_mut().zip(&free_s) {
        (worker.duration_s, worker.end_s) = (duration_s, duration_s - end_s);
    }
    let sums = sums(&workers, duration_s, chunks.len() as u64);
    Iterated { sums, iteration: number, workers, chunks, ..Iterated::default() }
}

fn sums(workers: &[Worker], duration_s: f64, n_chunks: u64) -> Sums {
    let compute_s: f64 = workers.iter().map(|worker| worker.compute_s).sum();
    let n_workers = workers.len() as f64;
    Sums {
        duration_s,
        compute_s,
        ideal_s: compute_s / n_workers,
        available_s: duration_s * n_workers,
        n_tasks: N_TASKS,
        n_chunks,
        n_messages: 2 * n_chunks + workers.len() as u64,
        input_bytes: 96 * n_chunks,
        output_bytes: 4096 * n_chunks,
        way_s: 2.0 * WAY_S * n_chunks as f64,
        n_ways: n_chunks,
        ..Sums::default()
    }
}
