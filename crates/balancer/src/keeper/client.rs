//! The daemon's end of the socket: finds the keeper, or starts one.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{
    SOCKET,
    words::{Order, Report, VERSION, WordsError, decode, encode},
};

/// Starting a keeper includes killing what an earlier one left.
const STARTS_WITHIN: Duration = Duration::from_secs(10);
const LOOKS_EVERY: Duration = Duration::from_millis(5);
const LOG: &str = "keeper.log";

/// A connection to the keeper; dropping it leaves keeper and tasks as they are.
#[derive(Debug)]
pub struct Connection {
    stream: Mutex<UnixStream>,
}

/// Why the keeper cannot be talked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// A file of the state folder.
    #[error("cannot use `{path}`; check that the folder is yours and has room")]
    Folder {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The keeper could not be started at all.
    #[error("cannot start the keeper of `{state}`; check the limit of processes (`ulimit -u`)")]
    Start {
        /// The state folder.
        state: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It was started and does not answer.
    #[error("the keeper of `{state}` does not answer; it says: {says}")]
    Mute {
        /// The state folder.
        state: PathBuf,
        /// The end of its log.
        says: String,
    },
    /// A keeper of an older or newer program holds tasks.
    #[error(
        "the keeper of this node (process {pid}) speaks version {version}, this program {VERSION}; \
         let its tasks end with the program that started them, or end it with `kill {pid}`"
    )]
    Version {
        /// What it speaks.
        version: u32,
        /// Its process.
        pid: u32,
    },
    /// The connection ended: the keeper is dead, or serves another daemon.
    #[error("the keeper's connection ended; its tasks are gone or belong to another daemon")]
    Ended(#[source] io::Error),
    /// What was said is no message.
    #[error(transparent)]
    Words(#[from] WordsError),
}

/// Connects to the keeper of a state folder; where there is none, starts this program with
/// `arguments`, which must then call [`super::serve`] for that folder.
///
/// `on_report` is called by a thread of its own: with each report, and at last with the reason why
/// there will be no more. It may wait: the keeper holds what it has to say.
///
/// # Errors
/// No keeper answers within ten seconds, or one of another version does.
pub fn connect_or_start(
    state: &Path,
    arguments: &[OsString],
    on_report: impl FnMut(Result<Report, ConnectionError>) + Send + 'static,
) -> Result<Connection, ConnectionError> {
    let folder = |source| ConnectionError::Folder { path: state.to_owned(), source };
    let state = &fs::canonicalize(state).map_err(folder)?;
    let socket = state.join(SOCKET);
    let stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(_) => start(state, arguments)?,
    };
    let mut reports = Reports { stream: stream.try_clone().map_err(folder)?, bytes: Vec::new() };
    let hello = reports.next()?;
    if let Report::Hello { version, pid, .. } = hello
        && version != VERSION
    {
        return Err(ConnectionError::Version { version, pid });
    }
    thread::Builder::new()
        .name("keeper".to_owned())
        .spawn(move || reports.tell_all(hello, on_report))
        .map_err(folder)?;
    Ok(Connection { stream: Mutex::new(stream) })
}

impl Connection {
    /// Sends orders in one piece. Waits while the keeper has many to carry out.
    ///
    /// # Errors
    /// The keeper is gone, or an order is too long; then none was sent.
    pub fn send(&self, orders: &[Order]) -> Result<(), ConnectionError> {
        let mut bytes = Vec::new();
        orders.iter().try_for_each(|order| encode(order, &mut bytes))?;
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&bytes).map_err(ConnectionError::Ended)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The reading thread has a second handle and ends when it hears of this.
        stream.shutdown(std::net::Shutdown::Both).ok();
    }
}

fn start(state: &Path, arguments: &[OsString]) -> Result<UnixStream, ConnectionError> {
    let log = state.join(LOG);
    let log_file =
        File::create(&log).map_err(|source| ConnectionError::Folder { path: log.clone(), source })?;
    let mut child = Command::new("/proc/self/exe")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file)
        .current_dir("/")
        .spawn()
        .map_err(|source| ConnectionError::Start { state: state.to_owned(), source })?;
    let deadline = Instant::now() + STARTS_WITHIN;
    loop {
        let stream = UnixStream::connect(state.join(SOCKET));
        let ended = matches!(child.try_wait(), Ok(Some(_)));
        match stream {
            Ok(stream) => {
                // Somebody has to wait for it, or it stays as a dead process when it ends.
                thread::spawn(move || child.wait());
                return Ok(stream);
            }
            Err(_) if !ended && Instant::now() < deadline => thread::sleep(LOOKS_EVERY),
            Err(_) => {
                let says = fs::read_to_string(&log).unwrap_or_default();
                let says = says.lines().last().unwrap_or("nothing").to_owned();
                return Err(ConnectionError::Mute { state: state.to_owned(), says });
            }
        }
    }
}

struct Reports {
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl Reports {
    fn next(&mut self) -> Result<Report, ConnectionError> {
        let mut buffer = [0; 1 << 14];
        loop {
            if let Some((report, n_bytes)) = decode(&self.bytes)? {
                self.bytes.drain(..n_bytes);
                return Ok(report);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ConnectionError::Ended(io::ErrorKind::UnexpectedEof.into())),
                Ok(n_bytes) => self.bytes.extend_from_slice(&buffer[..n_bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ConnectionError::Ended(error)),
            }
        }
    }

    fn tell_all(
        mut self,
        hello: Report,
        mut on_report: impl FnMut(Result<Report, ConnectionError>),
    ) {
        let mut report = Ok(hello);
        while report.is_ok() {
            on_report(report);
            report = self.next();
        }
        on_report(report);
    }
}
