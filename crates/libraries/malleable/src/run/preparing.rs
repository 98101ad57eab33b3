//! Preparation of a change in the background, while the program computes.

use super::arrival_command::dismiss;
use super::{Malleable, RankPhase};
use crate::data::{Data, State};
use crate::error::Error;
use crate::probing;
use crate::ready::Prepared;
use crate::spawn::{self, Preparation};
use crate::spawn_error::SpawnError;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::Builder;
use std::time::Duration;

const STUCK: &str =
    "starting processes got stuck in the MPI library before; start the program anew to resize it";

/// Thread that prepares a change, or its result.
#[derive(Debug)]
pub(super) struct Preparing {
    progress: spawn::SpawnProgress,
    result: std::cell::RefCell<Outcome>,
}

#[derive(Debug)]
enum Outcome {
    Awaited(Receiver<Result<Prepared, SpawnError>>),
    Ready(Box<Prepared>),
    Failed { why: String, is_late: bool },
}

impl Preparing {
    fn begin(preparation: Preparation, heartbeat: &Arc<AtomicU64>) -> Self {
        let progress = preparation.progress.clone();
        let (tell, told) = channel();
        let watchdog = Watchdog::start(preparation.deadline, heartbeat);
        let work = move || {
            let prepared = preparation.run();
            drop(watchdog);
            tell.send(prepared).unwrap_or_default();
        };
        let thread = Builder::new().name("prepare".to_owned()).spawn(work);
        let result = match thread {
            Ok(_) => Outcome::Awaited(told),
            Err(error) => failed(format!("no thread could be started: {error}")),
        };
        Self { progress, result: result.into() }
    }

    /// Prepares in this thread, if only it may call MPI; a call that does not return cannot be handled.
    fn make(preparation: Preparation) -> Self {
        let progress = preparation.progress.clone();
        Self { progress, result: outcome(preparation.run()).into() }
    }

    /// Waits for the preparation for at most `at_most`, while nothing else is done.
    fn await_end(&self, at_most: Duration) {
        let mut result = self.result.borrow_mut();
        if let Outcome::Awaited(told) = &*result
            && let Ok(end) = told.recv_timeout(at_most)
        {
            *result = outcome(end);
        }
    }

    /// Returns whether all new processes have started.
    pub(super) fn is_spawned(&self) -> bool {
        self.progress.is_spawned()
    }

    /// Result of the preparation, once it has ended.
    pub(super) fn seen(&self) -> Option<Result<(), String>> {
        self.poll();
        match &*self.result.borrow() {
            Outcome::Awaited(_) => None,
            Outcome::Ready(_) => Some(Ok(())),
            Outcome::Failed { why, .. } => Some(Err(why.clone())),
        }
    }

    /// Returns whether it failed because a rank was late, which may never come.
    pub(super) fn is_late(&self) -> bool {
        matches!(&*self.result.borrow(), Outcome::Failed { is_late: true, .. })
    }

    fn poll(&self) {
        let mut result = self.result.borrow_mut();
        if let Outcome::Awaited(told) = &*result {
            match told.try_recv() {
                Ok(end) => *result = outcome(end),
                Err(TryRecvError::Disconnected) => *result = failed(died()),
                Err(TryRecvError::Empty) => {}
            }
        }
    }

    /// Waits for the result. A failed preparation has been cleaned up.
    pub(super) fn wait(self, at_most: Duration) -> Waited {
        match self.result.into_inner() {
            Outcome::Ready(prepared) => Waited::Ready(prepared),
            Outcome::Failed { .. } => Waited::Failed,
            Outcome::Awaited(told) => match told.recv_timeout(at_most) {
                Ok(Ok(prepared)) => Waited::Ready(Box::new(prepared)),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Waited::Failed,
                Err(RecvTimeoutError::Timeout) => Waited::Stuck,
            },
        }
    }
}

/// Result of waiting for the preparation.
pub(super) enum Waited {
    Ready(Box<Prepared>),
    Failed,
    Stuck,
}

fn outcome(result: Result<Prepared, SpawnError>) -> Outcome {
    match result {
        Ok(prepared) => Outcome::Ready(Box::new(prepared)),
        Err(error) => {
            let is_late = matches!(error, SpawnError::Late { .. });
            Outcome::Failed { why: error.to_string(), is_late }
        }
    }
}

fn failed(why: String) -> Outcome {
    Outcome::Failed { why, is_late: false }
}

fn died() -> String {
    "the thread that prepares a resize ended early".to_owned()
}

impl Malleable {
    /// Begins to prepare the change that rank 0 ordered.
    pub(super) fn prepare<S: State>(&mut self, serial: u16, state: &mut S) -> Result<(), Error> {
        let mut data = Data::default();
        state.data(&mut data);
        let n_bytes = probing::constant_bytes(&data);
        drop(data);
        self.mark = spawn::mark(serial);
        let own = self.ranks.comm.rank() as usize;
        let preparation = Preparation {
            backstage: Arc::clone(&self.ranks.backstage),
            serial,
            plan: self.coordinator.as_mut().and_then(crate::coordinator::Coordinator::take_plan),
            own_world: self.ranks.members.get(own).map_or(0, |member| member.world),
            deadline: self.options.deadline,
            launched: self.launched.clone(),
            progress: spawn::SpawnProgress::default(),
            n_bytes,
            peers: self.peers.clone(),
        };
        let preparing = if self.mpi.is_multiple() {
            Preparing::begin(preparation, &self.heartbeat)
        } else {
            Preparing::make(preparation)
        };
        if self.options.method.is_foreground {
            preparing.await_end(self.options.deadline);
        }
        if let Some(coordinator) =
            self.coordinator.as_mut().filter(|_| self.options.method.is_foreground)
        {
            coordinator.interrupt();
        }
        self.phase = RankPhase::Preparing(preparing);
        Ok(())
    }

    /// Gives up the preparation or its result; `is_stuck` if a rank may never return from the library.
    pub(super) fn give_up(&mut self, is_stuck: bool) -> Result<(), Error> {
        self.is_stuck |= is_stuck;
        if is_stuck {
            self.obstacle = Some(STUCK.to_owned());
            self.mpi.kill_at_exit(self.mark.clone());
        }
        match std::mem::replace(&mut self.phase, RankPhase::Computing) {
            RankPhase::Preparing(preparing) => match preparing.wait(Duration::ZERO) {
                Waited::Ready(prepared) => dismiss(&self.ranks, *prepared),
                Waited::Failed | Waited::Stuck => Ok(()),
            },
            other => {
                self.phase = other;
                Ok(())
            }
        }
    }
}

/// Number of deadlines without a resize point after which the program counts as stuck.
const N_DEADLINES: u32 = 4;

/// Heartbeat value that suspends the watch: there are no resize points for a while, however long.
pub(super) const NOBODY_WATCHES: u64 = u64::MAX;

/// Watch of the resize points, until it is dropped; ends the program when the library never returns from starting
/// processes.
///
/// MPICH keeps its lock while it starts processes: if these never come, the program hangs in its next call, and this
/// process cannot do anything about it. The launcher then ends the others.
#[derive(Debug)]
pub(super) struct Watchdog {
    /// Sender whose drop ends the watch.
    _alive: Option<Sender<()>>,
}

impl Watchdog {
    /// Starts the watch; as long as there are resize points, the program is not stuck.
    pub(super) fn start(deadline: Duration, heartbeat: &Arc<AtomicU64>) -> Self {
        let (alive, ended) = channel::<()>();
        let heartbeat = Arc::clone(heartbeat);
        let watch = move || {
            loop {
                let before = heartbeat.load(Ordering::Relaxed);
                let end = ended.recv_timeout(N_DEADLINES * deadline);
                if end != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let now = heartbeat.load(Ordering::Relaxed);
                if now == before && now != NOBODY_WATCHES {
                    give_up(N_DEADLINES * deadline);
                }
            }
        };
        // If the thread cannot be started, there is no watch.
        let thread = Builder::new().name("watchdog".to_owned()).spawn(watch);
        Self { _alive: thread.is_ok().then_some(alive) }
    }
}

fn give_up(waited: Duration) {
    // Without standard error, the exit code shows it.
    let _written = writeln!(
        std::io::stderr(),
        "processes were to be started or joined, and nothing has happened for {} s: the MPI library does not return. \
         This process ends; start the program anew.",
        waited.as_secs_f64()
    );
    std::process::abort();
}
