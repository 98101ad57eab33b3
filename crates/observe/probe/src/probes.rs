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

/// Returns the reserved signals to the program, once there are no probes.
pub(crate) fn release() {
    if instrument().is_some() {
        instrument::live::release();
    }
}
