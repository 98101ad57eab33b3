//! Sums of passages, record by record.
#![expect(
    clippy::single_range_in_vec_init,
    reason = "records that are kept are ranges, often of one"
)]

use super::calls::N_DEEP_MAX;
use super::*;
use crate::summary::N_OPEN_MAX;
use events::ValueType;

const PROCESS: ProcessKey = ProcessKey { pid: 1, started: 2 };
const ENTRY: u32 = 0;
const EXIT: u32 = 1;
const WIDE: u32 = 2;

/// Returns the shapes of entry and exit of a function, and of an event with seven attributes.
fn shapes() -> Vec<EventShape> {
    let shape = |place, function, n| EventShape {
        place,
        function,
        kinds: vec![ValueType::I32; n],
        by_process: false,
    };
    vec![
        shape(ProbePoint::Entry, 0, 1),
        shape(ProbePoint::Exit, 0, 0),
        shape(ProbePoint::Entry, 1, 7),
    ]
}

fn event(event: u32, ticks: u64, value: u64) -> CallRecord {
    let kind = FunctionKind::Event as u16;
    EventRecord { event, ticks, kind, values: [value; 4], last_value: value, ..Default::default() }
        .into()
}

fn more(value: u64) -> CallRecord {
    let kind = FunctionKind::MoreValues as u16;
    EventRecord { kind, values: [value; 4], ..Default::default() }.into()
}

#[derive(Default)]
struct Thread {
    calls: Calls,
    passed: BatchPositions,
    first: u64,
}

struct Node {
    builder: SumBatchBuilder,
    request: SumRequest,
}

impl Node {
    fn adding_up(events: &[u32]) -> Self {
        let mut builder = SumBatchBuilder::default();
        builder.set_shapes(shapes());
        Self { request: SumRequest::new(&shapes(), events), builder }
    }

    fn read(&mut self, thread: &mut Thread, records: &[CallRecord]) -> ReadResult {
        self.read_of(PROCESS, thread, records)
    }

    fn read_of(
        &mut self,
        process: ProcessKey,
        thread: &mut Thread,
        records: &[CallRecord],
    ) -> ReadResult {
        let input = ThreadInput {
            process,
            thread: 0,
            request: &self.request,
            calls: &mut thread.calls,
            passed: &mut thread.passed,
            is_ended: false,
            n_records_long: 8,
        };
        let result = self.builder.read(input, thread.first, records);
        thread.first += result.n_read as u64;
        result
    }
}

/// Checks the durations of timed calls in ticks, and the number of exits and entries without partner, where records were
/// dropped before the passage number `gap`.
#[track_caller]
fn check_gap(passages: &[(u32, u64)], gap: Option<u64>, expected: &[u64], n_unmatched: u64) {
    let mut node = Node::adding_up(&[ENTRY, EXIT]);
    let mut thread = Thread::default();
    if let Some(gap) = gap {
        thread.calls.lack_before(gap);
    }
    let records: Vec<_> = passages.iter().map(|(which, at)| event(*which, *at, 1)).collect();
    node.read(&mut thread, &records);
    let batch = node.builder.take().unwrap();
    let exits = batch.events.iter().find(|sum| sum.event == EXIT).unwrap();
    let sum: u64 = expected.iter().sum();
    assert_eq!(exits.duration_ticks.n, expected.len() as u64);
    assert!((exits.duration_ticks.sum() - sum as f64).abs() < 1e-9, "{exits:?}");
    assert_eq!(batch.n_unmatched, n_unmatched);
}

#[test]
fn exits_are_matched_with_their_entries() {
    check_gap(&[(ENTRY, 10), (EXIT, 13)], None, &[3], 0);
    check_gap(&[(ENTRY, 10), (ENTRY, 12), (EXIT, 13), (EXIT, 20)], None, &[1, 10], 0);
    check_gap(&[(EXIT, 13)], None, &[], 1);
    let deep = u32::try_from(N_DEEP_MAX).unwrap() + 2;
    let down = (0..deep).map(|level| (ENTRY, u64::from(level)));
    let passages: Vec<_> = down.chain([(EXIT, 9000)]).collect();
    check_gap(&passages, None, &[9000 - (N_DEEP_MAX as u64 - 1)], 2);
}

/// Checks the positions that are sent individually.
#[track_caller]
fn check_kept(summed: &[u32], records: &[CallRecord], kept: &[Range<usize>], n_read: usize) {
    let result = Node::adding_up(summed).read(&mut Thread::default(), records);
    assert_eq!((result.kept, result.n_read), (kept.to_vec(), n_read));
}

#[test]
fn what_is_not_wanted_as_a_sum_is_handed_back() {
    let call = CallRecord::default();
    check_kept(&[], &[call, event(ENTRY, 1, 1)], &[0..2], 2);
    check_kept(&[ENTRY], &[call, event(ENTRY, 1, 1), call, call], &[0..1, 2..4], 4);
    check_kept(&[ENTRY], &[event(EXIT, 1, 1), event(ENTRY, 2, 1)], &[0..1], 2);
    check_kept(&[ENTRY], &[event(WIDE, 1, 1), more(2)], &[0..2], 2);
    check_kept(&[99], &[event(99, 1, 1)], &[0..1], 1);
}

#[test]
fn an_event_waits_for_all_its_attributes() {
    check_kept(&[WIDE], &[event(WIDE, 1, 1)], &[], 0);
    check_kept(&[WIDE], &[event(WIDE, 1, 1), more(2)], &[], 2);
    check_kept(&[WIDE], &[event(WIDE, 1, 1), event(WIDE, 2, 1), more(2)], &[], 3);
    let mut node = Node::adding_up(&[WIDE]);
    node.read(&mut Thread::default(), &[event(WIDE, 1, 5), more(9)]);
    let batch = node.builder.take().unwrap();
    let sums: Vec<f64> = batch.events[0].attributes.iter().map(Moments::sum).collect();
    assert_eq!(sums, [5.0, 5.0, 5.0, 5.0, 5.0, 9.0, 9.0]);
}

#[test]
fn an_entry_that_is_sent_on_its_own_still_times_its_exit() {
    let mut node = Node::adding_up(&[EXIT]);
    let mut thread = Thread::default();
    let result = node.read(&mut thread, &[event(ENTRY, 10, 1)]);
    assert_eq!((result.kept, result.is_in_batch), (vec![0..1], true));
    let batch = node.builder.take().unwrap();
    assert_eq!((batch.events.len(), &*batch.ranges[0].open), (0, &[(0, 10)][..]));
    node.read(&mut thread, &[event(EXIT, 14, 1)]);
    let batch = node.builder.take().unwrap();
    assert!((batch.events[0].duration_ticks.sum() - 4.0).abs() < 1e-12);
}

#[test]
fn a_batch_counts_processes_and_names_what_it_read() {
    let mut node = Node::adding_up(&[ENTRY]);
    let (mut one, mut other) = (Thread::default(), Thread::default());
    node.read(&mut one, &[event(ENTRY, 5, 1), event(ENTRY, 7, 3)]);
    node.read(&mut other, &[event(ENTRY, 3, 8)]);
    node.read(&mut one, &[event(ENTRY, 9, 0)]);
    let batch = node.builder.take().unwrap();
    let sum = &batch.events[0];
    assert_eq!((sum.n, sum.n_ranks, sum.first_ticks, sum.last_ticks), (4, 2, 3, 9));
    assert_eq!((sum.attributes[0].min, sum.attributes[0].max), (0.0, 8.0));
    let ranges: Vec<_> = batch.ranges.iter().map(|range| (range.first, range.end)).collect();
    assert_eq!(ranges, [(0, 3), (0, 1)]);
    assert_eq!(node.builder.take(), None);
    node.read(&mut one, &[event(ENTRY, 9, 0)]);
    assert_eq!(node.builder.take().unwrap().events[0].n_ranks, 1);
}

#[test]
fn records_that_the_analyzer_has_in_sums_are_not_added_again() {
    let mut node = Node::adding_up(&[ENTRY, EXIT]);
    let mut thread = Thread::default();
    thread.calls.resume(0, 2, vec![(0, 10)]);
    let records = [event(ENTRY, 1, 1), event(ENTRY, 10, 1), event(EXIT, 14, 1)];
    let result = node.read(&mut thread, &records);
    assert_eq!((result.n_read, result.kept), (3, vec![]));
    let batch = node.builder.take().unwrap();
    assert_eq!((batch.ranges[0].first, batch.ranges[0].end), (2, 3));
    assert_eq!((batch.events.len(), batch.events[0].n), (1, 1));
    assert!((batch.events[0].duration_ticks.sum() - 4.0).abs() < 1e-12);
    thread.calls.resume(7, 2, vec![(0, 10)]);
    assert_eq!(thread.calls, Calls::default(), "what lies between went to a file");
}

/// Checks, for each of two processes, the durations of its calls, and their total without nested ones.
#[track_caller]
fn check_processes(passages: &[(u32, u32, u64)], expected: &[(u32, &[u64], u64)]) {
    let mut node = Node::adding_up(&[ENTRY, EXIT]);
    let mut shapes = shapes();
    shapes.iter_mut().for_each(|shape| shape.by_process = true);
    node.builder.set_shapes(shapes);
    let mut threads = [Thread::default(), Thread::default()];
    for (process, which, ticks) in passages {
        let process = ProcessKey { pid: *process, started: 2 };
        node.read_of(process, &mut threads[process.pid as usize], &[event(*which, *ticks, 1)]);
    }
    let batch = node.builder.take().unwrap();
    let exits = batch.events.iter().find(|sum| sum.event == EXIT).unwrap();
    let found = exits.processes.iter().map(|sum| {
        let took = (sum.duration_ticks.n, sum.duration_ticks.sum());
        (sum.process.pid, sum.n, took, sum.outer_ticks)
    });
    let expected = expected.iter().map(|(pid, each, outer)| {
        let took = (each.len() as u64, each.iter().sum::<u64>() as f64);
        (*pid, each.len() as u64, took, *outer)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let n_timed: u64 = exits.processes.iter().map(|sum| sum.duration_ticks.n).sum();
    assert_eq!((exits.duration_ticks.n, exits.n), (n_timed, n_timed), "all together");
}

#[test]
fn processes_are_told_apart_and_recursion_is_timed_once() {
    check_processes(&[(0, ENTRY, 10), (0, EXIT, 14)], &[(0, &[4], 4)]);
    let nested = [(1, ENTRY, 10), (0, ENTRY, 10), (1, ENTRY, 12), (1, EXIT, 14), (1, EXIT, 20)];
    let and_other = [&nested[..], &[(0, EXIT, 11)]].concat();
    check_processes(&and_other, &[(1, &[2, 10], 10), (0, &[1], 1)]);
}

#[test]
fn a_batch_is_long_when_a_ring_waits_for_it() {
    let mut node = Node::adding_up(&[ENTRY]);
    let mut thread = Thread::default();
    node.read(&mut thread, &[event(ENTRY, 1, 1); 7]);
    assert!(!node.builder.is_long());
    node.read(&mut thread, &[event(ENTRY, 1, 1)]);
    assert!(node.builder.is_long());
    node.builder.take().unwrap();
    assert!(!node.builder.is_long());
}

#[test]
fn the_outermost_open_calls_are_told() {
    let mut node = Node::adding_up(&[ENTRY, EXIT]);
    let records: Vec<_> = (0..100).map(|ticks| event(ENTRY, ticks, 1)).collect();
    node.read(&mut Thread::default(), &records);
    let batch = node.builder.take().unwrap();
    assert_eq!(batch.ranges[0].open.len(), N_OPEN_MAX);
    assert_eq!(batch.ranges[0].open[1], (0, 1));
}

#[test]
fn calls_that_are_mostly_a_gap_have_no_time() {
    let calls = [(ENTRY, 10), (EXIT, 13), (ENTRY, 20), (EXIT, 120)];
    check_gap(&calls, Some(4), &[3, 100], 0);
    check_gap(&calls, Some(3), &[3], 1);
    check_gap(&calls, Some(2), &[3, 100], 0);
    let outer = [(ENTRY, 10), (ENTRY, 500), (EXIT, 540), (EXIT, 900)];
    check_gap(&outer, Some(2), &[890], 1);
    check_gap(&outer, Some(1), &[40], 1);
}
