//! Checksum at the end of a JSON object, which detects a changed digit that would be read as another number.
//!
//! ```json
//! {"format_version":1,"models":[],"checksum":"8d2e24a3"}
//! ```
//! The checksum is the CRC-32 of all bytes before the comma in front of it. Readers that do not know it see one
//! more field; objects without it, from earlier versions or made by hand, are accepted.
//!
//! # Invariants
//! - A sealed object in which one bit has changed is refused, or its fields are unchanged.
//!
//! # Not here
//! Files, and messages about damaged ones: see their readers.

const KEY: &str = "\"checksum\"";
const N_DIGITS: usize = 8;

/// Error: the object was changed after it was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

/// Returns a non-empty JSON object with its checksum as the last field. Other texts stay as they are.
#[must_use]
pub fn seal(object: &str) -> String {
    let Some((body, end)) = object.rsplit_once('}') else { return object.to_owned() };
    let fields = body.trim_end();
    let space = &body[fields.len()..];
    format!("{fields},{space}{KEY}:\"{:08x}\"}}{end}", crc32fast::hash(fields.as_bytes()))
}

/// Checks that an object is unchanged since it was sealed, or was never sealed.
///
/// # Errors
/// When the object was changed since.
pub fn check(text: &[u8]) -> Result<(), Changed> {
    let Some((fields, checksum)) = divided(text) else { return Ok(()) };
    let checksum = checksum.trim_ascii().strip_prefix(b"\"").unwrap_or_default();
    let Some((digits, end)) = checksum.split_at_checked(N_DIGITS) else { return Err(Changed) };
    let is_end = end.strip_prefix(b"\"").map(<[u8]>::trim_ascii) == Some(b"}");
    let expected = format!("{:08x}", crc32fast::hash(fields));
    if is_end && digits == expected.as_bytes() { Ok(()) } else { Err(Changed) }
}

/// Splits a sealed object into the bytes before the comma in front of the checksum, and those behind the checksum's
/// colon.
fn divided(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.windows(KEY.len()).rposition(|window| window == KEY.as_bytes())?;
    let (before, after) = (text[..at].trim_ascii_end(), text[at + KEY.len()..].trim_ascii_start());
    Some((before.strip_suffix(b",")?, after.strip_prefix(b":")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTS: [&str; 3] = [
        "{\"a\":1.25,\"list\":[{\"b\":\"\\\"checksum\\\"\"}]}\n",
        "{\n  \"a\": 1,\n  \"b\": {}\n}\n",
        "{\"name\":\"checksum\"}",
    ];

    #[test]
    fn what_is_sealed_is_one_object_with_one_more_field() {
        assert_eq!(seal("{\"a\":1}"), "{\"a\":1,\"checksum\":\"a702fc6e\"}");
        for object in OBJECTS {
            assert_eq!(check(object.as_bytes()), Ok(()), "never sealed");
            assert_eq!(check(seal(object).as_bytes()), Ok(()));
        }
    }

    /// Changes any bit, also in the end behind the fields: where the object is not refused, its fields are the
    /// same.
    #[test]
    fn no_bit_of_the_fields_can_be_another_one() {
        for object in OBJECTS {
            let whole = seal(object).into_bytes();
            let n_fields = object.trim_end().trim_end_matches('}').trim_end().len();
            for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert!(n_fields <= at || check(&bytes) == Err(Changed), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn what_was_written_anew_by_another_program_is_told() {
        let spaced = seal("{\"a\":1}").replace(':', ": ");
        assert_eq!(check(spaced.as_bytes()), Err(Changed));
        assert_eq!(check(b"{\"a\": 1, \"checksum\": 7}"), Err(Changed));
    }
}
