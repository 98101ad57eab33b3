//! Tests of `sintonia predict --engine` on traces that are written here.

use crate::sintonia::{CommandOutput, Sandbox};
use serde_json::{Value, json};
use std::fs;

/// Sandbox with a trace: rank 0 computes a second and sends 1000 bytes to rank 1, which then computes half a second.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("trace");
    fs::create_dir(&dir).expect("a folder");
    let ranks = [
        "0 init\n0 compute 1000000000\n0 send 1 0 1000\n0 finalize\n",
        "1 init\n1 recv 0 0 1000\n1 compute 500000000\n1 finalize\n",
    ];
    for (rank, text) in ranks.iter().enumerate() {
        fs::write(dir.join(format!("rank-{rank}.txt")), text).expect("written");
    }
    fs::write(dir.join("trace.txt"), "rank-0.txt\nrank-1.txt\n").expect("written");
    let slow = "latency_us = 1000\nper_byte_ns = 1000\nspeed = 2\n";
    sandbox.write("slow.toml", slow);
    sandbox
}

#[track_caller]
fn object(words: &str) -> Value {
    let said = sandbox().said(words);
    assert_eq!(said.errors, "");
    said.json()
}

#[track_caller]
fn check_total(words: &str, expected_s: f64) {
    let all = object(words);
    let total = &all["predictions"][0];
    assert_eq!(total["region"], Value::Null);
    assert_eq!(total["parameters"], json!({ "p": 2 }));
    let [low, value, high] = ["low", "value", "high"].map(|key| total[key].as_f64().expect(key));
    assert!((value - expected_s).abs() < 1e-4, "{value}, not {expected_s}");
    assert!(low <= value && value <= high);
}

#[track_caller]
fn check_refused(words: &str, code: i32, names: &[&str]) {
    let said = sandbox().said(words);
    assert_eq!(said.code, Some(code), "{}", said.errors);
    for name in names {
        assert!(said.errors.contains(name), "`{name}` is not in: {}", said.errors);
    }
}

#[test]
fn a_trace_is_composed_on_any_machine() {
    check_total("predict trace --engine composed --machine ideal --json", 1.5);
    check_total("predict trace --machine slow.toml --json", 0.75 + 2e-3);
    check_total("predict trace --engine composed --json", 1.5);
}

#[test]
fn regions_ranks_and_the_critical_path_stand_beside_it() {
    let all = object("predict trace --engine composed --machine slow.toml --json");
    let regions = all["predictions"].as_array().expect("a list");
    assert_eq!(regions[1]["region"], "compute");
    assert!((regions[1]["on_critical_path"].as_f64().expect("a time") - 0.75).abs() < 1e-9);
    let legs = all["critical_path"]["legs"].as_array().expect("a list");
    assert_eq!(legs.iter().map(|leg| &leg["rank"]).collect::<Vec<_>>(), [0, 1]);
    assert!((all["ranks"][1]["waiting_s"].as_f64().expect("a time") - 0.5).abs() < 1e-9, "{all}");
}

/// The two ranks are on one node or on two.
#[test]
fn messages_inside_a_node_have_their_network() {
    let sandbox = sandbox();
    let machine =
        "latency_us = 1000\nper_byte_ns = 0\n[inside]\nlatency_us = 10\nper_byte_ns = 0\n";
    sandbox.write("two.toml", machine);
    for (n, expected_s) in [(1, 1e-3), (2, 1e-5)] {
        let words = format!("predict trace --machine two.toml --ranks-per-node {n} --json");
        let value = sandbox.said(&words).json()["predictions"][0]["value"].as_f64();
        let transfer_s = value.expect("a time") - 1.5;
        assert!((transfer_s - expected_s).abs() < 1e-7, "{n}: {transfer_s}");
    }
}

/// Both ranks send before they receive: the program ran, so its messages did not wait.
#[test]
fn a_limit_that_makes_ranks_wait_forever_is_raised() {
    let sandbox = sandbox();
    for (rank, peer) in [(0, 1), (1, 0)] {
        let text = format!(
            "{rank} init\n{rank} send {peer} 0 1000\n{rank} recv {peer} 0 1000\n{rank} finalize\n"
        );
        sandbox.write(&format!("trace/rank-{rank}.txt"), text);
    }
    sandbox.write("short.toml", "latency_us = 1\nper_byte_ns = 1\neager_bytes = 10\n");
    let said = sandbox.said("predict trace --engine composed --machine short.toml");
    assert_eq!(said.code, Some(0), "{}", said.errors);
    assert!(said.output.contains("with the network's limit of 10 bytes"), "{}", said.output);
}

#[test]
fn people_get_a_table() {
    let said = sandbox().said("predict trace --engine composed --machine slow.toml");
    assert_eq!(said.code, Some(0), "{}", said.errors);
    for names in ["2 ranks, on `slow.toml`", "composed", "compute", "critical path: rank 0 (66"] {
        assert!(said.output.contains(names), "`{names}` is not in: {}", said.output);
    }
}

#[test]
fn wishes_that_make_no_sense_are_refused() {
    check_refused("predict trace --engine composed --set n=3", 2, &["--set"]);
    check_refused("predict trace --machine ethernet-10g --best p", 2, &["--best"]);
    check_refused("predict trace --keep here", 2, &["--engine"]);
    check_refused("predict trace --machine abacus", 2, &["`--machine abacus`", "ethernet-10g"]);
    check_refused("predict trace --machine trace/trace.txt", 2, &["describes no machine"]);
    check_refused("predict nowhere --engine composed", 101, &["nowhere"]);
}

#[test]
fn a_trace_that_cannot_end_is_told_with_its_lines() {
    let sandbox = sandbox();
    sandbox.write("trace/rank-1.txt", "1 init\n1 recv 0 7 8\n");
    let said = sandbox.said("predict trace --engine composed");
    said.check_errors(100, "rank 1 in `recv` (site 2) waits");
}

#[test]
fn without_simgrid_its_package_is_named() {
    let sandbox = sandbox();
    let mut command = sandbox.command(&["predict", "trace", "--engine", "smpi", "--json"]);
    let said: CommandOutput =
        command.env("SMPIRUN", "/nowhere/smpirun").output().expect("started").into();
    assert_eq!((said.code, said.output.as_str()), (Some(100), ""));
    assert!(said.errors.contains("libsimgrid-dev"), "{}", said.errors);
    sandbox.check_clean();
}

#[test]
fn simgrid_says_the_same_where_it_is_installed() {
    let sandbox = sandbox();
    let words = ["predict", "trace", "--engine", "smpi", "--machine", "slow.toml", "--json"];
    let said: CommandOutput = sandbox.command(&words).output().expect("started").into();
    if said.errors.contains("libsimgrid-dev") && std::env::var_os("SMPIRUN").is_none() {
        println!("`smpirun` is not installed: nothing was replayed");
        return;
    }
    assert_eq!(said.code, Some(0), "{}", said.errors);
    let all = said.json();
    let [ours, its] =
        ["composed", "smpi"].map(|engine| all["engines"][engine]["value"].as_f64().expect(engine));
    assert!((ours / its - 1.0).abs() < 0.01, "{ours} and {its}");
    assert_eq!(all["predictions"][0]["engine"], "smpi");
    // Nothing is added to the folder of the trace.
    assert_eq!(fs::read_dir(sandbox.path("trace")).expect("ours").count(), 3);
}
