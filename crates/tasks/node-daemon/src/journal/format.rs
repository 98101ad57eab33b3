//! Encodes records as blocks, and reads them back.

mod old;

use serde::{Deserialize, Serialize};

use crate::blocks::{self, BlockFileKind, BlockItem, Blocks};
use node_core::book::{Book, JournalRecord};

/// Longest record in bytes: a submission, or an end with all output that is kept.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// Start of a journal, with its version. New kinds of records are only added behind the existing ones.
pub(super) const HEADER: &[u8; 20] = b"sintonia-journal\x03\0\0\0";
/// Each record has a block of its own, so that a damaged spot loses only the records that it touches.
const KIND: BlockFileKind =
    BlockFileKind { magic: *b"\xa7SJ\x03", payload_bytes_max: RECORD_BYTES_MAX };
/// Seed of the block behind the header. It names the node, so it must be readable without that name.
const HEAD_SEED: u32 = 0;
/// Bytes within which that block has to lie.
const HEAD_BYTES_MAX: usize = 1024;

/// Reasons why a record cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The record is too long.
    #[error("a record of {0} bytes is longer than the {RECORD_BYTES_MAX} that a journal takes")]
    TooLong(usize),
    /// The record cannot be encoded.
    #[error("a record cannot be encoded")]
    Encoding(#[from] postcard::Error),
}

/// Reasons why bytes are not read as a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRead {
    /// The bytes are no journal, or one of another version.
    Unknown,
    /// The journal belongs to the node of this name.
    OtherNode(String),
}

/// Entry of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEntry {
    /// A record.
    Record(JournalRecord),
    /// Records are missing here.
    Hole,
}

/// Contents of a journal besides its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalSummary {
    /// True if the journal is of the present version, with a good beginning.
    pub is_current: bool,
    /// Sequence number of the last block.
    pub sequence: Option<u64>,
    /// True if records are missing before the last one.
    pub has_holes: bool,
    /// Number of bytes that are no record, including those at the end.
    pub n_bytes_bad: u64,
    /// Number of missing records, as far as it is known.
    pub n_missing: u64,
    /// Position of bytes behind the last record, if there are any.
    pub tail: Option<u64>,
    /// True if these bytes are more than an incomplete record. False for the present version, where they do not
    /// tell: there the mark says how far the journal had come.
    pub is_tail_damaged: bool,
    /// Greatest number of a task that a record names.
    pub number_max: u64,
}

/// Encoder of records into blocks.
#[derive(Clone, Debug)]
pub struct Encoder {
    seed: u32,
    sequence: u64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    name: String,
}

impl Encoder {
    /// Encoder for the node of this name, behind the block with this sequence number.
    pub fn new(name: &str, sequence: u64) -> Self {
        Self { seed: blocks::seed_of(name), sequence }
    }

    /// Sequence number of the last block.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Appends a record.
    ///
    /// # Errors
    /// When it is longer than [`RECORD_BYTES_MAX`]; nothing is appended then.
    pub fn encode(&mut self, record: &JournalRecord, to: &mut Vec<u8>) -> Result<(), FormatError> {
        append(record, (self.seed, self.sequence + 1), to)?;
        self.sequence += 1;
        Ok(())
    }

    /// Appends records that make this book again.
    ///
    /// # Errors
    /// When one of them is longer than [`RECORD_BYTES_MAX`].
    pub(crate) fn encode_book(
        &mut self,
        book: &mut Book,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        let mut failed = None;
        book.snapshot(|record| failed = self.encode(record, to).err().or(failed.take()));
        failed.map_or(Ok(()), Err)
    }
}

/// Appends the beginning of a journal whose first record follows this sequence number.
pub(super) fn encode_header(
    name: &str,
    sequence: u64,
    to: &mut Vec<u8>,
) -> Result<(), FormatError> {
    to.extend_from_slice(HEADER);
    append(&Head { name: name.to_owned() }, (HEAD_SEED, sequence), to)
}

fn append(
    value: &impl Serialize,
    (seed, sequence): (u32, u64),
    to: &mut Vec<u8>,
) -> Result<(), FormatError> {
    let begin = blocks::open(to);
    *to = postcard::to_extend(value, std::mem::take(to))?;
    let n_bytes = to.len() - begin - blocks::HEAD_BYTES;
    if RECORD_BYTES_MAX < n_bytes {
        to.truncate(begin);
        return Err(FormatError::TooLong(n_bytes));
    }
    blocks::seal(KIND, seed, sequence, begin, to);
    Ok(())
}

/// Reads a journal of the node `name`; `take` gets its records, and a hole where some are missing.
///
/// # Errors
/// When the bytes are no journal of this or an older version, or of another node, but not when they are damaged.
pub fn read(
    bytes: &[u8],
    name: &str,
    mut take: impl FnMut(JournalEntry),
) -> Result<JournalSummary, NotRead> {
    let seed = blocks::seed_of(name);
    let begin = begin(bytes);
    if let Some(found) = begin.as_ref().map(|begin| &begin.name).filter(|found| *found != name) {
        return Err(NotRead::OtherNode(found.clone()));
    }
    let all = match &begin {
        Some(begin) => {
            Blocks::new(KIND, seed, &bytes[begin.n_bytes..], begin.sequence.checked_add(1))
        }
        None => Blocks::new(KIND, seed, bytes, None),
    };
    let mut whole = all.clone();
    let has_blocks = whole.any(|found| matches!(found, BlockItem::Block { .. }));
    if begin.is_none() && !has_blocks {
        return old::read(bytes, name, take);
    }
    if all.clone().any(|found| matches!(found, BlockItem::Hole(_))) {
        // Surroundings that many submissions share are in the journal twice, the second time behind those
        // submissions.
        let records = all.clone().filter_map(record_of);
        let arounds = records.filter(|record| matches!(record, JournalRecord::Around { .. }));
        arounds.for_each(|record| take(JournalEntry::Record(record)));
    }
    let mut contents = JournalSummary {
        is_current: begin.is_some(),
        sequence: begin.as_ref().map(|begin| begin.sequence),
        ..JournalSummary::default()
    };
    let n_before = begin.map_or(0, |begin| begin.n_bytes);
    for found in all {
        take_found(&found, n_before, &mut contents, &mut take);
        if let BlockItem::Tail { at } = found {
            contents.n_bytes_bad += (bytes.len() - n_before - at) as u64;
        }
    }
    Ok(contents)
}

fn take_found(
    found: &BlockItem<'_>,
    n_before: usize,
    contents: &mut JournalSummary,
    take: &mut impl FnMut(JournalEntry),
) {
    match found {
        BlockItem::Block { sequence, payload } => {
            contents.sequence = Some(*sequence);
            let Ok(record) = postcard::from_bytes::<JournalRecord>(payload) else {
                // The block is undamaged, but its record is unknown.
                contents.has_holes = true;
                contents.n_missing += 1;
                return take(JournalEntry::Hole);
            };
            contents.number_max = contents.number_max.max(record.number_max());
            take(JournalEntry::Record(record));
        }
        BlockItem::Hole(hole) => {
            contents.has_holes = true;
            contents.n_bytes_bad += hole.n_bytes;
            contents.n_missing += hole.n_blocks;
            take(JournalEntry::Hole);
        }
        BlockItem::Tail { at } => contents.tail = Some((n_before + at) as u64),
    }
}

fn record_of(found: BlockItem<'_>) -> Option<JournalRecord> {
    let BlockItem::Block { payload, .. } = found else { return None };
    postcard::from_bytes(payload).ok()
}

struct Begin {
    name: String,
    sequence: u64,
    n_bytes: usize,
}

/// Reads the beginning, if it is good.
fn begin(bytes: &[u8]) -> Option<Begin> {
    let rest = bytes.strip_prefix(HEADER)?;
    let mut blocks = Blocks::new(KIND, HEAD_SEED, &rest[..rest.len().min(HEAD_BYTES_MAX)], None);
    let Some(BlockItem::Block { sequence, payload }) = blocks.next() else { return None };
    let Head { name } = postcard::from_bytes(payload).ok()?;
    Some(Begin { name, sequence, n_bytes: HEADER.len() + blocks.n_read() })
}

#[cfg(test)]
mod tests;
