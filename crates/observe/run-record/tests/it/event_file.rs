//! Event file: columns written and read back.

use events::RecordKind;
use run_record::{Event, EventReader, EventWriter};

fn event(i: u32) -> Event {
    let operation = ["MPI_Send", "MPI_Irecv", "MPI_Barrier"][i as usize % 3];
    Event {
        world: i % 2,
        rank: i % 5,
        thread: i % 3,
        start_ns: 1_000_000 + 37 * u64::from(i),
        end_ns: 1_000_011 + 37 * u64::from(i),
        operation: mpi_abi::find(operation).unwrap(),
        call_site: (i % 4).checked_sub(1),
        peer: i.cast_signed() % 7 - 2,
        tag: [-1, 17][i as usize % 2],
        communicator: u32::MAX - i % 3,
        bytes: u64::MAX - u64::from(i),
        request: u64::from(i) << 40,
        more: 0,
        kind: RecordKind::from_number(u16::try_from(i % 3).unwrap()).unwrap(),
    }
}

#[track_caller]
fn check(n_events: u32, slice: usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.parquet");
    let events: Vec<Event> = (0..n_events).map(event).collect();
    let mut writer = EventWriter::create(&path).unwrap();
    for part in events.chunks(slice) {
        writer.append(part).unwrap();
    }
    assert!(!path.exists());
    assert_eq!(writer.finish().unwrap(), u64::from(n_events));
    let reader = EventReader::open(&path).unwrap();
    assert_eq!(reader.n_rows(), u64::from(n_events));
    for _pass in 0..2 {
        let batches: Vec<Vec<Event>> = reader.batches().map(Result::unwrap).collect();
        assert_eq!(batches.concat(), events);
    }
}

#[test]
fn events_come_back_as_they_were_written() {
    check(0, 1);
    check(1, 1);
    check(1000, 7);
    check(100_000, 100_000);
    check(100_001, 33_333);
    check(250_000, 250_000);
}

#[test]
fn a_file_cut_short_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.parquet");
    let mut writer = EventWriter::create(&path).unwrap();
    writer.append(&[event(1)]).unwrap();
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for n_bytes in (0..bytes.len()).step_by(17) {
        std::fs::write(&path, &bytes[..n_bytes]).unwrap();
        assert!(EventReader::open(&path).is_err(), "cut at {n_bytes}");
    }
    std::fs::write(&path, "not columns").unwrap();
    let error = EventReader::open(&path).unwrap_err().to_string();
    assert!(error.contains("is damaged"), "{error}");
}

#[test]
fn a_full_disk_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.parquet");
    std::os::unix::fs::symlink("/dev/full", path.with_added_extension("new")).unwrap();
    let mut writer = EventWriter::create(&path).unwrap();
    writer.append(&[event(1)]).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.is_storage_full(), "{error}");
}
