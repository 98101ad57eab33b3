//! What was said to be durable is there, also after the journal was written anew.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::book::Record;
use crate::journal::{encode, open};

fn writer(folder: &Path, durability: Durability) -> (Writer, Receiver<WriterNews>) {
    let opened = open(folder, "alpha", |_| ()).unwrap();
    let (tell, news) = channel();
    let tell = move |said| tell.send(said).unwrap_or(());
    (Writer::start(opened, durability, tell).unwrap(), news)
}

fn wait_for(news: &Receiver<WriterNews>, wanted: u64) {
    while let WriterNews::Durable { n_records } =
        news.recv_timeout(Duration::from_secs(60)).unwrap()
    {
        if n_records == wanted {
            return;
        }
    }
    unreachable!("the journal can be written to");
}

fn line(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&Record::Next { number }, &mut bytes).unwrap();
    bytes
}

fn numbers(folder: &Path) -> Vec<u64> {
    let mut numbers = Vec::new();
    drop(open(folder, "alpha", |record| {
        let Record::Next { number } = record else { unreachable!("none other was written") };
        numbers.push(number);
    }));
    numbers
}

#[test]
fn what_is_durable_is_read_again() {
    for durability in [Durability::Always, Durability::Batch, Durability::Never] {
        let folder = tempfile::tempdir().unwrap();
        let (writer, news) = writer(folder.path(), durability);
        for number in 1..=600 {
            let mut bytes = line(number);
            while !bytes.is_empty() {
                writer.append(&mut bytes, number);
            }
        }
        wait_for(&news, 600);
        drop(writer);
        assert_eq!(numbers(folder.path()), (1..=600).collect::<Vec<_>>());
    }
}

#[test]
fn a_journal_that_is_written_anew_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, news) = writer(folder.path(), Durability::Batch);
    writer.append(&mut line(1), 1);
    writer.append(&mut line(2), 2);
    assert!(writer.replace(line(9), 2));
    writer.append(&mut line(10), 3);
    wait_for(&news, 3);
    drop(writer);
    assert_eq!(numbers(folder.path()), [9, 10]);
    assert!(!folder.path().join("journal.new").exists());
}
