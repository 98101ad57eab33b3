//! The network between two threads.

use comm::{CommError, Tag, netbench};
use std::thread;
use std::time::Duration;

#[test]
fn messages_between_threads_are_timed() {
    let mut ends = comm::threads(2);
    let (mut second, mut first) = (ends.remove(1), ends.remove(0));
    let partner = thread::spawn(move || netbench::answer(&mut second, 0));
    let plan = netbench::NetbenchPlan {
        lengths: vec![0, 1, 10, 1000, 10_000, 100_000, 200_000],
        n_rounds: 20,
        at_most: Duration::from_secs(5),
        tag: Tag(255),
    };
    let model = netbench::measure(&mut first, 1, &plan).expect("it answers").expect("a model");
    assert_eq!(partner.join().expect("no panic"), Ok(()));
    let lengths: Vec<u64> = model.samples.iter().map(|sample| sample.n_bytes).collect();
    assert_eq!(lengths, plan.lengths);
    for sample in &model.samples {
        assert!(sample.low_s <= sample.median_s && sample.median_s <= sample.high_s, "{sample:?}");
        assert!(20 <= sample.n_times && 0.0 < sample.low_s, "{sample:?}");
    }
    assert!(0.0 < model.one_way_s(100_000));
    assert!((1.0..=2.0).contains(&model.exchange_ratio.expect("200,000 bytes show it")));
}

#[test]
fn a_partner_that_is_gone_ends_the_measurement() {
    let mut ends = comm::threads(2);
    drop(ends.remove(1));
    let measured = netbench::measure(&mut ends[0], 1, &netbench::NetbenchPlan::default());
    assert_eq!(measured, Err(CommError::Gone { rank: 1 }));
}
