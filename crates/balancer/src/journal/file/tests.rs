//! Journals that were cut, changed, or are not ours.

use std::fs;

use super::*;
use crate::journal::encode;

/// A journal of three records, cut to so many bytes less.
fn journal(folder: &Path, n_bytes_less: u64) -> u64 {
    drop(open(folder, "alpha", |_| ()).unwrap());
    let mut bytes = fs::read(folder.join(FILE)).unwrap();
    for number in 1..4 {
        encode(&Record::Next { number }, &mut bytes).unwrap();
    }
    let n_bytes = bytes.len() as u64 - n_bytes_less;
    bytes.truncate(usize::try_from(n_bytes).unwrap());
    fs::write(folder.join(FILE), bytes).unwrap();
    n_bytes
}

fn numbers(folder: &Path) -> (Vec<u64>, Option<u64>) {
    let mut numbers = Vec::new();
    let opened = open(folder, "alpha", |record| {
        let Record::Next { number } = record else { unreachable!("none other was written") };
        numbers.push(number);
    });
    (numbers, opened.unwrap().damage.map(|damage| damage.n_bytes))
}

#[test]
fn a_damaged_end_is_kept_beside() {
    let folder = tempfile::tempdir().unwrap();
    let n_bytes = journal(folder.path(), 0);
    assert_eq!(numbers(folder.path()), (vec![1, 2, 3], None));
    journal(folder.path(), 1);
    let (found, n_damaged) = numbers(folder.path());
    assert_eq!(found, [1, 2, 3, 1, 2], "the journal went on behind its three records");
    let n_damaged = n_damaged.unwrap();
    assert_eq!(fs::metadata(folder.path().join(DAMAGED)).unwrap().len(), n_damaged);
    assert_eq!(numbers(folder.path()), (vec![1, 2, 3, 1, 2], None), "it is mended only once");
    assert!(0 < n_bytes);
}

#[test]
fn a_journal_that_was_never_begun_is_begun() {
    for n_bytes in [0, 1, 19, 20, 21, 29] {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path(), "alpha", |_| ()).unwrap());
        let bytes = fs::read(folder.path().join(FILE)).unwrap();
        assert!(30 < bytes.len());
        fs::write(folder.path().join(FILE), &bytes[..n_bytes]).unwrap();
        let opened = open(folder.path(), "alpha", |_| ()).unwrap();
        assert_eq!(opened.n_bytes, bytes.len() as u64, "{n_bytes}");
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), bytes);
    }
}

#[test]
fn a_journal_of_the_version_before_is_read_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    journal(folder.path(), 0);
    let file = folder.path().join(FILE);
    let mut bytes = fs::read(&file).unwrap();
    bytes[..HEADER_1.len()].copy_from_slice(HEADER_1);
    fs::write(&file, &bytes).unwrap();
    assert_eq!(numbers(folder.path()), (vec![1, 2, 3], None));
    let after = fs::read(&file).unwrap();
    assert_eq!((&after[..HEADER.len()], after.len()), (&HEADER[..], bytes.len()));
    assert_eq!(numbers(folder.path()), (vec![1, 2, 3], None));
    bytes[HEADER.len() - 4] = 3;
    fs::write(&file, bytes).unwrap();
    let found = open(folder.path(), "alpha", |_| ());
    assert!(matches!(found, Err(JournalError::Version { .. })), "one of the next version is not");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), "my diary, and nobody else's").unwrap();
    let found = open(folder.path(), "alpha", |_| ());
    assert!(matches!(found, Err(JournalError::Version { .. })));
    fs::remove_file(folder.path().join(FILE)).unwrap();
    journal(folder.path(), 0);
    let found = open(folder.path(), "beta", |_| ());
    assert!(matches!(found, Err(JournalError::OtherNode { found, .. }) if found == "alpha"));
    let opened = open(folder.path(), "alpha", |_| ()).unwrap();
    assert!(matches!(open(folder.path(), "alpha", |_| ()), Err(JournalError::InUse { .. })));
    drop(opened);
}
