//! Records of earlier versions, which every later version must read. Never change them; a new version adds its own.

use run_record::snapshot::{self, SnapshotEntry};
use run_record::{RunRecord, RunState, SpoolReader};
use std::path::{Path, PathBuf};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

/// Sample of two ranks, traced and tuned.
#[test]
fn a_whole_record_of_the_first_version() {
    let record = RunRecord::open(&sample("run-v1/whole")).unwrap();
    assert_eq!((record.state(), record.header().format_version), (RunState::Finished, 1));
    let summary = record.read_summary().unwrap();
    assert_eq!((summary.n_ranks, summary.outcome.exit_code), (2, Some(0)));
    assert!(!record.read_regions().unwrap().is_empty());
    let events = record.events().unwrap().unwrap();
    let n_read: usize = events.batches().map(|batch| batch.unwrap().len()).sum();
    assert_eq!((n_read as u64, events.n_rows()), (summary.tool.records, summary.tool.records));
    let functions = record.function_events().unwrap().unwrap();
    let n_read: usize = functions.batches().map(|batch| batch.unwrap().len()).sum();
    assert!(n_read != 0 && n_read as u64 == functions.n_rows());
    let tuning = record.read_tuning().unwrap().unwrap();
    assert!(10 < tuning.lines.len() && tuning.problems.is_empty(), "{:?}", tuning.problems);
}

/// Sample whose launcher was killed: everything is in the spool. (The content of its frames is tested where
/// they are assembled.)
#[test]
fn the_spool_of_the_first_version() {
    let record = RunRecord::open(&sample("run-v1/cut")).unwrap();
    assert_eq!(record.state(), RunState::Running);
    let files = record.spool_files().unwrap();
    assert_eq!(files.len(), 4);
    for path in files {
        let (mut reader, mut frame) = (SpoolReader::open(&path).unwrap(), Vec::new());
        assert!(reader.next_frame(&mut frame).unwrap(), "{}", path.display());
        while reader.next_frame(&mut frame).unwrap() {}
        assert_eq!(reader.problem(), None);
    }
}

/// Its reports lack what a process used; one file has the facts of the launcher, the other the reports of a node.
#[test]
fn the_reports_of_the_first_version() {
    let mut reports: Vec<wire::ProcessReport> = Vec::new();
    let mut n_facts = 0;
    for entry in std::fs::read_dir(sample("run-v1/cut/spool")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != snapshot::SUFFIX) {
            continue;
        }
        let contents = snapshot::read(&path).unwrap();
        assert_eq!(contents.problem, None);
        for entry in contents.entries {
            match entry {
                SnapshotEntry::EarlierProcess(report) => reports.push((*report).into()),
                SnapshotEntry::Facts(_) => n_facts += 1,
                _ => {}
            }
        }
    }
    assert_eq!((reports.len(), n_facts), (2, 1));
    assert!(reports.iter().all(|report| report.size == 2 && !report.threads[0].regions.is_empty()));
}
