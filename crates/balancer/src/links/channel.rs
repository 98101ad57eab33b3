//! A connection whose both ends have proved the key: messages in, messages out, encrypted.
//!
//! On the wire there are records: a length (2 bytes, big endian) and so many bytes of ciphertext. A
//! message is its length (4 bytes, little endian) and its bytes, cut into as many records as it
//! takes. Records are numbered by both sides, so none can be left out, repeated or moved.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::Arc,
};

use snow::StatelessTransportState;

/// Longest record that Noise knows, and what its check takes of it.
pub(super) const RECORD_BYTES_MAX: usize = 65_535;
const CHECK_BYTES: usize = 16;
const PLAIN_BYTES_MAX: usize = RECORD_BYTES_MAX - CHECK_BYTES;
const LENGTH_BYTES: usize = 4;

/// Why a message could not be read.
#[derive(Debug)]
pub(super) enum ChannelError {
    /// The connection ended or was silent.
    Io(io::Error),
    /// It is too long, or was changed on the way.
    Damaged,
}

impl From<io::Error> for ChannelError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The end that reads.
pub(super) struct Incoming {
    stream: TcpStream,
    noise: Arc<StatelessTransportState>,
    n_records: u64,
    message_bytes_max: usize,
}

/// The end that writes.
pub(super) struct Outgoing {
    stream: TcpStream,
    noise: Arc<StatelessTransportState>,
    n_records: u64,
}

/// Both ends of a connection that has proved the key.
pub(super) fn channel(
    stream: &TcpStream,
    noise: StatelessTransportState,
    message_bytes_max: usize,
) -> io::Result<(Incoming, Outgoing)> {
    let noise = Arc::new(noise);
    let incoming = Incoming {
        stream: stream.try_clone()?,
        noise: Arc::clone(&noise),
        n_records: 0,
        message_bytes_max,
    };
    let outgoing = Outgoing { stream: stream.try_clone()?, noise, n_records: 0 };
    Ok((incoming, outgoing))
}

impl Incoming {
    /// The next message; empty ones say only that the other side is there.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, ChannelError> {
        let mut message = self.read_record()?;
        let (length, _) =
            message.split_first_chunk::<LENGTH_BYTES>().ok_or(ChannelError::Damaged)?;
        let n_bytes = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if self.message_bytes_max < n_bytes {
            return Err(ChannelError::Damaged);
        }
        while message.len() < LENGTH_BYTES + n_bytes {
            let record = self.read_record()?;
            if record.is_empty() {
                return Err(ChannelError::Damaged);
            }
            message.extend_from_slice(&record);
        }
        if LENGTH_BYTES + n_bytes < message.len() {
            return Err(ChannelError::Damaged);
        }
        message.drain(..LENGTH_BYTES);
        Ok(message)
    }

    fn read_record(&mut self) -> Result<Vec<u8>, ChannelError> {
        let record = read_record(&mut self.stream)?;
        self.open(&record)
    }

    /// Whether this record is an empty message.
    pub(super) fn is_empty_message(&mut self, record: &[u8]) -> bool {
        self.open(record).is_ok_and(|plain| plain == [0; LENGTH_BYTES])
    }

    fn open(&mut self, record: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let mut plain = vec![0; record.len()];
        let n_bytes = self
            .noise
            .read_message(self.n_records, record, &mut plain)
            .map_err(|_| ChannelError::Damaged)?;
        self.n_records += 1;
        plain.truncate(n_bytes);
        Ok(plain)
    }
}

impl Outgoing {
    pub(super) fn write(&mut self, message: &[u8]) -> io::Result<()> {
        let n_bytes = u32::try_from(message.len()).map_err(io::Error::other)?;
        let plain = [n_bytes.to_le_bytes().as_slice(), message].concat();
        let mut wire = Vec::with_capacity(plain.len() + 64);
        let mut record = vec![0; RECORD_BYTES_MAX];
        for piece in plain.chunks(PLAIN_BYTES_MAX) {
            let written = self.noise.write_message(self.n_records, piece, &mut record);
            let n_bytes = written.map_err(io::Error::other)?;
            self.n_records += 1;
            append_record(&record[..n_bytes], &mut wire)?;
        }
        self.stream.write_all(&wire)
    }
}

impl Outgoing {
    /// Ends the connection, for the reading end too.
    pub(super) fn shut_down(&self) {
        // It may have ended already.
        self.stream.shutdown(std::net::Shutdown::Both).ok();
    }
}

/// Appends a record with its length.
pub(super) fn append_record(record: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
    let n_bytes = u16::try_from(record.len()).map_err(io::Error::other)?;
    wire.extend_from_slice(&n_bytes.to_be_bytes());
    wire.extend_from_slice(record);
    Ok(())
}

/// Reads a record with its length.
pub(super) fn read_record(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut record = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut record)?;
    Ok(record)
}
