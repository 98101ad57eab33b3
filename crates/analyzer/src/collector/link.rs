//! The collector's connection to the analyzer: made in the background, read and written without waiting.

use super::plan::retry_after;
use crate::handshake::{HandshakeError, Hearing, Trusted, as_collector};
use crate::place::Place;
use channel::Sealer;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};
use wire::{ToAnalyzer, ToCollector};

/// Bytes waiting to be written above which nothing is added.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Time for a connection to one address.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
const READ_BYTES: usize = 64 << 10;

/// The way to the analyzer.
#[derive(Debug)]
pub(crate) struct Link {
    place: Place,
    node: String,
    /// How long a lost analyzer is looked for.
    patience: Duration,
    state: State,
    lost_at: Instant,
}

#[derive(Debug)]
enum State {
    Connecting(Receiver<Result<Trusted, HandshakeError>>),
    Waiting { until: Instant },
    Up(Box<Connection>),
    GivenUp,
}

/// What a look at the link brought.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) messages: Vec<ToCollector>,
    /// The connection is new: milliseconds between reports.
    pub(crate) welcomed: Option<u32>,
    pub(crate) lost: bool,
}

impl Link {
    pub(crate) fn new(place: &Place, node: &str, patience: Duration, now: Instant) -> Self {
        let state = State::Waiting { until: now };
        let (place, node) = (place.clone(), node.to_owned());
        Self { place, node, patience, state, lost_at: now }
    }

    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.state {
            State::Up(connection) => Some(connection),
            _ => None,
        }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        matches!(self.state, State::GivenUp)
    }

    /// The longest time to sleep before the link wants to be looked at again.
    pub(crate) fn rest(&self, now: Instant) -> Duration {
        match &self.state {
            State::Connecting(_) => Duration::from_millis(5),
            State::Waiting { until } => until.saturating_duration_since(now),
            State::Up(_) | State::GivenUp => Duration::MAX,
        }
    }

    /// Connects, writes and reads as far as possible without waiting.
    pub(crate) fn look(&mut self, now: Instant) -> News {
        let mut news = News::default();
        match &mut self.state {
            State::GivenUp => {}
            State::Waiting { until } if now < *until => {}
            State::Waiting { .. } => self.state = State::Connecting(self.connect()),
            State::Connecting(outcome) => match outcome.try_recv() {
                Err(TryRecvError::Empty) => {}
                Ok(Ok(trusted)) => {
                    news.welcomed = Some(trusted.report_every_ms);
                    self.rise(trusted, now);
                    if let State::Up(connection) = &mut self.state
                        && !connection.exchange(&mut news.messages).unwrap_or(false)
                    {
                        news.lost = true;
                        self.lost_at = now;
                        self.wait(now);
                    }
                }
                // Whoever answered is not (yet) our analyzer.
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => self.wait(now),
            },
            State::Up(connection) => {
                if !connection.exchange(&mut news.messages).unwrap_or(false) {
                    news.lost = true;
                    self.lost_at = now;
                    self.wait(now);
                }
            }
        }
        news
    }

    fn rise(&mut self, trusted: Trusted, now: Instant) {
        match Connection::new(trusted) {
            Ok(connection) => self.state = State::Up(Box::new(connection)),
            Err(_) => self.wait(now),
        }
    }

    fn wait(&mut self, now: Instant) {
        let lost_for = now.duration_since(self.lost_at);
        self.state = match retry_after(lost_for, self.patience) {
            Some(pause) => State::Waiting { until: now + pause },
            None => State::GivenUp,
        };
    }

    fn connect(&self) -> Receiver<Result<Trusted, HandshakeError>> {
        let (done, outcome) = channel();
        let (place, node) = (self.place.clone(), self.node.clone());
        let connect = move || {
            let mut last = Err(HandshakeError::Stranger);
            for address in &place.analyzers {
                last = TcpStream::connect_timeout(address, CONNECT_PATIENCE)
                    .map_err(HandshakeError::from)
                    .and_then(|stream| as_collector(stream, &place, &node));
                if last.is_ok() {
                    break;
                }
            }
            // The receiver is gone when the collector ended meanwhile.
            done.send(last).ok();
        };
        // Where there is no thread, the sender goes with it, and it is tried again later.
        std::thread::Builder::new().name("connects".to_owned()).spawn(connect).ok();
        outcome
    }
}

/// An open connection, never waited for.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Arc<TcpStream>,
    sealer: Sealer,
    hearing: Hearing,
    /// Room for what is read.
    bytes: Vec<u8>,
    /// Room for a message before it is sealed.
    plain: Vec<u8>,
    waiting: Vec<u8>,
    n_written: usize,
}

impl Connection {
    fn new(trusted: Trusted) -> io::Result<Self> {
        trusted.stream.set_nonblocking(true)?;
        let Trusted { stream, sealer, hearing, .. } = trusted;
        let (bytes, plain, waiting) = (vec![0; READ_BYTES], Vec::new(), Vec::new());
        Ok(Self { stream, sealer, hearing, bytes, plain, waiting, n_written: 0 })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether another message may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.n_waiting() < WAITING_BYTES_MAX
    }

    /// Bytes not yet taken by the system.
    pub(crate) fn n_waiting(&self) -> usize {
        self.waiting.len() - self.n_written
    }

    /// Adds a message; it goes out as the other side takes it.
    pub(crate) fn send(&mut self, message: &ToAnalyzer) -> Result<(), HandshakeError> {
        self.plain.clear();
        wire::encode(message, &mut self.plain)?;
        Ok(self.sealer.seal(&self.plain, &mut self.waiting)?)
    }

    /// Writes what is taken, without waiting.
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

    /// Writes and reads; false when the other side closed.
    fn exchange(&mut self, messages: &mut Vec<ToCollector>) -> Result<bool, HandshakeError> {
        self.flush()?;
        let mut is_open = true;
        while is_open {
            match (&*self.stream).read(&mut self.bytes) {
                Ok(0) => is_open = false,
                Ok(n_bytes) => self.hearing.push(&self.bytes[..n_bytes])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            while let Some(message) = self.hearing.next_message()? {
                messages.push(message);
            }
        }
        Ok(is_open)
    }
}
