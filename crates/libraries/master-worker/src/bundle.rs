//! Several small chunks, or their results, in one message: where a chunk takes less time than a message does, messages would
//! be most of the work.
//!
//! A bundle is a header and, for each part, its length in 8 bytes and a message of its own.

use crate::protocol::{HEADER_BYTES, MessageHeader, MessageKind};

/// Most messages in a bundle.
pub(crate) const N_PARTS_MAX: usize = 32;
/// Length of a message above which it travels alone, in bytes, without the header.
pub(crate) const PART_BYTES_MAX: usize = 512;
/// Length above which nothing is added to a bundle, in bytes: transports receive a shorter message at once.
const BYTES_MAX: usize = 3000;
/// Bytes of a part's length.
const LENGTH_BYTES: usize = size_of::<u64>();

/// Bundle that is being made.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    parts: Vec<u8>,
    n_parts: usize,
}

impl Bundle {
    pub(crate) fn add(&mut self, header: &MessageHeader, content: &[u8]) {
        let n_bytes = (HEADER_BYTES + content.len()) as u64;
        self.parts.extend_from_slice(&n_bytes.to_le_bytes());
        self.parts.extend_from_slice(&header.to_bytes());
        self.parts.extend_from_slice(content);
        self.n_parts += 1;
    }

    pub(crate) fn n_parts(&self) -> usize {
        self.n_parts
    }

    /// Returns whether nothing more is to be added.
    pub(crate) fn is_full(&self) -> bool {
        N_PARTS_MAX <= self.n_parts || BYTES_MAX <= self.parts.len()
    }

    /// Header and parts, to be sent as one message: a bundle of one is that message.
    pub(crate) fn message(&self, iteration: u64, compute_s: f64) -> ([u8; HEADER_BYTES], &[u8]) {
        let alone = self.parts.get(LENGTH_BYTES..).and_then(|one| one.split_first_chunk());
        match alone.filter(|_| self.n_parts == 1) {
            Some((header, content)) => (*header, content),
            None => {
                let header = MessageHeader::of(MessageKind::Bundle, iteration);
                (MessageHeader { compute_s, ..header }.to_bytes(), &self.parts)
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.n_parts = 0;
    }
}

/// Messages in a bundle that was received; `None` for what is none.
pub(crate) fn parts_of(bundle: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut left = bundle.get(HEADER_BYTES..).unwrap_or_default();
    std::iter::from_fn(move || {
        if left.is_empty() {
            return None;
        }
        let part = left.split_first_chunk().and_then(|(length, rest)| {
            let n_bytes = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            rest.split_at_checked(n_bytes)
        });
        left = part.map_or(&[], |(_, rest)| rest);
        Some(part.map(|(part, _)| part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u64) -> MessageHeader {
        MessageHeader { chunk: number, ..MessageHeader::of(MessageKind::Results, 3) }
    }

    #[test]
    fn parts_come_out_as_they_went_in() {
        let mut bundle = Bundle::default();
        let contents: [&[u8]; 3] = [&[], &[1, 2, 3], &[7; 500]];
        for (number, content) in (0..).zip(contents) {
            bundle.add(&chunk(number), content);
        }
        let (header, parts) = bundle.message(3, 1e-6);
        let message = [header.as_slice(), parts].concat();
        let read = MessageHeader::read(&message).unwrap();
        assert_eq!((read.kind, read.iteration, read.compute_s), (MessageKind::Bundle, 3, 1e-6));
        let parts: Vec<&[u8]> = parts_of(&message).map(Option::unwrap).collect();
        for (number, (part, content)) in (0..).zip(parts.iter().zip(contents)) {
            assert_eq!(MessageHeader::read(part), Some(chunk(number)));
            assert_eq!(&part[HEADER_BYTES..], content);
        }
        assert_eq!(parts.len(), contents.len());
    }

    #[test]
    fn one_part_is_sent_as_it_is() {
        let mut bundle = Bundle::default();
        bundle.add(&chunk(5), &[9, 9]);
        assert_eq!(bundle.message(3, 0.0), (chunk(5).to_bytes(), [9, 9].as_slice()));
    }

    #[track_caller]
    fn check_damaged(change: impl FnOnce(&mut Vec<u8>)) {
        let mut bundle = Bundle::default();
        (0..2).for_each(|number| bundle.add(&chunk(number), &[1]));
        let (header, parts) = bundle.message(0, 0.0);
        let mut message = [header.as_slice(), parts].concat();
        change(&mut message);
        assert_eq!(parts_of(&message).last(), Some(None));
    }

    #[test]
    fn damaged_bundles_are_noticed() {
        check_damaged(|message| message.truncate(message.len() - 1));
        check_damaged(|message| message.push(0));
        check_damaged(|message| message[HEADER_BYTES + LENGTH_BYTES - 1] = 0xff);
    }

    #[test]
    fn it_is_full_by_number_and_by_length() {
        let mut bundle = Bundle::default();
        (0..N_PARTS_MAX as u64).for_each(|number| bundle.add(&chunk(number), &[]));
        assert!(bundle.is_full());
        bundle.clear();
        assert!(!bundle.is_full() && bundle.n_parts() == 0);
        (0..6).for_each(|number| bundle.add(&chunk(number), &[0; PART_BYTES_MAX]));
        assert!(bundle.is_full());
    }
}
