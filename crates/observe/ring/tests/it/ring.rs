//! Records arrive in order; accepted records are never lost, refused ones are counted.

use crate::pair;
use events::CallRecord;
use proptest::prelude::*;

fn record(number: u64) -> CallRecord {
    CallRecord { enter_ticks: number, ..CallRecord::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Alternates bursts of writing and reading: the records read are the accepted ones, in order.
    #[test]
    fn accepted_records_arrive_in_order(
        bursts in prop::collection::vec((0_u64..200, 0_usize..200), 1..20),
    ) {
        let pair = pair(1, 8, 64);
        let (mut thread, view) = pair.thread();
        let (mut accepted, mut read) = (Vec::new(), Vec::new());
        let mut next = 0;
        for (n_written, n_read) in bursts {
            for _ in 0..n_written {
                let before = view.n_written();
                thread.push(&record(next));
                if before < view.n_written() {
                    accepted.push(next);
                }
                next += 1;
            }
            let records = view.records(view.n_acknowledged(), n_read);
            read.extend(records.iter().map(|record| record.enter_ticks));
            view.acknowledge(view.n_acknowledged() + records.len() as u64);
        }
        prop_assert_eq!(view.n_dropped(), next - accepted.len() as u64);
        prop_assert!(accepted.len() - read.len() <= 64);
        prop_assert_eq!(&accepted[..read.len()], read.as_slice());
    }
}

#[test]
fn a_reader_that_dies_loses_nothing() {
    let pair = pair(1, 8, 64);
    let (mut thread, view) = pair.thread();
    for number in 0..10 {
        thread.push(&record(number));
    }
    let read_and_not_acknowledged = view.records(0, 10);
    let read_again = view.records(view.n_acknowledged(), 100);
    assert_eq!(read_and_not_acknowledged, read_again);
}

#[test]
fn a_writer_and_a_reader_at_the_same_time_agree() {
    let pair = pair(1, 8, 1024);
    let (thread, view) = pair.thread();
    let n_records = 200_000;
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut thread = thread;
            (0..n_records).for_each(|number| thread.push(&record(number)));
        });
        let mut last = None;
        let mut n_read = 0;
        loop {
            let is_done = writer.is_finished();
            let records = view.records(n_read, 500);
            for record in &records {
                assert!(last < Some(record.enter_ticks), "in order");
                last = Some(record.enter_ticks);
            }
            n_read += records.len() as u64;
            view.acknowledge(n_read);
            if is_done && records.is_empty() {
                break;
            }
        }
        assert_eq!(n_read + view.n_dropped(), n_records);
    });
}

#[test]
fn without_a_ring_everything_is_dropped_and_counted() {
    let pair = pair(1, 8, 0);
    let mut thread = pair.writer.attach_thread(1).expect("room for a thread");
    assert!(!thread.has_ring());
    thread.push(&record(1));
    let view = pair.reader.threads().next().expect("one thread");
    assert_eq!((view.n_written(), view.n_dropped(), view.records(0, 10).len()), (0, 1, 0));
}
