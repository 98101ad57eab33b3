//! Handshake of two nodes: each proves the key to the other and introduces itself.
//!
//! 1. The dialing node: eight fixed bytes, then a record that can be read with the key alone: its version and its
//!    [`Hello`].
//! 2. The other node, only if that record was good: its version and its [`Verdict`].
//! 3. The dialing node: an empty message. A stranger who replays an overheard first record gets as far as here,
//!    having learned nothing, and no further.

use super::message_stream::{Incoming, Outgoing, ends};
use super::{ClusterKey, LinkError, LinkOptions, Refusal};
use channel::{AdmissionSlot, DeadlineStream, Handshake, read_record};
use node_core::interface::{NodeId, node_id};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

const MAGIC: &[u8; 8] = b"sintonia";
/// First bytes of a client on another host.
pub(super) const CLIENT_MAGIC: &[u8; 8] = b"sntclnt1";

/// Kind of a connection, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Another node.
    Node,
    /// Client on another host.
    Client,
}

impl Caller {
    /// Reads the first bytes of a connection; the error for those of strangers.
    pub(super) fn read(
        stream: &mut impl Read,
        peer: &str,
        within: Duration,
    ) -> Result<Self, LinkError> {
        let mut magic = [0; MAGIC.len()];
        let read = stream.read_exact(&mut magic).map(|()| magic);
        match read.as_ref().map(|magic| &magic[..]) {
            Ok(magic) if magic == MAGIC => Ok(Self::Node),
            Ok(magic) if magic == CLIENT_MAGIC => Ok(Self::Client),
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
                Err(ended(peer, within, error.kind().into()))
            }
            _ => Err(LinkError::Stranger(peer.to_owned())),
        }
    }
}

/// Connection that may become a link.
pub(super) struct HandshakeResult {
    pub(super) hello: Hello,
    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
}

/// This node's side of a handshake.
pub(super) struct HandshakeSide<'a> {
    pub(super) me: &'a Hello,
    pub(super) key: &'a ClusterKey,
    pub(super) options: &'a LinkOptions,
    /// Address or name of the other side, for error messages.
    pub(super) peer: &'a str,
}

impl HandshakeSide<'_> {
    /// Runs the dialing node's part.
    pub(super) fn dial(&self, stream: &Arc<TcpStream>) -> Result<HandshakeResult, LinkError> {
        let mut deadline_stream = DeadlineStream::new(stream, self.options.handshake_timeout);
        let mut noise = Handshake::dialing(MAGIC, self.key.bytes());
        let mut wire = MAGIC.to_vec();
        self.append(&mut noise, self.me, &mut wire)?;
        deadline_stream.write_all(&wire).map_err(|source| self.ended(source))?;
        let record = read_record(&mut deadline_stream).map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
                LinkError::HungUp(self.peer.to_owned())
            }
            _ => self.ended(source),
        })?;
        let verdict = self.take(&mut noise, &record)?;
        let hello = match verdict.and_then(|rest| postcard::from_bytes(&rest).map_err(|_| None)) {
            Ok(Verdict::Welcome(hello)) => hello,
            Ok(Verdict::Refused(refusal)) | Err(Some(refusal)) => {
                return Err(LinkError::Refused { peer: self.peer.to_owned(), refusal });
            }
            Err(None) => return Err(self.damaged()),
        };
        let mut result = self.result(stream, noise, hello)?;
        result.outgoing.write(&[]).map_err(|source| self.ended(source))?;
        Ok(result)
    }

    /// Runs the dialed node's part, after the fixed bytes; `judge` decides whether the other node is welcome. The
    /// other node has a slot among strangers until it has proved the key.
    pub(super) fn answer(
        &self,
        stream: &Arc<TcpStream>,
        mut deadline_stream: DeadlineStream<'_>,
        slot: AdmissionSlot,
        judge: impl Fn(&Hello) -> Result<(), Refusal>,
    ) -> Result<HandshakeResult, LinkError> {
        let record = read_record(&mut deadline_stream).map_err(|source| self.stranger(source))?;
        let mut noise = Handshake::answering(MAGIC, self.key.bytes());
        let judged = match self.take(&mut noise, &record)? {
            Ok(rest) => {
                let hello = postcard::from_bytes::<Hello>(&rest).map_err(|_| self.damaged())?;
                judge(&hello).map(|()| hello)
            }
            Err(Some(refusal)) => Err(refusal),
            Err(None) => return Err(self.damaged()),
        };
        let verdict = match &judged {
            Ok(_) => Verdict::Welcome(self.me.clone()),
            Err(refusal) => Verdict::Refused(refusal.clone()),
        };
        let mut wire = Vec::new();
        self.append(&mut noise, &verdict, &mut wire)?;
        deadline_stream.write_all(&wire).map_err(|source| self.ended(source))?;
        let hello = judged
            .map_err(|refusal| LinkError::NotTaken { peer: self.peer.to_owned(), refusal })?;
        let mut result = self.result(stream, noise, hello)?;
        let record = read_record(&mut deadline_stream).map_err(|source| self.ended(source))?;
        if !result.incoming.is_empty_message(&record) {
            return Err(self.damaged());
        }
        slot.mark_authenticated();
        Ok(result)
    }

    /// Appends the version and a message as the next record of the handshake.
    fn append<M: serde::Serialize>(
        &self,
        noise: &mut Handshake,
        message: &M,
        wire: &mut Vec<u8>,
    ) -> Result<(), LinkError> {
        let plain = versioned(self.options.version, message).ok_or_else(|| self.damaged())?;
        noise.seal(&plain, wire).map_err(|_| self.damaged())
    }

    /// Returns what follows the version; as the error, a refusal when the version differs, `None` when there is
    /// none.
    fn take(
        &self,
        noise: &mut Handshake,
        record: &[u8],
    ) -> Result<Result<Vec<u8>, Option<Refusal>>, LinkError> {
        let plain = noise.open(record).map_err(|_| LinkError::Key(self.peer.to_owned()))?;
        let Some((theirs, rest)) = split_version(&plain) else { return Ok(Err(None)) };
        let ours = self.options.version;
        if theirs != ours {
            return Ok(Err(Some(Refusal::Version { ours, theirs })));
        }
        Ok(Ok(rest.to_vec()))
    }

    fn result(
        &self,
        stream: &Arc<TcpStream>,
        noise: Handshake,
        hello: Hello,
    ) -> Result<HandshakeResult, LinkError> {
        let directions = noise.finish().map_err(|_| self.damaged())?;
        let (incoming, outgoing) = ends(stream, directions, self.options.message_bytes_max);
        Ok(HandshakeResult { hello, incoming, outgoing })
    }

    fn damaged(&self) -> LinkError {
        LinkError::Damaged(self.peer.to_owned())
    }

    fn stranger(&self, source: io::Error) -> LinkError {
        match source.kind() {
            ErrorKind::UnexpectedEof => LinkError::Stranger(self.peer.to_owned()),
            _ => self.ended(source),
        }
    }

    fn ended(&self, source: io::Error) -> LinkError {
        ended(self.peer, self.options.handshake_timeout, source)
    }
}

/// Error of a connection that ended, or was silent for `after`.
pub(super) fn ended(peer: &str, after: Duration, source: io::Error) -> LinkError {
    let peer = peer.to_owned();
    match source.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => LinkError::Silent { peer, after },
        _ => LinkError::Ended { peer, source },
    }
}

/// Daemon, as it introduces itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Name of the node.
    pub name: String,
    /// Address at which it can be dialed: `host:port`.
    pub address: String,
    /// Grows with each start of its daemon.
    pub incarnation: u64,
}

impl Hello {
    /// Number that is made from the name.
    pub fn id(&self) -> NodeId {
        node_id(&self.name)
    }
}

/// Answer to a [`Hello`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Verdict {
    Welcome(Hello),
    Refused(Refusal),
}

/// Encodes a message with its version in front, the one part that all versions read alike.
pub(super) fn versioned<M: Serialize>(version: u16, message: &M) -> Option<Vec<u8>> {
    postcard::to_stdvec(&(version, message)).ok()
}

/// Splits off the version.
pub(super) fn split_version(bytes: &[u8]) -> Option<(u16, &[u8])> {
    postcard::take_from_bytes(bytes).ok()
}
