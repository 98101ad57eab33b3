//! Conversion of spools of hand-made processes to events.

use super::*;
use crate::samples::{
    FIRST_TICKS, SECOND, STARTED_S, measured, operation_number, process_with, region, text_of,
};
use events::{
    ActionRecord, CallRecord, EventRecord, FunctionKind, OperationId, ProbePoint, RecordKind,
    ValueType,
};
use run_record::measured::{RunFacts, Spool};
use run_record::{Event, FunctionEvent, RunRecord, RunStart, SpoolWriter};
use std::path::Path;
use wire::facts::EventFacts;
use wire::{ProcessReport, Records};

/// Returns a record from `enter_s` to `exit_s` after the first clock point.
fn record(operation: &str, address: u64, (enter_s, exit_s): (u64, u64), peer: i32) -> CallRecord {
    CallRecord {
        enter_ticks: FIRST_TICKS + enter_s * SECOND,
        exit_ticks: FIRST_TICKS + exit_s * SECOND,
        address,
        bytes: 64,
        peer,
        tag: 5,
        operation: operation_number(operation),
        ..CallRecord::default()
    }
}

/// Returns a rank 0 that computes 6 s and then sends, and a rank 1 that waits for it from 2 s to
/// 8 s: the transfer takes 2 s.
fn processes() -> Vec<ProcessReport> {
    [("MPI_Send", 0.0, 6.0), ("MPI_Recv", 6.0, 2.0)]
        .iter()
        .zip(0..)
        .map(|((operation, mpi_s, compute_s), rank)| {
            let regions = vec![region(rank, (0, 0x10), operation, 1, (*mpi_s, *compute_s))];
            let mut process = process_with(0, rank, regions);
            process.threads[0].n_written = 1;
            process
        })
        .collect()
}

fn write_spool(path: &Path, processes: &[ProcessReport], records: &[Vec<CallRecord>]) -> Spool {
    let mut spool = SpoolWriter::create(path).unwrap();
    for (process, records) in processes.iter().zip(records) {
        let records =
            Records { process: process.key, thread: 0, first: 0, records: records.clone() };
        spool.append(&[&wire::to_bytes(&records).unwrap()]).unwrap();
    }
    Spool { node: "node0".into(), path: path.to_owned() }
}

fn send_and_receive() -> Vec<Vec<CallRecord>> {
    vec![
        vec![record("MPI_Send", text_of(0) + 0x10, (6, 6), 1)],
        vec![record("MPI_Recv", text_of(1) + 0x10, (2, 8), 0)],
    ]
}

/// Result of tracing processes.
struct Outcome {
    traced: Traced,
    events: Vec<Event>,
    functions: Vec<FunctionEvent>,
}

fn written(reports: Vec<ProcessReport>, records: &[Vec<CallRecord>], facts: RunFacts) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let spool = write_spool(&dir.path().join("spool"), &processes(), records);
    let measured =
        MeasuredRun { processes: reports, spools: vec![spool], ..MeasuredRun::default() };
    let roster = Roster::new(&measured, facts.started_s);
    let sites = Sites::new(&roster);
    let record = RunRecord::create(&dir.path().join("record"), RunStart::default()).unwrap();
    let traced =
        write(&measured, (&roster, &sites, &StoredSums::default()), (&record, &facts)).unwrap();
    let events = record.events().unwrap();
    let functions = record.function_events().unwrap();
    Outcome {
        traced,
        events: events.iter().flat_map(|file| file.batches()).flat_map(Result::unwrap).collect(),
        functions: functions.iter().flat_map(|f| f.batches()).flat_map(Result::unwrap).collect(),
    }
}

/// Writes the trace of these processes; returns the result and the events.
fn traced(reports: Vec<ProcessReport>, records: &[Vec<CallRecord>]) -> (Traced, Vec<Event>) {
    let facts = RunFacts { started_s: STARTED_S, traced: true, ..RunFacts::default() };
    let Outcome { traced, events, .. } = written(reports, records, facts);
    (traced, events)
}

#[test]
fn records_of_functions_have_their_own_table() {
    let attributes = vec![("NW".to_owned(), ValueType::I32)];
    let (name, function) = ("start".to_owned(), "iterate".to_owned());
    let facts = EventFacts { name, function, place: ProbePoint::Exit, attributes };
    let passed = EventRecord {
        ticks: FIRST_TICKS + SECOND,
        kind: FunctionKind::Event as u16,
        values: [7, 0, 0, 0],
        hit: 3,
        ..EventRecord::default()
    };
    let unknown = EventRecord { event: 5, ..passed };
    let done =
        ActionRecord { kind: FunctionKind::Action as u16, action: 9, ..ActionRecord::default() };
    let mut records = send_and_receive();
    records[0].extend([CallRecord::from(passed), unknown.into(), done.into()]);
    let started_s = STARTED_S;
    let facts = RunFacts { started_s, traced: true, functions: vec![facts], ..RunFacts::default() };
    let Outcome { traced, events, functions } = written(processes(), &records, facts.clone());
    assert_eq!((traced.n_events, traced.n_function_events, events.len()), (2, 2, 2));
    assert!(traced.warnings[0].starts_with("1 function records"), "{:?}", traced.warnings);
    let expected = FunctionEvent {
        world: 0,
        rank: 0,
        thread: 0,
        time_ns: 2_000_000_000,
        event: "start".into(),
        place: ProbePoint::Exit,
        function: "iterate".into(),
        hit: 3,
        values: vec![7.0],
    };
    assert_eq!(functions[0], expected);
    assert_eq!((&*functions[1].event, &functions[1].values[..]), ("(action)", &[9.0, 0.0][..]));
    // A run that is tuned without `--trace` has no event file.
    let only = vec![vec![passed.into()], vec![]];
    let Outcome { traced, .. } = written(processes(), &only, RunFacts { traced: false, ..facts });
    assert_eq!((traced.n_events, traced.n_function_events), (0, 1));
}

#[test]
fn a_record_becomes_an_event_of_its_rank() {
    let (traced, events) = traced(processes(), &send_and_receive());
    assert_eq!((traced.n_events, traced.n_missing), (2, 0));
    assert_eq!(traced.warnings, Vec::<String>::new());
    let receive = Event {
        world: 0,
        rank: 1,
        thread: 0,
        start_ns: 3_000_000_000,
        end_ns: 9_000_000_000,
        operation: OperationId(operation_number("MPI_Recv")),
        call_site: Some(0),
        peer: 0,
        tag: 5,
        communicator: 0,
        bytes: 64,
        request: 0,
        more: 0,
        kind: RecordKind::Call,
    };
    assert_eq!(events[1], receive);
    assert_eq!((events[0].rank, events[0].call_site), (0, Some(1)));
}

#[test]
fn an_ideal_network_splits_communication_efficiency() {
    // Each message takes 2 s. Rank 0 computes until 4 s and then waits for the answer, which rank 1 sends at 8 s
    // after 2 s of work; rank 1 works 2 s more.
    let records = vec![
        vec![record("MPI_Send", 0, (4, 4), 1), record("MPI_Recv", 0, (4, 10), 1)],
        vec![record("MPI_Recv", 0, (0, 6), 0), record("MPI_Send", 0, (8, 8), 0)],
    ];
    let mut reports = processes();
    for (rank, report) in (0..).zip(&mut reports) {
        report.threads[0].regions = vec![region(rank, (0, 0x10), "MPI_Recv", 1, (6.0, 4.0))];
    }
    let (traced, _) = traced(reports, &records);
    // Useful 4 s; on an ideal network 4 + 2 + 2 s; measured 10 s.
    let split = traced.splits[0].unwrap();
    assert!((split.serialization_efficiency - 0.5).abs() < 1e-6, "{split:?}");
    assert!((split.transfer_efficiency - 0.8).abs() < 1e-6, "{split:?}");
}

#[test]
fn records_that_never_arrived_are_missing() {
    let mut reports = processes();
    reports[1].threads[0].n_written = 4;
    let (traced, events) = traced(reports, &send_and_receive());
    assert_eq!((events.len(), traced.n_missing), (2, 3));
}

#[test]
fn records_of_an_unknown_process_or_kind_are_left_out_and_told() {
    let mut records = send_and_receive();
    records[0][0].kind = 99;
    let (traced, events) = traced(processes()[..1].to_vec(), &records);
    assert_eq!(events, []);
    assert_eq!(traced.warnings.len(), 2, "{:?}", traced.warnings);
}

#[test]
fn a_trace_too_long_for_the_model_says_so() {
    let measured = measured(processes());
    let roster = Roster::new(&measured, 0.0);
    let mut lanes = Lanes::new(&roster, 1);
    let (_, events) = traced(processes(), &send_and_receive());
    lanes.push(0, &events[..1]);
    lanes.push(1, &events[1..]);
    let mut traced = Traced::default();
    lanes.finish(&[], &mut traced);
    let Traced { splits, warnings, .. } = traced;
    assert_eq!((splits, warnings.len()), (vec![None], 1));
}
