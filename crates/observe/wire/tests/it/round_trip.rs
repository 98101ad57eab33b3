//! `decode(encode(message)) == message`, however the bytes arrive.

use crate::messages::{records, to_analyzer, to_collector};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::{prop_assert, prop_assert_eq};
use wire::frame::FRAME_BYTES_MAX;
use wire::{FrameBuffer, Records, ToAnalyzer, ToCollector, decode, encode, to_bytes};

proptest! {
    #[test]
    fn what_is_said_to_the_analyzer_arrives(message in to_analyzer()) {
        let mut stream = Vec::new();
        encode(&message, &mut stream).unwrap();
        let mut frames = FrameBuffer::new(FRAME_BYTES_MAX);
        frames.push(&stream);
        prop_assert_eq!(frames.next_message::<ToAnalyzer>().unwrap(), Some(message));
        prop_assert_eq!(frames.next_message::<ToAnalyzer>().unwrap(), None);
        prop_assert!(frames.finish().is_ok());
    }

    #[test]
    fn messages_arrive_in_order_in_whatever_pieces(
        messages in vec(to_collector(), 0..8),
        piece_bytes in 1..40_usize,
    ) {
        let mut stream = Vec::new();
        messages.iter().for_each(|message| encode(message, &mut stream).unwrap());
        let mut frames = FrameBuffer::new(FRAME_BYTES_MAX);
        let mut arrived = Vec::new();
        for piece in stream.chunks(piece_bytes) {
            frames.push(piece);
            while let Some(message) = frames.next_message::<ToCollector>().unwrap() {
                arrived.push(message);
            }
        }
        prop_assert_eq!(arrived, messages);
        prop_assert!(frames.finish().is_ok());
    }

    #[test]
    fn records_in_a_file_are_the_same(records in records(), cut in any::<bool>()) {
        let mut bytes = to_bytes(&records).unwrap();
        if cut {
            bytes.pop();
            prop_assert!(decode::<Records>(&bytes).is_err());
        } else {
            prop_assert_eq!(decode::<Records>(&bytes).unwrap(), records);
        }
    }
}
