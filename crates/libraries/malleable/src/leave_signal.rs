//! `SIGTERM` to a rank that can leave: a wish to leave, where it would end the job.
//!
//! A resource manager sends it some time before it takes a node away: at a time limit, before a preemption, or because
//! somebody ended the job that holds the node. Ranks that the library has started heed it; those of the launcher end by it,
//! with the program, as always.
//!
//! # Invariants
//! - A handler that the program has set is not replaced, and one that it sets later replaces ours.
//! - A second signal, while nobody obeys the first, ends the process.

use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::Builder;

/// What became of the signal to this process.
static STATE: AtomicU8 = AtomicU8::new(NONE);

const NONE: u8 = 0;
/// The signal has come, and rank 0 does not know yet.
const ASKED: u8 = 1;
/// Rank 0 was told.
const TOLD: u8 = 2;
/// A resize is under way.
const RESIZING: u8 = 3;

/// Heeds the signal from now on, unless the program does something about it. If no thread can be started, the signal
/// keeps its effect.
pub(crate) fn heed() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !is_default(&status, SIGTERM) {
        return;
    }
    let Ok(mut signals) = Signals::new([SIGTERM]) else { return };
    let wait = move || {
        for _ in signals.forever() {
            let first = STATE.compare_exchange(NONE, ASKED, Ordering::AcqRel, Ordering::Acquire);
            if first.is_err_and(|state| state != RESIZING) {
                // If this fails, `SIGKILL` is left to who wants the process to end.
                let _ended = emulate_default_handler(SIGTERM);
            }
        }
    };
    // Without the thread nobody hears the signal, so it ends the process at once.
    if Builder::new().name("sigterm".to_owned()).spawn(wait).is_err() {
        let always = Arc::new(AtomicBool::new(true));
        let _kept = signal_hook::flag::register_conditional_default(SIGTERM, always);
    }
}

/// Returns whether rank 0 is to be told; the next call returns false.
pub(crate) fn take_wish() -> bool {
    STATE.compare_exchange(ASKED, TOLD, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Notes that a resize begins, or has ended without this process leaving: then rank 0 is told once more, as another
/// process may be it.
pub(crate) fn note_resize(is_under_way: bool) {
    let after = if is_under_way { RESIZING } else { ASKED };
    let has_wish = |state| (state != NONE).then_some(after);
    // Without a wish, nothing is to be noted.
    let _before = STATE.fetch_update(Ordering::AcqRel, Ordering::Acquire, has_wish);
}

/// Returns whether a process with this `/proc/PID/status` neither handles nor ignores a signal.
fn is_default(status: &str, signal: i32) -> bool {
    let is_in = |set: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(set))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(mask >> u32::try_from(signal - 1).ok()? & 1 == 1)
    };
    is_in("SigIgn:") == Some(false) && is_in("SigCgt:") == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_of_the_program_is_left_alone() {
        let check = |ignored: &str, caught: &str, expected: bool| {
            let status = format!("Name:\trod\nSigIgn:\t{ignored}\nSigCgt:\t{caught}\n");
            assert_eq!(is_default(&status, SIGTERM), expected, "{status}");
        };
        check("0000000000101000", "0000000100000641", true);
        check("0000000000104000", "0000000100000641", false);
        check("0000000000101000", "0000000100004641", false);
        assert!(!is_default("", SIGTERM));
    }
}
