//! Tests of single situations, a line for each.

use super::*;
use crate::payoff::Estimate;

/// Time for which nodes are idle.
const LONG_S: f64 = 1e6;

const RULES: QueueRules = QueueRules { calm_s: 30.0, calm_per_cost: 20.0 };

fn rigid(job: u64, n_nodes: u32) -> RunningJob {
    let (resize_s, calm_s) = (0.0, 1000.0);
    RunningJob { job, n_nodes, n_nodes_soon: None, range: None, resize_s, calm_s, outlook: None }
}

fn malleable(job: u64, n_nodes: u32, (min, preferred, max): (u32, u32, u32)) -> RunningJob {
    RunningJob { range: Some(NodeRange { min, preferred, max }), ..rigid(job, n_nodes) }
}

/// Waiting jobs are numbered from 101; expected changes are jobs with their new sizes.
#[track_caller]
fn check(running: &[RunningJob], waiting: &[u32], n_idle: usize, expected: &[(u64, u32)]) {
    let waiting = waiting.iter().zip(101..);
    let waiting = waiting.map(|(n_nodes, job)| WaitingJob { job, n_nodes: *n_nodes });
    let changes = rearrange(running, &waiting.collect::<Vec<_>>(), &vec![LONG_S; n_idle], &RULES);
    let changes = changes.iter().map(|change| (change.job, change.to)).collect::<Vec<_>>();
    assert_eq!(changes, expected);
}

#[test]
fn a_waiting_job_gets_room() {
    check(&[malleable(1, 4, (1, 4, 4))], &[1], 0, &[(1, 3)]);
    check(&[malleable(1, 4, (1, 4, 4))], &[3], 0, &[(1, 1)]);
    check(&[malleable(1, 4, (1, 4, 4))], &[2], 1, &[(1, 3)]);
    check(&[malleable(1, 2, (1, 2, 2)), rigid(2, 2)], &[1, 1], 0, &[(1, 1)]);
    check(&[malleable(1, 4, (1, 4, 4))], &[1, 1, 1, 1], 0, &[(1, 1)]);
}

#[test]
fn nobody_shrinks_in_vain() {
    check(&[malleable(1, 4, (2, 4, 4))], &[3], 0, &[]);
    check(&[rigid(1, 4)], &[1], 0, &[]);
    // The first job cannot start, and the second one does not overtake it.
    check(&[malleable(1, 2, (1, 2, 2)), rigid(2, 2)], &[3, 1], 0, &[]);
    // The waiting job starts on idle nodes.
    check(&[malleable(1, 2, (1, 2, 4))], &[2], 2, &[]);
}

#[test]
fn few_are_disturbed_and_the_cheapest_first() {
    let wide = (1, 1, 4);
    check(&[malleable(1, 2, wide), malleable(2, 4, wide)], &[3], 0, &[(2, 1)]);
    let dear = RunningJob { resize_s: 9.0, ..malleable(1, 3, wide) };
    check(&[dear.clone(), malleable(2, 3, wide)], &[2], 0, &[(2, 1)]);
    check(&[dear, malleable(2, 3, wide)], &[3], 0, &[(1, 2), (2, 1)]);
}

#[test]
fn what_is_beyond_the_preferred_size_goes_first() {
    check(&[malleable(1, 4, (1, 4, 4)), malleable(2, 3, (1, 2, 4))], &[1], 0, &[(2, 2)]);
    check(&[malleable(1, 4, (1, 4, 4)), malleable(2, 3, (1, 2, 4))], &[2], 0, &[(1, 3), (2, 2)]);
}

#[test]
fn idle_nodes_are_used_when_nobody_waits() {
    check(&[malleable(1, 1, (1, 2, 4))], &[], 2, &[(1, 3)]);
    check(&[malleable(1, 1, (1, 2, 2))], &[], 3, &[(1, 2)]);
    check(&[malleable(1, 1, (1, 2, 4)), malleable(2, 1, (1, 1, 4))], &[], 1, &[(1, 2)]);
    check(&[malleable(1, 1, (1, 2, 4)), malleable(2, 1, (1, 1, 4))], &[], 2, &[(1, 2), (2, 2)]);
    check(&[malleable(1, 1, (1, 2, 4))], &[1], 2, &[(1, 2)]);
    check(&[malleable(1, 1, (1, 2, 4))], &[2], 2, &[]);
    check(&[malleable(1, 1, (1, 2, 4))], &[4], 2, &[]);
    check(&[rigid(1, 1)], &[], 3, &[]);
}

#[test]
fn a_job_grows_after_a_time_of_calm() {
    let grown = malleable(1, 1, (1, 2, 4));
    check(&[RunningJob { calm_s: 29.0, ..grown.clone() }], &[], 1, &[]);
    check(&[RunningJob { calm_s: 31.0, ..grown.clone() }], &[], 1, &[(1, 2)]);
    check(&[RunningJob { calm_s: 31.0, resize_s: 2.0, ..grown }], &[], 1, &[]);
    // Shrinking for others does not wait for calm.
    check(&[RunningJob { calm_s: 0.0, ..malleable(1, 2, (1, 2, 4)) }], &[1], 0, &[(1, 1)]);
}

#[test]
fn what_is_under_way_counts_as_done() {
    let shrinking = RunningJob { n_nodes_soon: Some(2), ..malleable(1, 4, (1, 4, 4)) };
    check(std::slice::from_ref(&shrinking), &[2], 0, &[]);
    check(&[shrinking, malleable(2, 2, (1, 2, 2))], &[3], 0, &[(2, 1)]);
    let growing = RunningJob { n_nodes_soon: Some(3), ..malleable(1, 1, (1, 4, 4)) };
    check(&[growing.clone(), malleable(2, 1, (1, 4, 4))], &[], 3, &[(2, 2)]);
    check(&[growing, malleable(2, 2, (1, 4, 4))], &[1], 2, &[(2, 1)]);
}

/// Job of 1 to 8 nodes that has 3600 s left on one node, of which `serial` is not shortened by further nodes.
fn known(job: u64, n_nodes: u32, serial: f64, error_s: f64) -> RunningJob {
    let left = |n: u32| {
        let left_s = 3600.0 * (serial + (1.0 - serial) / f64::from(n));
        (n, Estimate::around(left_s, error_s))
    };
    let outlook = Some(Outlook::new((1..=8).map(left)));
    RunningJob { outlook, ..malleable(job, n_nodes, (1, 2, 8)) }
}

#[test]
fn a_node_goes_where_it_brings_most() {
    check(&[known(1, 1, 0.9, 0.0), known(2, 1, 0.1, 0.0)], &[], 1, &[(2, 2)]);
    check(&[known(1, 1, 0.9, 0.0), known(2, 4, 0.0, 0.0)], &[], 1, &[(2, 5)]);
    check(&[known(1, 1, 1.0, 0.0)], &[], 4, &[]);
    // One that says nothing gets what the others do not want.
    check(&[known(1, 1, 1.0, 0.0), malleable(2, 1, (1, 2, 4))], &[], 2, &[(2, 3)]);
    let measured = RunningJob { outlook: Some(Outlook::default()), ..malleable(1, 1, (1, 2, 4)) };
    check(&[measured], &[], 2, &[]);
}

/// Regression: a program that had judged that no size is faster got nodes all the same.
#[test]
fn the_judge_of_a_job_is_heard() {
    let judged =
        |job: RunningJob| RunningJob { outlook: job.outlook.map(Outlook::at_its_fastest), ..job };
    check(&[known(1, 1, 0.1, 0.0)], &[], 2, &[(1, 3)]);
    check(&[judged(known(1, 1, 0.1, 0.0))], &[], 2, &[]);
}

#[test]
fn a_node_comes_from_who_loses_least() {
    check(&[known(1, 4, 0.9, 0.0), known(2, 4, 0.0, 0.0)], &[1], 0, &[(1, 3)]);
    let dear = RunningJob { resize_s: 3000.0, ..known(1, 4, 0.9, 0.0) };
    check(&[dear, known(2, 4, 0.0, 0.0)], &[1], 0, &[(2, 3)]);
    // It ends before it could give a node away.
    let ending = RunningJob { resize_s: 4000.0, ..known(1, 4, 0.9, 0.0) };
    check(&[ending], &[1], 0, &[]);
}

#[test]
fn nodes_that_bring_nothing_are_given_back() {
    let slower = |n: u32| (n, Estimate::around(f64::from(n) * 100.0, 1.0));
    let job = RunningJob {
        outlook: Some(Outlook::new((1..=4).map(slower))),
        ..malleable(1, 4, (1, 4, 4))
    };
    check(std::slice::from_ref(&job), &[], 0, &[(1, 1)]);
    check(&[RunningJob { resize_s: 1000.0, ..job }], &[], 0, &[]);
}

#[test]
fn what_nobody_measured_is_tried_by_steps() {
    let unsure = known(1, 1, 0.0, 1e5);
    check(std::slice::from_ref(&unsure), &[], 7, &[(1, 2)]);
    check(&[RunningJob { n_nodes: 2, ..unsure }], &[], 6, &[(1, 4)]);
    check(&[known(1, 1, 0.0, 1.0)], &[], 7, &[(1, 8)]);
}

#[test]
fn short_idleness_is_waited_out() {
    // A second node saves half of the time: a change to it and back, 20 s each, pays after 80 s.
    let job = RunningJob { resize_s: 20.0, ..known(1, 1, 0.0, 0.0) };
    let grows =
        |idle_s: &[f64]| !rearrange(std::slice::from_ref(&job), &[], idle_s, &RULES).is_empty();
    assert!(!grows(&[79.0]));
    assert!(grows(&[81.0]));
    // The waiting job takes the node that has been idle longer.
    let waiting = [WaitingJob { job: 101, n_nodes: 1 }];
    assert!(rearrange(std::slice::from_ref(&job), &waiting, &[81.0, 79.0], &RULES).is_empty());
}
