//! Fixed piece of work on all cores, timed between the runs: the time beyond the shortest one is noise.

use std::hint::black_box;
use std::thread::Builder;
use std::time::Instant;

/// Approximate time of the work, in s.
const ABOUT_S: f64 = 0.01;
/// Rounds that are timed to find out how many take [`ABOUT_S`].
const FIRST_ROUNDS: u64 = 200_000;
const N_TRIES: u32 = 5;
/// Most threads: more cores give no further information.
const N_THREADS_MAX: usize = 64;

/// Number of rounds that take about [`ABOUT_S`] on this machine.
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

/// Time of the work when every core does it at once, that of the slowest core, in s.
pub(super) fn time_s(n_rounds: u64) -> f64 {
    let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        // Where the system gives fewer threads, fewer work; this thread always does.
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
