//! Frames, which divide a stream or a file into payloads: the length of the payload as `u32`, little-endian, in a
//! *checked* format the CRC-32 of length and payload, then the payload. Most payloads are messages in `postcard`'s
//! encoding.
//!
//! # Invariants
//! - Reading returns what was written or an error, and takes no memory for bytes that have not arrived.
//!
//! # Not here
//! The meaning of payloads; journals that are read on behind damage (`node-daemon`); encryption (`channel`).

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};

/// Format of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    n_bytes_max: usize,
    is_checked: bool,
}

/// Reasons why there is no frame. Bytes behind it are of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload is longer than the format allows.
    #[error("a message of {n_bytes} bytes exceeds the limit of {n_bytes_max}")]
    Oversized {
        /// Length of the payload.
        n_bytes: usize,
        /// Longest payload.
        n_bytes_max: usize,
    },
    /// The checksum does not match.
    #[error("the checksum of a message does not match")]
    Damaged,
    /// The stream failed, or ended inside a frame.
    #[error("a message cannot be read: {0}")]
    Stream(ErrorKind),
    /// The payload is no message of the expected type, or continues after it.
    #[error("a message cannot be understood")]
    Unknown,
}

/// First frame of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First<'a> {
    /// Its payload.
    pub payload: &'a [u8],
    /// Bytes behind it.
    pub rest: &'a [u8],
}

/// Encodes a message, as the payload of a frame.
///
/// # Errors
/// If the message has no encoding.
pub fn to_bytes<M: Serialize>(message: &M) -> Result<Vec<u8>, FrameError> {
    postcard::to_allocvec(message).map_err(|_| FrameError::Unknown)
}

/// Decodes the message that a payload is.
///
/// # Errors
/// If the bytes are not a message of type `M`, or continue after it.
pub fn decode<M: DeserializeOwned>(payload: &[u8]) -> Result<M, FrameError> {
    match postcard::take_from_bytes(payload) {
        Ok((message, [])) => Ok(message),
        _ => Err(FrameError::Unknown),
    }
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Stream(error.kind())
    }
}

impl Format {
    /// Frames without a checksum, of at most so many bytes of payload.
    #[must_use]
    pub const fn plain(n_bytes_max: usize) -> Self {
        Self { n_bytes_max, is_checked: false }
    }

    /// Frames with a checksum: for files, which may be damaged.
    #[must_use]
    pub const fn checked(n_bytes_max: usize) -> Self {
        Self { n_bytes_max, is_checked: true }
    }

    /// Appends a frame to `to`; its payload is given in pieces.
    ///
    /// # Errors
    /// If the payload is too long; then nothing is appended.
    pub fn append(self, payload: &[&[u8]], to: &mut Vec<u8>) -> Result<(), FrameError> {
        let n_bytes = payload.iter().map(|piece| piece.len()).sum();
        let Some(length) = u32::try_from(n_bytes).ok().filter(|_| n_bytes <= self.n_bytes_max)
        else {
            return Err(FrameError::Oversized { n_bytes, n_bytes_max: self.n_bytes_max });
        };
        to.extend_from_slice(&length.to_le_bytes());
        if self.is_checked {
            to.extend_from_slice(&checksum(length, payload).to_le_bytes());
        }
        payload.iter().for_each(|piece| to.extend_from_slice(piece));
        Ok(())
    }

    /// Appends a message as a frame to `to`.
    ///
    /// # Errors
    /// If the message is too long; then nothing is appended.
    pub fn encode<M: Serialize>(self, message: &M, to: &mut Vec<u8>) -> Result<(), FrameError> {
        self.append(&[&to_bytes(message)?], to)
    }

    /// Writes a message as a frame.
    ///
    /// # Errors
    /// If the message is too long, or the stream fails.
    pub fn write<M: Serialize>(self, message: &M, to: &mut impl Write) -> Result<(), FrameError> {
        let mut bytes = Vec::new();
        self.encode(message, &mut bytes)?;
        Ok(to.write_all(&bytes)?)
    }

    /// Frame at the front of `bytes`; `None` while it is incomplete.
    ///
    /// # Errors
    /// If the bytes are no frame.
    pub fn first(self, bytes: &[u8]) -> Result<Option<First<'_>>, FrameError> {
        let Some((head, rest)) = bytes.split_at_checked(self.head_bytes()) else { return Ok(None) };
        let Some((payload, rest)) = rest.split_at_checked(self.length(head)?) else {
            return Ok(None);
        };
        self.verify(head, payload)?;
        Ok(Some(First { payload, rest }))
    }

    /// Waits for a message; returns `None` at the end of the stream.
    ///
    /// # Errors
    /// If the stream fails or ends inside a frame, or holds no such message.
    pub fn read_message<M: DeserializeOwned>(
        self,
        from: &mut impl Read,
    ) -> Result<Option<M>, FrameError> {
        let mut payload = Vec::new();
        self.read(from, &mut payload)?.then(|| decode(&payload)).transpose()
    }

    /// Waits for a frame and reads its payload into `payload`; returns false at the end of the stream.
    ///
    /// # Errors
    /// If the stream fails or ends inside a frame, or holds no frame.
    pub fn read(self, from: &mut impl Read, payload: &mut Vec<u8>) -> Result<bool, FrameError> {
        let mut head = Vec::new();
        if read_up_to(from, self.head_bytes(), &mut head)? == 0 {
            return Ok(false);
        }
        let n_bytes = self.length(&head)?;
        if head.len() < self.head_bytes() || read_up_to(from, n_bytes, payload)? < n_bytes {
            return Err(FrameError::Stream(ErrorKind::UnexpectedEof));
        }
        self.verify(&head, payload)?;
        Ok(true)
    }

    const fn head_bytes(self) -> usize {
        if self.is_checked { 8 } else { 4 }
    }

    fn length(self, head: &[u8]) -> Result<usize, FrameError> {
        let length = head.first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        let (n_bytes, n_bytes_max) = (length as usize, self.n_bytes_max);
        if n_bytes_max < n_bytes {
            return Err(FrameError::Oversized { n_bytes, n_bytes_max });
        }
        Ok(n_bytes)
    }

    fn verify(self, head: &[u8], payload: &[u8]) -> Result<(), FrameError> {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let is_good = !self.is_checked || head[4..] == checksum(length, &[payload]).to_le_bytes();
        is_good.then_some(()).ok_or(FrameError::Damaged)
    }
}

fn checksum(length: u32, payload: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    payload.iter().for_each(|piece| hasher.update(piece));
    hasher.finalize()
}

/// Replaces the content of `bytes`, which grow with what arrives: a length alone costs nothing.
fn read_up_to(from: &mut impl Read, n_bytes: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
    bytes.clear();
    from.take(n_bytes as u64).read_to_end(bytes)
}

/// Buffer that divides arriving bytes into frames.
#[derive(Debug)]
pub struct FrameBuffer {
    format: Format,
    bytes: Vec<u8>,
    /// Bytes at the front that belong to frames already taken.
    n_taken: usize,
}

impl FrameBuffer {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, bytes: Vec::new(), n_taken: 0 }
    }

    /// Appends bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.n_taken);
        self.n_taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Payload of the next frame; `None` while it is incomplete.
    ///
    /// # Errors
    /// If the bytes are no frame.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let first = self.format.first(&self.bytes[self.n_taken..])?;
        self.n_taken = self.bytes.len() - first.map_or(self.n_waiting(), |first| first.rest.len());
        Ok(first.map(|first| first.payload))
    }

    /// Next message; `None` while it is incomplete.
    ///
    /// # Errors
    /// If the bytes are no frame, or the frame is no such message.
    pub fn next_message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        self.next_frame()?.map(decode).transpose()
    }

    /// Number of bytes that were not taken.
    #[must_use]
    pub fn n_waiting(&self) -> usize {
        self.bytes.len() - self.n_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use proptest::sample::{Index, select};
    use proptest::{prop_assert, prop_assert_eq};

    const FORMATS: [Format; 2] = [Format::plain(100), Format::checked(100)];

    fn frames(format: Format, payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for payload in payloads {
            let (front, back) = payload.split_at(payload.len() / 2);
            format.append(&[front, back], &mut bytes).unwrap();
        }
        bytes
    }

    /// Payloads of a stream, and whether it ends between two frames; in pieces as in one go.
    fn read(format: Format, mut stream: &[u8], n_piece: usize) -> (Vec<Vec<u8>>, bool) {
        let (mut buffer, mut heard, mut is_good) = (FrameBuffer::new(format), Vec::new(), true);
        for piece in stream.chunks(n_piece) {
            buffer.push(piece);
            while let Some(payload) = buffer.next_frame().unwrap_or_else(|_| {
                is_good = false;
                None
            }) {
                heard.push(payload.to_vec());
            }
        }
        let (mut payload, mut payloads) = (Vec::new(), Vec::new());
        let mut next =
            || format.read(&mut stream, &mut payload).map(|is| is.then(|| payload.clone()));
        let is_whole = loop {
            match next() {
                Ok(Some(payload)) => payloads.push(payload),
                end => break end.is_ok(),
            }
        };
        assert_eq!((&heard, is_good && buffer.n_waiting() == 0), (&payloads, is_whole));
        (payloads, is_whole)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_up_to_where_it_was_cut(
            payloads in vec(vec(any::<u8>(), 0..=100), 0..8),
            format in select(&FORMATS[..]),
            n_piece in 1..40_usize,
            cut in any::<Index>(),
        ) {
            let stream = frames(format, &payloads);
            prop_assert_eq!(&read(format, &stream, n_piece), &(payloads.clone(), true));
            let cut = &stream[..cut.index(stream.len() + 1)];
            let (found, is_whole) = read(format, cut, n_piece);
            prop_assert!(payloads.starts_with(&found));
            prop_assert_eq!(is_whole, frames(format, &found) == cut);
        }

        #[test]
        fn a_checked_frame_is_read_as_it_was_written_or_not_at_all(
            payload in vec(any::<u8>(), 0..=100),
            (at, bit) in (any::<Index>(), 0..8_u8),
        ) {
            let mut stream = frames(FORMATS[1], &[payload]);
            let at = at.index(stream.len());
            stream[at] ^= 1 << bit;
            prop_assert_eq!(read(FORMATS[1], &stream, 11), (vec![], false));
        }
    }

    #[test]
    fn the_bytes_of_a_frame_do_not_change() {
        let [plain, checked] = FORMATS.map(|format| frames(format, &[b"hello".to_vec()]));
        assert_eq!(plain, b"\x05\0\0\0hello");
        assert_eq!(checked, b"\x05\0\0\0\x7a\x00\xac\x5chello");
    }

    #[test]
    fn a_message_is_the_whole_payload() {
        let (mut pipe, format) = (Vec::new(), FORMATS[0]);
        format.write(&"hello", &mut pipe).unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(format.read_message(&mut from), Ok(Some("hello".to_owned())));
        assert_eq!(format.read_message::<String>(&mut from), Ok(None));
        for (payload, expected) in [(&[5][..], Ok(5_u8)), (&[5, 6], Err(FrameError::Unknown))] {
            assert_eq!(decode::<u8>(payload), expected);
        }
        assert_eq!(decode::<u8>(&[]), Err(FrameError::Unknown));
    }

    #[test]
    fn a_long_frame_is_refused_on_both_sides() {
        let error = FrameError::Oversized { n_bytes: 101, n_bytes_max: 100 };
        let mut bytes = vec![7];
        assert_eq!(FORMATS[0].append(&[&[0; 100], &[0]], &mut bytes), Err(error));
        assert_eq!(bytes, [7]);
        assert_eq!(FORMATS[0].first(&[101, 0, 0, 0]), Err(error));
        assert_eq!(FORMATS[0].read(&mut [101, 0, 0, 0].as_slice(), &mut bytes), Err(error));
    }
}
