//! Proof of the key and encryption, on bytes alone: the caller does the input and output.

use crate::record::{LENGTH_BYTES, RECORD_BYTES_MAX, append_record, first_record};
use crate::{ChannelError, KEY_BYTES};
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::sync::Arc;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Bytes of the authentication tag of a record.
const CHECK_BYTES: usize = 16;
const PLAIN_BYTES_MAX: usize = RECORD_BYTES_MAX - CHECK_BYTES;

/// Handshake: the first records of a connection, with which both sides prove the key.
#[derive(Debug)]
pub struct Handshake {
    noise: HandshakeState,
}

impl Handshake {
    /// Handshake of the side that connects; it speaks first. Both sides have to give the same `prologue`.
    #[must_use]
    pub fn dialing(prologue: &[u8], key: &[u8; KEY_BYTES]) -> Self {
        Self::built(builder(prologue, key).build_initiator())
    }

    /// Handshake of the side that accepts the connection.
    #[must_use]
    pub fn answering(prologue: &[u8], key: &[u8; KEY_BYTES]) -> Self {
        Self::built(builder(prologue, key).build_responder())
    }

    fn built(noise: Result<HandshakeState, snow::Error>) -> Self {
        Self { noise: noise.expect("the pattern needs nothing but the key that was given") }
    }

    /// Appends the next record, with `plain` as its contents.
    ///
    /// # Errors
    /// If `plain` is too long.
    pub fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        let mut record = vec![0; RECORD_BYTES_MAX];
        let n_bytes =
            self.noise.write_message(plain, &mut record).map_err(|_| ChannelError::TooLong)?;
        append_record(&record[..n_bytes], wire)
    }

    /// Opens the next record.
    ///
    /// # Errors
    /// If the other side does not have the key.
    pub fn open(&mut self, record: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let mut plain = vec![0; record.len()];
        let n_bytes =
            self.noise.read_message(record, &mut plain).map_err(|_| ChannelError::Unproved)?;
        plain.truncate(n_bytes);
        Ok(plain)
    }

    /// Returns both directions of the connection, after each side has sent a record.
    ///
    /// # Errors
    /// If a side has not sent its record yet.
    pub fn finish(self) -> Result<(Sealer, Opener), ChannelError> {
        let noise = self.noise.into_stateless_transport_mode();
        let noise = Arc::new(noise.map_err(|_| ChannelError::Unproved)?);
        let opener =
            Opener { noise: Arc::clone(&noise), n_records: 0, arrived: Vec::new(), n_taken: 0 };
        Ok((Sealer { noise, n_records: 0 }, opener))
    }
}

fn builder<'a>(prologue: &'a [u8], key: &'a [u8; KEY_BYTES]) -> Builder<'a> {
    let pattern = PATTERN.parse().expect("the pattern is one that the library has");
    let builder = Builder::new(pattern).psk(0, key);
    let builder = builder.and_then(|builder| builder.prologue(prologue));
    builder.expect("a key and a prologue are given once")
}

/// Outgoing direction of a connection.
#[derive(Debug)]
pub struct Sealer {
    noise: Arc<StatelessTransportState>,
    n_records: u64,
}

impl Sealer {
    /// Appends `plain` as records; an empty `plain` makes one empty record.
    ///
    /// # Errors
    /// After 2^64 records.
    pub fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        let n_pieces = plain.len().div_ceil(PLAIN_BYTES_MAX).max(1);
        wire.reserve(plain.len() + n_pieces * (LENGTH_BYTES + CHECK_BYTES));
        for piece in 0..n_pieces {
            let rest = &plain[piece * PLAIN_BYTES_MAX..];
            self.seal_record(&rest[..rest.len().min(PLAIN_BYTES_MAX)], wire)?;
        }
        Ok(())
    }

    fn seal_record(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        let n_bytes = plain.len() + CHECK_BYTES;
        let length = u16::try_from(n_bytes).map_err(|_| ChannelError::TooLong)?;
        wire.extend_from_slice(&length.to_be_bytes());
        let begins = wire.len();
        wire.resize(begins + n_bytes, 0);
        let sealed = self.noise.write_message(self.n_records, plain, &mut wire[begins..]);
        sealed.map_err(|_| ChannelError::TooLong)?;
        self.n_records += 1;
        Ok(())
    }
}

/// Incoming direction of a connection.
#[derive(Debug)]
pub struct Opener {
    noise: Arc<StatelessTransportState>,
    n_records: u64,
    /// Beginning of a record whose rest has not arrived.
    arrived: Vec<u8>,
    n_taken: usize,
}

impl Opener {
    /// Appends the contents of the next record to `plain`.
    ///
    /// # Errors
    /// If `record` is not the other side's next record; `plain` is then unchanged.
    pub fn open(&mut self, record: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let begins = plain.len();
        plain.resize(begins + record.len(), 0);
        let opened = self.noise.read_message(self.n_records, record, &mut plain[begins..]);
        plain.truncate(begins + *opened.as_ref().unwrap_or(&0));
        opened.map_err(|_| ChannelError::Unproved)?;
        self.n_records += 1;
        Ok(())
    }

    /// Takes bytes in pieces as they arrive, and appends to `plain` the contents of the records that are complete.
    ///
    /// # Errors
    /// As [`Opener::open`].
    pub fn hear(&mut self, arrived: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let mut waiting = std::mem::take(&mut self.arrived);
        waiting.drain(..self.n_taken);
        waiting.extend_from_slice(arrived);
        self.n_taken = 0;
        let mut outcome = Ok(());
        while outcome.is_ok()
            && let Some(record) = first_record(&waiting[self.n_taken..])
        {
            outcome = self.open(record, plain);
            self.n_taken += LENGTH_BYTES + record.len();
        }
        self.arrived = waiting;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

    /// A connection after the handshake: both directions of the dialing side and of the answering side.
    fn connected() -> ((Sealer, Opener), (Sealer, Opener)) {
        let (mut near, mut far) =
            (Handshake::dialing(b"x", &KEY), Handshake::answering(b"x", &KEY));
        let mut wire = Vec::new();
        near.seal(b"hello", &mut wire).unwrap();
        assert_eq!(far.open(first_record(&wire).unwrap()).unwrap(), b"hello");
        wire.clear();
        far.seal(b"welcome", &mut wire).unwrap();
        assert_eq!(near.open(first_record(&wire).unwrap()).unwrap(), b"welcome");
        (near.finish().unwrap(), far.finish().unwrap())
    }

    /// Checks that the sealed texts are received whole when they arrive in pieces of `n_bytes`.
    #[track_caller]
    fn check(texts: &[&[u8]], n_bytes: usize) {
        let ((mut sealer, _), (_, mut opener)) = connected();
        let (mut wire, mut heard) = (Vec::new(), Vec::new());
        texts.iter().for_each(|text| sealer.seal(text, &mut wire).unwrap());
        for piece in wire.chunks(n_bytes) {
            opener.hear(piece, &mut heard).unwrap();
        }
        assert!(heard == texts.concat());
        let secret = texts.iter().find(|text| 8 < text.len());
        let shows = |text: &&&[u8]| wire.windows(8).any(|bytes| *bytes == text[..8]);
        assert!(!secret.is_some_and(|text| shows(&text)), "it can be read on the way");
    }

    #[test]
    fn what_is_sealed_is_heard_in_whatever_pieces_it_comes() {
        check(&[b"order 66 to all"], 1);
        check(&[b"", b"a", b"", b"number eight"], 3);
        check(&[&[9; 200_000], b"and the rest"], 1000);
        check(&[&[9; PLAIN_BYTES_MAX], &[8; 2 * PLAIN_BYTES_MAX]], 1 << 20);
    }

    #[test]
    fn what_was_changed_repeated_left_out_or_moved_is_not_heard() {
        let spoil = |change: fn(&mut Vec<u8>)| {
            let ((mut sealer, _), (_, mut opener)) = connected();
            let mut wire = Vec::new();
            sealer.seal(b"one", &mut wire).unwrap();
            sealer.seal(b"two", &mut wire).unwrap();
            change(&mut wire);
            opener.hear(&wire, &mut Vec::new())
        };
        assert_eq!(spoil(|_| {}), Ok(()));
        assert_eq!(spoil(|wire| wire[5] ^= 1), Err(ChannelError::Unproved));
        assert_eq!(spoil(|wire| wire.copy_within(..21, 21)), Err(ChannelError::Unproved));
        assert_eq!(spoil(|wire| drop(wire.drain(..21))), Err(ChannelError::Unproved));
        assert_eq!(spoil(|wire| wire.rotate_left(21)), Err(ChannelError::Unproved));
        assert_eq!(spoil(|wire| wire.extend([0, 0])), Err(ChannelError::Unproved));
    }

    #[test]
    fn another_key_or_purpose_proves_nothing() {
        for (prologue, key) in [(b"x", [8; KEY_BYTES]), (b"y", KEY)] {
            let mut wire = Vec::new();
            Handshake::dialing(prologue, &key).seal(b"hello", &mut wire).unwrap();
            let record = first_record(&wire).unwrap();
            let opened = Handshake::answering(b"x", &KEY).open(record);
            assert_eq!(opened, Err(ChannelError::Unproved));
        }
    }
}
