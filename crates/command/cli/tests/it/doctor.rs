//! Tests of `sintonia doctor` with the installed launchers.

use crate::sintonia::{CommandOutput, Sandbox};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Outcome of each step with a launcher.
#[track_caller]
fn outcomes(launcher: &Path) -> Vec<(String, String)> {
    let sandbox = Sandbox::new();
    let said = sandbox.command(&["doctor", "--json", "--"]).arg(launcher).output();
    let said = CommandOutput::from(said.expect("the program starts"));
    assert_eq!(said.code, Some(0), "{}", said.errors);
    let checks: Value = serde_json::from_str(&said.output).expect("JSON");
    let tried = checks.as_array().and_then(|checks| checks.last()).expect("checks");
    assert_eq!(tried["name"], "dynamic processes");
    let left = std::fs::read_dir(sandbox.path("tmp")).expect("a folder").count();
    assert_eq!(left, 0, "files stay");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let steps = tried["steps"].as_array().expect("steps");
    steps.iter().map(|step| (word(&step["step"]), word(&step["outcome"]))).collect()
}

#[track_caller]
fn check(launcher: &Path, n_expected: usize, failing: &[&str]) {
    let found = outcomes(launcher);
    assert_eq!(found.len(), n_expected, "{found:?}");
    let amiss = found.iter().filter(|(_, outcome)| outcome != "ok").map(|(step, _)| step.as_str());
    assert_eq!(amiss.collect::<Vec<_>>(), failing, "{found:?}");
}

#[test]
fn what_libraries_can_is_tried() {
    let target = launch::place::target();
    let installed = |folder: &str| target.join(folder).join("bin/mpiexec");
    check(&installed("venv-mpich5"), 10, &[]);
    check(&installed("venv-openmpi5"), 9, &[]);
    let starting =
        ["spawn-one", "merge", "release", "background", "window", "any-source", "split", "connect"];
    check(&PathBuf::from("mpirun.mpich"), 10, &starting);
}

#[test]
fn no_launcher_is_told() {
    let sandbox = Sandbox::new();
    let said = sandbox.sintonia(&["doctor", "--", "/bin/true"]);
    said.check_errors(100, "`/bin/true` is not a launcher of Open MPI or MPICH");
    let quick = sandbox.sintonia(&["doctor", "--quick"]);
    assert_eq!(quick.code, Some(0), "{}", quick.errors);
    assert!(!quick.output.contains("Processes started"), "{}", quick.output);
}
