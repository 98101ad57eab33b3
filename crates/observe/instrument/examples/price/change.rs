//! Cost of changing code, of one function while threads call it, and of thousands at once.

use crate::functions::{N_FUNCTIONS, call, site};
use crate::{all, print, quantile};
use instrument::{Instrument, Refusal, Site};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const N_CHANGES: usize = 500;
const N_ROUNDS_OF_MANY: usize = 9;
const N_MANY: usize = 5_000;

/// Changes one site beside 0, 1 and 2 busy threads, then many sites.
pub(crate) fn measure(probes: &Instrument) -> Result<(), Refusal> {
    let last = N_FUNCTIONS - 1;
    for n_threads in 0..=2 {
        let site = [site(last, Some(&[]), Some(&[]))];
        let ns = beside(n_threads, last, || changes(probes, &site, N_CHANGES))?;
        report([&format!("insert-{n_threads}"), &format!("remove-{n_threads}")], ns);
    }
    let many: Vec<_> = (last - N_MANY..last).map(|idx| site(idx, Some(&[]), Some(&[]))).collect();
    report(["insert-many", "remove-many"], changes(probes, &many, N_ROUNDS_OF_MANY)?);
    Ok(())
}

/// Measures the time in ns of installing and of removing the sites, for each repetition.
fn changes(
    probes: &Instrument,
    sites: &[Site],
    n_changes: usize,
) -> Result<[Vec<f64>; 2], Refusal> {
    let ids: Vec<_> = sites.iter().map(|site| site.id).collect();
    let mut ns = [Vec::new(), Vec::new()];
    for _ in 0..n_changes {
        ns[0].push(timed_ns(|| all(probes.install(sites)))?);
        ns[1].push(timed_ns(|| all(probes.remove(&ids)))?);
    }
    Ok(ns)
}

/// Runs `what` while threads call a function.
fn beside<T>(n_threads: usize, function: usize, what: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    let n_busy = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                n_busy.fetch_add(1, Ordering::Relaxed);
                while !is_over.load(Ordering::Relaxed) {
                    black_box(call(function, black_box(1)));
                }
            });
        }
        while n_busy.load(Ordering::Relaxed) < n_threads {
            thread::yield_now();
        }
        let outcome = what();
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

fn timed_ns(change: impl FnOnce() -> Result<(), Refusal>) -> Result<f64, Refusal> {
    let before = Instant::now();
    change()?;
    Ok(before.elapsed().as_secs_f64() * 1e9)
}

fn report(names: [&str; 2], ns: [Vec<f64>; 2]) {
    for (name, mut ns) in names.into_iter().zip(ns) {
        print(name, quantile(&mut ns, 50), quantile(&mut ns, 99));
    }
}
