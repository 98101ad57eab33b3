//! Tests of how many chunks leave ahead.

use super::{ledger, measured, steps};
use crate::bundle::N_PARTS_MAX;
use crate::ledger::{LedgerAction, Wishes, WorkerTimes};
use crate::options::Prefetch;

#[test]
fn of_quick_chunks_as_many_leave_as_a_message_takes() {
    for (prefetch, chunk_s, expected) in [
        (Prefetch::Off, 1e-9, 1),
        (Prefetch::Late, 1e-9, 1 + N_PARTS_MAX),
        (Prefetch::Always, 1e-9, 1 + N_PARTS_MAX),
        // A message and its answer take half a second: twice that is covered by five chunks behind the present one.
        (Prefetch::Late, 0.2, 6),
        (Prefetch::Late, 2.0, 1),
    ] {
        let mut ledger = ledger("ss", prefetch);
        for chunk in [1, 2] {
            ledger.begin(1, Wishes::default(), 1);
            steps(&mut ledger, 0.0);
            ledger.finished(1, chunk, measured(chunk_s), 0.5 + chunk_s).unwrap();
        }
        ledger.begin(1000, Wishes::default(), 1);
        let mut dealt = steps(&mut ledger, 10.0).len();
        assert_eq!(steps(&mut ledger, 10.0), []);
        // The first one begins after a quarter of a second.
        dealt += steps(&mut ledger, 10.25).len();
        assert_eq!(dealt, expected, "{prefetch:?} {chunk_s}");
    }
}

#[test]
fn large_chunks_leave_one_by_one() {
    for (n_input_bytes, n_bytes, expected) in [(70, 8, 33), (5000, 8, 2), (70, 5000, 2)] {
        let mut ledger = ledger("ss", Prefetch::Always);
        for chunk in [1, 2] {
            ledger.begin(1, Wishes::default(), 1);
            steps(&mut ledger, 0.0);
            ledger.finished(1, chunk, WorkerTimes { n_bytes, ..measured(1e-9) }, 0.5).unwrap();
        }
        ledger.begin(1000, Wishes::default(), 1);
        let mut n_dealt = 0;
        while let Some(LedgerAction::Deal(chunk)) = ledger.next_action(1.0) {
            ledger.sent((1, chunk.id), n_input_bytes, 1.0);
            n_dealt += 1;
        }
        assert_eq!(n_dealt, expected, "{n_input_bytes} {n_bytes}");
    }
}

#[test]
fn who_has_nothing_comes_before_who_computes_and_all_have_their_share() {
    let mut ledger = ledger("ss", Prefetch::Always);
    for chunk in [1, 2] {
        ledger.begin(1, Wishes::default(), 1);
        steps(&mut ledger, 0.0);
        ledger.finished(1, chunk, measured(1e-9), 0.5).unwrap();
    }
    ledger.begin(16, Wishes::default(), 2);
    let dealt = steps(&mut ledger, 10.0);
    assert_eq!(dealt[..2], [(1, 0..1), (2, 1..2)]);
    let n_of = |worker| dealt.iter().filter(|(to, _)| *to == worker).count();
    assert!(n_of(1).abs_diff(n_of(2)) <= 1 && dealt.len() < 12, "{dealt:?}");
}
