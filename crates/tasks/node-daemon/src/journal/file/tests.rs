//! Tests of journals that were cut or changed, or belong to others.

use std::fs;

use task_api::{ArrayIndices, Submission, TaskOutcome};

use super::*;
use crate::journal::format::HEADER;
use node_core::book::{BookLimits, EndRecord};
use node_core::interface::{NodeId, node_id};

/// A folder in memory, which needs no waiting: these tests write thousands of files.
fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn book() -> Book {
    Book::new(node_id("alpha"), BookLimits::default())
}

fn opened(folder: &Path) -> (OpenJournal, Book) {
    let mut book = book();
    (open(folder, "alpha", 1, &mut book).unwrap(), book)
}

/// Writes a journal as a daemon does, with submissions of two tasks each, one of which has ended; returns the ends
/// of its records.
fn journal(folder: &Path, n_submissions: u64) -> Vec<u64> {
    let (opened, mut book) = opened(folder);
    let mut encoder = opened.encoder();
    let mut bytes = fs::read(&opened.path).unwrap();
    let mut ends = vec![bytes.len() as u64];
    for idx in 0..n_submissions {
        let submission = Submission {
            command: vec!["true".to_owned(), idx.to_string()],
            folder: "/".to_owned(),
            array: Some(ArrayIndices::range(1, 2)),
            ..Submission::default()
        };
        let mut records = book.records_of(&submission, 1);
        let (number, outcome) = (book.next_number(), TaskOutcome::Exit(0));
        let end = EndRecord::without_run(number, 1, NodeId(1), outcome, 2);
        records.push(JournalRecord::Ended(end));
        for record in records {
            encoder.encode(&record, &mut bytes).unwrap();
            book.apply(&record);
            ends.push(bytes.len() as u64);
        }
    }
    fs::write(&opened.path, &bytes).unwrap();
    let OpenJournal { mut mark, .. } = opened;
    let (sequence, next) = (encoder.sequence(), book.next_number() + N_AHEAD);
    mark.write(Mark { sequence, synced: sequence, next, ..mark.mark() }).unwrap();
    ends
}

/// Bytes of a journal and its mark, and the ends of its records.
fn made(n_submissions: u64) -> (Vec<u8>, Vec<u8>, Vec<u64>) {
    let folder = memory();
    let ends = journal(folder.path(), n_submissions);
    let read = |file| fs::read(folder.path().join(file)).unwrap();
    (read(FILE), read(mark::FILE), ends)
}

fn folder_with(journal: &[u8], mark: Option<&[u8]>) -> tempfile::TempDir {
    let folder = memory();
    fs::write(folder.path().join(FILE), journal).unwrap();
    mark.iter().for_each(|mark| fs::write(folder.path().join(mark::FILE), mark).unwrap());
    folder
}

fn known(book: &Book) -> Vec<u64> {
    book.tasks_from(0).map(|(number, _)| number).collect()
}

#[test]
fn a_journal_goes_on() {
    let folder = memory();
    journal(folder.path(), 3);
    let (opened, book) = opened(folder.path());
    assert_eq!(
        (known(&book), book.next_number(), opened.damage),
        (vec![1, 2, 3, 4, 5, 6], 7 + N_AHEAD, None)
    );
    assert_eq!(book.tasks().n_uncertain(), 0);
    assert!(!folder.path().join(DAMAGED).exists());
}

/// Fault: the daemon was killed while it wrote a record. No client was told of it, and no damage is to be reported.
#[test]
fn a_record_that_was_not_written_to_its_end_is_cut_off_without_alarm() {
    let folder = memory();
    journal(folder.path(), 2);
    let path = folder.path().join(FILE);
    let before = fs::read(&path).unwrap();
    let mark = fs::read(folder.path().join(mark::FILE)).unwrap();
    let mut torn = Vec::new();
    let sequence = opened(folder.path()).0.sequence;
    Encoder::new("alpha", sequence).encode(&JournalRecord::Next(5), &mut torn).unwrap();
    for n_bytes in 1..torn.len() {
        fs::write(&path, [&before[..], &torn[..n_bytes]].concat()).unwrap();
        fs::write(folder.path().join(mark::FILE), &mark).unwrap();
        let (opened, book) = opened(folder.path());
        assert_eq!((opened.damage, book.next_number()), (None, 5 + N_AHEAD), "{n_bytes}");
        assert_eq!(fs::read(&path).unwrap(), before, "{n_bytes}");
    }
}

/// Opens a journal after a fault; checks that none of the `n_tasks` numbers is given out again, and returns what is
/// known.
#[track_caller]
fn check(folder: &Path, n_tasks: u64, what: &str) -> (Vec<u64>, bool, Vec<u64>) {
    let (opened, book) = opened(folder);
    assert!(n_tasks < book.next_number(), "{what}: {} is given out again", book.next_number());
    let damage = opened.damage.clone();
    let uncertain = book.tasks_from(0).filter(|(_, task)| task.is_uncertain);
    let uncertain = uncertain.map(|(number, _)| number).collect::<Vec<_>>();
    assert_eq!(folder.join(DAMAGED).exists(), damage.is_some(), "{what}");
    let file_warning = opened.file_warning(book.damages());
    assert_eq!(file_warning.is_some_and(|it| it.active().is_some()), damage.is_some(), "{what}");
    drop(opened);
    let (again, book_again) = self::opened(folder);
    assert_eq!(again.damage, None, "{what}: it is mended");
    assert_eq!(
        (known(&book_again), book_again.tasks().n_uncertain()),
        (known(&book), book.tasks().n_uncertain())
    );
    assert!(n_tasks < book_again.next_number(), "{what}: after it was mended");
    (known(&book), damage.is_some(), uncertain)
}

/// Fault: a damaged spot lost all records behind it, and numbering began again (16 bytes, or one bit).
#[test]
fn a_damaged_spot_takes_only_the_records_that_it_touches() {
    let (whole, mark, ends) = made(3);
    // One bit in each byte, and 16 bytes at every ninth.
    let flips = (0..whole.len()).map(|at| (at, at + 1));
    let spots = (0..whole.len()).step_by(9).map(|at| (at, whole.len().min(at + 16)));
    for (begin, end) in flips.chain(spots) {
        let mut bytes = whole.clone();
        bytes[begin..end].iter_mut().for_each(|byte| *byte ^= 0x21);
        let folder = folder_with(&bytes, Some(&mark));
        let what = format!("bytes {begin} to {end}");
        let (known, is_damaged, uncertain) = check(folder.path(), 6, &what);
        assert!(is_damaged, "{what}: it is noticed");
        // Of the first submission: its surroundings, the submission, both again, an end; then four records of each.
        let hit = |record: usize| ends[record] < end as u64 && (begin as u64) < ends[record + 1];
        assert_eq!(known, [1, 2, 3, 4, 5, 6], "{what}: what many tasks rest on is there twice");
        // Tasks that were submitted before the damage and have not ended.
        let first_hit = (0..ends.len() - 1).find(|record| hit(*record)).unwrap_or(0);
        let open = |(submitted, ended, first): (usize, usize, u64)| {
            let is_uncertain = submitted < first_hit;
            [(is_uncertain && hit(ended)).then_some(first), is_uncertain.then_some(first + 1)]
        };
        let open = [(1, 4, 1), (5, 8, 3), (9, 12, 5)].into_iter().flat_map(open).flatten();
        assert_eq!(uncertain, open.collect::<Vec<_>>(), "{what}");
    }
}

/// Fault: a journal that had lost its end looked undamaged, and numbering began again.
#[test]
fn an_end_that_is_missing_is_noticed_wherever_it_was_cut() {
    let (whole, mark, _) = made(3);
    for n_bytes in 0..whole.len() {
        let folder = folder_with(&whole[..n_bytes], Some(&mark));
        let (known, is_damaged, uncertain) = check(folder.path(), 6, &format!("{n_bytes} bytes"));
        assert!(is_damaged, "{n_bytes} bytes");
        assert!(known.iter().filter(|number| *number % 2 == 0).all(|it| uncertain.contains(it)));
    }
}

/// Fault: damage to the second file, which says which numbers are given out.
#[test]
fn a_mark_that_is_damaged_or_missing_is_noticed() {
    let (whole, mark, _) = made(2);
    let cut = (0..mark.len()).step_by(41).map(|n_bytes| Some(mark[..n_bytes].to_vec()));
    let flipped = (0..mark.len()).filter(|at| mark[*at] != 0).map(|at| {
        let mut bytes = mark.clone();
        bytes[at] ^= 4;
        Some(bytes)
    });
    for bytes in cut.chain(flipped).chain([None]) {
        let folder = folder_with(&whole, bytes.as_deref());
        let what = format!("mark of {:?} bytes", bytes.map(|bytes| bytes.len()));
        let found = check(folder.path(), 4, &what);
        assert_eq!(found, (vec![1, 2, 3, 4], true, vec![2, 4]), "{what}");
    }
}

/// Fault: the journal itself is missing.
#[test]
fn numbers_go_on_where_the_journal_is_gone() {
    let folder = memory();
    journal(folder.path(), 2);
    fs::remove_file(folder.path().join(FILE)).unwrap();
    assert_eq!(check(folder.path(), 4, "no journal"), (Vec::new(), true, Vec::new()));
}

/// Fault: after a power failure the disk has only the records that were synced, and the mark tells of more.
#[test]
fn a_machine_that_went_down_gives_no_number_out_again_and_alarms_nobody() {
    let folder = memory();
    let ends = journal(folder.path(), 3);
    let path = folder.path().join(FILE);
    let whole = fs::read(&path).unwrap();
    let (opened, book) = opened(folder.path());
    let let_go = |opened: OpenJournal| opened.mark;
    let mut mark = let_go(opened);
    let before = mark.mark();
    let mark_after = Mark { synced: before.sequence - 4, boot: before.boot + 1, ..before };
    mark.write_safely(mark_after).unwrap();
    fs::write(&path, &whole[..usize::try_from(ends[ends.len() - 5]).unwrap()]).unwrap();
    let (again, book_again) = self::opened(folder.path());
    assert_eq!((&again.damage, known(&book_again)), (&None, vec![1, 2, 3, 4]));
    assert!(book.next_number() <= book_again.next_number());
    // Fault: what came next was written behind a gap in the sequence numbers, and the second start took it for damage.
    append(again, &JournalRecord::Started { number: 4, instance: 1, at_ms: 2 });
    let (third, book_third) = self::opened(folder.path());
    assert_eq!((third.damage, book_third.tasks().n_uncertain()), (None, 0));
    assert_eq!(book_third.tasks().running().collect::<Vec<_>>(), [(4, 1)]);
}

/// Writes a record as a daemon does that is then killed.
fn append(opened: OpenJournal, record: &JournalRecord) {
    let mut bytes = Vec::new();
    let mut encoder = opened.encoder();
    encoder.encode(record, &mut bytes).unwrap();
    let OpenJournal { mut file, mut mark, .. } = opened;
    file.write_all(&bytes).unwrap();
    mark.write(Mark { sequence: encoder.sequence(), ..mark.mark() }).unwrap();
}

/// Fault: after a journal was written anew its mark did not cover its contents, until something was appended.
#[test]
fn the_end_of_a_journal_that_was_just_written_anew_is_missed() {
    let sample = include_bytes!("../../../tests/samples/journal-v2");
    let damaged = || {
        let folder = memory();
        journal(folder.path(), 3);
        fs::remove_file(folder.path().join(mark::FILE)).unwrap();
        fs::read(folder.path().join(FILE)).unwrap()
    };
    for bytes in [sample.to_vec(), damaged(), Vec::new()] {
        let folder = folder_with(&bytes, None);
        let path = folder.path().join(FILE);
        drop(opened(folder.path()));
        assert_eq!(opened(folder.path()).0.damage, None);
        let whole = fs::read(&path).unwrap();
        let mut header = Vec::new();
        encode_header("alpha", 0, &mut header).unwrap();
        fs::write(&path, &whole[..header.len()]).unwrap();
        assert!(opened(folder.path()).0.damage.is_some());
    }
}

/// Fault: the mark was written before the repaired journal. When a step in between failed, damage that only the
/// mark proved was forgotten, and the copy of an earlier damaged file was lost with each new try.
#[test]
fn damage_is_known_until_the_journal_says_it() {
    for has_mark in [false, true] {
        let folder = memory();
        let ends = journal(folder.path(), 3);
        let path = folder.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        let cut = &whole[..usize::try_from(ends[ends.len() - 5]).unwrap()];
        fs::write(&path, cut).unwrap();
        if !has_mark {
            fs::remove_file(folder.path().join(mark::FILE)).unwrap();
        }
        fs::write(folder.path().join(DAMAGED), "of an earlier damage").unwrap();
        fs::create_dir(path.with_extension("new")).unwrap();
        for _ in 0..2 {
            let failed = open(folder.path(), "alpha", 1, &mut book());
            assert!(matches!(failed, Err(JournalError::File { wanted: "written", .. })));
        }
        fs::remove_dir(path.with_extension("new")).unwrap();
        let (opened, book) = opened(folder.path());
        assert!(opened.damage.is_some() && 0 < book.tasks().n_uncertain(), "{has_mark}");
        assert_eq!(fs::read(folder.path().join(DAMAGED)).unwrap(), cut);
        let before = fs::read(folder.path().join("journal.damaged.old")).unwrap();
        assert_eq!(before, b"of an earlier damage");
    }
}

#[test]
fn a_journal_that_was_never_begun_is_begun() {
    for n_bytes in [0, 1, 19, 20] {
        let folder = folder_with(&HEADER[..n_bytes], None);
        let (opened, book) = opened(folder.path());
        assert_eq!((opened.damage, book.next_number()), (None, 1), "{n_bytes}");
    }
}

/// A journal as the previous version wrote it, and what that version made of it.
#[test]
fn a_journal_of_the_version_before_is_read_and_is_of_this_one_from_then_on() {
    let sample = include_bytes!("../../../tests/samples/journal-v2");
    let facts = |book: &Book| {
        let task = |number| {
            let task = book.task(number).unwrap();
            (task.state, task.instance, task.outcome().cloned())
        };
        (book.tasks().n_queued(), book.n_open(), (1..10).map(task).collect::<Vec<_>>())
    };
    let folder = folder_with(sample, None);
    let (found, book) = opened(folder.path());
    assert_eq!((&found.damage, book.tasks().n_uncertain()), (&None, 0));
    drop(found);
    assert_eq!((book.next_number(), book.tasks().n_queued(), book.n_open()), (100, 3, 5));
    assert_eq!(book.task(2).unwrap().outcome(), Some(&TaskOutcome::Exit(5)));
    assert_eq!(book.task(2).unwrap().output().unwrap().stdout.0, b"second");
    assert_eq!((book.foreign().len(), book.leases().len()), (1, 1));
    assert!(fs::read(folder.path().join(FILE)).unwrap().starts_with(HEADER));
    let (_, again) = opened(folder.path());
    assert_eq!(facts(&again), facts(&book));
    assert!(100 <= again.next_number());
}

/// Nothing tells where the next record of such a journal begins: what is behind a damaged spot is lost, and
/// reported.
#[test]
fn a_damaged_journal_of_the_version_before_gives_no_number_out_again() {
    let sample = include_bytes!("../../../tests/samples/journal-v2");
    for at in 34..sample.len() {
        let mut bytes = sample.to_vec();
        bytes[at] ^= 0x10;
        let folder = folder_with(&bytes, None);
        let (opened, book) = opened(folder.path());
        let is_torn = at + 20 > sample.len();
        assert!(opened.damage.is_some() || is_torn, "{at}");
        assert!(100 <= book.next_number() || is_torn, "{at}: {}", book.next_number());
    }
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let folder = memory();
    let open_as = |name| open(folder.path(), name, 1, &mut book());
    fs::write(folder.path().join(FILE), "my diary, and nobody else's").unwrap();
    assert!(matches!(open_as("alpha"), Err(JournalError::Version(_))));
    fs::remove_file(folder.path().join(FILE)).unwrap();
    journal(folder.path(), 1);
    let found = open_as("beta");
    assert!(matches!(found, Err(JournalError::OtherNode { found, .. }) if found == "alpha"));
    let opened = open_as("alpha").unwrap();
    assert!(matches!(open_as("alpha"), Err(JournalError::InUse(_))));
    drop(opened);
    let mut bytes = fs::read(folder.path().join(FILE)).unwrap();
    bytes[HEADER.len() - 4] = 4;
    bytes.truncate(HEADER.len());
    bytes.extend_from_slice(b"blocks of another kind, for all that is known");
    fs::write(folder.path().join(FILE), bytes).unwrap();
    assert!(matches!(open_as("alpha"), Err(JournalError::Version(_))), "the next version");
}
