//! `decode(encode(message)) == message`.

use crate::messages::{records, to_analyzer};
use frame::FrameBuffer;
use proptest::prelude::{any, proptest};
use proptest::{prop_assert, prop_assert_eq};
use wire::{FRAMES, Records, ToAnalyzer, decode, encode, next_message, to_bytes};

proptest! {
    #[test]
    fn what_is_said_to_the_analyzer_arrives(message in to_analyzer()) {
        let mut stream = Vec::new();
        encode(&message, &mut stream).unwrap();
        let mut frames = FrameBuffer::new(FRAMES);
        frames.push(&stream);
        prop_assert_eq!(next_message::<ToAnalyzer>(&mut frames).unwrap(), Some(message));
        prop_assert_eq!(next_message::<ToAnalyzer>(&mut frames).unwrap(), None);
        prop_assert_eq!(frames.n_waiting(), 0);
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
