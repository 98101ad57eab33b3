//! Levers: changes to this process that need nothing of the program, carried out by the control thread.
//!
//! # Invariants
//! - A lever that is at 0 costs the program nothing; before huge pages are set, memory is moved for a bounded time.
//! - A lever is set back when its action is undone, when nobody decides any more, and before `MPI_Finalize`.
//! - The control thread does all the work: no call of the program waits for a lever.
//!
//! # Not here
//! The moment and the reason of a change (`tunlets`), and how ranks wait in MPI (`waiting`).

mod binding;
mod huge_pages;
mod limits;
mod memory;

use crate::collectives;
use crate::monitoring;
use crate::openmp::idling;
use crate::pause::Mode;
use crate::waiting;
use events::Lever;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Time between two looks at what a lever that is set has to follow.
pub(crate) const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);

/// Present value of each lever, by its position in [`Lever::ALL`].
static VALUES: [AtomicI64; Lever::ALL.len()] = [const { AtomicI64::new(0) }; Lever::ALL.len()];

fn word(lever: Lever) -> &'static AtomicI64 {
    let position = Lever::ALL.iter().position(|known| *known == lever);
    &VALUES[position.unwrap_or_default()]
}

/// Value of a lever.
pub(crate) fn value(lever: Lever) -> i64 {
    word(lever).load(Ordering::Relaxed)
}

/// Returns whether a lever is not as it was found.
pub(crate) fn is_any_set() -> bool {
    VALUES.iter().any(|value| value.load(Ordering::Relaxed) != 0)
}

/// Checks that a lever can get a value, and gets ready for what takes long.
///
/// # Errors
/// The reason why it does not apply to this process.
pub(crate) fn check(lever: Lever, value: i64) -> Result<(), String> {
    let is_allowed = monitoring::process().is_some_and(|process| process.options.has_levers);
    if !is_allowed {
        return Err("the run was started without `--tune`".to_owned());
    }
    if !(0..=lever.highest()).contains(&value) {
        return Err(format!("it has no value {value}"));
    }
    match lever {
        _ if value == 0 => Ok(()),
        Lever::Waiting => waiting_applies(),
        Lever::Memory => memory::applies(),
        Lever::HugePages => huge_pages::ready(),
        Lever::Binding => binding::applies(),
        Lever::Threads => idling::applies(),
        Lever::Collectives => collectives::applies(value),
    }
}

/// Sentence about what a value of a lever does or leaves undone, where the value does not say it; else empty.
pub(crate) fn note(lever: Lever, value: i64) -> String {
    match lever {
        Lever::Collectives => collectives::note(value),
        Lever::Memory => memory::note(value != 0),
        Lever::HugePages => huge_pages::note(value != 0),
        Lever::Threads => idling::note(value != 0),
        Lever::Waiting | Lever::Binding => String::new(),
    }
}

/// Sets a lever that was checked.
///
/// # Errors
/// The system's error number; the lever is as before.
pub(crate) fn set(lever: Lever, value: i64) -> Result<(), c_int> {
    match lever {
        Lever::Waiting => set_waiting(value)?,
        Lever::Memory => memory::set(value != 0),
        Lever::HugePages => huge_pages::set(value != 0),
        Lever::Binding => idling::without_lending(|| binding::set(value != 0))?,
        Lever::Threads => idling::set(value != 0)?,
        Lever::Collectives => collectives::set(value),
    }
    word(lever).store(value, Ordering::Relaxed);
    Ok(())
}

/// Asks for huge pages for the large memory that there is, once and for good, as `MPI_Init` has ended: most static arrays
/// are not used by then, so that nothing has to be moved.
pub(crate) fn ask_for_huge_pages() {
    huge_pages::ask_once();
}

/// Sets all levers back to how the process was found.
pub(crate) fn release() {
    for lever in Lever::ALL {
        if value(lever) != 0 {
            // Nothing is left to try when one cannot be set back.
            let _failed = set(lever, 0);
        }
    }
}

/// Follows what the program did meanwhile, such as new memory.
pub(crate) fn renew() {
    if value(Lever::Memory) != 0 {
        memory::renew();
    }
    if value(Lever::HugePages) != 0 {
        huge_pages::renew();
    }
}

/// Returns whether ranks of this process can wait in another way, and do not do so by themselves.
fn waiting_applies() -> Result<(), String> {
    if waiting::yields_by_itself() {
        let why = "the MPI library gives cores away by itself (`mpi_yield_when_idle`)";
        return Err(why.to_owned());
    }
    waiting::check().map_err(|error| error.to_string())
}

/// Tells the calls that wait how to wait.
fn set_waiting(value: i64) -> Result<(), c_int> {
    let mode = Mode::of_value(value).ok_or(libc::EINVAL)?;
    waiting::set_mode(mode).map(|_| ()).map_err(|_| libc::ENOTSUP)
}
