//! Target: the journal of a node, as a fault of its disk may leave it.

use node_core::book::{Book, BookLimits, JournalRecord};
use node_core::interface::node_id;
use node_daemon::journal::{Encoder, JournalEntry, read};

/// Reads the bytes into a book, which must be the same after it is written and read again: as a journal, and as records
/// without checksums, which no mutation would pass.
pub(crate) fn run(bytes: &[u8]) {
    let mut records = Vec::new();
    let contents = read(bytes, "alpha", |entry| records.push(entry));
    if contents.is_ok() {
        check(records);
    }
    let mut records = Vec::new();
    let mut rest = bytes;
    while let Ok((record, behind)) = postcard::take_from_bytes(rest) {
        records.push(JournalEntry::Record(record));
        rest = behind;
    }
    check(records);
}

fn check(entries: Vec<JournalEntry>) {
    let limits = BookLimits { n_ended_max: 3, output_bytes_max: 20, ..BookLimits::default() };
    let mut book = Book::new(node_id("alpha"), limits);
    for entry in entries {
        match entry {
            // A record of a million tasks would take too long to be tried thousands of times.
            JournalEntry::Record(record) if record.n_submitted() < 100 => book.apply(&record),
            JournalEntry::Record(_) => {}
            JournalEntry::Hole => book.apply(&JournalRecord::Doubted { first: 1, last: u64::MAX }),
        }
    }
    book.prune(9, |_| false);
    let (mut anew, mut encoder) = (Vec::new(), Encoder::new("alpha", 0));
    book.snapshot(|record| encoder.encode(record, &mut anew).expect("it was shorter before"));
    let mut again = Book::new(node_id("alpha"), limits);
    let contents = read(&anew, "alpha", |entry| match entry {
        JournalEntry::Record(record) => again.apply(&record),
        JournalEntry::Hole => unreachable!("it was just written"),
    });
    assert!(contents.is_ok_and(|contents| contents.tail.is_none()), "all of it is read");
    let facts = |book: &Book| {
        (
            book.next_number(),
            book.n_open(),
            book.tasks().n_queued(),
            book.tasks().n_uncertain(),
            book.archive().clone(),
        )
    };
    assert_eq!(facts(&again), facts(&book));
}
