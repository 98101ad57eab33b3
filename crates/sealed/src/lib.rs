//! A checksum at the end of a JSON object that we write, so that a changed digit is told and not read as another number.
//!
//! ```json
//! {"format_version":1,"models":[],"checksum":"8d2e24a3"}
//! ```
//! It is the CRC-32 of all bytes before the comma in front of it. Readers that do not know it see one more field; objects
//! without it, of earlier versions or made by hand, are read as they are.
//!
//! # Invariants
//! - An object that was sealed and then changed by one bit is refused, or holds what it held.
//!
//! # Not here
//! Files and what to say of a damaged one: their readers.

const KEY: &str = "\"checksum\"";
const N_DIGITS: usize = 8;

/// The object was changed after it was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

/// A JSON object that is not empty, with its checksum as the last field. Other texts stay as they are.
#[must_use]
pub fn seal(object: &str) -> String {
    let Some((body, end)) = object.rsplit_once('}') else { return object.to_owned() };
    let fields = body.trim_end();
    let space = &body[fields.len()..];
    format!("{fields},{space}{KEY}:\"{:08x}\"}}{end}", crc32fast::hash(fields.as_bytes()))
}

/// Whether an object is as it was sealed, or was never.
///
/// # Errors
/// When it was changed since.
pub fn check(text: &[u8]) -> Result<(), Changed> {
    let Some((fields, checksum)) = divided(text) else { return Ok(()) };
    let checksum = checksum.trim_ascii().strip_prefix(b"\"").unwrap_or_default();
    let Some((digits, end)) = checksum.split_at_checked(N_DIGITS) else { return Err(Changed) };
    let is_end = end.strip_prefix(b"\"").map(<[u8]>::trim_ascii) == Some(b"}");
    let expected = format!("{:08x}", crc32fast::hash(fields));
    if is_end && digits == expected.as_bytes() { Ok(()) } else { Err(Changed) }
}

/// What is before the comma in front of the checksum, and what is behind its colon.
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

    /// Any changed bit, and any end that is missing behind the fields: where it is not refused, the fields are the same.
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
