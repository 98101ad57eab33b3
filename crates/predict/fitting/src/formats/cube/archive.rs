//! Tar archives, as far as CUBE files are such, and gzip around them or their members.
//!
//! Sums over headers are not checked: Cube 4.8 wrote wrong ones.

use super::super::FileProblem;
use super::{BYTES_MAX, CubeFault};
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;

/// Length of a header, to which members are filled up, in bytes.
const BLOCK_BYTES: usize = 512;
/// Beginning of bytes in the format of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Members of an archive.
pub(super) struct Archive<'a>(HashMap<&'a str, &'a [u8]>);

impl<'a> Archive<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, FileProblem> {
        let mut members = HashMap::new();
        let mut rest = bytes;
        while let Some((header, after)) = rest.split_at_checked(BLOCK_BYTES) {
            if header.iter().all(|byte| *byte == 0) {
                break;
            }
            let (name, n_bytes) =
                name_and_length(header).ok_or_else(|| CubeFault::NotAnArchive.at_archive())?;
            let contents = after.get(..n_bytes).ok_or_else(|| CubeFault::CutOff.at(name))?;
            members.insert(name, contents);
            rest = after.get(n_bytes.next_multiple_of(BLOCK_BYTES)..).unwrap_or_default();
        }
        let is_archive = !members.is_empty();
        is_archive.then_some(Self(members)).ok_or_else(|| CubeFault::NotAnArchive.at_archive())
    }

    pub(super) fn member(&self, name: &str) -> Option<&'a [u8]> {
        self.0.get(name).copied()
    }
}

/// Returns the name and the number of bytes of the member after a header.
fn name_and_length(header: &[u8]) -> Option<(&str, usize)> {
    if header.get(257..262)? != b"ustar" {
        return None;
    }
    let name = text(header.get(..100)?)?;
    let length = header.get(124..136)?;
    // Long lengths are in base 256, others are octal digits.
    let n_bytes = match length {
        [0x80, digits @ ..] => {
            let (high, low) = digits.split_at(3);
            let low = <[u8; 8]>::try_from(low).ok()?;
            high.iter().all(|digit| *digit == 0).then(|| u64::from_be_bytes(low))?
        }
        digits => u64::from_str_radix(text(digits)?.trim(), 8).ok()?,
    };
    let n_bytes =
        usize::try_from(n_bytes).ok().filter(|n_bytes| *n_bytes <= isize::MAX as usize)?;
    Some((name.strip_prefix("./").unwrap_or(name), n_bytes))
}

/// Returns the text before the first zero.
fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).ok()
}

/// Unpacks bytes in the format of gzip; others are returned as they are.
pub(super) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, CubeFault> {
    if bytes.starts_with(&GZIP) {
        Ok(Cow::Owned(read_up_to(MultiGzDecoder::new(bytes), BYTES_MAX)?))
    } else {
        Ok(Cow::Borrowed(bytes))
    }
}

/// Unpacks at most this many bytes.
pub(super) fn read_up_to(packed: impl Read, n_bytes_max: usize) -> Result<Vec<u8>, CubeFault> {
    let mut bytes = Vec::new();
    let n_taken = (n_bytes_max as u64).saturating_add(1);
    packed.take(n_taken).read_to_end(&mut bytes).map_err(|_| CubeFault::Packed)?;
    if n_bytes_max < bytes.len() {
        return Err(CubeFault::TooLarge);
    }
    Ok(bytes)
}
