//! Tests that kill a process at random moments of tuned runs: no program and no event is lost.
//!
//! All numbers of a case follow from its seed, which a failure names: `SUITE_SEED=N` begins with that seed.

mod case;
mod during;
mod evidence;

use case::{Case, Victim};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use suite::Library;

/// Number of cases of a library, and of those that run at the same time: most of the time they wait.
const N_CASES: usize = 18;
const N_AT_ONCE: usize = 3;
/// Tries for a case whose victim had ended before it was killed.
const N_TRIES: u64 = 20;

fn first_seed() -> u64 {
    let given = std::env::var("SUITE_SEED").ok().and_then(|text| text.parse().ok());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    given.unwrap_or_else(|| since_1970.as_secs() * 1000)
}

/// Tries cases until a victim was killed; returns what went wrong, if anything did.
fn kill_one(library: Library, number: usize, first_seed: u64) -> Result<(), String> {
    let victim = Victim::ALL[number % Victim::ALL.len()];
    for attempt in 0..N_TRIES {
        let seed = first_seed + number as u64 + 1000 * attempt;
        let case = Case::new(library, victim, seed);
        let ended = std::panic::catch_unwind(|| case.run());
        match ended {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(why) => {
                let text = why.downcast_ref::<String>().cloned();
                return Err(format!("{case:?}: {}", text.unwrap_or_default()));
            }
        }
    }
    Err(format!("{victim:?} was always gone before it was killed"))
}

#[track_caller]
fn check(library: Library) {
    let (first_seed, next) = (first_seed(), AtomicUsize::new(0));
    let work = || {
        let mut wrong = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if N_CASES <= number {
                return wrong;
            }
            wrong.extend(kill_one(library, number, first_seed).err());
        }
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..N_AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("it catches panics")).collect()
    });
    let n_wrong = wrong.len();
    assert!(wrong.is_empty(), "{n_wrong} of {N_CASES} went wrong:\n{}", wrong.join("\n"));
}

#[test]
fn many_kills_under_open_mpi() {
    check(Library::OpenMpi4);
}

#[test]
fn many_kills_under_mpich() {
    check(Library::Mpich4);
}
