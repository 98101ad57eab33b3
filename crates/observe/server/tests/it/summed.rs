//! Runs whose function events are summed on the node: every passage counts once, whichever process is killed.

use crate::network::Network;
use crate::stage::{PLACES, Rank, Stage, event_facts, event_point, eventually, tunlet_spec};
use app_description::{Actor, Application, RankSet};
use assemble::assemble;
use collector::recover;
use run_record::SpoolReader;
use run_record::measured::{MeasuredRun, RunFacts};
use run_record::tuning::TuningMode;
use server::Server;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tuner::{TuningOptions, TuningPlan};
use tunlets::{Decision, Detail, News, Requests, Tunlet, TunletError, TunletSpec, World};
use wire::{EventFacts, ProbedFunction, SummaryBatch};

const N_CALLS: u64 = 10_000;
const SUMMED: Rank = Rank { rank: 1, n_records: N_CALLS, ending: "summed" };

/// Counts the passages it is told about.
struct Counting {
    details: [Detail; 2],
    n_heard: Arc<AtomicU64>,
}

impl Tunlet for Counting {
    fn spec(&self) -> TunletSpec {
        tunlet_spec("counting")
    }

    fn begin(&mut self, _: &Application, _: &World) -> Result<Requests, TunletError> {
        Ok(Requests { events: self.details.to_vec(), performance: false, points: Vec::new() })
    }

    fn hear(&mut self, news: &News, _: &mut Vec<Decision>) {
        if let News::Summary(summary) = news {
            self.n_heard.fetch_add(summary.attributes[0].n, Ordering::SeqCst);
        }
    }
}

fn application() -> Application {
    let ranks = RankSet { spans: vec![(0, None)] };
    Application {
        program: "test".to_owned(),
        actors: vec![Actor { name: "all".to_owned(), ranks, line: 1 }],
        events: PLACES.map(|place| event_point(place, "call", "number")).to_vec(),
        ..Application::default()
    }
}

fn facts() -> Vec<EventFacts> {
    PLACES.map(|place| event_facts(place, "call", "number")).to_vec()
}

fn summed(details: [Detail; 2]) -> (Stage, Server, Arc<AtomicU64>) {
    let n_heard = Arc::new(AtomicU64::new(0));
    let counting = Counting { details, n_heard: Arc::clone(&n_heard) };
    let (stage, server) = Stage::tuned(TuningOptions {
        application: application(),
        plan: TuningPlan { events: facts(), ..TuningPlan::default() },
        tunlets: vec![Box::new(counting)],
        mode: TuningMode::Observe,
        ..TuningOptions::default()
    });
    (stage, server, n_heard)
}

fn has_ended(server: &Server) -> bool {
    server.processes().iter().any(|process| process.finalizing)
}

/// Returns the number of batches of sums in the record.
fn n_batches(stage: &Stage) -> usize {
    let files = stage.record.spool_files().expect("a folder");
    let sums = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "sums"));
    let count = |path: &std::path::PathBuf| {
        let mut reader = SpoolReader::open(path).expect("a spool");
        let (mut n, mut frame) = (0, Vec::new());
        while reader.next_frame(&mut frame).expect("readable") {
            wire::decode::<SummaryBatch>(&frame).expect("a batch");
            n += 1;
        }
        n
    };
    sums.map(count).sum()
}

/// Runs a rank while its collector is killed and replaced three times, each after `n_each` more batches.
#[track_caller]
fn with_killed_collectors(stage: &Stage, server: Server, n_each: usize) -> MeasuredRun {
    let mut collector = stage.collector();
    let mut rank = stage.rank(SUMMED);
    for n_kills in 1..4 {
        assert!(eventually(|| n_each * n_kills < n_batches(stage) || has_ended(&server)));
        collector.kill();
        collector = stage.collector();
    }
    assert!(rank.ends());
    stage.end(server, collector)
}

/// Runs a rank whose analyzer is killed after `n_first` batches, and recovers the record.
#[track_caller]
fn with_a_killed_analyzer(stage: &Stage, server: Server, n_first: usize) -> MeasuredRun {
    let mut collector = stage.collector();
    let mut rank = stage.rank(SUMMED);
    assert!(eventually(|| n_first < n_batches(stage)));
    drop(server);
    assert!(rank.ends());
    assert!(collector.ends(), "nobody needs it any more");
    recover::unfinished(&stage.record).1
}

/// Checks the record's sums and individual records of an event: number of passages, and sum of the call numbers.
#[track_caller]
fn check(stage: &Stage, measured: &MeasuredRun, n_in_sums: Option<[u64; 2]>) {
    let facts = RunFacts { functions: facts(), traced: true, ..stage.facts() };
    let summary = assemble(measured, &facts, &stage.record).summary;
    assert_eq!(summary.tool.records, N_CALLS.div_ceil(10), "MPI calls");
    assert_eq!(summary.tool.records_dropped, 0, "{:?}", summary.tool.warnings);
    let table = stage.record.function_events().expect("readable");
    let rows: Vec<_> =
        table.iter().flat_map(|table| table.batches().flat_map(Result::unwrap)).collect();
    let all: f64 = (0..N_CALLS).map(|number| number as f64).sum();
    for (idx, (name, _)) in PLACES.iter().enumerate() {
        let sums = summary.function_sums.iter().find(|sums| sums.event == *name);
        let single: Vec<f64> =
            rows.iter().filter(|row| &*row.event == *name).map(|row| row.values[0]).collect();
        let n_summed = sums.map_or(0, |sums| sums.n);
        assert_eq!(n_summed + single.len() as u64, N_CALLS, "passages of `{name}`");
        let sum = sums.map_or(0.0, |sums| sums.attributes[0].1.sum());
        let found = sum + single.iter().sum::<f64>();
        assert!((found - all).abs() < 1e-3, "numbers of `{name}` add up to {found}, not {all}");
        if let Some(n_in_sums) = n_in_sums {
            assert_eq!(n_summed, n_in_sums[idx], "sums of `{name}`");
        }
        if *name == "end" && n_in_sums.is_some_and(|n| n[1] == N_CALLS) {
            assert_eq!(sums.map(|sums| sums.duration_s.n), Some(N_CALLS), "every call has a time");
        }
    }
}

const ALL: Option<[u64; 2]> = Some([N_CALLS, N_CALLS]);

#[test]
fn sums_are_what_was_passed() {
    let (stage, server, n_heard) = summed([Detail::Summary; 2]);
    let collector = stage.collector();
    assert!(stage.rank(SUMMED).ends());
    assert!(eventually(|| n_heard.load(Ordering::SeqCst) == 2 * N_CALLS), "{n_heard:?}");
    check(&stage, &stage.end(server, collector), ALL);
}

#[test]
fn an_entry_that_is_wanted_every_time_is_recorded_and_times_its_exit() {
    let (stage, server, n_heard) = summed([Detail::Every, Detail::Summary]);
    let collector = stage.collector();
    assert!(stage.rank(SUMMED).ends());
    assert!(eventually(|| n_heard.load(Ordering::SeqCst) == N_CALLS), "{n_heard:?}");
    check(&stage, &stage.end(server, collector), Some([0, N_CALLS]));
}

#[test]
fn a_connection_that_breaks_counts_nothing_twice() {
    let (mut stage, server, n_heard) = summed([Detail::Summary; 2]);
    let mut network = Network::before(server.address());
    stage.address = network.address();
    let collector = stage.collector();
    let mut rank = stage.rank(SUMMED);
    for n_cuts in 1..4 {
        assert!(eventually(|| 2 * n_cuts < n_batches(&stage) || has_ended(&server)));
        network.cut();
    }
    assert!(rank.ends());
    // A full ring may have been spilled to a file meanwhile.
    check(&stage, &stage.end(server, collector), None);
    assert!(n_heard.load(Ordering::SeqCst) <= 2 * N_CALLS, "{n_heard:?}");
}

#[test]
fn a_killed_collector_loses_no_passage_and_counts_none_twice() {
    let (stage, server, n_heard) = summed([Detail::Summary; 2]);
    // A full ring may have been spilled to a file meanwhile.
    check(&stage, &with_killed_collectors(&stage, server, 2), None);
    assert!(n_heard.load(Ordering::SeqCst) <= 2 * N_CALLS, "{n_heard:?}");
}

#[test]
fn a_killed_analyzer_loses_no_passage_and_counts_none_twice() {
    let (stage, server, _) = summed([Detail::Summary; 2]);
    check(&stage, &with_a_killed_analyzer(&stage, server, 2), None);
}

/// Returns a plan in which the function was chosen by pattern, so that no tunlet wants its passages.
fn probed() -> TuningPlan {
    let mut events = facts();
    events.iter_mut().for_each(|facts| facts.attributes.clear());
    let function = ProbedFunction { entry: Some(0), exit: Some(1), ..ProbedFunction::default() };
    TuningPlan { events, probed: vec![function], ..TuningPlan::default() }
}

fn count(every_passage: bool) -> (Stage, Server) {
    Stage::tuned(TuningOptions {
        application: Application { program: "test".to_owned(), ..Application::default() },
        plan: probed(),
        mode: TuningMode::Observe,
        every_passage,
        ..TuningOptions::default()
    })
}

/// Checks that every call counts once, is timed unless a process was killed, and has rows only if
/// every passage is wanted.
#[track_caller]
fn check_count(stage: &Stage, measured: &MeasuredRun, every_passage: bool, are_all_timed: bool) {
    let TuningPlan { events, probed, .. } = probed();
    let facts = RunFacts { functions: events, probed, traced: every_passage, ..stage.facts() };
    let summary = assemble(measured, &facts, &stage.record).summary;
    assert_eq!(summary.tool.records_dropped, 0, "{:?}", summary.tool.warnings);
    assert_eq!(summary.function_sums, []);
    assert_eq!(summary.functions.len(), 1, "{:?}", summary.functions);
    let function = &summary.functions[0];
    assert_eq!((function.total.calls, function.by_rank.len()), (N_CALLS, 1), "{function:?}");
    if are_all_timed {
        assert_eq!(function.total.calls_timed, N_CALLS, "every call has a time");
    }
    let table = stage.record.function_events().expect("readable");
    let n_rows: usize = table
        .iter()
        .flat_map(|table| table.batches().map(|batch| batch.expect("rows").len()))
        .sum();
    assert_eq!(n_rows as u64, if every_passage { 2 * N_CALLS } else { 0 });
}

#[test]
fn calls_are_counted_on_the_node_or_one_by_one() {
    for every_passage in [false, true] {
        let (stage, server) = count(every_passage);
        let collector = stage.collector();
        assert!(stage.rank(SUMMED).ends());
        check_count(&stage, &stage.end(server, collector), every_passage, true);
    }
}

#[test]
fn a_killed_collector_loses_no_call() {
    let (stage, server) = count(false);
    // A full ring may have been spilled to a file meanwhile.
    check_count(&stage, &with_killed_collectors(&stage, server, 1), false, false);
}

#[test]
fn a_killed_analyzer_loses_no_call() {
    let (stage, server) = count(false);
    check_count(&stage, &with_a_killed_analyzer(&stage, server, 1), false, false);
}
