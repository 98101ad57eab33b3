//! The probes in functions of this process (`instrument`), as the rest of the probe sees them.

use crate::thread;
use instrument::{Instrument, StartError, ThreadHooks};
use std::sync::OnceLock;

static INSTRUMENT: OnceLock<Result<Instrument, StartError>> = OnceLock::new();

/// The probes, prepared at first use; that may fail in processes that restrict themselves.
pub(crate) fn start() -> Result<&'static Instrument, &'static StartError> {
    let hooks = ThreadHooks { attach: thread::cursor };
    INSTRUMENT.get_or_init(|| Instrument::start(hooks)).as_ref()
}

/// The probes, if there have ever been any.
pub(crate) fn instrument() -> Option<&'static Instrument> {
    INSTRUMENT.get()?.as_ref().ok()
}

/// Keeps the program from blocking the signals by which probes are put in, from now on.
///
/// Without them there are no probes, and whoever wants some is told so then.
pub(crate) fn reserve_signals() {
    let _taken = instrument::live::reserve();
}

/// Gives the program its signals back, while there are no probes.
pub(crate) fn release() {
    if instrument().is_some() {
        instrument::live::release();
    }
}

/// The calling thread's ring is about to go, or is not its own (in a forked child).
pub(crate) fn forget_thread() {
    instrument::forget_thread();
}
