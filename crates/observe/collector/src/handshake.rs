//! Handshake of a connection: both sides prove that they know the run's secret, and all that follows is encrypted.
//!
//! 1. The collector sends eight fixed bytes, then a record that can be read with the secret alone: the
//!    version and [`Hello`].
//! 2. The analyzer, only if that record was valid, sends the version and its [`Verdict`].
//! 3. The collector sends an empty record. A stranger that replays overheard bytes gets this far without having
//!    learned anything, and no further.
//!
//! The run's number is part of the proof, so a collector of another run is a stranger as well.

use crate::place::RunEnvironment;
use channel::{AdmissionSlot, ChannelError, DeadlineStream, Handshake, Opener, Sealer};
use frame::{FrameBuffer, FrameError};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use wire::hello::{earlier_version, unversioned, versioned};
use wire::{FRAMES, Hello, Secret, Verdict, WireError};

/// Time within which both sides must have proved themselves.
const PATIENCE: Duration = Duration::from_secs(3);
/// First bytes of a connection.
const MAGIC: [u8; 8] = *b"sintorun";
/// Number of bytes at the start of an earlier version's connection that identify it.
const EARLIER_BYTES: usize = 16;

/// Reason why a handshake or connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The connection failed, or the peer was silent for too long.
    #[error(
        "the other side of the connection did not answer; check that nothing between the nodes drops connections"
    )]
    Connection(#[from] io::Error),
    /// The peer uses another version.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The peer sent something that is no message.
    #[error("{0}; use one version of Sintonia on all nodes")]
    Message(#[from] FrameError),
    /// The peer does not know the secret of the run.
    #[error("the other side does not know the secret of this run; it belongs to another one")]
    Unproved(#[from] ChannelError),
    /// The peer is no collector.
    #[error("the other side is no collector of Sintonia")]
    NotACollector,
    /// The peer is a collector of a version without encryption.
    #[error(
        "a collector of an earlier version (its messages have version {version}) tried to connect; use one version of Sintonia on all nodes"
    )]
    Earlier {
        /// Version of its messages.
        version: u16,
    },
    /// A message was altered in transit.
    #[error(
        "a message between a collector and the analyzer was altered in transit; they connected again"
    )]
    Damaged,
    /// The analyzer refuses the collector.
    #[error("the analyzer refused this collector: {reason}")]
    Refused {
        /// Reason given by the analyzer.
        reason: String,
    },
}

impl HandshakeError {
    /// Returns whether the user should be told: a lost connection is made again, and strangers are only counted.
    pub fn is_news(&self) -> bool {
        matches!(self, Self::Wire(_) | Self::Damaged | Self::Refused { .. })
    }
}

/// Connection whose sides have proved themselves to each other.
#[derive(Debug)]
pub struct AuthenticatedConnection {
    /// The connection.
    pub stream: Arc<TcpStream>,
    /// Encrypts what is sent.
    pub sealer: Sealer,
    /// Decrypts what arrives.
    pub reader: MessageReader,
    /// Node of the collector.
    pub node: String,
    /// Time between reports of running processes, in ms.
    pub report_every_ms: u32,
}

/// Decrypts arriving bytes into messages.
#[derive(Debug)]
pub struct MessageReader {
    opener: Opener,
    frames: FrameBuffer,
    plain: Vec<u8>,
}

impl MessageReader {
    fn new(opener: Opener) -> Self {
        Self { opener, frames: FrameBuffer::new(FRAMES), plain: Vec::new() }
    }

    /// Adds bytes that arrived.
    ///
    /// # Errors
    /// They were altered in transit.
    pub fn push(&mut self, arrived: &[u8]) -> Result<(), HandshakeError> {
        self.plain.clear();
        let heard = self.opener.hear(arrived, &mut self.plain);
        heard.map_err(|_| HandshakeError::Damaged)?;
        self.frames.push(&self.plain);
        Ok(())
    }

    /// Returns the next message if it is complete.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn next_message<M: serde::de::DeserializeOwned>(
        &mut self,
    ) -> Result<Option<M>, HandshakeError> {
        Ok(self.frames.next_message()?)
    }
}

/// The analyzer's data of the run, which collectors have to match.
#[derive(Clone, Debug)]
pub struct RunSecret {
    /// Number of the run.
    pub run: u64,
    /// Secret that collectors have to prove.
    pub secret: Secret,
    /// Time between reports of running processes, in ms.
    pub report_every_ms: u32,
}

/// Performs the handshake as a collector with the analyzer at the other end of `stream`.
///
/// # Errors
/// The connection failed, or one side does not accept the other.
pub fn as_collector(
    stream: TcpStream,
    environment: &RunEnvironment,
    node: &str,
) -> Result<AuthenticatedConnection, HandshakeError> {
    // Small messages are answered one by one; waiting to fill packets would cost 40 ms each.
    stream.set_nodelay(true)?;
    let mut deadline_stream = DeadlineStream::new(&stream, PATIENCE);
    let mut handshake = Handshake::dialing(&prologue(environment.run), environment.secret.bytes());
    let mut wire = MAGIC.to_vec();
    handshake.seal(&versioned(&Hello { node: node.to_owned() })?, &mut wire)?;
    deadline_stream.write_all(&wire)?;
    let record = channel::read_record(&mut deadline_stream)?;
    let report_every_ms = match unversioned(&handshake.open(&record)?)? {
        Verdict::Welcome { report_every_ms } => report_every_ms,
        Verdict::Refused { reason } => return Err(HandshakeError::Refused { reason }),
    };
    let (mut sealer, opener) = handshake.finish()?;
    wire.clear();
    sealer.seal(&[], &mut wire)?;
    deadline_stream.write_all(&wire)?;
    let reader = MessageReader::new(opener);
    let node = node.to_owned();
    Ok(AuthenticatedConnection { stream: Arc::new(stream), sealer, reader, node, report_every_ms })
}

/// Performs the handshake as the analyzer with the collector at the other end of `stream`.
///
/// # Errors
/// As [`as_collector`].
pub fn as_analyzer(
    stream: Arc<TcpStream>,
    slot: AdmissionSlot,
    run: &RunSecret,
) -> Result<AuthenticatedConnection, HandshakeError> {
    stream.set_nodelay(true)?;
    let mut deadline_stream = DeadlineStream::new(&stream, PATIENCE);
    read_magic(&mut deadline_stream)?;
    slot.mark_plausible();
    let record = channel::read_record(&mut deadline_stream)?;
    let mut handshake = Handshake::answering(&prologue(run.run), run.secret.bytes());
    let plain = handshake.open(&record)?;
    let judged = unversioned(&plain).map_err(HandshakeError::from).and_then(checked);
    let report_every_ms = run.report_every_ms;
    let verdict = match &judged {
        Ok(_) => Verdict::Welcome { report_every_ms },
        Err(HandshakeError::Refused { reason }) => Verdict::Refused { reason: reason.clone() },
        Err(error) => Verdict::Refused { reason: error.to_string() },
    };
    let mut wire = Vec::new();
    handshake.seal(&versioned(&verdict)?, &mut wire)?;
    deadline_stream.write_all(&wire)?;
    let node = match judged {
        Ok(hello) => hello.node,
        Err(error) => {
            // A refused collector sends nothing more, but it does know the secret.
            slot.mark_authenticated();
            return Err(error);
        }
    };
    let (sealer, mut opener) = handshake.finish()?;
    let record = channel::read_record(&mut deadline_stream)?;
    opener.open(&record, &mut Vec::new())?;
    slot.mark_authenticated();
    Ok(AuthenticatedConnection {
        stream,
        sealer,
        reader: MessageReader::new(opener),
        node,
        report_every_ms,
    })
}

/// Returns the data that both sides must share before the first record.
fn prologue(run: u64) -> Vec<u8> {
    [MAGIC, run.to_le_bytes()].concat()
}

fn read_magic(stream: &mut impl Read) -> Result<(), HandshakeError> {
    let mut beginning = [0; EARLIER_BYTES];
    stream.read_exact(&mut beginning[..MAGIC.len()])?;
    if beginning[..MAGIC.len()] == MAGIC {
        return Ok(());
    }
    stream.read_exact(&mut beginning[MAGIC.len()..])?;
    let earlier = |version| HandshakeError::Earlier { version };
    Err(earlier_version(&beginning).map_or(HandshakeError::NotACollector, earlier))
}

/// Refuses a collector whose node's name cannot be a file's name.
fn checked(hello: Hello) -> Result<Hello, HandshakeError> {
    let is_name = !hello.node.is_empty()
        && hello.node.len() <= 255
        && !hello.node.starts_with('.')
        && hello.node.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let reason = || "its node's name cannot be a file's name; rename the host".to_owned();
    is_name.then_some(hello).ok_or_else(|| HandshakeError::Refused { reason: reason() })
}
