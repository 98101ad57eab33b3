//! Whatever happens to the bytes, every block outside the damage is read.

use proptest::{collection::vec, prelude::*};

use super::*;

const KIND: BlockFileKind = BlockFileKind { magic: *b"\xa7TS\x01", payload_bytes_max: 1000 };

fn write(payloads: &[Vec<u8>], first: u64) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut ends = vec![0];
    for (payload, sequence) in payloads.iter().zip(first..) {
        let begin = open(&mut bytes);
        bytes.extend_from_slice(payload);
        seal(KIND, 7, sequence, begin, &mut bytes);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

fn read(bytes: &[u8], next: Option<u64>) -> (Vec<Vec<u8>>, u64, bool) {
    let (mut payloads, mut n_missing, mut is_damaged) = (Vec::new(), 0, false);
    for found in Blocks::new(KIND, 7, bytes, next) {
        match found {
            BlockItem::Block { payload, .. } => payloads.push(payload.to_vec()),
            BlockItem::Hole(hole) => {
                n_missing += hole.n_blocks;
                is_damaged = true;
            }
            BlockItem::Tail { .. } => is_damaged = true,
        }
    }
    (payloads, n_missing, is_damaged)
}

fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    // Some bytes look like the beginning of a block.
    let part = prop_oneof![vec(any::<u8>(), 0..20), Just(KIND.magic.to_vec())];
    vec(vec(part, 0..4).prop_map(|parts| parts.concat()), 1..8)
}

proptest! {
    #[test]
    fn what_is_written_is_read(payloads in payloads(), first in 1..u64::MAX / 2) {
        let (bytes, _) = write(&payloads, first);
        prop_assert_eq!(read(&bytes, Some(first)), (payloads, 0, false));
    }

    #[test]
    fn a_spot_takes_only_the_blocks_that_it_touches(
        payloads in payloads(),
        spot in any::<prop::sample::Index>(),
        noise in vec(any::<u8>(), 1..30),
    ) {
        let (mut bytes, ends) = write(&payloads, 5);
        let begin = spot.index(bytes.len());
        let end = bytes.len().min(begin + noise.len());
        let before = bytes.clone();
        bytes[begin..end].copy_from_slice(&noise[..end - begin]);
        let is_hit = |block: usize| before[ends[block]..ends[block + 1]] != bytes[ends[block]..ends[block + 1]];
        let kept: Vec<_> = (0..payloads.len()).filter(|block| !is_hit(*block)).collect();
        let expected: Vec<_> = kept.iter().map(|block| payloads[*block].clone()).collect();
        let (found, n_missing, is_damaged) = read(&bytes, Some(5));
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(is_damaged, kept.len() < payloads.len());
        // Blocks behind the last good one cannot be known to be missing.
        let n_behind = payloads.len() - kept.last().map_or(0, |last| last + 1);
        prop_assert_eq!(n_missing, (payloads.len() - kept.len() - n_behind) as u64);
    }

    #[test]
    fn a_piece_that_was_cut_out_is_missed(payloads in payloads(), from in any::<prop::sample::Index>()) {
        let (bytes, ends) = write(&payloads, 1);
        let from = from.index(payloads.len());
        let cut = [&bytes[..ends[from]], &bytes[ends[from + 1]..]].concat();
        let (found, n_missing, _) = read(&cut, Some(1));
        prop_assert_eq!(found.len(), payloads.len() - 1);
        prop_assert_eq!(n_missing, u64::from(from + 1 < payloads.len()));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in vec(prop_oneof![any::<u8>(), Just(0xa7)], 0..300)) {
        read(&bytes, None);
    }
}

/// The output of a task may be a piece of this very journal.
#[test]
fn a_copy_of_older_blocks_in_a_damaged_block_is_not_read() {
    let (old, _) = write(&[b"old".to_vec()], 3);
    let (mut bytes, ends) = write(&[b"first".to_vec(), old, b"last".to_vec()], 4);
    bytes[ends[1]] ^= 1;
    assert_eq!(read(&bytes, Some(4)), (vec![b"first".to_vec(), b"last".to_vec()], 1, true));
}

#[test]
fn blocks_of_another_file_are_none_of_this_one() {
    let (bytes, _) = write(&[b"mine".to_vec()], 1);
    assert_eq!(Blocks::new(KIND, 8, &bytes, None).next(), Some(BlockItem::Tail { at: 0 }));
}
