//! Tests of what runs teach each other.

use super::*;
use crate::{Key, Message, Plan, Size};

const TUNE: &str = "all";

fn profile(size: Size) -> Profile {
    Profile::new(Key { size, ..Key::default() }, None)
}

fn large() -> Facts {
    Facts { memory_max_bytes: 1 << 30, has_iterations: true, ..Facts::default() }
}

fn run(profile: &Profile, time_s: f64) -> (Plan, Ended) {
    let plan = profile.plan(TUNE, true, |_| true);
    let run = Run {
        tune: TUNE.to_owned(),
        end: ENDED_WELL.to_owned(),
        iteration_s: Some(time_s),
        elapsed_s: 100.0 * time_s,
        settings: plan.settings.iter().map(|setting| setting.name.clone()).collect(),
        ..Run::default()
    };
    let ended = Ended { run, trial: plan.trial.clone(), facts: large(), ..Ended::default() };
    (plan, ended)
}

/// Runs a program whose iterations take these times with and without a setting, and returns the trials of the runs and
/// the state of the candidate.
fn history(n_runs: usize, (with_s, without_s): (f64, f64)) -> (String, Profile) {
    let mut profile = profile(Size::Iteration(0));
    let mut trials = String::new();
    for at in 0..n_runs {
        let wobble = 1.0 + 0.001 * (at % 3) as f64;
        let is_with = !profile.plan(TUNE, true, |_| true).settings.is_empty();
        let (plan, ended) = run(&profile, wobble * if is_with { with_s } else { without_s });
        trials.push(match (plan.settings.is_empty(), plan.trial) {
            (true, None) => '-',
            (false, None) => 'k',
            (true, Some(_)) => 'c',
            (false, Some(_)) => 't',
        });
        profile.add(ended);
    }
    (trials, profile)
}

#[test]
fn a_candidate_is_tried_in_turns_kept_and_checked() {
    let (trials, profile) = history(18, (0.9, 1.0));
    assert_eq!(trials, "---t-t-tkkkkkkkkck");
    let candidate = &profile.candidates[0];
    assert_eq!(candidate.state, CandidateState::Kept);
    assert!(candidate.why.contains("901 ms with it and 1.00 s"), "{}", candidate.why);
    assert_eq!(profile.plan(TUNE, false, |_| true).settings.len(), 1);
    assert_eq!(profile.plan(TUNE, true, |_| false).settings, [], "the user has set it");
}

#[test]
fn one_that_hurts_is_tried_once() {
    let (trials, profile) = history(8, (1.5, 1.0));
    assert_eq!(trials, "---t----");
    assert_eq!(profile.candidates[0].state, CandidateState::Dropped);
}

#[test]
fn one_that_no_longer_helps_is_dropped_by_checks() {
    let (_, mut profile) = history(8, (0.9, 1.0));
    let mut n_checks = 0;
    while profile.candidates[0].state == CandidateState::Kept && n_checks < 9 {
        let plan = profile.plan(TUNE, true, |_| true);
        n_checks += usize::from(plan.trial.is_some());
        let (_, ended) = run(&profile, if plan.trial.is_some() { 0.7 } else { 0.9 });
        profile.add(ended);
    }
    assert_eq!(n_checks, N_CHECKS);
    assert!(profile.candidates[0].why.starts_with("runs without it were faster"));
}

#[test]
fn a_command_that_fails_drops_what_it_was_started_with() {
    let (_, mut profile) = history(3, (1.0, 1.0));
    let (_, mut ended) = run(&profile, 0.5);
    ended.run.end = "exit code 3".to_owned();
    let news = profile.add(ended);
    assert_eq!(
        news,
        [
            "`hugetlb` is dropped: the command ended with exit code 3 with it, and with exit code 0 without"
        ]
    );
    assert_eq!(profile.plan(TUNE, true, |_| true), Plan::default());
}

/// A command that fails without it as well tells nothing about a setting.
#[test]
fn a_command_that_always_fails_tells_nothing() {
    let (_, mut profile) = history(3, (1.0, 1.0));
    let failed = Run { end: "exit code 3".to_owned(), tune: TUNE.to_owned(), ..Run::default() };
    profile.add(Ended { run: failed, ..Ended::default() });
    let (_, mut ended) = run(&profile, 0.5);
    assert!(ended.trial.is_some());
    ended.run.end = "exit code 3".to_owned();
    profile.add(ended);
    assert_eq!(profile.candidates[0].state, CandidateState::Trying);
}

#[test]
fn levers_are_learnt_with_their_figures() {
    let mut profile = profile(Size::Iteration(0));
    let (_, mut ended) = run(&profile, 1.0);
    let trial = LeverTrial {
        lever: "memory".to_owned(),
        is_kept: true,
        is_for_start: true,
        before_s: 1.0,
        after_s: 0.5,
        noise: 0.03,
        ..LeverTrial::default()
    };
    ended.levers = vec![trial.clone()];
    let news = profile.add(ended);
    assert!(news[0].contains("500 ms with it and 1.00 s"), "{news:?}");
    assert_eq!(profile.plan(TUNE, false, |_| true).first, ["memory"]);
    // The check in the next run finds that it hurts now.
    let (_, mut ended) = run(&profile, 1.0);
    ended.levers = vec![LeverTrial { is_check: true, ..trial }];
    profile.add(ended);
    let plan = profile.plan(TUNE, false, |_| true);
    assert_eq!((plan.first.len(), plan.late), (0, vec!["memory".to_owned()]));
}

#[test]
fn iterations_are_compared_by_their_calls() {
    let mut profile = Profile::new(Key::default(), Some(10.0));
    let (_, mut ended) = run(&profile, 2.0);
    ended.n_calls = Some(20.0);
    profile.add(ended);
    assert_eq!(profile.runs[0].iteration_s, Some(1.0));
}

#[test]
fn runs_without_iterations_are_compared_whole() {
    let mut profile = profile(Size::Whole("x".to_owned()));
    let (_, mut ended) = run(&profile, 2.0);
    ended.facts = Facts {
        messages: vec![Message { bytes_min: 8192, n: 5000 }],
        mpi: "Open MPI v5.0.1".to_owned(),
        mpi_share: 0.5,
        ..Facts::default()
    };
    ended.run.iteration_s = None;
    profile.add(ended);
    assert_eq!(profile.compared_s((TUNE, ""), (&[], &[])).0, [200.0]);
    assert_eq!(profile.candidates[0].setting.name, "eager-limit");
}

#[test]
fn a_profile_is_json_and_bounded() {
    let (_, profile) = history(N_RUNS_KEPT + 20, (0.9, 1.0));
    assert_eq!(profile.runs.len(), N_RUNS_KEPT);
    let text = serde_json::to_string(&profile).unwrap();
    assert!(text.len() < 16_000, "{}", text.len());
    let read: Profile = serde_json::from_str(&text).unwrap();
    assert_eq!((&read.key, &read.levers), (&profile.key, &profile.levers));
    assert_eq!((read.n_runs, read.runs.len()), (profile.n_runs, profile.runs.len()));
    assert_eq!(read.candidates[0].why, profile.candidates[0].why);
}

/// A setting made a program so fast that no iterations were found any more: it was tried for ever.
#[test]
fn what_is_too_fast_for_iterations_is_compared_whole() {
    let mut profile = profile(Size::Iteration(0));
    for _ in 0..8 {
        let (plan, mut ended) = run(&profile, 1.0);
        if plan.trial.is_some() {
            (ended.run.iteration_s, ended.run.elapsed_s) = (None, 3.0);
        }
        profile.add(ended);
    }
    let candidate = &profile.candidates[0];
    assert_eq!(candidate.state, CandidateState::Kept, "{}", candidate.why);
    assert!(candidate.why.contains("a run took 3.00 s with it"), "{}", candidate.why);
}
