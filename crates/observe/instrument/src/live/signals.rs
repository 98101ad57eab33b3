//! The two signals that changing code needs, those of faults where our own loads may fault, and the program's own actions for them.
//!
//! # Invariants
//! - The program's own action for one of our signals is kept, and receives the signals that are not ours.
//! - Handlers read without a lock, and may interrupt a writer.

use super::sigaction::{KernelSigaction, bit};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Maximum number of different actions that a program may set for one signal in its life.
const N_ACTIONS: usize = 64;

const FREE: u32 = 0;
const BEING_WRITTEN: u32 = 1;
const WRITTEN: u32 = 2;

static QUIESCE_SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether faults of our own loads have to be survived.
static IS_GUARDING: AtomicBool = AtomicBool::new(false);
static OF_TRAP: ProgramActions = ProgramActions::new();
static OF_SEGMENT: ProgramActions = ProgramActions::new();
static OF_BUS: ProgramActions = ProgramActions::new();
static OF_QUIESCE: ProgramActions = ProgramActions::new();

/// Signal of a trap in the code.
pub(super) const TRAP: i32 = libc::SIGTRAP;

/// Signal that asks a thread for its position; 0 before one is chosen.
pub(super) fn quiesce_signal() -> i32 {
    QUIESCE_SIGNAL.load(Ordering::Relaxed)
}

/// Chooses an unused signal; the first choice is permanent.
pub(super) fn choose_quiesce_signal() -> Option<i32> {
    if quiesce_signal() == 0 {
        // Analysis tools use the highest signals, programs the lowest.
        let free = |signal: &i32| {
            KernelSigaction::of(*signal).is_ok_and(|action| action.handler == libc::SIG_DFL)
        };
        let signal = (libc::SIGRTMIN() + 1..libc::SIGRTMAX() - 1).rev().find(free)?;
        QUIESCE_SIGNAL.store(signal, Ordering::Relaxed);
    }
    Some(quiesce_signal())
}

/// Signals of faults, which are ours once a load may fault.
pub(super) const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Takes the signals of faults from now on; returns whether they were not taken before.
pub(super) fn begin_guarding() -> bool {
    !IS_GUARDING.swap(true, Ordering::AcqRel)
}

/// Returns whether the signals of faults are ours.
pub(super) fn is_guarding() -> bool {
    IS_GUARDING.load(Ordering::Acquire)
}

/// Set of our signals.
pub(super) fn ours() -> u64 {
    let faults = if is_guarding() { bit(FAULTS[0]) | bit(FAULTS[1]) } else { 0 };
    match quiesce_signal() {
        0 => 0,
        signal => bit(TRAP) | bit(signal) | faults,
    }
}

/// The program's actions for one of our signals.
pub(super) fn program_actions(signal: i32) -> &'static ProgramActions {
    match signal {
        TRAP => &OF_TRAP,
        libc::SIGSEGV => &OF_SEGMENT,
        libc::SIGBUS => &OF_BUS,
        _ => &OF_QUIESCE,
    }
}

/// Actions of the program for one signal, kept for handlers.
#[derive(Debug)]
pub(super) struct ProgramActions {
    actions: [ActionSlot; N_ACTIONS],
    /// Index of the current action + 1; 0 for the default action.
    current: AtomicUsize,
}

#[derive(Debug)]
struct ActionSlot {
    state: AtomicU32,
    handler: AtomicUsize,
    flags: AtomicUsize,
    restorer: AtomicUsize,
    mask: AtomicU64,
}

impl ProgramActions {
    const fn new() -> Self {
        Self { actions: [const { ActionSlot::new() }; N_ACTIONS], current: AtomicUsize::new(0) }
    }

    /// Returns the program's current action.
    pub(super) fn get(&self) -> KernelSigaction {
        let idx = self.current.load(Ordering::Acquire);
        let kept = idx.checked_sub(1).and_then(|idx| self.actions.get(idx));
        kept.map(ActionSlot::get).unwrap_or_default()
    }

    /// Sets the program's action; returns false if there is no room for another one.
    pub(super) fn set(&self, action: KernelSigaction) -> bool {
        let place = if action == KernelSigaction::default() { Some(0) } else { self.place(action) };
        if let Some(place) = place {
            self.current.store(place, Ordering::Release);
        }
        place.is_some()
    }

    fn place(&self, action: KernelSigaction) -> Option<usize> {
        self.actions.iter().position(|kept| kept.is(action) || kept.take(action)).map(|idx| idx + 1)
    }
}

impl ActionSlot {
    const fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            handler: AtomicUsize::new(0),
            flags: AtomicUsize::new(0),
            restorer: AtomicUsize::new(0),
            mask: AtomicU64::new(0),
        }
    }

    fn get(&self) -> KernelSigaction {
        KernelSigaction {
            handler: self.handler.load(Ordering::Relaxed),
            flags: self.flags.load(Ordering::Relaxed),
            restorer: self.restorer.load(Ordering::Relaxed),
            mask: self.mask.load(Ordering::Relaxed),
        }
    }

    fn is(&self, action: KernelSigaction) -> bool {
        self.state.load(Ordering::Acquire) == WRITTEN && self.get() == action
    }

    /// Stores the action if the entry is free.
    fn take(&self, action: KernelSigaction) -> bool {
        let free =
            self.state.compare_exchange(FREE, BEING_WRITTEN, Ordering::Acquire, Ordering::Relaxed);
        if free.is_err() {
            return false;
        }
        self.handler.store(action.handler, Ordering::Relaxed);
        self.flags.store(action.flags, Ordering::Relaxed);
        self.restorer.store(action.restorer, Ordering::Relaxed);
        self.mask.store(action.mask, Ordering::Relaxed);
        self.state.store(WRITTEN, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(handler: usize) -> KernelSigaction {
        KernelSigaction { handler, ..KernelSigaction::default() }
    }

    #[test]
    fn an_action_is_kept_and_takes_room_once() {
        let program_actions = ProgramActions::new();
        assert_eq!(program_actions.get(), KernelSigaction::default());
        for round in 0..3 * N_ACTIONS {
            assert!(program_actions.set(action(round % N_ACTIONS)));
            assert_eq!(program_actions.get(), action(round % N_ACTIONS));
        }
    }

    #[test]
    fn without_room_the_last_action_stays() {
        let program_actions = ProgramActions::new();
        for handler in 1..=N_ACTIONS {
            assert!(program_actions.set(action(handler)));
        }
        assert!(!program_actions.set(action(N_ACTIONS + 1)));
        assert_eq!(program_actions.get(), action(N_ACTIONS));
        assert!(program_actions.set(KernelSigaction::default()));
        assert_eq!(program_actions.get(), KernelSigaction::default());
    }
}
