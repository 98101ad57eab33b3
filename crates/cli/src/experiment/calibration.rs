//! A fixed piece of work on all cores, timed between the runs: how much longer it takes than at best is noise.

use std::hint::black_box;
use std::thread::Builder;
use std::time::Instant;

/// Time that the work takes about.
const ABOUT_S: f64 = 0.01;
/// The work whose time says how much makes that.
const FIRST_ROUNDS: u64 = 200_000;
const N_TRIES: u32 = 5;
/// More cores than this say nothing more.
const N_THREADS_MAX: usize = 64;

/// Rounds that take about a hundredth of a second on this machine.
pub(super) fn rounds() -> u64 {
    let fastest_s = (0..N_TRIES).map(|_| work_s(FIRST_ROUNDS)).fold(f64::INFINITY, f64::min);
    let share = (ABOUT_S / fastest_s.max(1e-6)).clamp(0.01, 1e4);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is from 2e3 to 2e9"
    )]
    {
        (FIRST_ROUNDS as f64 * share) as u64
    }
}

/// Time for the work on every core at once: that of the slowest.
pub(super) fn time_s(n_rounds: u64) -> f64 {
    let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        // Where the system gives fewer, fewer work; this thread does at any rate.
        let start = |_| Builder::new().spawn_scoped(scope, move || work_s(n_rounds)).ok();
        let threads: Vec<_> = (1..n_threads.min(N_THREADS_MAX)).filter_map(start).collect();
        let own_s = work_s(n_rounds);
        let times_s = threads.into_iter().filter_map(|thread| thread.join().ok());
        times_s.fold(own_s, f64::max)
    })
}

fn work_s(n_rounds: u64) -> f64 {
    let started = Instant::now();
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..black_box(n_rounds) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    started.elapsed().as_secs_f64()
}
