//! Encrypted channel after both sides have proved the key: messages in, messages out.
//!
//! A message is a frame, cut into as many records of the channel as it takes.

use std::io;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use channel::{Opener, Sealer, read_record};
use frame::{First, Format};

/// Reasons why a message could not be read.
#[derive(Debug)]
pub(super) enum MessageStreamError {
    /// The connection ended or was silent.
    Io(io::Error),
    /// The message is too long, or was changed on the way.
    Damaged,
}

impl From<io::Error> for MessageStreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reading end.
pub(super) struct Incoming {
    stream: Arc<TcpStream>,
    opener: Opener,
    format: Format,
}

/// Writing end.
pub(super) struct Outgoing {
    stream: Arc<TcpStream>,
    sealer: Sealer,
    plain: Vec<u8>,
    wire: Vec<u8>,
}

/// Both ends of a connection whose peer has proved the key.
pub(super) fn ends(
    stream: &Arc<TcpStream>,
    (sealer, opener): (Sealer, Opener),
    message_bytes_max: usize,
) -> (Incoming, Outgoing) {
    let format = Format::plain(message_bytes_max);
    let incoming = Incoming { stream: Arc::clone(stream), opener, format };
    let (plain, wire) = (Vec::new(), Vec::new());
    (incoming, Outgoing { stream: Arc::clone(stream), sealer, plain, wire })
}

impl Incoming {
    /// Reads the next message; empty ones say only that the peer is alive.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, MessageStreamError> {
        let mut plain = Vec::new();
        loop {
            let n_before = plain.len();
            self.read_record(&mut plain)?;
            match self.format.first(&plain) {
                Ok(Some(First { payload, rest: [] })) => return Ok(payload.to_vec()),
                Ok(None) if n_before < plain.len() => {}
                _ => return Err(MessageStreamError::Damaged),
            }
        }
    }

    fn read_record(&mut self, plain: &mut Vec<u8>) -> Result<(), MessageStreamError> {
        let record = read_record(&mut &*self.stream)?;
        self.opener.open(&record, plain).map_err(|_| MessageStreamError::Damaged)
    }

    /// Returns whether this record is an empty message.
    pub(super) fn is_empty_message(&mut self, record: &[u8]) -> bool {
        let mut plain = Vec::new();
        self.opener.open(record, &mut plain).is_ok()
            && self.format.first(&plain) == Ok(Some(First { payload: &[], rest: &[] }))
    }
}

impl Outgoing {
    pub(super) fn write(&mut self, message: &[u8]) -> io::Result<()> {
        self.plain.clear();
        self.wire.clear();
        // The sender's bound is that of its messages.
        Format::plain(usize::MAX).append(&[message], &mut self.plain).map_err(io::Error::other)?;
        self.sealer.seal(&self.plain, &mut self.wire).map_err(io::Error::other)?;
        (&*self.stream).write_all(&self.wire)
    }

    /// Ends this direction of the connection.
    pub(super) fn finish(&self) {
        // The connection may have ended already.
        self.stream.shutdown(std::net::Shutdown::Write).ok();
    }

    /// Shuts the connection down, for the reading end too.
    pub(super) fn shut_down(&self) {
        // The connection may have ended already.
        self.stream.shutdown(std::net::Shutdown::Both).ok();
    }
}
