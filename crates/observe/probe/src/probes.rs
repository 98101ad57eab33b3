//! Access to the probes in functions of this process (`instrument`) for the rest of the probe.

use crate::thread;
use instrument::{Instrument, StartError, ThreadHooks};
use std::sync::OnceLock;

static INSTRUMENT: OnceLock<Result<Instrument, StartError>> = OnceLock::new();

/// Returns the probes, prepared at first use; preparing may fail in processes that restrict themselves.
pub(crate) fn start() -> Result<&'static Instrument, &'static StartError> {
    let hooks = ThreadHooks { attach: thread::cursor };
    INSTRUMENT.get_or_init(|| Instrument::start(hooks)).as_ref()
}

/// Returns the probes, if they were prepared.
pub(crate) fn instrument() -> Option<&'static Instrument> {
    INSTRUMENT.get()?.as_ref().ok()
}

/// Keeps the program from blocking the signals used to install probes, from now on.
///
/// Without these signals there are no probes, and an order to install some is then refused with the reason.
pub(crate) fn reserve_signals() {
    let _taken = instrument::live::reserve();
}

/// Returns the reserved signals to the program, once there are no probes.
pub(crate) fn release() {
    if instrument().is_some() {
        instrument::live::release();
    }
}

/// Forgets the calling thread's ring, which is about to be freed or (in a forked child) not its own.
pub(crate) fn forget_thread() {
    instrument::forget_thread();
}
