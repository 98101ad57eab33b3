//! Encrypted channel after both sides have proved the key: messages in, messages out.
//!
//! A message is its length (4 bytes, little endian) and its bytes, cut into as many records of the channel as it takes.

use std::{
    io::{self, Write},
    net::TcpStream,
    sync::Arc,
};

use channel::{Opener, Sealer, read_record};

const LENGTH_BYTES: usize = 4;

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
    message_bytes_max: usize,
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
    let incoming = Incoming { stream: Arc::clone(stream), opener, message_bytes_max };
    let (plain, wire) = (Vec::new(), Vec::new());
    (incoming, Outgoing { stream: Arc::clone(stream), sealer, plain, wire })
}

impl Incoming {
    /// Reads the next message; empty ones say only that the peer is alive.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, MessageStreamError> {
        let mut message = Vec::new();
        self.read_record(&mut message)?;
        let (length, _) =
            message.split_first_chunk::<LENGTH_BYTES>().ok_or(MessageStreamError::Damaged)?;
        let n_bytes = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if self.message_bytes_max < n_bytes {
            return Err(MessageStreamError::Damaged);
        }
        while message.len() < LENGTH_BYTES + n_bytes {
            let n_before = message.len();
            self.read_record(&mut message)?;
            if message.len() == n_before {
                return Err(MessageStreamError::Damaged);
            }
        }
        if LENGTH_BYTES + n_bytes < message.len() {
            return Err(MessageStreamError::Damaged);
        }
        message.drain(..LENGTH_BYTES);
        Ok(message)
    }

    fn read_record(&mut self, plain: &mut Vec<u8>) -> Result<(), MessageStreamError> {
        let record = read_record(&mut &*self.stream)?;
        self.opener.open(&record, plain).map_err(|_| MessageStreamError::Damaged)
    }

    /// Returns whether this record is an empty message.
    pub(super) fn is_empty_message(&mut self, record: &[u8]) -> bool {
        let mut plain = Vec::new();
        self.opener.open(record, &mut plain).is_ok() && plain == [0; LENGTH_BYTES]
    }
}

impl Outgoing {
    pub(super) fn write(&mut self, message: &[u8]) -> io::Result<()> {
        let n_bytes = u32::try_from(message.len()).map_err(io::Error::other)?;
        self.plain.clear();
        self.wire.clear();
        self.plain.extend_from_slice(&n_bytes.to_le_bytes());
        self.plain.extend_from_slice(message);
        self.sealer.seal(&self.plain, &mut self.wire).map_err(io::Error::other)?;
        (&*self.stream).write_all(&self.wire)
    }

    /// Shuts the connection down, for the reading end too.
    pub(super) fn shut_down(&self) {
        // The connection may have ended already.
        self.stream.shutdown(std::net::Shutdown::Both).ok();
    }
}
