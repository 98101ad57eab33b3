//! Daemon's side of the socket: finds the keeper, or starts one.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use frame::{FrameBuffer, FrameError};

use super::SOCKET;
use super::protocol::{FRAMES, KeeperCommand, KeeperReport, StartAttempt, VERSION};
use node_core::interface::{EndedAttempt, KeeperEvent, KeeperOrder};

/// Longest time until a keeper answers. Starting one includes killing what an earlier one left, which may take long
/// on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// Most starts: when so many keepers have ended at once, another one would too.
const N_STARTS_MAX: u32 = 30;
const LOOKS_EVERY: Duration = Duration::from_millis(5);
/// Pause before another start when a keeper has ended at once.
const STARTS_EVERY: Duration = Duration::from_millis(100);
const LOG: &str = "keeper.log";
/// Most ends that are reported to the core at once.
const N_ENDED_AT_ONCE: usize = 256;

/// Connection to the keeper; dropping it leaves keeper and tasks as they are.
#[derive(Debug)]
pub struct Keeper {
    stream: Mutex<UnixStream>,
    pid: u32,
}

/// Reasons why the keeper cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperClientError {
    /// A file of the state folder cannot be used.
    #[error("cannot use `{path}`; check that the folder is yours and has room")]
    Folder {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The keeper could not be started.
    #[error(
        "cannot start the keeper of `{state}`, or the thread that reads its messages; check the limit of processes (`ulimit -u`)"
    )]
    Start {
        /// State folder.
        state: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The keeper was started and does not answer.
    #[error("the keeper of `{state}` does not answer; it says: {says}")]
    Mute {
        /// State folder.
        state: PathBuf,
        /// Last line of its log.
        says: String,
    },
    /// A keeper of an older or newer program holds tasks.
    #[error(
        "the keeper of this node (process {pid}) speaks version {version}, this program {VERSION}; \
         let its tasks end with the program that started them, or end it with `kill {pid}`"
    )]
    Version {
        /// Version of the keeper.
        version: u32,
        /// Process number of the keeper.
        pid: u32,
    },
    /// The connection ended: the keeper is dead, or serves another daemon.
    #[error("the connection to the keeper ended; restart the daemon")]
    Ended(#[source] io::Error),
    /// The bytes are no message.
    #[error(
        "a message between daemon and keeper is too long or damaged; shorten the command, or restart the daemon"
    )]
    Words(#[from] FrameError),
}

impl Keeper {
    /// Connects to the keeper of a state folder; where there is none, starts one by `command`: a program and
    /// arguments that make it call [`super::serve`] for that folder. The program's own file is `/proc/self/exe`,
    /// even when it has been replaced meanwhile.
    ///
    /// `on_event` is called from a thread of its own: first with [`KeeperEvent::Inventory`], last with
    /// [`KeeperEvent::Gone`]. It may block: the keeper holds its messages.
    ///
    /// # Errors
    /// When no keeper answers within a minute, or one of another version does.
    pub fn connect_or_start(
        state: &Path,
        command: &[OsString],
        on_event: impl FnMut(KeeperEvent) + Send + 'static,
    ) -> Result<Self, KeeperClientError> {
        let folder = |source| KeeperClientError::Folder { path: state.to_owned(), source };
        let state = &fs::canonicalize(state).map_err(folder)?;
        let ((reports, pid, inventory), child) = find_or_start(state, command)?;
        let stream = reports.stream.try_clone().map_err(folder)?;
        let run = move || {
            reports.tell_all(inventory, on_event);
            // The child has to be waited for, or it stays a zombie process when it ends.
            child.map(|mut child| child.wait().ok());
        };
        let builder = thread::Builder::new().name("keeper".to_owned());
        let start = |source| KeeperClientError::Start { state: state.clone(), source };
        builder.spawn(run).map_err(start)?;
        Ok(Self { stream: Mutex::new(stream), pid })
    }

    /// Sends orders together. Waits while the keeper has many to carry out.
    ///
    /// # Errors
    /// When the keeper is gone, or an order is too long; then none was sent.
    pub fn send(&self, orders: &[KeeperOrder]) -> Result<(), KeeperClientError> {
        let mut bytes = Vec::new();
        orders.iter().try_for_each(|order| FRAMES.encode(&as_order(order), &mut bytes))?;
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&bytes).map_err(KeeperClientError::Ended)
    }

    /// Process number of the keeper.
    pub fn pid(&self) -> u32 {
        self.pid
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The reading thread has a second handle and ends when it sees this.
        stream.shutdown(std::net::Shutdown::Both).ok();
    }
}

fn as_order(order: &KeeperOrder) -> KeeperCommand {
    match order {
        KeeperOrder::Start(job) => KeeperCommand::Start(Box::new(StartAttempt::of(job))),
        KeeperOrder::Kill { attempt, because } => {
            KeeperCommand::Kill { attempt: *attempt, because: *because }
        }
        KeeperOrder::Forget(attempts) => KeeperCommand::Forget(attempts.clone()),
        KeeperOrder::Extend { attempts, until } => {
            KeeperCommand::Extend { attempts: attempts.clone(), until: *until }
        }
        KeeperOrder::Peek { peek, wanted } => {
            KeeperCommand::Peek { peek: *peek, wanted: wanted.clone() }
        }
        KeeperOrder::Leave => KeeperCommand::Leave,
    }
}

/// Keeper that answers: its connection, its process number, and its first message.
type Found = (Reports, u32, KeeperEvent);

/// Tries until a keeper answers: one that was killed may still accept connections, and hold the lock that keeps the
/// next one out. The process is returned if it was started here.
fn find_or_start(
    state: &Path,
    command: &[OsString],
) -> Result<(Found, Option<Child>), KeeperClientError> {
    let deadline = Instant::now() + STARTS_WITHIN;
    let mut child: Option<Child> = None;
    let mut n_starts = 0;
    loop {
        match find(state, deadline) {
            Ok(found) => return Ok((found, child)),
            Err(error @ KeeperClientError::Version { .. }) => return Err(error),
            Err(_) if Instant::now() < deadline && n_starts < N_STARTS_MAX => {}
            Err(_) => {
                let says = fs::read_to_string(state.join(LOG)).unwrap_or_default();
                let says = says.lines().last().unwrap_or("nothing").to_owned();
                return Err(KeeperClientError::Mute { state: state.to_owned(), says });
            }
        }
        let ended = child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
        if ended {
            let again = child.is_some();
            child = Some(start(state, command)?);
            n_starts += 1;
            thread::sleep(if again { STARTS_EVERY } else { LOOKS_EVERY });
        }
        thread::sleep(LOOKS_EVERY);
    }
}

/// Connects to a keeper that answers.
fn find(state: &Path, deadline: Instant) -> Result<Found, KeeperClientError> {
    let ended = KeeperClientError::Ended;
    let stream = UnixStream::connect(state.join(SOCKET)).map_err(ended)?;
    // A stopped keeper accepts connections and sends nothing.
    let left = deadline.saturating_duration_since(Instant::now()).max(LOOKS_EVERY);
    stream.set_read_timeout(Some(left)).map_err(ended)?;
    let mut reports = Reports { stream, frames: FrameBuffer::new(FRAMES) };
    let (pid, inventory) = reports.inventory()?;
    reports.stream.set_read_timeout(None).map_err(ended)?;
    Ok((reports, pid, inventory))
}

fn start(state: &Path, command: &[OsString]) -> Result<Child, KeeperClientError> {
    let log = state.join(LOG);
    let log_file =
        File::create(&log).map_err(|source| KeeperClientError::Folder { path: log, source })?;
    let (program, arguments) = command.split_first().ok_or_else(|| missing(state))?;
    Command::new(program)
        .arg0("sintonia")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file)
        .current_dir("/")
        .spawn()
        .map_err(|source| KeeperClientError::Start { state: state.to_owned(), source })
}

fn missing(state: &Path) -> KeeperClientError {
    let source = io::ErrorKind::InvalidInput.into();
    KeeperClientError::Start { state: state.to_owned(), source }
}

struct Reports {
    stream: UnixStream,
    frames: FrameBuffer,
}

impl Reports {
    /// Process number of the keeper, running attempts, and those that ended before.
    fn inventory(&mut self) -> Result<(u32, KeeperEvent), KeeperClientError> {
        let KeeperReport::Hello { version, pid, running, n_held } = self.next()? else {
            return Err(KeeperClientError::Ended(io::ErrorKind::InvalidData.into()));
        };
        if version != VERSION {
            return Err(KeeperClientError::Version { version, pid });
        }
        let mut ended = Vec::new();
        while ended.len() < n_held {
            if let KeeperReport::Ended(end, usage) = self.next()? {
                ended.push(EndedAttempt { usage, ..*end });
            }
        }
        Ok((pid, KeeperEvent::Inventory { running, ended }))
    }

    fn next(&mut self) -> Result<KeeperReport, KeeperClientError> {
        loop {
            if let Some(report) = self.frames.next_message()? {
                return Ok(report);
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<(), KeeperClientError> {
        let mut buffer = [0; 1 << 14];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(KeeperClientError::Ended(io::ErrorKind::UnexpectedEof.into())),
            Ok(n_bytes) => {
                self.frames.push(&buffer[..n_bytes]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(KeeperClientError::Ended(error)),
        }
    }

    fn tell_all(mut self, inventory: KeeperEvent, mut on_event: impl FnMut(KeeperEvent)) {
        on_event(inventory);
        let mut ended = Vec::new();
        loop {
            // What has arrived is told together.
            let report = match self.frames.next_message() {
                Ok(Some(report)) if ended.len() < N_ENDED_AT_ONCE => Ok(report),
                Ok(Some(report)) => {
                    on_event(KeeperEvent::Ended(std::mem::take(&mut ended)));
                    Ok(report)
                }
                Ok(None) => {
                    if !ended.is_empty() {
                        on_event(KeeperEvent::Ended(std::mem::take(&mut ended)));
                    }
                    self.next()
                }
                Err(error) => Err(error.into()),
            };
            match report {
                Ok(KeeperReport::Ended(end, usage)) => ended.push(EndedAttempt { usage, ..*end }),
                Ok(KeeperReport::Peeked { peek, found }) => {
                    on_event(KeeperEvent::Peeked { peek, found });
                }
                // Whatever ends the connection, the daemon connects again, and starts a keeper if necessary.
                Ok(KeeperReport::Hello { .. }) | Err(_) => break,
            }
        }
        if !ended.is_empty() {
            on_event(KeeperEvent::Ended(ended));
        }
        on_event(KeeperEvent::Gone);
    }
}
