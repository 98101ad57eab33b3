//! File of function events: columns and lists written and read back.

use events::ProbePoint;
use run_record::{FunctionEvent, FunctionReader, FunctionWriter};

fn event(i: u32) -> FunctionEvent {
    FunctionEvent {
        world: i % 2,
        rank: i % 5,
        thread: i % 3,
        time_ns: 1_000_000 + 37 * u64::from(i),
        event: ["iteration_start", "batch"][i as usize % 2].into(),
        place: [ProbePoint::Entry, ProbePoint::Exit][i as usize % 2],
        function: "solver::Grid<double>::step(int)".into(),
        hit: i,
        values: (0..i % 7).map(|n| f64::from(n) * 0.5).collect(),
    }
}

#[track_caller]
fn check(n_events: u32) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("function-events.parquet");
    let events: Vec<FunctionEvent> = (0..n_events).map(event).collect();
    let mut writer = FunctionWriter::create(&path).unwrap();
    events.chunks(7).for_each(|part| writer.append(part).unwrap());
    assert!(!path.exists());
    assert_eq!(writer.finish().unwrap(), u64::from(n_events));
    let reader = FunctionReader::open(&path).unwrap();
    assert_eq!(reader.n_rows(), u64::from(n_events));
    let batches: Vec<Vec<FunctionEvent>> = reader.batches().map(Result::unwrap).collect();
    assert_eq!(batches.concat(), events);
}

#[test]
fn events_come_back_as_they_were_written() {
    check(0);
    check(1);
    check(1000);
    check(100_001);
}
