//! How two nodes that have just connected prove the key to each other and say who they are.
//!
//! 1. The one that dialed: eight fixed bytes, then a record that can be read with the key alone: its
//!    version and its [`Hello`].
//! 2. The other one, only if that record was good: its version and its [`Verdict`].
//! 3. The first again: an empty message. A stranger who repeats what he has overheard gets as far as
//!    here, having learned nothing, and no further.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use snow::{Builder, HandshakeState};

use super::{
    Hello, Key, LinkError, LinkOptions, Refusal,
    channel::{Incoming, Outgoing, RECORD_BYTES_MAX, append_record, channel, read_record},
    hello::{Verdict, split_version, versioned},
};

const MAGIC: &[u8; 8] = b"sintonia";
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// A connection that may become a link.
pub(super) struct Shaken {
    pub(super) hello: Hello,
    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
}

/// What a node brings to it.
pub(super) struct Shaker<'a> {
    pub(super) me: &'a Hello,
    pub(super) key: &'a Key,
    pub(super) options: &'a LinkOptions,
    /// Who the other side is as far as known, for sentences.
    pub(super) peer: &'a str,
}

impl Shaker<'_> {
    /// The part of the node that dialed.
    pub(super) fn dial(&self, stream: &TcpStream) -> Result<Shaken, LinkError> {
        let mut patient = self.patient(stream);
        let mut noise = self.noise(|builder| builder.build_initiator())?;
        let mut wire = MAGIC.to_vec();
        self.append(&mut noise, self.me, &mut wire)?;
        patient.write_all(&wire).map_err(|source| self.ended(source))?;
        let record = read_record(&mut patient).map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
                LinkError::HungUp { peer: self.peer.to_owned() }
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
        let mut shaken = self.shaken(stream, noise, hello)?;
        shaken.outgoing.write(&[]).map_err(|source| self.ended(source))?;
        Ok(shaken)
    }

    /// The part of the node that was dialed; `judge` says whether the other one is welcome.
    pub(super) fn answer(
        &self,
        stream: &TcpStream,
        judge: impl Fn(&Hello) -> Result<(), Refusal>,
    ) -> Result<Shaken, LinkError> {
        let mut patient = self.patient(stream);
        let mut magic = [0; MAGIC.len()];
        patient.read_exact(&mut magic).map_err(|source| self.stranger(source))?;
        if &magic != MAGIC {
            return Err(LinkError::Stranger { peer: self.peer.to_owned() });
        }
        let record = read_record(&mut patient).map_err(|source| self.stranger(source))?;
        let mut noise = self.noise(|builder| builder.build_responder())?;
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
        patient.write_all(&wire).map_err(|source| self.ended(source))?;
        let hello = judged
            .map_err(|refusal| LinkError::NotTaken { peer: self.peer.to_owned(), refusal })?;
        let mut shaken = self.shaken(stream, noise, hello)?;
        let record = read_record(&mut patient).map_err(|source| self.ended(source))?;
        if shaken.incoming.is_empty_message(&record) { Ok(shaken) } else { Err(self.damaged()) }
    }

    fn noise(
        &self,
        build: impl FnOnce(Builder<'_>) -> Result<HandshakeState, snow::Error>,
    ) -> Result<HandshakeState, LinkError> {
        let pattern = PATTERN.parse().expect("the pattern is one that the library has");
        let builder = Builder::new(pattern).psk(0, self.key.bytes());
        let builder = builder.and_then(|builder| builder.prologue(MAGIC));
        builder.ok().and_then(|builder| build(builder).ok()).ok_or_else(|| self.damaged())
    }

    /// Appends the version and a message as the next record of the handshake.
    fn append<M: serde::Serialize>(
        &self,
        noise: &mut HandshakeState,
        message: &M,
        wire: &mut Vec<u8>,
    ) -> Result<(), LinkError> {
        let plain = versioned(self.options.version, message).ok_or_else(|| self.damaged())?;
        let mut record = vec![0; RECORD_BYTES_MAX];
        let n_bytes = noise.write_message(&plain, &mut record).map_err(|_| self.damaged())?;
        append_record(&record[..n_bytes], wire).map_err(|source| self.ended(source))
    }

    /// What is behind the version; a refusal when that is another one, nothing when there is none.
    fn take(
        &self,
        noise: &mut HandshakeState,
        record: &[u8],
    ) -> Result<Result<Vec<u8>, Option<Refusal>>, LinkError> {
        let mut plain = vec![0; record.len()];
        let n_bytes = noise
            .read_message(record, &mut plain)
            .map_err(|_| LinkError::Key { peer: self.peer.to_owned() })?;
        let Some((theirs, rest)) = split_version(&plain[..n_bytes]) else { return Ok(Err(None)) };
        let ours = self.options.version;
        if theirs != ours {
            return Ok(Err(Some(Refusal::Version { ours, theirs })));
        }
        Ok(Ok(rest.to_vec()))
    }

    fn shaken(
        &self,
        stream: &TcpStream,
        noise: HandshakeState,
        hello: Hello,
    ) -> Result<Shaken, LinkError> {
        let noise = noise.into_stateless_transport_mode().map_err(|_| self.damaged())?;
        let (incoming, outgoing) = channel(stream, noise, self.options.message_bytes_max)
            .map_err(|source| self.ended(source))?;
        Ok(Shaken { hello, incoming, outgoing })
    }

    fn patient<'s>(&self, stream: &'s TcpStream) -> Patient<'s> {
        Patient { stream, deadline: Instant::now() + self.options.shakes_within }
    }

    fn damaged(&self) -> LinkError {
        LinkError::Damaged { peer: self.peer.to_owned() }
    }

    fn stranger(&self, source: io::Error) -> LinkError {
        match source.kind() {
            ErrorKind::UnexpectedEof => LinkError::Stranger { peer: self.peer.to_owned() },
            _ => self.ended(source),
        }
    }

    fn ended(&self, source: io::Error) -> LinkError {
        ended(self.peer, self.options.shakes_within, source)
    }
}

/// A connection that ended or was silent for `after`.
pub(super) fn ended(peer: &str, after: Duration, source: io::Error) -> LinkError {
    let peer = peer.to_owned();
    match source.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => LinkError::Silent { peer, after },
        _ => LinkError::Ended { peer, source },
    }
}

/// A connection whose whole handshake has one deadline: single bytes, however often they come, do
/// not put it off.
struct Patient<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Patient<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
