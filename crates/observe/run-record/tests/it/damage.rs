//! Damage at any place of a record: the reader returns the original content, or refuses with a sentence.

use checked_json::seal;
use run_record::resize_file::ResizeLines;
use run_record::{RunRecord, RunStart, Summary};
use std::fs;
use std::path::Path;

/// Number of places tried in each file, from its first to its last byte.
const N_PLACES: usize = 150;

fn copy_sample(dir: &Path) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/run-v1/whole");
    for entry in fs::read_dir(sample).unwrap().flatten() {
        fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
    }
}

/// Creates a finished record of this version with the content of the sample.
fn record(dir: &Path) -> RunRecord {
    let mut record = RunRecord::create(dir, RunStart::default()).unwrap();
    copy_sample(dir);
    record.finish().unwrap();
    RunRecord::open(dir).unwrap()
}

/// Reads a file of the record completely; the error is the sentence for the user.
fn read(record: &RunRecord, name: &str) -> Result<(), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    match name {
        "summary.json" => record.read_summary().map(drop).map_err(|error| text(&error)),
        "regions.parquet" => record.read_regions().map(drop).map_err(|error| text(&error)),
        "tuning.jsonl" => record.read_tuning().map(drop).map_err(|error| text(&error)),
        "events.parquet" => {
            let events = record.events().map_err(|error| text(&error))?;
            let mut batches = events.iter().flat_map(|events| events.batches());
            batches.try_for_each(|batch| batch.map(drop)).map_err(|error| text(&error))
        }
        _ => {
            let events = record.function_events().map_err(|error| text(&error))?;
            let mut batches = events.iter().flat_map(|events| events.batches());
            batches.try_for_each(|batch| batch.map(drop)).map_err(|error| text(&error))
        }
    }
}

/// Returns copies with one byte changed (all bytes of short files, some of long ones), or cut at that byte.
fn damages(good: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let places = (0..good.len()).step_by((good.len() / N_PLACES).max(1));
    let flips = places.clone().flat_map(|at| {
        [0x01, 0x80].map(|bit| {
            let mut bytes = good.to_vec();
            bytes[at] ^= bit;
            bytes
        })
    });
    let longer = [good, b"x"].concat();
    flips.chain(places.map(|at| good[..at].to_vec())).chain([longer])
}

/// Regression: 9 of 36 damages of an event file went unnoticed, since another number in a column is as valid as
/// the original.
#[test]
fn a_file_that_is_not_what_was_written_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let record = record(dir.path());
    let files = [
        "summary.json",
        "regions.parquet",
        "events.parquet",
        "function-events.parquet",
        "tuning.jsonl",
    ];
    for name in files {
        let path = dir.path().join(name);
        let good = fs::read(&path).unwrap();
        read(&record, name).unwrap();
        for (number, bytes) in damages(&good).enumerate() {
            fs::write(&path, bytes).unwrap();
            let said = read(&record, name).expect_err(&format!("damage {number} of `{name}`"));
            assert!(said.contains("is damaged"), "{said}");
        }
        fs::remove_file(&path).unwrap();
        assert!(read(&record, name).is_err(), "it was there");
        fs::write(&path, good).unwrap();
        read(&record, name).unwrap();
    }
}

/// Records of versions before checksums: a damaged file is read or refused, without a panic.
#[test]
fn a_damaged_file_without_checksum_is_read_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    copy_sample(dir.path());
    let record = RunRecord::open(dir.path()).unwrap();
    for name in ["regions.parquet", "events.parquet", "summary.json", "tuning.jsonl"] {
        let path = dir.path().join(name);
        let good = fs::read(&path).unwrap();
        for bytes in damages(&good) {
            fs::write(&path, bytes).unwrap();
            if let Err(said) = read(&record, name) {
                assert!(!said.is_empty());
            }
        }
        fs::write(&path, good).unwrap();
    }
}

#[test]
fn a_damaged_header_never_makes_another_record() {
    let dir = tempfile::tempdir().unwrap();
    let good = record(dir.path());
    let path = dir.path().join("run.json");
    let summary = good.read_summary().unwrap();
    for bytes in damages(&fs::read(&path).unwrap()) {
        fs::write(&path, bytes).unwrap();
        let found: Option<Summary> =
            RunRecord::open(dir.path()).ok().and_then(|record| record.read_summary().ok());
        assert!(found.is_none_or(|found| found == summary));
        let found = RunRecord::open(dir.path()).ok().map(|record| record.header().clone());
        assert!(found.is_none_or(|found| found == *good.header()), "the command, the checksums");
    }
}

/// Files written by the program are read line by line: damage costs its line, or the two lines that it joins.
#[test]
fn a_damaged_line_of_the_program_costs_itself_only() {
    let dir = tempfile::tempdir().unwrap();
    let line = |to| resize_api::Resize { from: 2, to, ..resize_api::Resize::default() };
    let lines: Vec<_> = (1..6).map(line).collect();
    let texts = lines.iter().map(|line| seal(&serde_json::to_string(line).unwrap()) + "\n");
    let good: String = texts.collect();
    for bytes in damages(good.as_bytes()) {
        let is_cut = bytes.len() < good.len();
        fs::write(dir.path().join("resizes.jsonl"), bytes).unwrap();
        let found = ResizeLines::read(dir.path()).unwrap().unwrap();
        assert!(found.resizes.iter().all(|resize| lines.contains(resize)), "{found:?}");
        let n_same = found.resizes.iter().filter(|resize| lines.contains(resize)).count();
        assert!(is_cut || lines.len() - 2 <= n_same, "{found:?}");
    }
}

/// The report of a program of masters and workers is read as it was written, or not at all.
#[test]
fn a_damaged_report_of_dealt_work_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let record = record(dir.path());
    let dealt = dealing_report::DealingReport::new("best");
    let good = seal(&serde_json::to_string(&dealt).unwrap());
    let path = dir.path().join("dealt.json");
    for bytes in damages(good.as_bytes()) {
        fs::write(&path, bytes).unwrap();
        let found = record.read_dealt().ok().flatten();
        assert!(found.is_none_or(|found| found == dealt));
    }
    fs::write(&path, good).unwrap();
    assert_eq!(record.read_dealt().unwrap(), Some(dealt));
}
