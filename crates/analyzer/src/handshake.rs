//! The first words of a connection: both sides prove that they know the run's secret, and all that follows is encrypted.
//!
//! 1. The collector: eight fixed bytes, then a record that can be read with the secret alone: the version and [`Hello`].
//! 2. The analyzer, only if that record was good: the version and its [`Verdict`].
//! 3. The collector: an empty record. A stranger who repeats what was overheard gets as far as here, having learned
//!    nothing, and no further.
//!
//! The run's number is part of what is proved, so a collector of another run is a stranger as well.

use crate::place::Place;
use channel::{ChannelError, Opener, Patient, Sealer, Seat, Shake};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use wire::frame::FRAME_BYTES_MAX;
use wire::hello::{earlier_version, unversioned, versioned};
use wire::{FrameBuffer, Hello, Secret, Verdict, WireError};

/// Time in which both sides have to have proved themselves.
const PATIENCE: Duration = Duration::from_secs(3);
/// First bytes of a connection.
const MAGIC: [u8; 8] = *b"sintorun";
/// Bytes with which an earlier version begins, as far as they tell it.
const EARLIER_BYTES: usize = 16;

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
    /// The other side does not know the secret of the run.
    #[error("the other side does not know the secret of this run; it belongs to another one")]
    Unproved(#[from] ChannelError),
    /// The other side is no collector.
    #[error("the other side does not speak like a collector")]
    Stranger,
    /// A collector from before messages were encrypted.
    #[error(
        "a collector of an earlier version (its messages have version {version}) came; use one version of Sintonia on all nodes"
    )]
    Earlier {
        /// Version of its messages.
        version: u16,
    },
    /// A message was changed on its way.
    #[error(
        "a message between a collector and the analyzer was changed on its way; they connected again"
    )]
    Damaged,
    /// The analyzer says why it wants nothing to do with the collector.
    #[error("the analyzer refused this collector: {reason}")]
    Refused {
        /// Its reason.
        reason: String,
    },
}

impl HandshakeError {
    /// Whether a person has to hear of it: a lost connection is made again, and strangers are only counted.
    pub(crate) fn is_news(&self) -> bool {
        matches!(self, Self::Wire(_) | Self::Damaged | Self::Refused { .. })
    }
}

/// A connection whose sides believe each other.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) stream: Arc<TcpStream>,
    pub(crate) sealer: Sealer,
    pub(crate) hearing: Hearing,
    pub(crate) node: String,
    pub(crate) report_every_ms: u32,
}

/// What arrives on a trusted connection, made into messages.
#[derive(Debug)]
pub(crate) struct Hearing {
    opener: Opener,
    frames: FrameBuffer,
    plain: Vec<u8>,
}

impl Hearing {
    fn new(opener: Opener) -> Self {
        Self { opener, frames: FrameBuffer::new(FRAME_BYTES_MAX), plain: Vec::new() }
    }

    /// Takes bytes that arrived.
    pub(crate) fn push(&mut self, arrived: &[u8]) -> Result<(), HandshakeError> {
        self.plain.clear();
        let heard = self.opener.hear(arrived, &mut self.plain);
        heard.map_err(|_| HandshakeError::Damaged)?;
        self.frames.push(&self.plain);
        Ok(())
    }

    /// The next message, when it is complete.
    pub(crate) fn next_message<M: serde::de::DeserializeOwned>(
        &mut self,
    ) -> Result<Option<M>, HandshakeError> {
        Ok(self.frames.next_message()?)
    }
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
    // Small messages answer each other; waiting to fill packets would cost 40 ms each.
    stream.set_nodelay(true)?;
    let mut patient = Patient::new(&stream, PATIENCE);
    let mut shake = Shake::dialing(&prologue(place.run), place.secret.bytes());
    let mut wire = MAGIC.to_vec();
    shake.seal(&versioned(&Hello { node: node.to_owned() })?, &mut wire)?;
    patient.write_all(&wire)?;
    let record = channel::read_record(&mut patient)?;
    let report_every_ms = match unversioned(&shake.open(&record)?)? {
        Verdict::Welcome { report_every_ms } => report_every_ms,
        Verdict::Refused { reason } => return Err(HandshakeError::Refused { reason }),
    };
    let (mut sealer, opener) = shake.finish()?;
    wire.clear();
    sealer.seal(&[], &mut wire)?;
    patient.write_all(&wire)?;
    let hearing = Hearing::new(opener);
    let node = node.to_owned();
    Ok(Trusted { stream: Arc::new(stream), sealer, hearing, node, report_every_ms })
}

/// Proves the analyzer to the collector at the other end of `stream`, and the other way round.
pub(crate) fn as_analyzer(
    stream: Arc<TcpStream>,
    seat: Seat,
    run: &RunSecret,
) -> Result<Trusted, HandshakeError> {
    stream.set_nodelay(true)?;
    let mut patient = Patient::new(&stream, PATIENCE);
    read_magic(&mut patient)?;
    seat.has_spoken();
    let record = channel::read_record(&mut patient)?;
    let mut shake = Shake::answering(&prologue(run.run), run.secret.bytes());
    let plain = shake.open(&record)?;
    let hello = unversioned::<Hello>(&plain).map_err(HandshakeError::from);
    let judged = hello.and_then(|hello| match refusal(&hello) {
        Some(reason) => Err(HandshakeError::Refused { reason }),
        None => Ok(hello),
    });
    let report_every_ms = run.report_every_ms;
    let verdict = match &judged {
        Ok(_) => Verdict::Welcome { report_every_ms },
        Err(HandshakeError::Refused { reason }) => Verdict::Refused { reason: reason.clone() },
        Err(error) => Verdict::Refused { reason: error.to_string() },
    };
    let mut wire = Vec::new();
    shake.seal(&versioned(&verdict)?, &mut wire)?;
    patient.write_all(&wire)?;
    let node = match judged {
        Ok(hello) => hello.node,
        Err(error) => {
            // Who is refused says no more, and has the secret nevertheless.
            seat.prove();
            return Err(error);
        }
    };
    let (sealer, mut opener) = shake.finish()?;
    let record = channel::read_record(&mut patient)?;
    opener.open(&record, &mut Vec::new())?;
    seat.prove();
    Ok(Trusted { stream, sealer, hearing: Hearing::new(opener), node, report_every_ms })
}

/// What both sides have in common before the first record.
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
    Err(earlier_version(&beginning).map_or(HandshakeError::Stranger, earlier))
}

fn refusal(hello: &Hello) -> Option<String> {
    let is_name = !hello.node.is_empty()
        && hello.node.len() <= 255
        && !hello.node.starts_with('.')
        && hello.node.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    (!is_name).then(|| "its node's name cannot be a file's name; rename the host".to_owned())
}
