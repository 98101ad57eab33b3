//! Columns of numbers as text that a page decodes fast: variable-length integers, deflated, in base64.
//!
//! The decoder is `assets/packed.js`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// Packed numbers, in the order in which the page reads them.
#[derive(Debug, Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    /// Appends a number: seven bits per byte, lowest first.
    pub(super) fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push((number & 0x7f) as u8);
    }

    /// Appends a signed number; small magnitudes stay short.
    pub(super) fn push_signed(&mut self, number: i64) {
        self.push(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    /// Appends each number as the difference from the previous one.
    pub(super) fn push_differences(&mut self, numbers: impl Iterator<Item = i64>) {
        let mut before = 0;
        for number in numbers {
            self.push_signed(number.wrapping_sub(before));
            before = number;
        }
    }

    /// Returns the text for the page.
    pub(super) fn into_text(self) -> String {
        STANDARD.encode(deflated(&self.bytes))
    }
}

/// Compresses `bytes` in zlib's format.
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("a vector takes every byte")
}

/// Encodes an optional id or rank: 0 for `None`, otherwise the number plus 1.
pub(super) fn or_none(number: Option<usize>) -> i64 {
    number.map_or(0, |number| i64::try_from(number).map_or(0, |number| number.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: u64, expected: &[u8]) {
        let mut packed = Packed::default();
        packed.push(number);
        assert_eq!(packed.bytes, expected);
    }

    #[test]
    fn small_numbers_are_short() {
        check(0, &[0]);
        check(127, &[127]);
        check(128, &[0x80, 1]);
        check(u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }

    #[test]
    fn differences_keep_their_sign() {
        let mut packed = Packed::default();
        packed.push_differences([5, 3, 3].into_iter());
        assert_eq!(packed.bytes, [10, 3, 0]);
    }
}
