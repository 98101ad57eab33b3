//! Tests of `sintonia experiment` without ranks: plans, lists of runs, and folders that it refuses.

use crate::sintonia::{CommandOutput, Sandbox};
use std::fs;

const PLAN: &str =
    "command = 'true {n}'\nrepetitions = 2\nexpected_s = 'n'\nparameters = { n = [1, 2] }\n";

fn said(sandbox: &Sandbox, words: &str) -> CommandOutput {
    sandbox.said(&format!("experiment {words}"))
}

fn with_plan(text: &str) -> Sandbox {
    Sandbox::with(&[("plan.toml", text)])
}

#[track_caller]
fn check(said: &CommandOutput, code: i32, expected: &str) {
    let text = format!("{}{}", said.output, said.errors);
    assert!(said.code == Some(code) && text.contains(expected), "{:?} {text}", said.code);
}

#[test]
fn the_example_can_be_planned_with() {
    let sandbox = Sandbox::new();
    let example = said(&sandbox, "--example");
    check(&example, 0, "[parameters]");
    sandbox.write("plan.toml", &example.output);
    let planned = said(&sandbox, "plan.toml --dry-run");
    check(&planned, 0, "90 of 90 runs at 18 points are left; time: about");
}

#[test]
fn a_dry_run_lists_the_runs_and_starts_nothing() {
    let sandbox = with_plan(PLAN);
    let listed = said(&sandbox, "plan.toml --dry-run");
    check(&listed, 0, "4 of 4 runs at 2 points are left; time: about 6 s");
    assert_eq!(listed.output.matches("true 2\n").count(), 2, "{}", listed.output);
    assert!(!sandbox.path("plan-measured").exists());
    let listed = said(&sandbox, "plan.toml --dry-run --json").json();
    assert_eq!(
        (&listed["estimate_s"], listed["runs"].as_array().map(Vec::len)),
        (&6.0.into(), Some(4))
    );
}

#[test]
fn what_to_measure_next_is_named() {
    let plan = "command = 'mpirun -n {p} ./solve'\nrepetitions = 2\nparameters = { p = [1, 2, 4, 8, 16, 32] }\n";
    let sandbox = with_plan(plan);
    let first = said(&sandbox, "plan.toml --dry-run --next 3");
    check(&first, 0, "to begin with, lines along each parameter");
    check(&first, 0, "6 of 12 runs");
    fs::create_dir(sandbox.path("out")).expect("the folder is ours");
    let line = |(p, time): (u32, f64)| {
        format!(
            "{{\"params\":{{\"p\":{p}}},\"value\":{time},\"callpath\":\"total\",\"metric\":\"time\"}}\n"
        )
    };
    let times = [(1, 100.0), (2, 52.0), (4, 26.0), (8, 14.5)];
    sandbox.write("out/measurements.jsonl", times.map(line).concat());
    let words = "plan.toml -o out --dry-run --next 1 --target p=256";
    let next = said(&sandbox, words);
    check(&next, 0, "to narrow the interval at p = 256");
    assert_eq!(next.output.matches("-n 16 ./solve").count(), 2, "{}", next.output);
    let next = said(&sandbox, &format!("{words} --json")).json();
    let point = &next["next"]["points"][0];
    let ratio = |name: &str| point[name].as_f64().expect("a number");
    assert!(ratio("ratio_after") < ratio("ratio_before"), "{point}");
    let poor = said(&sandbox, &format!("{words} --budget 0.0001"));
    check(&poor, 0, "no point of the plan that is left would narrow the interval");
    let wrong = said(&sandbox, "plan.toml --dry-run --next 1 --target q=3");
    check(&wrong, 2, "the plan has no parameter `q`; it has p");
}

#[test]
fn wrong_plans_are_refused() {
    let sandbox = with_plan("command = 'true'\nparameter = { n = [1] }");
    check(&said(&sandbox, "plan.toml"), 100, "unknown field `parameter`");
    check(&said(&sandbox, "other.toml"), 100, "`other.toml`: the plan cannot be read");
    check(&said(&sandbox, ""), 2, "PLAN.toml");
}

#[test]
fn a_command_that_cannot_succeed_is_started_no_more() {
    let sandbox = with_plan(PLAN);
    check(&said(&sandbox, "plan.toml"), 100, "the first 3 runs failed; check the command");
    let errors = said(&sandbox, "plan.toml").errors;
    assert!(errors.contains("(try 3 of 3): no MPI process was seen"), "{errors}");
    let sandbox = with_plan("command = './nothing {n}'\nparameters = { n = [1] }");
    check(&said(&sandbox, "plan.toml"), 100, "ended with exit code 127");
}

#[test]
fn folders_with_something_else_are_left_alone() {
    let sandbox = with_plan(PLAN);
    fs::create_dir(sandbox.path("out")).expect("the folder is ours");
    sandbox.write("out/mine", "words");
    let said = said(&sandbox, "plan.toml -o out --fresh");
    check(&said, 100, "is not empty and holds no experiment");
    assert!(sandbox.path("out/mine").exists());
}

#[test]
fn another_plan_needs_another_folder() {
    let sandbox = with_plan(PLAN);
    said(&sandbox, "plan.toml -o out");
    sandbox.write("plan.toml", PLAN.replace("[1, 2]", "[1, 3]"));
    let refused =
        "the plan changed since this experiment began, in `parameters`; choose another folder";
    check(&said(&sandbox, "plan.toml -o out"), 100, refused);
    check(&said(&sandbox, "plan.toml -o out --dry-run"), 100, refused);
    check(&said(&sandbox, "plan.toml -o out --fresh"), 100, "check the command");
}

#[test]
fn two_experiments_do_not_share_a_folder() {
    let sandbox = with_plan(PLAN);
    fs::create_dir(sandbox.path("out")).expect("the folder is ours");
    let lock = fs::File::create(sandbox.path("out/lock")).expect("the folder is ours");
    lock.lock().expect("files can be locked here");
    let refused = said(&sandbox, "plan.toml -o out");
    check(&refused, 100, "another `sintonia experiment` (an unnamed process) works in");
}
