//! Tests of composition on traces of real programs.
//!
//! No time is measured: computation takes the time in the trace. So, on a network that takes no time, a program takes
//! at least the computation of its busiest rank, and at most its real time.

use serde_json::Value;
use std::process::Command;
use suite::library::Library;
use suite::{TestProgram, tool, watch_with};

/// Output of `sintonia predict` for the record on a machine.
#[track_caller]
fn composed(record: &std::path::Path, machine: &str) -> Value {
    let mut command = Command::new(tool::sintonia());
    command.arg("predict").arg(record).args(["--engine", "composed", "--json"]);
    let output = command.args(["--machine", machine]).output().expect("it can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("an object")
}

fn total_s(all: &Value) -> f64 {
    all["predictions"][0]["value"].as_f64().expect("a time")
}

#[track_caller]
fn check(library: Library, name: &str, n_ranks: usize, arguments: &[&str]) {
    let program = TestProgram::c(name).built(library);
    let watched = watch_with(&library.launch(n_ranks, &program).args(arguments), &["--trace"]);
    let ideal = composed(&watched.record(), "ideal");
    let ranks = ideal["ranks"].as_array().expect("a list");
    assert_eq!(ranks.len(), n_ranks);
    let computed_s = ranks.iter().filter_map(|rank| rank["compute_s"].as_f64()).fold(0.0, f64::max);
    let (ideal_s, wall_s) = (total_s(&ideal), watched.summary.wall_s);
    assert!(0.0 < computed_s && computed_s <= ideal_s, "{name}: {computed_s} s in {ideal_s} s");
    assert!(ideal_s <= wall_s, "{name}: {ideal_s} s, but it took {wall_s} s");
    let slow_s = total_s(&composed(&watched.record(), "ethernet-1g"));
    assert!(ideal_s < slow_s, "{name}: {ideal_s} s, and {slow_s} s on a slow network");
}

#[test]
fn a_program_takes_what_its_ranks_compute_and_wait() {
    for library in Library::SYSTEM {
        check(library, "imbalance", 3, &["5", "2", "8", "4"]);
        check(library, "gradients", 3, &[]);
        check(library, "traffic", 4, &[]);
        check(library, "ring", 3, &[]);
    }
}
