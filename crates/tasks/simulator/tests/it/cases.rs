//! The default policy on random cases: bars that hold for any seed.

use simulator::chunking::cases::{Case, Judgement, Later, judge};

fn judged(seed: u64, n_cases: u64, later: Later) -> Vec<Judgement> {
    let cases: Vec<Case> = (seed..seed + n_cases).map(|seed| Case::drawn(seed, 3, later)).collect();
    judge(&cases)
}

#[test]
fn the_default_finds_dear_tasks_and_learns_where_they_are() {
    let judged = judged(9000, 60, Later::Same);
    let best = &judged[0];
    assert!(best.first.mean <= 1.04 && best.first.p99 <= 1.7, "{best:?}");
    assert!(best.later.mean <= 1.01 && best.later.p99 <= 1.1, "{best:?}");
    assert!(0.98 <= best.all_near_best, "{best:?}");
}

/// Where costs are drawn anew, or reversed every other time, nothing that was learnt helps: it must not harm.
#[test]
fn what_was_learnt_does_no_harm_where_it_is_wrong() {
    for later in [Later::Anew, Later::Reversed] {
        let judged = judged(7000, 30, later);
        let single = judged.iter().find(|of| of.policy == "ss").expect("a policy");
        let best = &judged[0];
        assert!(best.later.mean <= 1.02 * single.later.mean, "{best:?} {single:?}");
    }
}
