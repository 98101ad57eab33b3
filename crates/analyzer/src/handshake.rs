//! The first words of a connection: both sides prove that they know the run's secret.

use crate::place::{Place, random};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use wire::frame::{FRAME_BYTES_MAX, UNPROVED_FRAME_BYTES_MAX};
use wire::{
    FrameBuffer, Hello, MAGIC, Nonce, PROTOCOL, Role, Secret, Session, ToAnalyzer, ToCollector,
    WireError,
};

/// Time in which both sides have to have proved themselves.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why two sides did not come together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The connection failed, or the other side was silent for too long.
    #[error(
        "the other side of the connection did not answer; check that nothing between the nodes drops connections"
    )]
    Connection(#[from] io::Error),
    /// The other side speaks something else.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The other side closed the connection.
    #[error("the other side closed the connection; it may belong to another run")]
    Closed,
    /// The other side does not know the secret.
    #[error(
        "the other side does not know the secret of run `{run:016x}`; it belongs to another run"
    )]
    Unproved {
        /// The run.
        run: u64,
    },
    /// The other side said something else than was its turn.
    #[error("the other side spoke out of turn; use one version of Sintonia everywhere")]
    OutOfTurn,
    /// The analyzer says why it wants nothing to do with the collector.
    #[error("the analyzer refused this collector: {reason}")]
    Refused {
        /// Its reason.
        reason: String,
    },
}

impl HandshakeError {
    /// Whether a person has to hear of it: a lost connection is made again, a refused one is not.
    pub(crate) fn is_news(&self) -> bool {
        matches!(self, Self::Wire(_) | Self::Unproved { .. } | Self::Refused { .. })
    }
}

/// A connection whose sides believe each other.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) stream: TcpStream,
    /// May hold the start of what comes next.
    pub(crate) frames: FrameBuffer,
    pub(crate) node: String,
    pub(crate) report_every_ms: u32,
}

/// The analyzer's part of the run: what collectors have to match.
#[derive(Clone, Debug)]
pub(crate) struct RunSecret {
    pub(crate) run: u64,
    pub(crate) secret: Secret,
    pub(crate) report_every_ms: u32,
}

/// Proves a collector to the analyzer at the other end of `stream`, and the other way round.
pub(crate) fn as_collector(
    stream: TcpStream,
    place: &Place,
    node: &str,
) -> Result<Trusted, HandshakeError> {
    let mut talk = Talk::new(stream)?;
    let nonce: Nonce = random()?;
    let hello =
        Hello { magic: MAGIC, protocol: PROTOCOL, run: place.run, node: node.to_owned(), nonce };
    talk.say(&ToAnalyzer::Hello(hello))?;
    let (analyzer_nonce, mac) = match talk.hear()? {
        ToCollector::Challenge { nonce, mac } => (nonce, mac),
        ToCollector::Refused { reason } => return Err(HandshakeError::Refused { reason }),
        _ => return Err(HandshakeError::OutOfTurn),
    };
    let session = Session { run: place.run, node, collector_nonce: nonce, analyzer_nonce };
    if !session.verify(&place.secret, Role::Analyzer, &mac) {
        return Err(HandshakeError::Unproved { run: place.run });
    }
    talk.say(&ToAnalyzer::Proof { mac: session.mac(&place.secret, Role::Collector) })?;
    match talk.hear()? {
        ToCollector::Welcome { report_every_ms } => {
            Ok(talk.trust(node.to_owned(), report_every_ms))
        }
        _ => Err(HandshakeError::OutOfTurn),
    }
}

/// Proves the analyzer to the collector at the other end of `stream`, and the other way round.
pub(crate) fn as_analyzer(stream: TcpStream, run: &RunSecret) -> Result<Trusted, HandshakeError> {
    let mut talk = Talk::new(stream)?;
    let ToAnalyzer::Hello(hello) = talk.hear()? else { return Err(HandshakeError::OutOfTurn) };
    if let Some(reason) = refusal(&hello, run.run) {
        talk.say(&ToCollector::Refused { reason: reason.clone() })?;
        return Err(HandshakeError::Refused { reason });
    }
    let analyzer_nonce: Nonce = random()?;
    let session =
        Session { run: run.run, node: &hello.node, collector_nonce: hello.nonce, analyzer_nonce };
    let mac = session.mac(&run.secret, Role::Analyzer);
    talk.say(&ToCollector::Challenge { nonce: analyzer_nonce, mac })?;
    let ToAnalyzer::Proof { mac } = talk.hear()? else { return Err(HandshakeError::OutOfTurn) };
    if !session.verify(&run.secret, Role::Collector, &mac) {
        return Err(HandshakeError::Unproved { run: run.run });
    }
    talk.say(&ToCollector::Welcome { report_every_ms: run.report_every_ms })?;
    Ok(talk.trust(hello.node, run.report_every_ms))
}

fn refusal(hello: &Hello, run: u64) -> Option<String> {
    if hello.magic != MAGIC || hello.protocol != PROTOCOL {
        let theirs = hello.protocol;
        return Some(format!(
            "it speaks version {theirs} and the analyzer version {PROTOCOL}; use one version of Sintonia on all nodes"
        ));
    }
    let is_name = !hello.node.is_empty()
        && hello.node.len() <= 255
        && !hello.node.starts_with('.')
        && hello.node.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    if hello.run != run {
        Some(format!("it belongs to run {:016x} and the analyzer to run {run:016x}", hello.run))
    } else if !is_name {
        Some("its node's name cannot be a file's name; rename the host".to_owned())
    } else {
        None
    }
}

struct Talk {
    stream: TcpStream,
    frames: FrameBuffer,
    deadline: Instant,
}

impl Talk {
    fn new(stream: TcpStream) -> io::Result<Self> {
        // Small messages answer each other; waiting to fill packets would cost 40 ms each.
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let frames = FrameBuffer::new(UNPROVED_FRAME_BYTES_MAX);
        Ok(Self { stream, frames, deadline: Instant::now() + PATIENCE })
    }

    fn say<M: Serialize>(&mut self, message: &M) -> Result<(), HandshakeError> {
        let mut bytes = Vec::new();
        wire::encode(message, &mut bytes)?;
        Ok(self.stream.write_all(&bytes)?)
    }

    fn hear<M: DeserializeOwned>(&mut self) -> Result<M, HandshakeError> {
        let mut bytes = [0; UNPROVED_FRAME_BYTES_MAX];
        loop {
            if let Some(message) = self.frames.next_message()? {
                return Ok(message);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.stream.read(&mut bytes)? {
                0 => return Err(HandshakeError::Closed),
                n_bytes => self.frames.push(&bytes[..n_bytes]),
            }
        }
    }

    fn trust(mut self, node: String, report_every_ms: u32) -> Trusted {
        self.frames.set_limit(FRAME_BYTES_MAX);
        Trusted { stream: self.stream, frames: self.frames, node, report_every_ms }
    }
}
