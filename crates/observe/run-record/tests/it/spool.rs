//! Tests of the spool: damage is skipped and reported.

use proptest::prelude::*;
use run_record::spool::{Damage, SpoolError, SpoolProblem};
use run_record::{SpoolReader, SpoolWriter};
use std::fs;
use std::path::Path;

fn write(path: &Path, frames: &[Vec<u8>]) -> Vec<u64> {
    let mut spool = SpoolWriter::create(path).unwrap();
    let mut ends = vec![spool.n_bytes()];
    for frame in frames {
        let (head, tail) = frame.split_at(frame.len() / 2);
        spool.append(&[head, tail]).unwrap();
        ends.push(spool.n_bytes());
    }
    spool.sync().unwrap();
    ends
}

fn read(path: &Path) -> (Vec<Vec<u8>>, Option<SpoolProblem>) {
    let mut spool = SpoolReader::open(path).unwrap();
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    while spool.next_frame(&mut frame).unwrap() {
        frames.push(frame.clone());
    }
    (frames, spool.problem().copied())
}

fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whole_frames_survive_a_cut_at_every_byte(frames in frames()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let ends = write(&path, &frames);
        let bytes = fs::read(&path).unwrap();
        for cut in 0..=bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            let (found, problem) = read(&path);
            let n_whole = ends[1..].iter().filter(|end| **end <= cut as u64).count();
            prop_assert_eq!(&found, &frames[..n_whole]);
            let at_byte = ends.iter().copied().filter(|end| *end <= cut as u64).max().unwrap_or(0);
            let n_bytes_lost = cut as u64 - at_byte;
            let torn = SpoolProblem { damage: Damage::Torn, at_byte, n_bytes_lost };
            prop_assert_eq!(problem, (0 < n_bytes_lost || cut == 0).then_some(torn));
        }
    }

    #[test]
    fn a_changed_byte_is_never_returned(frames in frames(), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let ends = write(&path, &frames);
        let mut bytes = fs::read(&path).unwrap();
        let first = usize::try_from(ends[0]).unwrap();
        prop_assume!(first < bytes.len());
        let at = first + at.index(bytes.len() - first);
        bytes[at] ^= flip;
        fs::write(&path, &bytes).unwrap();
        let (found, problem) = read(&path);
        let n_before = ends[1..].iter().filter(|end| **end <= at as u64).count();
        prop_assert_eq!(&found, &frames[..n_before]);
        prop_assert!(problem.is_some());
    }
}

#[test]
fn another_file_is_not_a_spool() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spool");
    fs::write(&path, "sixteen bytes and more").unwrap();
    assert!(matches!(SpoolReader::open(&path), Err(SpoolError::NotASpool { .. })));
    write(&dir.path().join("other"), &[]);
    let mut bytes = fs::read(dir.path().join("other")).unwrap();
    bytes[8] = 9;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(SpoolReader::open(&path), Err(SpoolError::OtherVersion { version: 9, .. })));
}

#[test]
fn a_spool_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spool");
    write(&path, &[vec![1]]);
    assert!(SpoolWriter::create(&path).is_err());
    assert_eq!(read(&path).0, [[1]]);
}
