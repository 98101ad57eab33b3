//! Simulates nodes in a world that loses, delays and doubles messages, cuts the network, and kills daemons and
//! machines.
//!
//! Checked at every start: no other attempt at the task runs anywhere. Checked at the end: every task whose name a
//! client was given has ended, and its home knows the outcome.

mod acts;
mod checks;
mod holes;
mod keeper;
mod random;
mod submitting;
mod trouble;
mod unit;
mod world;

use balancing_policies::{Moment, Policy};
use task_api::{Demand, Resources, TaskOutcome};

use random::Random;
use trouble::Trouble;
use world::World;

const POLICIES: [&str; 6] =
    ["subscription", "event", "on-demand", "power-of-two", "stealing", "forwarding"];

#[track_caller]
fn check(seeds: std::ops::Range<u64>, trouble: Trouble) {
    let mut n_happened = [0; 7];
    for seed in seeds {
        let policy =
            POLICIES[usize::try_from(seed).unwrap() % POLICIES.len()].parse::<Policy>().unwrap();
        let mut random = Random::new(seed);
        let n_nodes = 3 + random.below(3);
        let mut world = World::new(n_nodes, policy, trouble, random);
        world.run_with_trouble(60_000);
        world.heal_and_run();
        world.assert_all_is_well(&format!("seed {seed}, {policy}, {trouble:?}"));
        n_happened.iter_mut().zip(world.n_happened).for_each(|(all, n)| *all += n);
    }
    let Trouble { n_cuts, n_kills, n_crashes, n_keeper_deaths, n_cancels, n_holes, .. } = trouble;
    let planned = [1, n_cuts, n_kills, n_crashes, n_keeper_deaths, n_cancels, n_holes];
    let happened = |(planned, n): (usize, usize)| planned == 0 || 0 < n;
    assert!(planned.into_iter().zip(n_happened).all(happened), "{planned:?}: {n_happened:?}");
}

#[test]
fn tasks_are_shared_and_end_where_nothing_goes_wrong() {
    check(0..24, Trouble::default());
}

#[test]
fn messages_that_are_lost_late_or_doubled_do_no_harm() {
    check(
        100..124,
        Trouble {
            n_lost_of_1000: 100,
            n_late_of_1000: 50,
            n_doubled_of_1000: 50,
            ..Trouble::default()
        },
    );
}

#[test]
fn partitions_do_no_harm() {
    check(200..224, Trouble { n_cuts: 8, ..Trouble::default() });
}

#[test]
fn killed_daemons_do_no_harm() {
    check(300..324, Trouble { n_kills: 10, ..Trouble::default() });
}

#[test]
fn machines_that_go_down_do_no_harm() {
    check(400..424, Trouble { n_crashes: 8, ..Trouble::default() });
}

#[test]
fn keepers_that_die_do_no_harm() {
    check(500..518, Trouble { n_keeper_deaths: 8, ..Trouble::default() });
}

#[test]
fn everything_at_once_does_no_harm() {
    let trouble = Trouble {
        n_lost_of_1000: 50,
        n_late_of_1000: 30,
        n_doubled_of_1000: 30,
        n_cuts: 6,
        n_kills: 6,
        n_crashes: 4,
        n_keeper_deaths: 3,
        n_cancels: 6,
        n_holes: 0,
        n_fails_of_1000: 0,
        has_wishes: false,
    };
    check(600..660, trouble);
}

#[test]
fn attempts_that_fail_are_tried_again_and_none_runs_twice_at_once() {
    check(900..912, Trouble { n_fails_of_1000: 300, ..Trouble::default() });
    let trouble = Trouble {
        n_lost_of_1000: 50,
        n_late_of_1000: 30,
        n_doubled_of_1000: 30,
        n_fails_of_1000: 200,
        n_cuts: 4,
        n_kills: 6,
        n_crashes: 3,
        n_keeper_deaths: 2,
        n_cancels: 4,
        n_holes: 0,
        has_wishes: false,
    };
    check(912..936, trouble);
    check(936..948, Trouble { n_cancels: 0, n_holes: 4, ..trouble });
}

/// Checked at every start beside the rest: nothing of a node is given twice, and nothing runs before what it waits for.
#[test]
fn tasks_with_wishes_get_what_they_ask_for_in_their_order() {
    check(1000..1012, Trouble { has_wishes: true, ..Trouble::default() });
    let trouble = Trouble {
        n_lost_of_1000: 50,
        n_late_of_1000: 30,
        n_doubled_of_1000: 30,
        n_fails_of_1000: 100,
        n_cuts: 4,
        n_kills: 5,
        n_crashes: 3,
        n_keeper_deaths: 2,
        n_cancels: 2,
        n_holes: 0,
        has_wishes: true,
    };
    check(1024..1048, trouble);
}

/// A task that asks for all nodes, in the middle of small ones that come all the time from two homes.
#[test]
fn a_task_over_all_nodes_gets_its_turn() {
    for seed in 1100..1106 {
        let trouble = Trouble { has_wishes: true, ..Trouble::default() };
        let mut world = World::new(3, Policy::DEFAULT, trouble, Random::new(seed));
        let all = [0, 1].map(|home| {
            world.submit_demand(home, 60, Demand::default());
            let two = Resources { cpus: 2, ..Resources::default() };
            let demand = Demand { variants: vec![two], nodes: 3, ..Demand::default() };
            let tasks = world.submit_demand(home, 1, demand);
            world.submit_demand(home, 60, Demand::default());
            tasks
        });
        world.heal_and_run();
        world.assert_all_is_well(&format!("seed {seed}"));
        for tasks in &all {
            let n_after = world.n_started_after(tasks);
            assert!(10 < n_after, "seed {seed}: it was the last but {n_after}");
        }
    }
}

/// One task waits for two nodes that are busy all the time, and another one for two that are idle.
#[test]
fn a_task_over_two_nodes_does_not_wait_behind_another_one() {
    let on = |nodes, cpus| {
        let variants = vec![Resources { cpus, ..Resources::default() }];
        Demand { variants, nodes, ..Demand::default() }
    };
    for seed in 1200..1206 {
        let trouble = Trouble { has_wishes: true, ..Trouble::default() };
        let mut world = World::new(4, Policy::DEFAULT, trouble, Random::new(seed));
        // Two of the nodes have four cores.
        world.submit_demand(0, 40, on(0, 4));
        world.submit_demand(0, 1, on(2, 4));
        world.run_with_trouble(3_200);
        let small = world.submit_demand(0, 1, on(2, 1));
        world.heal_and_run();
        world.assert_all_is_well(&format!("seed {seed}"));
        let book = world.book_of(&small);
        let task = book.task(small.first).unwrap();
        let waited_ms = task.started_ms().unwrap() - task.submitted_ms;
        assert!(waited_ms < 1_500, "seed {seed}: {waited_ms}");
    }
}

/// Fault: with records lost from a damaged journal, a task ran on two nodes.
#[test]
fn records_that_are_missing_let_nothing_run_twice_at_once() {
    check(700..724, Trouble { n_holes: 10, ..Trouble::default() });
    let trouble = Trouble {
        n_lost_of_1000: 30,
        n_late_of_1000: 30,
        n_cuts: 4,
        n_kills: 4,
        n_keeper_deaths: 2,
        n_cancels: 6,
        n_holes: 6,
        ..Trouble::default()
    };
    check(800..824, trouble);
}

#[test]
fn tasks_leave_the_node_that_they_were_submitted_to() {
    let policy = Policy::DEFAULT;
    let mut world = World::new(4, policy, Trouble::default(), Random::new(7));
    let tasks = world.submit(0, 40);
    world.heal_and_run();
    world.assert_all_is_well("sharing");
    let nodes = world.ended_on(&tasks);
    assert!(nodes.values().all(|n| 4 <= *n) && nodes.len() == 4, "{nodes:?}");
}

#[test]
fn a_task_that_is_about_to_start_elsewhere_is_offered_to_nobody() {
    let mut world = World::new(4, Policy::DEFAULT, Trouble::default(), Random::new(7));
    world.submit(0, 40);
    world.heal_and_run();
    world.assert_all_is_well("sharing");
    for node in &world.nodes[1..] {
        let counts = node.core.as_ref().unwrap().roles.balance.snapshot(Moment(0)).counts;
        assert!(0 < counts.accepted, "{}: {counts:?}", node.name);
        let n_pulls = counts.accepted + counts.not_accepted;
        assert_eq!((counts.moved, counts.messages), (0, n_pulls), "{}: {counts:?}", node.name);
    }
}

#[test]
fn a_task_that_is_canceled_ends_wherever_it_is() {
    for seed in 0..20 {
        let mut world = World::new(3, Policy::DEFAULT, Trouble::default(), Random::new(seed));
        let tasks = world.submit(0, 30);
        world.run_with_trouble(1_000);
        world.cancel(&tasks);
        world.heal_and_run();
        let outcomes = world.outcomes(&tasks);
        assert!(outcomes.contains(&TaskOutcome::Canceled), "seed {seed}: {outcomes:?}");
        let ended =
            |outcome: &TaskOutcome| matches!(outcome, TaskOutcome::Canceled | TaskOutcome::Exit(0));
        assert!(outcomes.len() == 30 && outcomes.iter().all(ended), "seed {seed}: {outcomes:?}");
    }
}
