//! Reads journals of versions 1 and 2: a header, then a checked frame for each record.
//!
//! Reading stops at the first damage, since nothing tells where the next record begins. Such a journal is written
//! anew when it is opened.

use frame::Format;
use serde::{Deserialize, Serialize};

use super::{HEADER, JournalEntry, JournalSummary, NotRead, RECORD_BYTES_MAX};
use node_core::book::JournalRecord;

const HEADERS: [&[u8; 20]; 2] = [b"sintonia-journal\x01\0\0\0", b"sintonia-journal\x02\0\0\0"];
const FRAME_BYTES: usize = 8;
/// Most bytes that are searched for another line behind a bad one.
const SEARCHED_BYTES_MAX: usize = 64 << 20;

/// Line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Line {
    /// Name of the node that owns the journal.
    Node { name: String },
    /// A record.
    Record(JournalRecord),
}

/// Reads a journal of an older version, or one that was never begun.
pub(super) fn read(
    bytes: &[u8],
    name: &str,
    mut take: impl FnMut(JournalEntry),
) -> Result<JournalSummary, NotRead> {
    let n_header = bytes.len().min(HEADER.len());
    let known = HEADERS.into_iter().chain([HEADER]);
    if !known.clone().any(|header| bytes[..n_header] == header[..n_header]) {
        return Err(NotRead::Unknown);
    }
    let mut contents = JournalSummary::default();
    let mut rest = &bytes[n_header..];
    let mut is_first = true;
    while let Some((line, n_bytes)) = line(rest) {
        match line {
            Line::Node { name: found } if found != name => return Err(NotRead::OtherNode(found)),
            Line::Record(_) if is_first => break,
            Line::Node { .. } => {}
            Line::Record(record) => {
                contents.number_max = contents.number_max.max(record.number_max());
                take(JournalEntry::Record(record));
            }
        }
        is_first = false;
        rest = &rest[n_bytes..];
    }
    if !rest.is_empty() {
        contents.tail = Some((bytes.len() - rest.len()) as u64);
        contents.n_bytes_bad = rest.len() as u64;
        contents.is_tail_damaged = !is_torn(rest);
    }
    Ok(contents)
}

/// Line at the beginning of `bytes`, and its length with its frame.
fn line(bytes: &[u8]) -> Option<(Line, usize)> {
    let payload = payload(bytes)?;
    Some((postcard::from_bytes(payload).ok()?, FRAME_BYTES + payload.len()))
}

fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let first = Format::checked(RECORD_BYTES_MAX).first(bytes).ok()??;
    (!first.payload.is_empty()).then_some(first.payload)
}

/// Returns whether the last line was cut: it is longer than the bytes that are left, and no other one follows.
fn is_torn(rest: &[u8]) -> bool {
    if rest.iter().all(|byte| *byte == 0) {
        return true;
    }
    if FRAME_BYTES + RECORD_BYTES_MAX < rest.len() {
        return false;
    }
    let is_short = match rest.first_chunk::<4>() {
        Some(length) if FRAME_BYTES <= rest.len() => {
            let n_bytes = u32::from_le_bytes(*length) as usize;
            (rest.len() - FRAME_BYTES + 1..=RECORD_BYTES_MAX).contains(&n_bytes)
        }
        _ => true,
    };
    is_short && !has_line(rest)
}

/// Returns whether a line begins anywhere behind the first byte, or whether finding out would take too long.
fn has_line(rest: &[u8]) -> bool {
    let mut n_bytes_left = SEARCHED_BYTES_MAX;
    (1..rest.len()).any(|at| {
        let length = rest[at..].first_chunk::<4>().map_or(0, |it| u32::from_le_bytes(*it) as usize);
        if length == 0 || rest.len() - at < length {
            return false;
        }
        n_bytes_left = n_bytes_left.saturating_sub(length);
        n_bytes_left == 0 || payload(&rest[at..]).is_some()
    })
}

#[cfg(test)]
mod tests;
