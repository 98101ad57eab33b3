//! Records that the journal's thread does not have yet, and the journal's length.

use balancing_policies::Moment;
use node_core::book::{Book, JournalRecord};

use crate::journal::{Durability, Encoder, FormatError, JournalPosition, Writer};

/// Length in bytes below which a journal is not compacted.
const COMPACT_BYTES_MIN: u64 = 32 << 20;
/// Least time between two groups of records, in ms, unless many wait: it bounds both the wait for the disk and the
/// rate of its writes.
const GROUP_MS: u64 = 5;
/// Number of waiting records at which they are written at once.
const N_RECORDS_MANY: u64 = 256;

/// Encoded records.
pub(super) struct RecordBatch {
    encoder: Encoder,
    bytes: Vec<u8>,
    n_records: u64,
    /// Number of the next task.
    next: u64,
    /// Number of records that were handed to the journal; below, the time of the last hand-over.
    n_handed: u64,
    handed: Moment,
    /// Length of the journal in bytes; below, its length when it was last compacted.
    n_bytes: u64,
    n_bytes_anew: u64,
    failed: Option<FormatError>,
}

impl RecordBatch {
    /// Batch behind a journal of `n_bytes`, where `next` is the number of the next task.
    pub(super) fn new(encoder: Encoder, n_bytes: u64, next: u64) -> Self {
        Self {
            encoder,
            bytes: Vec::new(),
            n_records: 0,
            next,
            n_handed: 0,
            handed: Moment(0),
            n_bytes,
            n_bytes_anew: 0,
            failed: None,
        }
    }

    /// Number of records since the start of the daemon.
    pub(super) fn n_records(&self) -> u64 {
        self.n_records
    }

    pub(super) fn append(&mut self, record: &JournalRecord) {
        match self.encoder.encode(record, &mut self.bytes) {
            Ok(()) => self.n_records += 1,
            Err(error) => self.failed = Some(error),
        }
        self.next = self.next.max(record.number_max().saturating_add(1));
    }

    /// Checks whether all records could be encoded.
    pub(super) fn check(&mut self) -> Result<(), FormatError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Moment at which the records are due, if there are any.
    pub(super) fn due(&self) -> Option<Moment> {
        (!self.bytes.is_empty()).then(|| self.handed.plus_ms(GROUP_MS))
    }

    /// Hands records to the journal, when they are due.
    pub(super) fn write(&mut self, now: Moment, writer: &Writer, durability: Durability) {
        let many = N_RECORDS_MANY <= self.n_records - self.n_handed;
        let is_due = self.handed.plus_ms(GROUP_MS) <= now || durability != Durability::Batch;
        if self.bytes.is_empty() || !(many || is_due) {
            return;
        }
        let n_bytes = self.bytes.len() as u64;
        self.handed = now;
        let position = self.position(&self.encoder);
        writer.append(&mut self.bytes, position);
        if self.bytes.is_empty() {
            self.n_bytes += n_bytes;
            self.n_handed = self.n_records;
        }
    }

    /// Hands over all records, at the end of the daemon.
    pub(super) fn write_last(&mut self, writer: &Writer) {
        let position = self.position(&self.encoder);
        writer.append_last(std::mem::take(&mut self.bytes), position);
    }

    /// Compacts the journal, if that is worthwhile.
    pub(super) fn compact(&mut self, book: &mut Book, writer: &Writer) -> Result<(), FormatError> {
        let limit = COMPACT_BYTES_MIN.max(2 * self.n_bytes_anew);
        if self.n_bytes < limit || !self.bytes.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut encoder = self.encoder.clone();
        encoder.encode_book(book, &mut bytes)?;
        let n_bytes = bytes.len() as u64;
        let position = self.position(&encoder);
        if writer.replace(bytes, self.encoder.sequence(), position) {
            self.encoder = encoder;
            self.n_bytes = n_bytes;
            self.n_bytes_anew = n_bytes;
        }
        Ok(())
    }

    fn position(&self, encoder: &Encoder) -> JournalPosition {
        JournalPosition { n_records: self.n_records, sequence: encoder.sequence(), next: self.next }
    }
}
