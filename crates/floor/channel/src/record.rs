//! Records on the wire: a length and that many bytes.

use std::io::{self, Read};

/// Longest record that Noise allows, in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 65_535;
/// Bytes of a record's length field.
pub(crate) const LENGTH_BYTES: usize = 2;

/// Appends `record` with its length.
///
/// # Errors
/// If `record` is longer than a record may be.
pub fn append_record(record: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
    let n_bytes = u16::try_from(record.len()).map_err(|_| ChannelError::TooLong)?;
    wire.extend_from_slice(&n_bytes.to_be_bytes());
    wire.extend_from_slice(record);
    Ok(())
}

/// Reads the contents of a record, whose length comes first.
///
/// # Errors
/// If the stream fails, or ends inside the record.
pub fn read_record(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; LENGTH_BYTES];
    stream.read_exact(&mut length)?;
    let mut record = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut record)?;
    Ok(record)
}

/// Contents of the record at the front of `bytes`; `None` until it is complete.
pub(crate) fn first_record(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.get(..usize::from(u16::from_be_bytes(*length)))
}

/// Reasons why bytes are no record of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The authentication tag is wrong: the record was made with another key, changed, repeated or reordered.
    #[error(
        "a record was made with another key or changed on the way; the connection is of no more use"
    )]
    Unproved,
    /// The message does not fit into a record.
    #[error("a message of the handshake is longer than a record may be")]
    TooLong,
}
