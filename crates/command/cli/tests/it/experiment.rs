//! Tests of `sintonia experiment` without ranks: plans, lists of runs, and folders that it refuses.

use crate::sintonia::{Place, Said};
use std::fs;

const PLAN: &str =
    "command = 'true {n}'\nrepetitions = 2\nexpected_s = 'n'\nparameters = { n = [1, 2] }\n";

fn said(place: &Place, words: &[&str]) -> Said {
    place.sintonia(&[&["experiment"], words].concat())
}

fn with_plan(text: &str) -> Place {
    let place = Place::new();
    fs::write(place.path("plan.toml"), text).expect("the folder is ours");
    place
}

#[track_caller]
fn check(said: &Said, code: i32, expected: &str) {
    let text = format!("{}{}", said.output, said.errors);
    assert!(said.code == Some(code) && text.contains(expected), "{:?} {text}", said.code);
}

#[test]
fn the_example_can_be_planned_with() {
    let place = Place::new();
    let example = said(&place, &["--example"]);
    check(&example, 0, "[parameters]");
    fs::write(place.path("plan.toml"), &example.output).expect("the folder is ours");
    check(
        &said(&place, &["plan.toml", "--dry-run"]),
        0,
        "90 of 90 runs at 18 points are left; time: about",
    );
}

#[test]
fn a_dry_run_lists_the_runs_and_starts_nothing() {
    let place = with_plan(PLAN);
    let listed = said(&place, &["plan.toml", "--dry-run"]);
    check(&listed, 0, "4 of 4 runs at 2 points are left; time: about 6.0 s");
    assert_eq!(listed.output.matches("true 2\n").count(), 2, "{}", listed.output);
    assert!(!place.path("plan-measured").exists());
    let listed = said(&place, &["plan.toml", "--dry-run", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.output).expect("it is JSON");
    assert_eq!(
        (listed["estimate_s"].as_f64(), listed["runs"].as_array().map(Vec::len)),
        (Some(6.0), Some(4))
    );
}

#[test]
fn wrong_plans_are_refused() {
    let place = with_plan("command = 'true'\nparameter = { n = [1] }");
    check(&said(&place, &["plan.toml"]), 100, "unknown field `parameter`");
    check(&said(&place, &["other.toml"]), 100, "`other.toml`: the plan cannot be read");
    check(&said(&place, &[]), 2, "PLAN.toml");
}

#[test]
fn a_command_that_cannot_succeed_is_started_no_more() {
    let place = with_plan(PLAN);
    check(
        &said(&place, &["plan.toml"]),
        100,
        "the first 3 runs failed, so that it must be the command",
    );
    let errors = said(&place, &["plan.toml"]).errors;
    assert!(errors.contains("(try 3 of 3): no MPI process was seen"), "{errors}");
    let place = with_plan("command = './nothing {n}'\nparameters = { n = [1] }");
    check(&said(&place, &["plan.toml"]), 100, "ended with exit code 127");
}

#[test]
fn folders_with_something_else_are_left_alone() {
    let place = with_plan(PLAN);
    fs::create_dir(place.path("out")).expect("the folder is ours");
    fs::write(place.path("out/mine"), "words").expect("the folder is ours");
    let words = ["plan.toml", "-o", "out", "--fresh"];
    check(&said(&place, &words), 100, "holds something that is no experiment");
    assert!(place.path("out/mine").exists());
}

#[test]
fn another_plan_needs_another_folder() {
    let place = with_plan(PLAN);
    said(&place, &["plan.toml", "-o", "out"]);
    fs::write(place.path("plan.toml"), PLAN.replace("[1, 2]", "[1, 3]"))
        .expect("the folder is ours");
    let refused =
        "the plan changed since this experiment began, in `parameters`; name another folder";
    check(&said(&place, &["plan.toml", "-o", "out"]), 100, refused);
    check(&said(&place, &["plan.toml", "-o", "out", "--dry-run"]), 100, refused);
    check(&said(&place, &["plan.toml", "-o", "out", "--fresh"]), 100, "must be the command");
}

#[test]
fn two_experiments_do_not_share_a_folder() {
    let place = with_plan(PLAN);
    fs::create_dir(place.path("out")).expect("the folder is ours");
    let lock = fs::File::create(place.path("out/lock")).expect("the folder is ours");
    lock.lock().expect("files can be locked here");
    check(
        &said(&place, &["plan.toml", "-o", "out"]),
        100,
        "another `sintonia experiment` works in",
    );
}
