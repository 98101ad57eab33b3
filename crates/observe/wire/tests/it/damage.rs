//! Bytes that are no messages: a typed error each, never a panic, never much memory.

use crate::messages::to_analyzer;
use frame::{FrameBuffer, FrameError};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use wire::{FRAMES, ToAnalyzer, ToCollector, WireError, decode, encode, next_message};

fn framed(body: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    FRAMES.append(&[body], &mut stream).expect("short");
    stream
}

#[track_caller]
fn check(stream: &[u8], expected: impl Fn(&WireError) -> bool) {
    let mut frames = FrameBuffer::new(FRAMES);
    frames.push(stream);
    let error = next_message::<ToCollector>(&mut frames).expect_err("no message");
    assert!(expected(&error), "{error:?}");
}

#[test]
fn an_error_says_what_is_wrong_with_the_bytes() {
    let mut finish = Vec::new();
    encode(&ToCollector::Finish, &mut finish).unwrap();
    check(&framed(&[200]), |error| matches!(error, WireError::Unknown { .. }));
    check(&framed(&[]), |error| matches!(error, WireError::Unknown { .. }));
    check(&framed(&[finish[4], 1, 2]), |error| *error == WireError::Trailing { bytes: 2 });
    check(&u32::MAX.to_le_bytes(), |error| {
        matches!(error, WireError::Frame(FrameError::Oversized { .. }))
    });
}

#[test]
fn a_message_that_claims_to_be_long_reserves_nothing() {
    // `Records`, then a key, a thread, a first number, and a length of nearly 2^63 bytes.
    let claim = [2, 1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert!(matches!(decode::<ToAnalyzer>(&claim), Err(WireError::Unknown { .. })));
}

proptest! {
    #[test]
    fn damaged_messages_never_panic(
        message in to_analyzer(),
        damage in vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut stream = Vec::new();
        encode(&message, &mut stream).unwrap();
        for (place, byte) in damage {
            let place = place % stream.len();
            stream[place] = byte;
        }
        let mut frames = FrameBuffer::new(FRAMES);
        frames.push(&stream);
        while let Ok(Some(_)) = next_message::<ToAnalyzer>(&mut frames) {}
    }
}
