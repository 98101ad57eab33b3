//! `decode(encode(message)) == message`; other bytes are an error, and take little memory.

use crate::messages::{records, to_analyzer, to_collector};
use frame::{FrameBuffer, FrameError};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::{prop_assert, prop_assert_eq};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::{FRAMES, Records, ToAnalyzer, decode, to_bytes};

#[test]
fn a_message_that_claims_to_be_long_reserves_nothing() {
    // `Records`, then a key, a thread, a first number, and a length of nearly 2^63 bytes.
    let claim = [2, 1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert_eq!(decode::<ToAnalyzer>(&claim), Err(FrameError::Unknown));
}

fn arrived<M: Serialize + DeserializeOwned>(message: &M) -> Option<M> {
    let mut stream = Vec::new();
    FRAMES.encode(message, &mut stream).expect("short");
    FRAMES.read_message(&mut stream.as_slice()).expect("a frame")
}

proptest! {
    #[test]
    fn damaged_messages_never_panic(
        message in to_analyzer(),
        damage in vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut stream = Vec::new();
        FRAMES.encode(&message, &mut stream).unwrap();
        for (place, byte) in damage {
            let place = place % stream.len();
            stream[place] = byte;
        }
        let mut frames = FrameBuffer::new(FRAMES);
        frames.push(&stream);
        while let Ok(Some(_)) = frames.next_message::<ToAnalyzer>() {}
    }

    #[test]
    fn what_is_said_to_the_analyzer_arrives(message in to_analyzer()) {
        prop_assert_eq!(arrived(&message), Some(message));
    }

    #[test]
    fn what_is_said_to_a_collector_arrives(message in to_collector()) {
        prop_assert_eq!(arrived(&message), Some(message));
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
