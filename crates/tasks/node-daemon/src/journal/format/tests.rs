//! Whatever happens to the bytes, only what was written is read, and whole records are read.

use proptest::{collection::vec, prelude::*};
use task_api::{ArrayIndices, FailureRules, Output, OutputText, Submission, TaskOutcome, Usage};

use super::*;
use node_core::book::{BookLimits, EndRecord, Failure, Note, NotedEvent, Reason, Retry};
use node_core::interface::{NodeId, SharedWork, SubmissionTerms, node_id};

fn record() -> impl Strategy<Value = JournalRecord> {
    let end = (any::<u64>(), any::<i32>(), vec(any::<u8>(), 0..30));
    prop_oneof![
        (any::<u64>(), "[a-z]{0,20}").prop_map(|(first, words)| JournalRecord::Submitted {
            first,
            n_tasks: 3,
            at_ms: 9,
            work: SharedWork { title: None, words, around_idx: 0 },
            array_first: Some(1),
        }),
        (any::<u64>(), any::<u32>(), any::<u64>()).prop_map(|(first, n_retries_max, delay_ms)| {
            let n_fails_max = Some(3);
            let failures = FailureRules { n_retries_max, retry_delay_ms: delay_ms, n_fails_max };
            let array = Some(ArrayIndices::range(1, 3));
            let terms = Submission { failures, array, ..Submission::default() };
            JournalRecord::SubmittedWith {
                first,
                n_tasks: 3,
                at_ms: 9,
                work: SharedWork { title: None, words: "true".to_owned(), around_idx: 0 },
                array: Some((1, 2)),
                terms: Box::new(SubmissionTerms::of(first, &terms).unwrap()),
            }
        }),
        (any::<u64>(), any::<u32>(), ".{0,9}").prop_map(|(number, n_failed, line)| {
            let retry = Retry { n_failed, instance: 1, at_ms: 5, delay_ms: 6 };
            let outcome = TaskOutcome::Signal(9);
            let failure = Some(Failure { node: NodeId(9), outcome, last_line: line.into() });
            JournalRecord::Retried { number, retry, failure }
        }),
        (any::<u64>(), any::<Option<u64>>()).prop_map(|(first, stopped_ms)| {
            JournalRecord::ArrayFailures { first, n_failed: 4, stopped_ms }
        }),
        end.prop_map(|(number, code, bytes)| JournalRecord::Ended(EndRecord {
            number,
            instance: 1,
            node: NodeId(7),
            outcome: TaskOutcome::Exit(code),
            started_ms: Some(1),
            ended_ms: 2,
            output: Output { stdout: OutputText(bytes), ..Output::default() },
            usage: Usage::default(),
        })),
        (any::<u64>(), any::<u32>(), ".{0,9}").prop_map(|(number, instance, because)| {
            let reason = Reason::Returned(NodeId(1), because.into());
            JournalRecord::Back { number, instance, reason, at_ms: 5 }
        }),
        any::<u64>().prop_map(JournalRecord::Next),
        (any::<u64>(), any::<u32>(), any::<u64>()).prop_map(|(number, instance, at_ms)| {
            JournalRecord::Started { number, instance, at_ms }
        }),
        (any::<u64>(), vec(any::<u64>(), 0..9)).prop_map(|(number, times)| {
            let note = |at_ms| Note { at_ms, what: NotedEvent::Started(NodeId(9)) };
            JournalRecord::Story {
                number,
                n_dropped: 2,
                notes: times.into_iter().map(note).collect(),
            }
        }),
    ]
}

fn bytes_of(records: &[JournalRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_header("alpha", 7, &mut bytes).unwrap();
    let mut encoder = Encoder::new("alpha", 7);
    for record in records {
        encoder.encode(record, &mut bytes).unwrap();
    }
    bytes
}

#[track_caller]
fn records_of(bytes: &[u8]) -> (Vec<JournalRecord>, JournalSummary) {
    let mut records = Vec::new();
    let contents = read(bytes, "alpha", |entry| match entry {
        JournalEntry::Record(record) => records.push(record),
        JournalEntry::Hole => {}
    });
    (records, contents.unwrap())
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in vec(record(), 0..20)) {
        let (found, contents) = records_of(&bytes_of(&records));
        let sequence = Some(7 + records.len() as u64);
        prop_assert_eq!((contents.sequence, contents.tail, contents.n_bytes_bad), (sequence, None, 0));
        prop_assert!(contents.is_current && !contents.has_holes);
        prop_assert_eq!(found, records);
    }

    #[test]
    fn a_file_that_is_cut_behind_its_header_is_a_beginning(
        records in vec(record(), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let n_begin = bytes_of(&[]).len();
        let bytes = bytes_of(&records);
        let cut = n_begin + cut.index(bytes.len() - n_begin);
        let (found, contents) = records_of(&bytes[..cut]);
        prop_assert!(found.len() < records.len());
        prop_assert_eq!(&found[..], &records[..found.len()]);
        prop_assert_eq!(contents.tail.is_some(), bytes_of(&found).len() < cut);
        // No whole record is lost.
        prop_assert!(cut < bytes_of(&records[..=found.len()]).len());
    }

    #[test]
    fn a_byte_that_changed_takes_one_record(
        records in vec(record(), 1..20),
        place in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let n_begin = bytes_of(&[]).len();
        let mut bytes = bytes_of(&records);
        let place = n_begin + place.index(bytes.len() - n_begin);
        bytes[place] ^= change;
        let (found, contents) = records_of(&bytes);
        let hit = (0..records.len()).find(|n| place < bytes_of(&records[..=*n]).len()).unwrap();
        let mut expected = records.clone();
        expected.remove(hit);
        prop_assert_eq!(found, expected);
        prop_assert!(contents.has_holes || contents.tail.is_some());
    }
}

/// A journal from before tasks could be tried again: new kinds of records are behind those that it has.
#[test]
fn a_journal_without_retries_is_read() {
    let sample = include_bytes!("../../../tests/samples/journal-v3");
    let (records, contents) = records_of(sample);
    assert_eq!((contents.tail, contents.has_holes, contents.number_max), (None, false, 5));
    let mut book = Book::new(node_id("alpha"), BookLimits::default());
    records.iter().for_each(|record| book.apply(record));
    let outcome = |number| book.task(number).unwrap().outcome().cloned();
    let exit = |code| Some(TaskOutcome::Exit(code));
    let expected = [exit(1), exit(0), exit(1), Some(TaskOutcome::Canceled), None];
    assert_eq!([1, 2, 3, 4, 5].map(outcome), expected);
    let first = book.task(1).unwrap();
    assert_eq!(first.output().unwrap().last_line().unwrap(), "no such file");
    assert_eq!((first.work.terms.clone(), first.failed()), (None, Retry::default()));
    let limits = &book.task(4).unwrap().work.around.limits;
    assert_eq!(limits.n_starts_max, 4, "three restarts, called `--retries` then");
}

#[test]
fn a_record_has_a_bound() {
    let around =
        node_core::interface::ExecContext { folder: "x".repeat(2 << 20), ..Default::default() };
    let mut bytes = vec![1];
    let mut encoder = Encoder::new("alpha", 3);
    let found = encoder.encode(&JournalRecord::Around { idx: 0, around }, &mut bytes);
    assert!(matches!(found, Err(FormatError::TooLong(_))));
    assert_eq!((bytes, encoder.sequence()), (vec![1], 3));
}
