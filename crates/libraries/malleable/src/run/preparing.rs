//! Preparation of a resize in the background, while the program computes.

use super::arrival_command::dismiss;
use super::{Malleable, RankPhase};
use crate::coordinator::Coordinator;
use crate::data::{Data, State};
use crate::error::Error;
use crate::leave_signal;
use crate::probing;
use crate::ready::Prepared;
use crate::spawn::{self, Preparation};
use crate::spawn_error::SpawnError;
use crate::watchdog::{RepeatedCheck, give_up};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

const STUCK: &str =
    "starting processes got stuck in the MPI library before; start the program anew to resize it";

/// Thread that prepares a resize, or its result.
#[derive(Debug)]
pub(super) struct Preparing {
    is_spawned: Arc<AtomicBool>,
    result: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Awaited(Receiver<Result<Box<Prepared>, SpawnError>>),
    Known(Result<Box<Prepared>, SpawnError>),
}

impl Preparing {
    fn begin(preparation: Preparation, heartbeat: &Arc<AtomicU64>) -> Self {
        let is_spawned = Arc::clone(&preparation.is_spawned);
        let (tell, told) = channel();
        let watchdog = watchdog(preparation.deadline, heartbeat);
        let work = move || {
            let prepared = preparation.run().map(Box::new);
            drop(watchdog);
            tell.send(prepared).unwrap_or_default();
        };
        let thread = Builder::new().name("prepare".to_owned()).spawn(work);
        let failed = |error| SpawnError::Thread(format!("no thread could be started: {error}"));
        let result = match thread {
            Ok(_) => Outcome::Awaited(told),
            Err(error) => Outcome::Known(Err(failed(error))),
        };
        Self { is_spawned, result }
    }

    /// Prepares in this thread, if only it may call MPI; a call that does not return cannot be handled.
    fn make(preparation: Preparation) -> Self {
        let is_spawned = Arc::clone(&preparation.is_spawned);
        Self { is_spawned, result: Outcome::Known(preparation.run().map(Box::new)) }
    }

    /// Waits for the result of the preparation for at most `at_most`, while nothing else is done.
    fn await_end(&mut self, at_most: Duration) {
        if let Outcome::Awaited(told) = &self.result {
            match told.recv_timeout(at_most) {
                Ok(result) => self.result = Outcome::Known(result),
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "the thread that prepares a resize ended early".to_owned();
                    self.result = Outcome::Known(Err(SpawnError::Thread(why)));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Returns whether all new processes have started.
    pub(super) fn is_spawned(&self) -> bool {
        self.is_spawned.load(Ordering::Acquire)
    }

    /// Result of the preparation, once it has ended.
    pub(super) fn seen(&mut self) -> Option<Result<(), String>> {
        self.await_end(Duration::ZERO);
        match &self.result {
            Outcome::Awaited(_) => None,
            Outcome::Known(Ok(_)) => Some(Ok(())),
            Outcome::Known(Err(error)) => Some(Err(error.to_string())),
        }
    }

    /// Returns whether it failed because a rank was late, which may never come.
    pub(super) fn is_late(&self) -> bool {
        matches!(&self.result, Outcome::Known(Err(SpawnError::Late { .. })))
    }

    /// Waits for the result. A failed preparation has been cleaned up.
    pub(super) fn wait(mut self, at_most: Duration) -> Waited {
        self.await_end(at_most);
        match self.result {
            Outcome::Known(Ok(prepared)) => Waited::Ready(prepared),
            Outcome::Known(Err(_)) => Waited::Failed,
            Outcome::Awaited(_) => Waited::Stuck,
        }
    }
}

/// Result of waiting for the preparation.
pub(super) enum Waited {
    Ready(Box<Prepared>),
    Failed,
    Stuck,
}

impl Malleable {
    /// Begins to prepare the resize that rank 0 ordered.
    pub(super) fn prepare<S: State>(&mut self, serial: u16, state: &mut S) -> Result<(), Error> {
        let n_bytes = probing::constant_bytes(&Data::of(state));
        self.mark = spawn::mark(serial);
        let own = self.ranks.comm.rank() as usize;
        let preparation = Preparation {
            backstage: Arc::clone(&self.ranks.backstage),
            serial,
            plan: self.coordinator.as_mut().and_then(Coordinator::take_plan),
            own_world: self.ranks.members.get(own).map_or(0, |member| member.world),
            deadline: self.options.deadline,
            launched: self.launched.clone(),
            is_spawned: Arc::default(),
            n_bytes,
            peers: self.peers.clone(),
        };
        let mut preparing = if self.mpi.is_multiple() {
            Preparing::begin(preparation, &self.heartbeat)
        } else {
            Preparing::make(preparation)
        };
        if self.options.method.is_foreground {
            preparing.await_end(self.options.deadline);
            self.coordinator.iter_mut().for_each(Coordinator::interrupt);
        }
        self.phase = RankPhase::Preparing(preparing);
        leave_signal::note_resize(true);
        Ok(())
    }

    /// Gives up the preparation or its result; `is_stuck` if a rank may never return from the library.
    pub(super) fn give_up(&mut self, is_stuck: bool) -> Result<(), Error> {
        self.is_stuck |= is_stuck;
        leave_signal::note_resize(false);
        if is_stuck {
            self.obstacle = Some(STUCK.to_owned());
            self.mpi.kill_at_exit(self.mark.clone());
        }
        match std::mem::replace(&mut self.phase, RankPhase::Computing) {
            RankPhase::Preparing(preparing) => {
                if let Waited::Ready(prepared) = preparing.wait(Duration::ZERO) {
                    dismiss(&self.ranks, *prepared)?;
                }
            }
            other => self.phase = other,
        }
        Ok(())
    }
}

/// Number of deadlines without a resize point after which the program counts as stuck.
const N_DEADLINES: u32 = 4;

/// Heartbeat value that suspends the watch: there are no resize points for a while, however long.
pub(super) const NOBODY_WATCHES: u64 = u64::MAX;

/// Watches the resize points, until the result is dropped; ends the program when the library never returns from starting
/// processes. As long as there are resize points, which `heartbeat` counts, the program is not stuck.
///
/// MPICH keeps its lock while it starts processes: if these never come, the program hangs in its next call, and this
/// process cannot do anything about it. The launcher then ends the others.
pub(super) fn watchdog(deadline: Duration, heartbeat: &Arc<AtomicU64>) -> RepeatedCheck {
    let heartbeat = Arc::clone(heartbeat);
    let mut before = heartbeat.load(Ordering::Relaxed);
    let limit = N_DEADLINES * deadline;
    RepeatedCheck::start("watchdog", limit, move || {
        let now = heartbeat.load(Ordering::Relaxed);
        if now == before && now != NOBODY_WATCHES {
            let seconds = limit.as_secs_f64();
            give_up(&format!(
                "processes were to be started or joined, and nothing has happened for {seconds} s: the MPI library does \
                 not return. This process ends; start the program anew."
            ));
        }
        before = now;
    })
}
