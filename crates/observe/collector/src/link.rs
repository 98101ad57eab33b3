//! The collector's connection to the analyzer: established in the background, read and written without blocking.

use super::plan::retry_after;
use crate::handshake::{AuthenticatedConnection, HandshakeError, MessageReader, as_collector};
use crate::place::RunEnvironment;
use channel::Sealer;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};
use wire::{FRAMES, ToAnalyzer, ToCollector};

/// Number of bytes waiting to be written above which no message is added.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Timeout for connecting to one address.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
const READ_BYTES: usize = 64 << 10;

/// Link to the analyzer, connected or not.
#[derive(Debug)]
pub(crate) struct Link {
    environment: RunEnvironment,
    node: String,
    /// Time for which a lost analyzer is retried.
    patience: Duration,
    state: LinkState,
    lost_at: Instant,
}

#[derive(Debug)]
enum LinkState {
    Connecting(Receiver<Result<AuthenticatedConnection, HandshakeError>>),
    Waiting { until: Instant },
    Up(Box<Connection>),
    GivenUp,
}

/// Result of checking the link.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) messages: Vec<ToCollector>,
    /// Interval between reports, in ms, if the connection is new.
    pub(crate) welcomed: Option<u32>,
    pub(crate) lost: bool,
}

impl Link {
    pub(crate) fn new(
        environment: &RunEnvironment,
        node: &str,
        patience: Duration,
        now: Instant,
    ) -> Self {
        let state = LinkState::Waiting { until: now };
        let (environment, node) = (environment.clone(), node.to_owned());
        Self { environment, node, patience, state, lost_at: now }
    }

    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.state {
            LinkState::Up(connection) => Some(connection),
            _ => None,
        }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        matches!(self.state, LinkState::GivenUp)
    }

    /// Returns the longest time to sleep before the link must be checked again.
    pub(crate) fn rest(&self, now: Instant) -> Duration {
        match &self.state {
            LinkState::Connecting(_) => Duration::from_millis(1),
            LinkState::Waiting { until } => until.saturating_duration_since(now),
            LinkState::Up(_) | LinkState::GivenUp => Duration::MAX,
        }
    }

    /// Connects, writes and reads as far as possible without blocking.
    pub(crate) fn look(&mut self, now: Instant) -> News {
        let mut news = News::default();
        match &mut self.state {
            LinkState::GivenUp => {}
            LinkState::Waiting { until } if now < *until => {}
            LinkState::Waiting { .. } => self.state = LinkState::Connecting(self.connect()),
            LinkState::Connecting(outcome) => match outcome.try_recv() {
                Err(TryRecvError::Empty) => {}
                Ok(Ok(authenticated)) => {
                    news.welcomed = Some(authenticated.report_every_ms);
                    match Connection::new(authenticated) {
                        Ok(connection) => self.state = LinkState::Up(Box::new(connection)),
                        Err(_) => self.wait(now),
                    }
                }
                // The peer that answered is not (yet) this run's analyzer.
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => self.wait(now),
            },
            LinkState::Up(_) => {}
        }
        if let LinkState::Up(connection) = &mut self.state
            && !connection.exchange(&mut news.messages).unwrap_or(false)
        {
            news.lost = true;
            self.lost_at = now;
            self.wait(now);
        }
        news
    }

    fn wait(&mut self, now: Instant) {
        let lost_for = now.duration_since(self.lost_at);
        self.state = match retry_after(lost_for, self.patience) {
            Some(pause) => LinkState::Waiting { until: now + pause },
            None => LinkState::GivenUp,
        };
    }

    fn connect(&self) -> Receiver<Result<AuthenticatedConnection, HandshakeError>> {
        let (done, outcome) = channel();
        let (environment, node) = (self.environment.clone(), self.node.clone());
        let connect = move || {
            let mut last = Err(HandshakeError::NotACollector);
            for address in &environment.analyzers {
                last = TcpStream::connect_timeout(address, CONNECT_PATIENCE)
                    .map_err(HandshakeError::from)
                    .and_then(|stream| as_collector(stream, &environment, &node));
                if last.is_ok() {
                    break;
                }
            }
            // The receiver is gone if the collector has ended meanwhile.
            done.send(last).ok();
        };
        // If no thread can be started, the sender is dropped with the closure, and connecting is retried later.
        std::thread::Builder::new().name("connects".to_owned()).spawn(connect).ok();
        outcome
    }
}

/// Open connection, used without blocking.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Arc<TcpStream>,
    sealer: Sealer,
    reader: MessageReader,
    /// Read buffer.
    bytes: Vec<u8>,
    /// Buffer for a message before it is encrypted.
    plain: Vec<u8>,
    waiting: Vec<u8>,
    n_written: usize,
}

impl Connection {
    fn new(authenticated: AuthenticatedConnection) -> io::Result<Self> {
        authenticated.stream.set_nonblocking(true)?;
        let AuthenticatedConnection { stream, sealer, reader, .. } = authenticated;
        let (bytes, plain, waiting) = (vec![0; READ_BYTES], Vec::new(), Vec::new());
        Ok(Self { stream, sealer, reader, bytes, plain, waiting, n_written: 0 })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns whether another message may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.n_waiting() < WAITING_BYTES_MAX
    }

    /// Returns the number of bytes not yet accepted by the system.
    pub(crate) fn n_waiting(&self) -> usize {
        self.waiting.len() - self.n_written
    }

    /// Queues a message, to be written as the peer accepts it.
    pub(crate) fn send(&mut self, message: &ToAnalyzer) -> Result<(), HandshakeError> {
        self.plain.clear();
        FRAMES.encode(message, &mut self.plain)?;
        Ok(self.sealer.seal(&self.plain, &mut self.waiting)?)
    }

    /// Writes as much as the system accepts, without blocking.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.n_waiting() != 0 {
            match (&*self.stream).write(&self.waiting[self.n_written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n_bytes) => self.n_written += n_bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.waiting.drain(..self.n_written);
        self.n_written = 0;
        Ok(())
    }

    /// Writes and reads; returns false if the peer closed the connection.
    fn exchange(&mut self, messages: &mut Vec<ToCollector>) -> Result<bool, HandshakeError> {
        self.flush()?;
        let mut is_open = true;
        while is_open {
            match (&*self.stream).read(&mut self.bytes) {
                Ok(0) => is_open = false,
                Ok(n_bytes) => self.reader.push(&self.bytes[..n_bytes])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            while let Some(message) = self.reader.next_message()? {
                messages.push(message);
            }
        }
        Ok(is_open)
    }
}
