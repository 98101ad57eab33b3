//! Our signals: taken at the start, and kept unblocked until they are released to the program.
#![allow(unsafe_code, reason = "reads and writes what the program passes")]

use super::handlers::{LOADS, on_fault, on_quiesce, on_trap};
use super::sigaction::{KernelSigaction, bit, change_mask};
use super::{barrier, errno, signals};
use crate::site::{Refusal, StartError};
use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

static STARTED: OnceLock<Result<(), StartError>> = OnceLock::new();
/// Whether the signals have been released to the program.
static IS_RELEASED: AtomicBool = AtomicBool::new(false);
/// Actions whose masks were changed: the signal, its previous action, and the changed one.
static OPENED: Mutex<Vec<(c_int, KernelSigaction, KernelSigaction)>> = Mutex::new(Vec::new());

/// Prepares this process for changes. Only the first call does; later calls return its result.
///
/// # Errors
/// When no signal is available.
pub fn start() -> Result<(), StartError> {
    STARTED.get_or_init(prepare).clone()
}

/// Chooses our signals, so that the program cannot block them from now on. Call it before the program starts threads.
///
/// # Errors
/// When the program uses all of them.
pub fn reserve() -> Result<(), StartError> {
    signals::choose_quiesce_signal().map(|_| ()).ok_or(StartError::NoSignal)
}

/// Returns a warning to the user about this process, if there is one.
pub fn warning() -> Option<String> {
    let has_own = |signal| signals::program_actions(signal).get() != KernelSigaction::default();
    has_own(signals::TRAP).then(|| {
        "the program handles `SIGTRAP` itself: traps other than those of probes are passed to it"
            .to_owned()
    })
}

/// Returns whether a signal is one that changing code needs. Async-signal-safe.
pub fn is_ours(signal: c_int) -> bool {
    (1..=64).contains(&signal) && signals::ours() & bit(signal) != 0
}

/// Removes our signals from a set that is about to be blocked. Async-signal-safe.
///
/// # Safety
/// The set is writable.
pub unsafe fn open_signals(set: *mut libc::sigset_t) {
    // SAFETY: signals are the first bits of a set.
    let first = unsafe { &mut *set.cast::<u64>() };
    *first &= !signals::ours();
}

/// Sets the program's action for one of our signals, beside ours, and returns the previous one. The result is that
/// of `sigaction`. Async-signal-safe.
///
/// # Safety
/// As for `sigaction`: `new` is null or readable, `old` is null or writable.
pub unsafe fn chain_trap_handler(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let program_actions = signals::program_actions(signal);
    // SAFETY: null or readable, as the caller says.
    let new = unsafe { new.as_ref() }.map(of_library);
    // SAFETY: null or writable, as the caller says.
    if let Some(old) = unsafe { old.as_mut() } {
        to_library(program_actions.get(), old);
    }
    if new.is_none_or(|action| program_actions.set(action)) { 0 } else { no_room() }
}

/// Releases our signals to the program; requires that no probe is installed. The next change takes them again.
pub fn release() {
    IS_RELEASED.store(true, Ordering::Release);
    for (signal, ours) in ours() {
        if KernelSigaction::of(signal).is_ok_and(|present| present.handler == ours.handler) {
            // If the system refuses, our handler stays and passes on all signals that are not ours.
            drop(signals::program_actions(signal).get().with_restorer().set(signal));
        }
    }
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    for (signal, before, open) in opened.drain(..) {
        if KernelSigaction::of(signal).is_ok_and(|present| present == open) {
            drop(before.set(signal));
        }
    }
}

/// Returns whether [`start`] succeeded.
pub(super) fn is_started() -> bool {
    STARTED.get() == Some(&Ok(()))
}

/// Takes our signals back, in case the guards were bypassed, and unblocks them for the calling thread.
pub(super) fn hold_signals() {
    if IS_RELEASED.swap(false, Ordering::AcqRel) {
        open_handlers();
    }
    for (signal, ours) in ours() {
        if take(signal, ours).is_err() {
            return;
        }
    }
    change_mask(libc::SIG_UNBLOCK, signals::ours());
}

fn prepare() -> Result<(), StartError> {
    reserve()?;
    for (signal, ours) in ours() {
        take(signal, ours)
            .map_err(|error| StartError::System { call: "rt_sigaction", errno: errno(&error) })?;
    }
    open_handlers();
    change_mask(libc::SIG_UNBLOCK, signals::ours());
    barrier::register();
    Ok(())
}

fn ours() -> impl Iterator<Item = (c_int, KernelSigaction)> {
    let faults = signals::FAULTS.into_iter().filter(|_| signals::is_guarding());
    [
        (signals::TRAP, KernelSigaction::ours(on_trap)),
        (signals::quiesce_signal(), KernelSigaction::ours(on_quiesce)),
    ]
    .into_iter()
    .chain(faults.map(|signal| (signal, KernelSigaction::ours(on_fault).on_own_stack())))
}

/// Makes loads survive faults: each continues at the second address, with 0 in rax. The caller makes sure that no other
/// thread does so.
///
/// # Errors
/// If the signals of faults cannot be taken.
pub(crate) fn guard_loads(loads: &[(usize, usize)]) -> Result<(), Refusal> {
    if loads.is_empty() {
        return Ok(());
    }
    if signals::begin_guarding() {
        for (signal, ours) in ours() {
            take(signal, ours).map_err(|_| Refusal::NotStarted)?;
        }
        open_handlers();
        change_mask(libc::SIG_UNBLOCK, signals::ours());
    }
    for (load, next) in loads {
        LOADS.insert(*load, *next);
    }
    Ok(())
}

/// Sets our action for a signal, and keeps the program's action.
fn take(signal: c_int, ours: KernelSigaction) -> io::Result<()> {
    let present = KernelSigaction::of(signal)?;
    if present.handler == ours.handler {
        return Ok(());
    }
    signals::program_actions(signal).set(present);
    ours.set(signal)
}

fn open_handlers() {
    (1..=64).filter(|signal| !is_ours(*signal)).for_each(open_while_handled);
}

/// Unblocks our signals in a handler set before the guards were in place, since it may pass a probe, too.
fn open_while_handled(signal: c_int) {
    if let Ok(action) = KernelSigaction::of(signal)
        && action.mask & signals::ours() != 0
    {
        let open = KernelSigaction { mask: action.mask & !signals::ours(), ..action };
        // If this fails, a thread in the handler is found to block signals, and the change is refused.
        if open.set(signal).is_ok() {
            let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
            opened.push((signal, action, open));
        }
    }
}

fn of_library(action: &libc::sigaction) -> KernelSigaction {
    // SAFETY: signals are the first bits of a set.
    let mask = unsafe { *(&raw const action.sa_mask).cast::<u64>() };
    let flags = action.sa_flags.cast_unsigned() as usize;
    KernelSigaction { handler: action.sa_sigaction, flags, restorer: 0, mask }
}

fn to_library(action: KernelSigaction, library: &mut libc::sigaction) {
    library.sa_sigaction = action.handler;
    library.sa_flags = i32::try_from(action.flags & !0x0400_0000 & 0x7fff_ffff).unwrap_or_default();
    library.sa_restorer = None;
    // SAFETY: a set is a number of plain words.
    library.sa_mask = unsafe { std::mem::zeroed() };
    // SAFETY: signals are the first bits of a set.
    unsafe { *(&raw mut library.sa_mask).cast::<u64>() = action.mask };
}

fn no_room() -> c_int {
    // SAFETY: asks for an address.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's own word.
    unsafe { errno.write(libc::ENOMEM) };
    -1
}
