//! Thread of a source that makes progress with constant data while the program computes: many MPI libraries move data
//! only while a process is in one of their calls, and an iteration may take seconds.

use crate::moving::{MoveError, Moving};
use crate::ready::Prepared;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// Data that a thread makes progress with.
pub(super) struct Mover {
    thread: Option<JoinHandle<(Moving, Result<(), MoveError>)>>,
    is_wanted: Arc<AtomicBool>,
    is_everywhere: Arc<AtomicBool>,
}

impl Mover {
    /// Starts the thread. MPI must allow calls of several threads.
    pub(super) fn start(mut moving: Moving, prepared: &Prepared) -> Result<Self, MoveError> {
        let is_wanted = Arc::new(AtomicBool::new(true));
        let is_everywhere = Arc::new(AtomicBool::new(false));
        let (comm, plan) = (Arc::clone(&prepared.bridge), prepared.plan.clone());
        let (wanted, everywhere) = (Arc::clone(&is_wanted), Arc::clone(&is_everywhere));
        let work = move || {
            let is_wanted = || wanted.load(Ordering::Relaxed);
            let moved = moving.advance_while(&plan.bridge(&comm), is_wanted);
            everywhere.store(matches!(moved, Ok(true)), Ordering::Release);
            (moving, moved.map(|_| ()))
        };
        let thread = Builder::new().name("mover".to_owned()).spawn(work);
        let thread = Some(thread.map_err(|_| MoveError::Memory)?);
        Ok(Self { thread, is_wanted, is_everywhere })
    }

    /// Returns whether all constant data have arrived everywhere.
    pub(super) fn is_everywhere(&self) -> bool {
        self.is_everywhere.load(Ordering::Acquire)
    }

    /// Returns whether the thread makes no more progress.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the thread, within a pause of it, and returns the data.
    pub(super) fn stop(mut self) -> Result<Moving, MoveError> {
        self.is_wanted.store(false, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(MoveError::Memory)?;
        let (moving, moved) = thread.join().map_err(|_| MoveError::Memory)?;
        moved.map(|()| moving)
    }
}

/// The thread must not call MPI when this process ends it.
impl Drop for Mover {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its error has no receiver any more.
            let _ended = thread.join();
        }
    }
}
