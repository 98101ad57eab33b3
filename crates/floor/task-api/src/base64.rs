//! Base64 of RFC 4648, with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes every three bytes as four characters.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3)
            .fold(0_u32, |bits, idx| bits << 8 | u32::from(three.get(idx).copied().unwrap_or(0)));
        for idx in 0..4 {
            let sextet = (bits >> (18 - 6 * idx) & 63) as usize;
            text.push(if idx <= three.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    text
}

/// Decodes `text`; `None` where it is not what [`encode`] writes.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if 2 < text.len() - digits.len() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits = 0_u32;
    let mut n_bits = 0;
    for digit in digits.bytes() {
        let sextet = ALPHABET.iter().position(|&letter| letter == digit)?;
        bits = bits << 6 | u32::try_from(sextet).ok()?;
        n_bits += 6;
        if 8 <= n_bits {
            n_bits -= 8;
            bytes.push(u8::try_from(bits >> n_bits & 0xff).ok()?);
        }
        bits &= (1 << n_bits) - 1;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], text: &str) {
        assert_eq!(encode(bytes), text);
        assert_eq!(decode(text).as_deref(), Some(bytes));
    }

    #[test]
    fn the_examples_of_the_standard_hold() {
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foobar", "Zm9vYmFy");
        check(&[0xfb, 0xff], "+/8=");
    }

    #[test]
    fn other_text_is_no_base64() {
        for text in ["Z", "Zg=", "Z===", "Zg!=", "====", "Zg== "] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
