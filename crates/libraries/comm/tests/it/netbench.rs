//! The network between two threads.

use comm::{CommError, Tag, Transport, netbench};
use models::network::{LengthSample, NetModel, Refresh};
use std::thread;
use std::time::Duration;

#[test]
fn messages_between_threads_are_timed() {
    let mut ends = comm::threads(2);
    let (mut second, mut first) = (ends.remove(1), ends.remove(0));
    let partner = thread::spawn(move || netbench::answer(&mut second, 0));
    let plan = netbench::NetbenchPlan {
        lengths: vec![0, 1, 10, 1000, 10_000, 100_000],
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
}

#[test]
fn a_model_is_refreshed_when_it_is_due() {
    let mut ends = comm::threads(2);
    let (mut second, mut first) = (ends.remove(1), ends.remove(0));
    let sample =
        |n_bytes| LengthSample { n_bytes, median_s: 1e3, low_s: 1e3, high_s: 1e3, n_times: 9 };
    let model = NetModel::fit(&[0, 10, 20].map(sample)).expect("three lengths");
    let partner = thread::spawn(move || netbench::answer(&mut second, 0));
    let mut bytes = Vec::new();
    let mut frugal = Refresh::new(model.clone(), 1e-3, 0.0);
    assert_eq!(netbench::refresh(&mut first, (1, Tag(255)), &mut frugal, &mut bytes), Ok(false));
    let mut lavish = Refresh::new(model, 1.0, -1e9);
    for _ in 0..9 {
        assert_eq!(netbench::refresh(&mut first, (1, Tag(255)), &mut lavish, &mut bytes), Ok(true));
    }
    assert!(lavish.model().one_way_s(10) < 10.0, "{:?}", lavish.model());
    first.send(1, Tag(255), &[&[1]]).expect("it is there");
    assert_eq!(partner.join().expect("no panic"), Ok(()));
}

#[test]
fn a_partner_that_is_gone_ends_the_measurement() {
    let mut ends = comm::threads(2);
    drop(ends.remove(1));
    let measured = netbench::measure(&mut ends[0], 1, &netbench::NetbenchPlan::default());
    assert_eq!(measured, Err(CommError::Gone { rank: 1 }));
}
