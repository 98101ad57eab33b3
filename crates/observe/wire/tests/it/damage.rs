//! Bytes that are no messages: a typed error each, never a panic, never much memory.

use crate::messages::to_analyzer;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::prop_assert;
use wire::{FrameBuffer, ToAnalyzer, ToCollector, WireError, decode, encode};

/// Longest message accepted in these tests, in bytes.
const FRAME_BYTES_MAX: usize = 4096;

fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short");
    [&length.to_le_bytes(), body].concat()
}

#[track_caller]
fn check(stream: &[u8], expected: impl Fn(&WireError) -> bool) {
    let mut frames = FrameBuffer::new(FRAME_BYTES_MAX);
    frames.push(stream);
    let next = frames.next_message::<ToCollector>();
    let error = next.and_then(|_| frames.finish()).expect_err("no message");
    assert!(expected(&error), "{error:?}");
}

#[test]
fn an_error_says_what_is_wrong_with_the_bytes() {
    let mut finish = Vec::new();
    encode(&ToCollector::Finish, &mut finish).unwrap();
    let is_truncated = |by| move |error: &WireError| *error == WireError::Truncated { missing: by };
    check(&finish[..2], is_truncated(2));
    check(&finish[..4], is_truncated(1));
    check(&framed(&[200]), |error| matches!(error, WireError::Unknown { .. }));
    check(&framed(&[]), |error| matches!(error, WireError::Unknown { .. }));
    check(&framed(&[finish[4], 1, 2]), |error| *error == WireError::Trailing { bytes: 2 });
    check(&u32::MAX.to_le_bytes(), |error| {
        *error == WireError::Oversized { bytes: 0xffff_ffff, bytes_max: FRAME_BYTES_MAX }
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
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        let _any = decode::<ToAnalyzer>(&bytes).is_ok();
        let _any = decode::<ToCollector>(&bytes).is_ok();
        let mut frames = FrameBuffer::new(FRAME_BYTES_MAX);
        frames.push(&bytes);
        while let Ok(Some(_)) = frames.next_message::<ToAnalyzer>() {}
    }

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
        let mut frames = FrameBuffer::new(1 << 20);
        frames.push(&stream);
        while let Ok(Some(_)) = frames.next_message::<ToAnalyzer>() {}
    }

    #[test]
    fn a_message_cut_anywhere_is_no_message(message in to_analyzer(), at in any::<usize>()) {
        let mut stream = Vec::new();
        encode(&message, &mut stream).unwrap();
        let at = at % stream.len();
        let mut frames = FrameBuffer::new(1 << 20);
        frames.push(&stream[..at]);
        prop_assert!(frames.next_message::<ToAnalyzer>().unwrap().is_none());
        prop_assert!(at == 0 || frames.finish().is_err());
    }
}
