//! Core thread of a daemon: takes the events that have arrived, and then hands out the decisions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use balancing_policies::Moment;

use super::file_warnings::FileWarnings;
use super::outbox::Outbox;
use super::{DaemonError, Wake, now};
use crate::journal::WriterNews;
use crate::keeper::{Keeper, KeeperClientError};
use node_core::book::Book;
use node_core::interface::{CoreEvent, KeeperEvent, Now};
use node_core::{Core, CoreOptions};

/// Most events that are taken before anything is handed out.
const N_AT_ONCE: usize = 256;
/// Longest time for which a daemon that leaves waits for its last records to be on disk, and for its keeper to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Longest sleep: there is always a timer.
const SLEEP_MAX: Duration = Duration::from_secs(1);

pub(super) struct CoreLoop {
    core: Core,
    outbox: Outbox,
    file_warnings: FileWarnings,
    state: PathBuf,
    keeper: Vec<OsString>,
    wakes: SyncSender<Wake>,
}

impl CoreLoop {
    pub(super) fn new(
        state: PathBuf,
        keeper: Vec<OsString>,
        (core, book, now): (CoreOptions, Book, Now),
        (mut outbox, file_warnings): (Outbox, FileWarnings),
        wakes: &SyncSender<Wake>,
    ) -> Result<Self, DaemonError> {
        let core = Core::new(core, now, book, &mut outbox);
        outbox.use_keeper(connect(&state, &keeper, wakes, None)?);
        let mut core_loop =
            Self { core, outbox, file_warnings, state, keeper, wakes: wakes.clone() };
        core_loop.look(now.moment);
        Ok(core_loop)
    }

    /// Checks for new warnings to report to users.
    fn look(&mut self, now: Moment) {
        if let Some(file_warnings) = self.file_warnings.look(now) {
            self.core.set_warnings(file_warnings);
        }
    }

    pub(super) fn run(mut self, incoming: &Receiver<Wake>) -> Result<(), DaemonError> {
        while !self.outbox.leaves {
            self.turn(incoming)?;
        }
        let end = std::time::Instant::now() + FAREWELL;
        while !self.outbox.is_clear() && std::time::Instant::now() < end {
            self.turn(incoming)?;
        }
        Ok(())
    }

    /// Sleeps until something arrives, passes it to the core, and hands out.
    fn turn(&mut self, incoming: &Receiver<Wake>) -> Result<(), DaemonError> {
        match incoming.recv_timeout(self.sleep()) {
            Ok(wake) => {
                self.wake(wake)?;
                for wake in incoming.try_iter().take(N_AT_ONCE) {
                    self.wake(wake)?;
                }
            }
            // Never disconnected: `self` has a sender.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        let now = now();
        while let Some(timer) = self.outbox.due(now.moment) {
            self.core.on(now, CoreEvent::Timer(timer), &mut self.outbox);
        }
        self.core.count_dropped(self.outbox.n_dropped());
        self.look(now.moment);
        self.outbox.hand_out(now.moment)?;
        self.outbox.compact(self.core.book_mut())
    }

    fn sleep(&self) -> Duration {
        let Some(at) = self.outbox.wakes_at() else { return SLEEP_MAX };
        Duration::from_nanos(at.0.saturating_sub(now().moment.0)).min(SLEEP_MAX)
    }

    fn wake(&mut self, wake: Wake) -> Result<(), DaemonError> {
        match wake {
            Wake::Event(event) => self.core.on(now(), event, &mut self.outbox),
            Wake::Journal(WriterNews::Durable { n_records, assigned_below }) => {
                self.outbox.durable(n_records, assigned_below);
            }
            Wake::Journal(WriterNews::Failed(error)) => return Err(error.into()),
            Wake::Stop { now: at_once } => self.core.leave(now(), at_once, &mut self.outbox),
            Wake::KeeperGone if self.outbox.leaves => self.outbox.forget_keeper(),
            Wake::KeeperGone => {
                // Earlier orders are for the old keeper.
                self.outbox.hand_out(now().moment)?;
                self.outbox.forget_keeper();
                self.core.on(now(), CoreEvent::KeeperAway, &mut self.outbox);
                replace(&self.state, &self.keeper, &self.wakes)?;
            }
            // The new keeper ends by itself when it gets no orders.
            Wake::KeeperReplaced(_) if self.outbox.leaves => {}
            Wake::KeeperReplaced(keeper) => {
                self.outbox.use_keeper(keeper?);
                self.core.on(now(), CoreEvent::Keeper(KeeperEvent::Gone), &mut self.outbox);
            }
            Wake::NameTaken(sentence) => return Err(DaemonError::NameTaken(sentence)),
        }
        Ok(())
    }
}

/// Starts another keeper in a thread of its own: it answers when nothing of the old one is left, and only then may
/// other nodes be told that its tasks are lost. That may take a while on a busy machine.
fn replace(
    state: &Path,
    command: &[OsString],
    wakes: &SyncSender<Wake>,
) -> Result<(), KeeperClientError> {
    let folder = state.to_owned();
    let (state, command, wakes) = (state.to_owned(), command.to_owned(), wakes.clone());
    let run = move || {
        let (taken_up, waits) = sync_channel::<()>(1);
        let keeper = connect(&state, &command, &wakes, Some(waits));
        // A daemon that has ended takes no events.
        wakes.send(Wake::KeeperReplaced(keeper)).unwrap_or(());
        drop(taken_up);
    };
    let builder = std::thread::Builder::new().name("new keeper".to_owned());
    let started = builder.spawn(run).map(drop);
    started.map_err(|source| KeeperClientError::Start { state: folder, source })
}

/// Connects to a keeper, whose messages arrive in order; the last one is that it has gone. With `waits`, they are
/// taken only after its sender is dropped: a keeper that the core has not taken over yet gets no orders.
fn connect(
    state: &Path,
    command: &[OsString],
    wakes: &SyncSender<Wake>,
    mut waits: Option<Receiver<()>>,
) -> Result<Keeper, KeeperClientError> {
    let wakes = wakes.clone();
    Keeper::connect_or_start(state, command, move |said| {
        if let Some(waits) = waits.take() {
            // Nothing is ever sent: the sender is dropped.
            waits.recv().unwrap_or(());
        }
        let wake = match said {
            KeeperEvent::Gone => Wake::KeeperGone,
            said => Wake::Event(CoreEvent::Keeper(said)),
        };
        wakes.send(wake).unwrap_or(());
    })
}
