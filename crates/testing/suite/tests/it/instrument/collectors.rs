//! Tests of ranks whose collector is killed or late.

use super::ranks::Ranks;
use super::{
    ENTRY, N_RANKS, Tuned, check_installed, check_ready, check_refused, check_withdrawn, prepare,
    run_with, values,
};
use events::Value;
use std::time::{Duration, Instant};
use suite::library::Library;
use suite::tool::WatchFolders;
use wire::Order;

/// A new collector repeats what the killed one had said.
#[test]
fn orders_that_come_twice_are_carried_out_once() {
    let tuned = Tuned::new(Library::Mpich4);
    let (_, recorded) = run_with(&tuned, &["count", "8"], |ranks| {
        for _time in 0..2 {
            let change = tuned.set_factor(Value::Float(2.5));
            check_ready(&ranks.ask(&prepare(1, change)), 1.0_f64.to_bits());
        }
        let commit = Order::Commit { action: 1, at_hit: 5 };
        ranks.tell(&commit);
        ranks.tell(&commit);
        check_withdrawn(&ranks.ask(&Order::Withdraw { action: 2 }), 0);
    });
    for rank in &recorded {
        let [action] = rank.actions[..] else { panic!("{:?}", rank.actions) };
        assert_eq!((action.action, action.hit), (1, 5));
    }
}

/// The next collector repeats orders of an action that is over, and that the rank has forgotten because of later ones.
#[test]
fn orders_of_actions_that_are_over_change_nothing() {
    let tuned = Tuned::new(Library::OpenMpi4);
    let folders = WatchFolders::new();
    let file = folders.folder().join("end");
    let ranks = Ranks::start(&tuned.job(&["until"]).arg(&file), N_RANKS);
    check_installed(&ranks.ask(&tuned.install()));
    ranks.tell(&Order::Go);
    let set = |action: u64| prepare(action, tuned.set_factor(Value::Float(action as f64)));
    for action in 1..=3 {
        check_ready(&ranks.ask(&set(action)), (action.max(2) as f64 - 1.0).to_bits());
        ranks.tell(&Order::Commit { action, at_hit: 0 });
        ranks.wait_until("it is carried out", |ranks| {
            (0..N_RANKS).all(|rank| ranks.recorded(rank).actions.len() as u64 == action)
        });
    }
    check_refused(&ranks.ask(&set(1)), "action 1 is already finished");
    // There is no answer: the record of the action is there already.
    ranks.tell(&Order::Commit { action: 1, at_hit: 0 });
    check_withdrawn(&ranks.ask(&Order::Withdraw { action: 1 }), 1);
    std::fs::write(&file, "").expect("the folder is ours");
    let (_, recorded) = ranks.finish();
    for rank in &recorded {
        let actions: Vec<u64> = rank.actions.iter().map(|action| action.action).collect();
        assert_eq!(actions, [1, 2, 3]);
    }
}

/// A process has the collector's lock but is late, as when the analyzer is busy.
#[test]
fn ranks_wait_longer_where_there_is_a_collector() {
    let tuned = Tuned::new(Library::Mpich4);
    let begin = Instant::now();
    let ranks = Ranks::start(&tuned.job(&["count", "5"]), N_RANKS);
    let lock = ranks.hold_collector_lock();
    ranks.wait_until("ranks that are alone would go on", |_| {
        Duration::from_secs(4) < begin.elapsed()
    });
    check_installed(&ranks.ask(&tuned.install()));
    ranks.tell(&Order::Go);
    let (_, recorded) = ranks.finish();
    drop(lock);
    assert!(recorded.iter().all(|rank| values(rank, ENTRY).len() == 5), "from the first one on");
}

#[test]
fn a_program_goes_on_where_nobody_comes() {
    for library in Library::SYSTEM {
        let tuned = Tuned::new(library);
        let bare = tuned.job(&["count", "5"]).run();
        let ranks = Ranks::start(&tuned.job(&["count", "5"]), N_RANKS);
        let (ended, _) = ranks.finish();
        assert_eq!(ended.stdout, bare.stdout);
    }
}
