//! Core thread of a daemon: takes the events that have arrived, and then hands out the decisions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use balancing_policies::Moment;

use super::desk::Desk;
use super::troubles::Troubles;
use super::{DaemonError, Wake, now};
use crate::book::Book;
use crate::core::words::{Event, KeeperSays, Now};
use crate::core::{Core, CoreOptions};
use crate::journal::WriterNews;
use crate::keeper::{Keeper, KeeperClientError};

/// Most events that are taken before anything is handed out.
const N_AT_ONCE: usize = 256;
/// Longest time for which a daemon that leaves waits for its last records to be on disk, and for its keeper to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Longest sleep: there is always a timer.
const SLEEP_MAX: Duration = Duration::from_secs(1);

pub(super) struct Thinking {
    core: Core,
    desk: Desk,
    troubles: Troubles,
    state: PathBuf,
    keeper: Vec<OsString>,
    wakes: SyncSender<Wake>,
}

impl Thinking {
    pub(super) fn new(
        state: PathBuf,
        keeper: Vec<OsString>,
        (core, book, now): (CoreOptions, Book, Now),
        (mut desk, troubles): (Desk, Troubles),
        wakes: &SyncSender<Wake>,
    ) -> Result<Self, DaemonError> {
        let core = Core::new(core, now, book, &mut desk);
        desk.use_keeper(connect(&state, &keeper, wakes, None)?);
        let mut thinking = Self { core, desk, troubles, state, keeper, wakes: wakes.clone() };
        thinking.look(now.moment);
        Ok(thinking)
    }

    /// Checks for new troubles to report to users.
    fn look(&mut self, now: Moment) {
        if let Some(troubles) = self.troubles.look(now) {
            self.core.set_troubles(troubles);
        }
    }

    pub(super) fn run(mut self, incoming: &Receiver<Wake>) -> Result<(), DaemonError> {
        while !self.desk.leaves {
            self.turn(incoming)?;
        }
        let end = std::time::Instant::now() + FAREWELL;
        while !self.desk.is_clear() && std::time::Instant::now() < end {
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
        while let Some(timer) = self.desk.due(now.moment) {
            self.core.on(now, Event::Timer(timer), &mut self.desk);
        }
        self.core.count_dropped(self.desk.n_dropped());
        self.look(now.moment);
        self.desk.hand_out(now.moment)?;
        self.desk.compact(self.core.book_mut())
    }

    fn sleep(&self) -> Duration {
        let Some(at) = self.desk.wakes_at() else { return SLEEP_MAX };
        Duration::from_nanos(at.0.saturating_sub(now().moment.0)).min(SLEEP_MAX)
    }

    fn wake(&mut self, wake: Wake) -> Result<(), DaemonError> {
        match wake {
            Wake::Event(event) => self.core.on(now(), event, &mut self.desk),
            Wake::Journal(WriterNews::Durable { n_records, numbers_below }) => {
                self.desk.durable(n_records, numbers_below);
            }
            Wake::Journal(WriterNews::Failed(error)) => return Err(error.into()),
            Wake::Stop { now: at_once } => self.core.leave(now(), at_once, &mut self.desk),
            Wake::KeeperGone if self.desk.leaves => self.desk.forget_keeper(),
            Wake::KeeperGone => {
                // Earlier orders are for the old keeper.
                self.desk.hand_out(now().moment)?;
                self.desk.forget_keeper();
                self.core.on(now(), Event::KeeperAway, &mut self.desk);
                replace(&self.state, &self.keeper, &self.wakes)?;
            }
            // The new keeper ends by itself when it gets no orders.
            Wake::KeeperReplaced(_) if self.desk.leaves => {}
            Wake::KeeperReplaced(keeper) => {
                self.desk.use_keeper(keeper?);
                self.core.on(now(), Event::Keeper(KeeperSays::Gone), &mut self.desk);
            }
            Wake::NameTaken(sentence) => return Err(DaemonError::NameTaken { sentence }),
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
            KeeperSays::Gone => Wake::KeeperGone,
            said => Wake::Event(Event::Keeper(said)),
        };
        wakes.send(wake).unwrap_or(());
    })
}
