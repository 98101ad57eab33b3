//! Folder of a run: which files are written when, and what a reader finds.

use run_record::{FileError, RecordError, RegionRow, RunRecord, RunStart, RunState, Summary};
use std::fs;
use std::path::Path;

fn start() -> RunStart {
    RunStart {
        command: vec!["mpirun".to_owned(), "./a b".to_owned()],
        started_s: 1.7e9,
        host: "n1".to_owned(),
        pid: 42,
        run_id: "r-1".to_owned(),
    }
}

#[test]
fn a_record_is_a_record_from_its_first_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/run");
    RunRecord::create(&path, start()).unwrap();
    let record = RunRecord::open(&path).unwrap();
    assert_eq!(record.state(), RunState::Running);
    assert_eq!(record.header().start.command, ["mpirun", "./a b"]);
    assert_eq!(record.header().start.run_id, "r-1");
    assert!(matches!(record.read_summary(), Err(RecordError::NoSummary { .. })));
    assert!(record.events().unwrap().is_none());
    let error = RunRecord::create(&path, start()).unwrap_err();
    assert!(matches!(error, RecordError::NotEmpty(_)), "a folder in use: {error}");
}

#[test]
fn a_finished_record_has_its_parts_and_no_spool() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = RunRecord::create(dir.path(), start()).unwrap();
    fs::write(record.spool_path("b"), "x").unwrap();
    fs::write(record.spool_path("a"), "x").unwrap();
    assert_eq!(record.spool_files().unwrap(), [record.spool_path("a"), record.spool_path("b")]);

    let summary = Summary { n_ranks: 3, elapsed_s: 1.5, ..Summary::default() };
    record.write_summary(&Summary::default()).unwrap();
    record.write_summary(&summary).unwrap();
    record.write_regions(&[]).unwrap();
    assert_eq!(record.read_regions().unwrap(), []);
    let rows = [row(None, Some(0), 0.25), row(Some(0), None, 1e-9)];
    record.write_regions(&rows).unwrap();
    record.event_writer().unwrap().finish().unwrap();
    record.finish().unwrap();

    let record = RunRecord::open(dir.path()).unwrap();
    assert_eq!(record.state(), RunState::Finished);
    assert_eq!(record.read_summary().unwrap(), summary);
    assert_eq!(record.read_regions().unwrap(), rows);
    assert_eq!(record.events().unwrap().unwrap().n_rows(), 0);
    assert!(record.spool_files().unwrap().is_empty());
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["events.parquet", "regions.parquet", "run.json", "summary.json"]);
}

fn row(from_call_site: Option<u32>, call_site: Option<u32>, compute_s: f64) -> RegionRow {
    RegionRow {
        world: 0,
        rank: u32::MAX,
        thread: 1,
        from_call_site,
        call_site,
        operation: mpi_abi::find("MPI_Allreduce").unwrap(),
        calls: u64::MAX,
        compute_s,
        mpi_s: 2.0,
        mpi_max_s: 0.5,
        bytes: 8,
    }
}

/// Regression: `sintonia report` on the data left by a full disk replaced a summary of two ranks by one of none,
/// and then deleted the spool.
#[test]
fn a_summary_is_not_replaced_by_one_that_knows_less() {
    let dir = tempfile::tempdir().unwrap();
    let record = RunRecord::create(dir.path(), start()).unwrap();
    let summary = Summary { n_ranks: 2, ..Summary::default() };
    record.write_summary(&summary).unwrap();
    let error = record.write_summary(&Summary::default()).unwrap_err();
    assert!(matches!(error, RecordError::WouldLoseInformation { .. }), "{error}");
    assert_eq!(record.read_summary().unwrap(), summary);
    // A damaged summary has no information to lose.
    fs::write(dir.path().join("summary.json"), "{").unwrap();
    record.write_summary(&Summary::default()).unwrap();
}

/// Regression for tables: a later attempt replaced the table of a good assembly by a shorter one.
#[test]
fn a_table_is_not_replaced_by_one_of_fewer_rows() {
    let dir = tempfile::tempdir().unwrap();
    let record = RunRecord::create(dir.path(), start()).unwrap();
    let rows = [row(None, Some(0), 0.25), row(Some(0), None, 1e-9)];
    record.write_regions(&rows).unwrap();
    let error = record.write_regions(&rows[..1]).unwrap_err();
    assert!(matches!(error, run_record::TableError::HoldsMore { .. }), "{error}");
    assert_eq!(record.read_regions().unwrap(), rows);
    assert!(!dir.path().join("regions.parquet.new").exists(), "it takes no room");
}

#[track_caller]
fn check_refused(prepare: impl FnOnce(&Path), expected: &str) {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let error = RunRecord::open(&dir.path().join("run")).unwrap_err().to_string();
    let error = error.replace(dir.path().to_str().unwrap(), "");
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn what_is_not_a_record_is_refused_by_name() {
    let with_header = |text: &'static str| {
        move |dir: &Path| {
            fs::create_dir(dir.join("run")).unwrap();
            fs::write(dir.join("run/run.json"), text).unwrap();
        }
    };
    check_refused(|_| (), "`/run` is not a folder");
    check_refused(|dir| fs::write(dir.join("run"), "").unwrap(), "`/run` is not a folder");
    check_refused(|dir| fs::create_dir(dir.join("run")).unwrap(), "`/run` is not a run record");
    check_refused(with_header("{"), "`/run/run.json` is damaged");
    check_refused(with_header("{\"format_version\": 1}"), "`/run/run.json` is damaged");
    check_refused(with_header("{\"format_version\": 2}"), "`/run` has format version 2");
}

#[test]
fn a_full_disk_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let record = RunRecord::create(dir.path(), start()).unwrap();
    assert!(record.free_reserve());
    for name in ["summary.json", "regions.parquet"] {
        let partial = dir.path().join(name).with_added_extension("new");
        std::os::unix::fs::symlink("/dev/full", partial).unwrap();
    }
    let error = record.write_summary(&Summary::default()).unwrap_err();
    assert!(matches!(error, RecordError::File(FileError::StorageFull { .. })), "{error}");
    let error = record.write_regions(&[row(None, None, 0.0)]).unwrap_err();
    assert!(error.is_storage_full(), "{error}");
}
