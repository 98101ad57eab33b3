//! Sums of passages, record by record.
#![expect(
    clippy::single_range_in_vec_init,
    reason = "records that are kept are ranges, often of one"
)]

use super::*;
use events::ValueType;

const PROCESS: ProcessKey = ProcessKey { pid: 1, started: 2 };
const ENTRY: u32 = 0;
const EXIT: u32 = 1;
const WIDE: u32 = 2;

/// Entry and exit of a function, and an event with seven attributes.
fn shapes() -> Vec<EventShape> {
    let shape = |place, function, n| EventShape { place, function, kinds: vec![ValueType::I32; n] };
    vec![shape(Place::Entry, 0, 1), shape(Place::Exit, 0, 0), shape(Place::Entry, 1, 7)]
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
    passed: Vec<u64>,
    first: u64,
}

struct Node {
    summaries: Summaries,
    wish: Wish,
}

impl Node {
    fn adding_up(events: &[u32]) -> Self {
        let mut summaries = Summaries::default();
        summaries.set_shapes(shapes());
        Self { wish: Wish::new(&shapes(), events), summaries }
    }

    fn read(&mut self, thread: &mut Thread, records: &[CallRecord]) -> Sorted {
        let source = Source {
            process: PROCESS,
            thread: 0,
            wish: &self.wish,
            calls: &mut thread.calls,
            passed: &mut thread.passed,
            is_ended: false,
        };
        let sorted = self.summaries.read(source, thread.first, records);
        thread.first += sorted.n_read as u64;
        sorted
    }
}

/// Expects of each duration its ticks, and how many exits and entries found no partner.
#[track_caller]
fn check_durations(passages: &[(u32, u64)], expected: &[u64], n_unmatched: u64) {
    let mut node = Node::adding_up(&[ENTRY, EXIT]);
    let records: Vec<_> = passages.iter().map(|(which, at)| event(*which, *at, 1)).collect();
    node.read(&mut Thread::default(), &records);
    let batch = node.summaries.take().unwrap();
    let exits = batch.events.iter().find(|sum| sum.event == EXIT).unwrap();
    let sum: u64 = expected.iter().sum();
    assert_eq!(exits.duration_ticks.n, expected.len() as u64);
    assert!((exits.duration_ticks.sum() - sum as f64).abs() < 1e-9, "{exits:?}");
    assert_eq!(batch.n_unmatched, n_unmatched);
}

#[test]
fn exits_are_matched_with_their_entries() {
    check_durations(&[(ENTRY, 10), (EXIT, 13)], &[3], 0);
    check_durations(&[(ENTRY, 10), (ENTRY, 12), (EXIT, 13), (EXIT, 20)], &[1, 10], 0);
    check_durations(&[(EXIT, 13)], &[], 1);
    let deep = u32::try_from(N_OPEN_MAX).unwrap() + 2;
    let down = (0..deep).map(|level| (ENTRY, u64::from(level)));
    let passages: Vec<_> = down.chain([(EXIT, 100)]).collect();
    check_durations(&passages, &[100 - (N_OPEN_MAX as u64 - 1)], 2);
}

/// Expects the positions that are kept.
#[track_caller]
fn check_kept(summed: &[u32], records: &[CallRecord], kept: &[Range<usize>], n_read: usize) {
    let sorted = Node::adding_up(summed).read(&mut Thread::default(), records);
    assert_eq!((sorted.kept, sorted.n_read), (kept.to_vec(), n_read));
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
    let batch = node.summaries.take().unwrap();
    let sums: Vec<f64> = batch.events[0].attributes.iter().map(Moments::sum).collect();
    assert_eq!(sums, [5.0, 5.0, 5.0, 5.0, 5.0, 9.0, 9.0]);
}

#[test]
fn an_entry_that_is_sent_on_its_own_still_times_its_exit() {
    let mut node = Node::adding_up(&[EXIT]);
    let mut thread = Thread::default();
    let sorted = node.read(&mut thread, &[event(ENTRY, 10, 1)]);
    assert_eq!((sorted.kept, sorted.is_in_batch), (vec![0..1], true));
    let batch = node.summaries.take().unwrap();
    assert_eq!((batch.events.len(), &*batch.ranges[0].open), (0, &[(0, 10)][..]));
    node.read(&mut thread, &[event(EXIT, 14, 1)]);
    let batch = node.summaries.take().unwrap();
    assert!((batch.events[0].duration_ticks.sum() - 4.0).abs() < 1e-12);
}

#[test]
fn a_batch_counts_processes_and_names_what_it_read() {
    let mut node = Node::adding_up(&[ENTRY]);
    let (mut one, mut other) = (Thread::default(), Thread::default());
    node.read(&mut one, &[event(ENTRY, 5, 1), event(ENTRY, 7, 3)]);
    node.read(&mut other, &[event(ENTRY, 3, 8)]);
    node.read(&mut one, &[event(ENTRY, 9, 0)]);
    let batch = node.summaries.take().unwrap();
    let sum = &batch.events[0];
    assert_eq!((sum.n, sum.n_ranks, sum.first_ticks, sum.last_ticks), (4, 2, 3, 9));
    assert_eq!((sum.attributes[0].min, sum.attributes[0].max), (0.0, 8.0));
    let ranges: Vec<_> = batch.ranges.iter().map(|range| (range.first, range.end)).collect();
    assert_eq!(ranges, [(0, 3), (0, 1)]);
    assert_eq!(node.summaries.take(), None);
    node.read(&mut one, &[event(ENTRY, 9, 0)]);
    assert_eq!(node.summaries.take().unwrap().events[0].n_ranks, 1);
}

#[test]
fn records_that_the_analyzer_has_in_sums_are_not_added_again() {
    let mut node = Node::adding_up(&[ENTRY, EXIT]);
    let mut thread = Thread::default();
    thread.calls.resume(0, 2, vec![(0, 10)]);
    let records = [event(ENTRY, 1, 1), event(ENTRY, 10, 1), event(EXIT, 14, 1)];
    let sorted = node.read(&mut thread, &records);
    assert_eq!((sorted.n_read, sorted.kept), (3, vec![]));
    let batch = node.summaries.take().unwrap();
    assert_eq!((batch.ranges[0].first, batch.ranges[0].end), (2, 3));
    assert_eq!((batch.events.len(), batch.events[0].n), (1, 1));
    assert!((batch.events[0].duration_ticks.sum() - 4.0).abs() < 1e-12);
    thread.calls.resume(7, 2, vec![(0, 10)]);
    assert_eq!(thread.calls, Calls::default(), "what lies between went to a file");
}
