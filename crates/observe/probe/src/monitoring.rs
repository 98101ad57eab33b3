//! Monitoring of this process: its phase, and the segment that it fills.
#![allow(unsafe_code, reason = "current monitoring behind a raw pointer")]

use crate::library::MpiLibrary;
use crate::options::Options;
use ring::{SegmentWriter, ThreadWriter};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

pub(crate) const BEFORE: u8 = 0;
pub(crate) const RUNNING: u8 = 1;
pub(crate) const OVER: u8 = 2;

pub(crate) static PHASE: AtomicU8 = AtomicU8::new(BEFORE);
/// Current monitoring; null before and after. Never freed after its end, since a thread may still use it.
pub(crate) static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());
pub(crate) static WORLD_SIZE: AtomicU32 = AtomicU32::new(0);
/// Whether monitoring began with a session, and no `MPI_Init` came after it.
pub(crate) static IS_OF_SESSIONS: AtomicBool = AtomicBool::new(false);
/// Whether monitoring began by attaching to the running program.
pub(crate) static IS_ATTACHED: AtomicBool = AtomicBool::new(false);

/// Monitoring, with what it was started with.
pub(crate) struct Process {
    pub(crate) segment: SegmentWriter,
    pub(crate) library: MpiLibrary,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
}

/// Returns whether calls are counted now.
pub(crate) fn is_running() -> bool {
    PHASE.load(Ordering::Acquire) == RUNNING
}

/// Returns whether this process is or was monitored.
pub(crate) fn is_or_was_monitored() -> bool {
    PHASE.load(Ordering::Acquire) != BEFORE || process().is_some()
}

/// Returns whether monitoring began by attaching.
pub(crate) fn is_attached() -> bool {
    IS_ATTACHED.load(Ordering::Relaxed)
}

/// Current monitoring.
pub(crate) fn process() -> Option<&'static Process> {
    // SAFETY: null, or what `make` has leaked.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Number of ranks in this process's world.
pub(crate) fn world_size() -> u32 {
    WORLD_SIZE.load(Ordering::Relaxed)
}

/// Returns a block for the calling thread, and whether it records MPI calls; `None` without room (which is
/// counted).
pub(crate) fn attach_thread(tid: u32) -> Option<(ThreadWriter, MpiLibrary, bool)> {
    let process = process()?;
    let writer = process.segment.attach_thread(tid)?;
    if is_attached() && tid == std::process::id() {
        process.segment.header().main_thread.store(writer.idx(), Ordering::Relaxed);
    }
    Some((writer, process.library, process.options.is_traced))
}

/// Returns whether there is an `MPI_COMM_WORLD`; in a program of sessions, MPI must not be asked about it.
pub(crate) fn has_world() -> bool {
    !IS_OF_SESSIONS.load(Ordering::Relaxed)
}

/// The MPI library, while calls are counted.
pub(crate) fn library() -> Option<&'static MpiLibrary> {
    process().filter(|_| is_running()).map(|process| &process.library)
}

/// Defines a communicator for readers; ranks outside the world are `u32::MAX`.
pub(crate) fn define_communicator(id: u32, world_ranks: &[u32]) {
    if let (Some(process), true) = (process(), id != 0) {
        process.segment.define_communicator(id, world_ranks);
    }
}
