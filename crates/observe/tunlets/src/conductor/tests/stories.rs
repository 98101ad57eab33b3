//! Outcomes of decisions in scripted scenarios.

use super::simulation::Simulation;
use super::{F0, F1, NW};
use crate::News;
use crate::conductor::Input;
use events::tuning::{TuningEvent, TuningLine, TuningMode};
use events::{Rank, Value};

fn tuned(n_ranks: u32) -> Simulation {
    Simulation::new(n_ranks, TuningMode::Tune, &[("first", &[F0, F1]), ("second", &[NW])])
}

fn iterate(simulation: &mut Simulation, durations_s: &[f64]) {
    durations_s.iter().for_each(|duration_s| simulation.iterate(*duration_s, 1));
}

#[track_caller]
fn check(simulation: &Simulation, expected: &[&str]) {
    assert_eq!(simulation.outcomes(), expected, "{:#?}", simulation.lines);
}

/// Checks the outcome of a decision about F0 made after the iterations `before` and tried by those in `after`.
#[track_caller]
fn check_trial(before: &[f64], after: &[f64], expected: &[&str], value: i64) {
    let mut simulation = tuned(3);
    iterate(&mut simulation, before);
    simulation.decide(0, F0, 7);
    iterate(&mut simulation, after);
    check(&simulation, expected);
    assert_eq!(simulation.values(F0), [value, 50, 50]);
}

#[test]
fn what_makes_iterations_slower_is_undone() {
    let kept = ["1 applied", "1 effect", "1 kept"];
    check_trial(&[1.0; 3], &[1.0; 4], &kept, 7);
    check_trial(&[1.0; 3], &[9.0, 0.5, 0.5, 0.5], &kept, 7);
    check_trial(&[1.0; 3], &[1.0, 1.04, 1.04, 9.0], &kept, 7);
    let undone = ["1 applied", "1 effect", "1 undone"];
    check_trial(&[1.0; 3], &[1.0, 1.1, 1.1, 1.1, 1.0], &undone, 50);
    check_trial(&[9.0, 1.0, 1.0], &[1.0, 9.0, 1.1, 1.1, 1.0], &undone, 50);
    // They scatter more than they differ: more are awaited.
    check_trial(&[9.0, 1.0, 1.0], &[1.0, 9.0, 1.0, 1.1, 1.0], &["1 applied"], 7);
    check_trial(&[1.0; 3], &[1.0, 1.0, 1.0], &["1 applied"], 7);
    check_trial(&[], &[1.0], &["1 applied", "1 kept"], 7);
}

#[test]
fn time_is_compared_per_work() {
    let mut simulation = tuned(2);
    (0..3).for_each(|_| simulation.iterate(1.0, 10));
    simulation.decide(0, F0, 7);
    (0..4).for_each(|_| simulation.iterate(2.0, 20));
    check(&simulation, &["1 applied", "1 effect", "1 kept"]);
}

#[test]
fn who_was_undone_rests_longer_each_time() {
    let mut simulation = tuned(2);
    iterate(&mut simulation, &[1.0; 3]);
    let mut rests = Vec::new();
    for value in 1..=3 {
        simulation.decide(0, F0, value);
        let mut n_rested = 0;
        while !simulation.outcomes().contains(&format!("{value} applied")) {
            simulation.iterate(1.0, 1);
            n_rested += 1;
        }
        rests.push(n_rested);
        iterate(&mut simulation, &[2.0, 2.0, 2.0, 1.0]);
        assert!(simulation.outcomes().contains(&format!("{value} undone")));
    }
    // One iteration to carry it out; one of the rest was taken by the undo itself.
    assert_eq!(rests, [1, 2, 4]);
}

#[test]
fn decisions_of_others_wait_for_the_trial() {
    let mut simulation = tuned(3);
    iterate(&mut simulation, &[1.0; 3]);
    simulation.decide(0, F0, 7);
    simulation.iterate(1.0, 1);
    simulation.decide(1, NW, 1);
    simulation.decide(1, NW, 2);
    simulation.decide(0, F0, 8);
    iterate(&mut simulation, &[1.0; 3]);
    check(&simulation, &["1 applied", "1 effect", "1 kept"]);
    iterate(&mut simulation, &[1.0; 5]);
    // Only the newest decision, and in turn.
    let second = ["2 applied", "2 effect", "2 kept"];
    check(&simulation, &[["1 applied", "1 effect", "1 kept"], second].concat());
    iterate(&mut simulation, &[1.0; 1]);
    assert_eq!((simulation.values(NW), simulation.values(F0)), (vec![50, 2, 2], vec![8, 50, 50]));
}

#[test]
fn decisions_of_one_moment_are_tried_together() {
    let mut simulation = tuned(2);
    iterate(&mut simulation, &[1.0; 3]);
    simulation.scripts[0].lock().unwrap().decisions.push_back((F0, Value::Int(7)));
    simulation.decide(0, F1, 8);
    iterate(&mut simulation, &[2.0; 6]);
    let outcomes = ["1 applied", "2 applied", "1 effect", "2 effect", "1 undone", "2 undone"];
    check(&simulation, &outcomes);
    assert_eq!((simulation.values(F0)[0], simulation.values(F1)[0]), (50, 50));
}

#[test]
fn a_tuning_point_belongs_to_the_first() {
    let tunlets: [(&'static str, &[usize]); 3] = [("a", &[F0]), ("b", &[F0, F1]), ("c", &[F0])];
    let mut simulation = Simulation::new(2, TuningMode::Tune, &tunlets);
    simulation.decide(1, F0, 3);
    iterate(&mut simulation, &[1.0]);
    check(&simulation, &["c ended"]);
    let heard = &simulation.scripts[1].lock().unwrap().heard;
    let n_declined = heard.iter().filter(|news| matches!(news, News::Declined { .. })).count();
    assert_eq!(n_declined, 2, "at the start, and when it tries: {heard:?}");
}

#[test]
fn a_value_out_of_range_is_declined_once_in_a_row() {
    let mut simulation = tuned(2);
    (0..3).for_each(|_| simulation.decide(0, F0, 101));
    check(&simulation, &["1 declined"]);
}

#[test]
fn a_value_that_holds_already_is_no_change() {
    let mut simulation = tuned(2);
    simulation.decide(0, F0, 7);
    iterate(&mut simulation, &[1.0]);
    simulation.decide(0, F0, 7);
    check(&simulation, &["1 applied", "1 kept"]);
}

#[test]
fn one_refusal_stops_all() {
    let mut simulation = tuned(3);
    simulation.processes.get_mut(&Rank(2)).unwrap().refuses = Some("no such variable");
    simulation.decide(1, NW, 7);
    iterate(&mut simulation, &[1.0; 5]);
    check(&simulation, &["1 declined"]);
    assert_eq!(simulation.values(NW), [50; 3]);
}

/// `--tune` said again and again that a lever was refused.
#[test]
fn a_refusal_of_a_rank_is_said_once() {
    let mut simulation = tuned(3);
    let decide = |simulation: &mut Simulation, reason, value| {
        simulation.processes.get_mut(&Rank(2)).unwrap().refuses = reason;
        simulation.decide(1, NW, value);
        iterate(simulation, &[1.0; 2]);
    };
    decide(&mut simulation, Some("900 of 1000 MiB are used"), 7);
    decide(&mut simulation, Some("910 of 1000 MiB are used"), 7);
    check(&simulation, &["1 declined"]);
    decide(&mut simulation, Some("no such variable"), 7);
    decide(&mut simulation, Some("920 of 1000 MiB are used"), 8);
    check(&simulation, &["1 declined", "3 declined"]);
    let heard = simulation.scripts[1].lock().unwrap().heard.clone();
    let is_declined = |news: &&News| matches!(news, News::Declined { .. });
    assert_eq!(heard.iter().filter(is_declined).count(), 4, "the tunlet hears of each");
    decide(&mut simulation, None, 9);
    let is_decision = |line: &&TuningLine| matches!(line.what, TuningEvent::Decision { .. });
    assert_eq!(simulation.lines.iter().filter(is_decision).count(), 3);
    check(&simulation, &["1 declined", "3 declined", "5 applied"]);
    simulation.finish();
    check(&simulation, &["1 declined", "3 declined", "5 applied", "5 kept"]);
}

#[test]
fn what_is_not_as_before_is_said_where_a_change_is_taken_back() {
    let mut simulation = tuned(2);
    iterate(&mut simulation, &[1.0; 3]);
    simulation.decide(0, F0, 7);
    iterate(&mut simulation, &[1.0; 1]);
    simulation.processes.get_mut(&Rank(0)).unwrap().note = "it no longer adapts";
    iterate(&mut simulation, &[2.0; 6]);
    let reasons = simulation.lines.iter().filter_map(|line| match &line.what {
        TuningEvent::Undone { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    let reasons: Vec<&str> = reasons.collect();
    assert_eq!(reasons, ["iterations became 100.0 % slower; it no longer adapts"]);
}

#[test]
fn what_fails_on_one_rank_is_set_back_on_the_others() {
    let mut simulation = tuned(3);
    simulation.processes.get_mut(&Rank(2)).unwrap().fails = true;
    simulation.decide(1, NW, 7);
    iterate(&mut simulation, &[1.0; 3]);
    assert_eq!(simulation.values(NW), [50, 50, 50]);
    iterate(&mut simulation, &[1.0; 3]);
    check(&simulation, &["1 declined"]);
}

#[test]
fn a_rank_that_does_not_answer_in_time_stops_all() {
    let mut simulation = tuned(3);
    simulation.silent.insert(Rank(1));
    simulation.decide(1, NW, 7);
    simulation.settle();
    simulation.wait(9.0);
    check(&simulation, &[]);
    simulation.wait(2.0);
    check(&simulation, &["1 declined"]);
    simulation.silent.clear();
    iterate(&mut simulation, &[1.0; 5]);
    assert_eq!(simulation.values(NW), [50; 3]);
}

#[test]
fn a_rank_that_hangs_after_the_commit_sets_all_back() {
    let mut simulation = tuned(3);
    simulation.decide(1, NW, 7);
    simulation.settle();
    simulation.silent.insert(Rank(1));
    iterate(&mut simulation, &[0.1; 5]);
    assert_eq!(simulation.values(NW), [50, 7, 7], "rank 1 said nothing of it");
    // The rank is asked to withdraw, then to restore; it never answers.
    (0..4).for_each(|_| simulation.wait(11.0));
    iterate(&mut simulation, &[0.1; 5]);
    check(&simulation, &["1 lost"]);
    simulation.decide(1, NW, 8);
    check(&simulation, &["1 lost", "2 declined"]);
}

#[test]
fn ranks_that_end_are_not_waited_for() {
    let mut simulation = tuned(3);
    simulation.decide(1, NW, 7);
    simulation.settle();
    simulation.processes.remove(&Rank(2));
    simulation.hear(Input::RankGone(Rank(2)));
    iterate(&mut simulation, &[1.0; 6]);
    check(&simulation, &["1 applied", "1 effect", "1 kept"]);
    simulation.decide(1, NW, 8);
    check(&simulation, &["1 applied", "1 effect", "1 kept", "2 declined"]);
}

#[test]
fn a_dry_run_says_what_would_be_done_and_an_observer_nothing() {
    let mut dry = Simulation::new(2, TuningMode::DryRun, &[("a", &[F0])]);
    [7, 7, 8, 101].iter().for_each(|value| dry.decide(0, F0, *value));
    check(&dry, &["1 would", "2 would", "3 declined"]);
    let mut observer = Simulation::new(2, TuningMode::Observe, &[("a", &[F0])]);
    observer.decide(0, F0, 7);
    check(&observer, &[]);
    assert!(observer.processes.values().all(|process| process.orders.is_empty()));
}

#[test]
fn a_tunlet_that_fails_is_left_out() {
    let mut simulation = tuned(3);
    simulation.scripts[0].lock().unwrap().ends = true;
    simulation.scripts[1].lock().unwrap().panics = true;
    iterate(&mut simulation, &[1.0; 2]);
    let mut outcomes = simulation.outcomes();
    outcomes.sort();
    assert_eq!(outcomes, ["first ended", "second ended"]);
}

#[test]
fn iterations_have_number_time_and_work() {
    let mut simulation = tuned(2);
    simulation.iterate(1.0, 10);
    simulation.event(super::END, 1);
    simulation.iterate(2.0, 0);
    let iterations = simulation.lines.iter().filter_map(|line| match line.what {
        TuningEvent::Iteration { number, duration_s, work } => {
            Some((number, duration_s.round(), work))
        }
        _ => None,
    });
    assert_eq!(iterations.collect::<Vec<_>>(), [(0, 1.0, 10.0), (1, 2.0, 1.0)]);
}

#[test]
fn the_end_of_the_run_ends_every_story() {
    let mut simulation = tuned(2);
    iterate(&mut simulation, &[1.0; 3]);
    simulation.decide(0, F0, 7);
    simulation.iterate(1.0, 1);
    simulation.finish();
    check(&simulation, &["1 applied", "1 kept"]);
    let mut early = tuned(2);
    early.decide(0, F0, 7);
    early.finish();
    check(&early, &["1 declined"]);
}

#[test]
fn a_value_that_the_program_sets_itself_is_heard_of() {
    let mut simulation = tuned(2);
    simulation.hear(Input::Values(vec![(F0, Value::Int(9))]));
    let heard = simulation.scripts[0].lock().unwrap().heard.clone();
    let found = heard.iter().find_map(|news| match news {
        News::Applied(found) => Some((found.point, found.new, found.is_own)),
        _ => None,
    });
    assert_eq!(found, Some((F0, Value::Int(9), false)), "{heard:?}");
    simulation.decide(0, F0, 9);
    check(&simulation, &[]);
}
