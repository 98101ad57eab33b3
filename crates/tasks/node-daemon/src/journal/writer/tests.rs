//! Records that were reported as durable can be read, even after the journal was written anew.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::journal::{Encoder, JournalEntry, open, read};
use node_core::book::{Book, BookLimits, JournalRecord};
use node_core::interface::node_id;

fn writer(folder: &Path, durability: Durability) -> (Writer, Encoder, Receiver<WriterNews>) {
    let mut book = Book::new(node_id("alpha"), BookLimits::default());
    let opened = open(folder, "alpha", 1, &mut book).unwrap();
    let encoder = opened.encoder();
    let (tell, news) = channel();
    let tell = move |said| tell.send(said).unwrap_or(());
    (Writer::start(opened, durability, tell).unwrap(), encoder, news)
}

fn wait_for(news: &Receiver<WriterNews>, wanted: u64) {
    while let WriterNews::Durable { n_records, .. } =
        news.recv_timeout(Duration::from_secs(60)).unwrap()
    {
        if n_records == wanted {
            return;
        }
    }
    unreachable!("the journal can be written to");
}

fn line(encoder: &mut Encoder, number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoder.encode(&JournalRecord::Next(number), &mut bytes).unwrap();
    bytes
}

fn position(encoder: &Encoder, n_records: u64) -> JournalPosition {
    JournalPosition { n_records, sequence: encoder.sequence(), next: n_records }
}

/// Numbers in the records, except for 1, which a new journal begins with.
fn numbers(folder: &Path) -> Vec<u64> {
    let mut numbers = Vec::new();
    let bytes = std::fs::read(folder.join("journal")).unwrap();
    let contents = read(&bytes, "alpha", |entry| {
        let JournalEntry::Record(JournalRecord::Next(number)) = entry else {
            unreachable!("none other")
        };
        numbers.push(number);
    });
    assert!(contents.unwrap().tail.is_none());
    let mut book = Book::new(node_id("alpha"), BookLimits::default());
    assert_eq!(open(folder, "alpha", 1, &mut book).unwrap().damage, None);
    numbers.retain(|number| *number != 1);
    numbers
}

#[test]
fn what_is_durable_is_read_again() {
    for durability in [Durability::Always, Durability::Batch, Durability::Never] {
        let folder = tempfile::tempdir().unwrap();
        let (writer, mut encoder, news) = writer(folder.path(), durability);
        for number in 1..=600 {
            let mut bytes = line(&mut encoder, number + 1);
            while !bytes.is_empty() {
                writer.append(&mut bytes, position(&encoder, number));
            }
        }
        wait_for(&news, 600);
        drop(writer);
        assert_eq!(numbers(folder.path()), (2..=601).collect::<Vec<_>>());
    }
}

/// Fault: tasks were started with numbers that no file on disk held, and a daemon that was killed then gave these
/// numbers out again.
#[test]
fn numbers_are_on_disk_before_one_of_them_is_given_out() {
    let next_in = |folder: &Path| {
        let mut book = Book::new(node_id("alpha"), BookLimits::default());
        open(folder, "alpha", 1, &mut book).unwrap();
        book.next_number()
    };
    let folder = tempfile::tempdir().unwrap();
    let (writer, mut encoder, news) = writer(folder.path(), Durability::Batch);
    let killed = || {
        let copy = tempfile::tempdir().unwrap();
        for file in ["journal", "journal.mark"] {
            std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
        }
        next_in(copy.path())
    };
    assert!(N_AHEAD < killed());
    writer.append(
        &mut line(&mut encoder, 700),
        JournalPosition { next: 700, ..position(&encoder, 1) },
    );
    let news = news.recv_timeout(Duration::from_secs(60)).unwrap();
    let WriterNews::Durable { assigned_below, .. } = news else { unreachable!("it is written") };
    assert_eq!(assigned_below, 700 + N_AHEAD);
    assert!(assigned_below <= killed());
    drop(writer);
    assert_eq!(next_in(folder.path()), 700, "who left in good order has given out no more");
}

#[test]
fn a_journal_that_is_written_anew_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, mut encoder, news) = writer(folder.path(), Durability::Batch);
    writer.append(&mut line(&mut encoder, 2), position(&encoder, 1));
    writer.append(&mut line(&mut encoder, 3), position(&encoder, 2));
    let before = encoder.sequence();
    let bytes = line(&mut encoder, 9);
    assert!(writer.replace(bytes, before, position(&encoder, 2)));
    writer.append(&mut line(&mut encoder, 10), position(&encoder, 3));
    wait_for(&news, 3);
    drop(writer);
    assert_eq!(numbers(folder.path()), [9, 10]);
    assert!(!folder.path().join("journal.new").exists());
}
