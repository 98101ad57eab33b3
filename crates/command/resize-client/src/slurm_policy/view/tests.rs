//! Tests with queues as Slurm prints them, and the requests that are expected.

use super::*;
use crate::slurm_policy::read;
use resize_api::{ResizeAnswer, SizeJudgment, Sizes};

const RULES: QueueRules = QueueRules { calm_s: 30.0, calm_per_cost: 20.0 };

/// Status of the program of job 1, with two ranks on a node.
fn program(size: u32, (min, max): (u32, u32)) -> JobStatus {
    let sizes = Sizes { min, max, preferred: None };
    let (slurm_job, slots_per_node) = (Some(1), Some(2));
    JobStatus {
        job: "1".to_owned(),
        size,
        sizes,
        slurm_job,
        slots_per_node,
        ..JobStatus::default()
    }
}

fn queue(n_idle: usize, jobs: &[&str]) -> Queue {
    let nodes: String = (0..n_idle).map(|node| format!("all*|n{node}|idle\n")).collect();
    read("all", &nodes, &jobs.join("\n"))
}

const OWN: &str = "1|RUNNING|1|None|9|rod.sh";
const LENT: &str = "2|RUNNING|1|None|9|sintonia-1";

fn decide(state: &PolicyState, queue: &Queue, status: &JobStatus, now_s: f64) -> Vec<(u32, u32)> {
    let mut state = state.clone();
    let decisions = state.decide(queue, std::slice::from_ref(status), &RULES, now_s);
    decisions.iter().map(|decision| (decision.change.to, decision.size)).collect()
}

#[track_caller]
fn check(n_idle: usize, jobs: &[&str], status: &JobStatus, expected: &[(u32, u32)]) {
    assert_eq!(decide(&PolicyState::default(), &queue(n_idle, jobs), status, 0.0), expected);
}

#[test]
fn nodes_become_ranks() {
    check(3, &[OWN], &program(2, (2, 8)), &[(4, 8)]);
    check(3, &[OWN], &program(2, (2, 5)), &[(3, 5)]);
    check(0, &[OWN, LENT, "3|PENDING|1|Resources|5|a"], &program(4, (1, 8)), &[(1, 2)]);
    check(0, &[OWN, LENT, "3|PENDING|1|Dependency|5|a"], &program(4, (1, 8)), &[]);
    check(1, &[OWN, LENT, "3|PENDING|1|None|5|a"], &program(4, (1, 8)), &[]);
}

#[test]
fn companions_belong_to_their_job() {
    // A companion that waits is no waiting job, and does not count as a node.
    check(0, &[OWN, "2|PENDING|1|Resources|9|sintonia-1"], &program(2, (1, 8)), &[]);
    // The nodes of a job that is ending are about to be free: no program has to shrink.
    let ending = "4|COMPLETING|1|None|9|sintonia-7";
    check(0, &[OWN, LENT, ending, "3|PENDING|1|Resources|5|a"], &program(4, (1, 8)), &[]);
}

#[test]
fn a_node_that_ranks_have_left_is_nearly_given_back() {
    check(0, &[OWN, LENT, "3|PENDING|1|Resources|5|a"], &program(2, (1, 8)), &[]);
}

#[test]
fn a_program_that_changes_its_size_is_left_alone() {
    let busy = JobStatus { state: ResizeState::Spawning, ..program(2, (1, 8)) };
    check(2, &[OWN], &busy, &[]);
}

fn answered(status: &JobStatus, id: u64, outcome: ResizeOutcome) -> JobStatus {
    let answer = ResizeAnswer { id, outcome, sentence: "so it is".to_owned() };
    JobStatus { answered: Some(answer), ..status.clone() }
}

/// State after one request at 100 s and an answer with this outcome at 110 s.
#[track_caller]
fn after(outcome: ResizeOutcome) -> PolicyState {
    let (mut state, status) = (PolicyState::default(), program(2, (1, 4)));
    let idle = queue(1, &[OWN]);
    let decisions = state.decide(&idle, std::slice::from_ref(&status), &RULES, 100.0);
    assert_eq!(state.record_answers(std::slice::from_ref(&status), 100.0), []);
    state.record_request(&decisions[0], 7, 100.0);
    assert_eq!(decide(&state, &idle, &status, 105.0), []);
    let answers = state.record_answers(&[answered(&status, 7, outcome)], 110.0);
    assert_eq!((answers.len(), answers[0].outcome), (1, outcome));
    state
}

#[test]
fn a_program_that_refused_is_left_alone_for_a_while() {
    let state = after(ResizeOutcome::Refused);
    let (idle, status) = (queue(1, &[OWN]), program(2, (1, 4)));
    assert_eq!(decide(&state, &idle, &status, 120.0), []);
    assert_eq!(decide(&state, &idle, &status, 141.0), [(2, 4)]);
}

#[test]
fn a_program_that_grew_may_only_shrink_for_a_while() {
    let state = after(ResizeOutcome::Done);
    let grown = program(4, (1, 8));
    assert_eq!(decide(&state, &queue(1, &[OWN, LENT]), &grown, 120.0), []);
    assert_eq!(decide(&state, &queue(1, &[OWN, LENT]), &grown, 141.0), [(3, 6)]);
    let waits = queue(0, &[OWN, LENT, "3|PENDING|1|Resources|5|a"]);
    assert_eq!(decide(&state, &waits, &grown, 120.0), [(1, 2)]);
}

#[test]
fn a_request_without_an_answer_is_forgotten() {
    let (mut state, status) = (PolicyState::default(), program(2, (1, 4)));
    let idle = queue(1, &[OWN]);
    let decisions = state.decide(&idle, std::slice::from_ref(&status), &RULES, 0.0);
    state.record_request(&decisions[0], 7, 0.0);
    state.record_answers(std::slice::from_ref(&status), 599.0);
    assert_eq!(decide(&state, &idle, &status, 599.0), []);
    state.record_answers(std::slice::from_ref(&status), 601.0);
    assert_eq!(decide(&state, &idle, &status, 602.0), []);
    assert_eq!(decide(&state, &idle, &status, 640.0), [(2, 4)]);
}

/// Program with 100 iterations left, of 1 s per rank divided by the number of ranks, and 1 s that every rank has.
fn judged(size: u32, is_fastest: bool) -> JobStatus {
    let forecast = |size: u32| {
        let seconds = 1.0 + 1.0 / f64::from(size);
        SizeForecast { size, seconds, low_s: seconds, high_s: seconds }
    };
    let forecasts = [2, 4, 6, 8].map(forecast).to_vec();
    let judgment = Some(SizeJudgment { forecasts, resize_s: 0.1, is_fastest });
    JobStatus { judgment, n_iterations: Some(200), iteration: 100, ..program(size, (2, 8)) }
}

/// Regression: a program that had judged that no size is faster got nodes all the same.
#[test]
fn the_judgment_of_a_program_is_heard() {
    let idle = queue(3, &[OWN]);
    let mut state = PolicyState::default();
    assert_eq!(state.decide(&idle, &[judged(2, false)], &RULES, 0.0), []);
    assert_eq!(decide(&state, &idle, &judged(2, false), 60.0), [(4, 8)]);
    assert_eq!(decide(&state, &idle, &judged(2, true), 60.0), []);
    // Without a measurement it is being measured; without `--iterations` it says nothing.
    let unmeasured = JobStatus { judgment: Some(SizeJudgment::default()), ..judged(2, false) };
    assert_eq!(decide(&state, &idle, &unmeasured, 60.0), []);
    let endless = JobStatus { n_iterations: None, ..judged(2, false) };
    assert_eq!(decide(&state, &idle, &endless, 60.0), [(4, 8)]);
}

/// A node that has been idle for less time than a change to it takes to pay is left to the next job.
#[test]
fn short_idleness_is_waited_out() {
    let mut state = PolicyState::default();
    let (idle, status) = (queue(1, &[OWN]), judged(2, false));
    assert_eq!(state.decide(&idle, std::slice::from_ref(&status), &RULES, 0.0), []);
    // It saves a sixth: 0.1 s there and back pay after 1.2 s.
    assert_eq!(decide(&state, &idle, &status, 1.1), []);
    assert_eq!(decide(&state, &idle, &status, 1.3), [(2, 4)]);
}
