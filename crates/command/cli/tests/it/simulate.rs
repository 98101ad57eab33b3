//! Tests of `sintonia simulate chunking`.

use crate::sintonia::{CommandOutput, Sandbox};
use serde_json::{Value, json};

fn said(sandbox: &Sandbox, words: &str) -> CommandOutput {
    sandbox.said(&format!("simulate chunking {words}"))
}

#[track_caller]
fn list_of(words: &str) -> Vec<Value> {
    let said = said(&Sandbox::new(), &format!("--json {words}"));
    assert_eq!(said.errors, "");
    said.parsed()
}

#[test]
fn every_policy_is_in_the_list() {
    let list = list_of(
        "--policy all --workers 7 --tasks 1000 --task-ms 1 --overhead-us 50 --slow 3:2@0.5",
    );
    let names: Vec<&str> = list.iter().filter_map(|row| row["policy"].as_str()).collect();
    assert_eq!(names[0], "best");
    for name in "static ss fsc gss tss fac fac2 dpf daf awf-b awf-c".split(' ') {
        assert!(names.contains(&name), "{names:?}");
    }
    for row in &list {
        let [makespan_s, ideal_s, ratio] =
            ["makespan_s", "ideal_s", "makespan_over_ideal"].map(|key| row[key].as_f64().unwrap());
        assert!((makespan_s / ideal_s - ratio).abs() < 1e-12 && 1.0 <= ratio, "{row}");
        assert!(7 <= row["n_chunks"].as_u64().unwrap(), "{row}");
    }
}

#[test]
fn a_trace_is_read_from_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("times.txt", "3\n1\n1\n1\n");
    let said =
        said(&sandbox, "--policy static --tasks-file times.txt --workers 2 --overhead-us 0 --json");
    let list = said.json();
    assert_eq!(list[0]["makespan_s"].as_f64(), Some(0.004), "{}", said.errors);
    assert_eq!(list[0]["ideal_s"].as_f64(), Some(0.003));
    assert_eq!(list[0]["n_chunks"].as_u64(), Some(2));
}

#[test]
fn a_report_of_a_program_is_a_trace() {
    let sandbox = Sandbox::new();
    let chunk = |n_tasks: u64, began_s: f64, ended_s: f64| json!({ "rank": 1, "chunk": 1, "n_tasks": n_tasks, "began_s": began_s, "ended_s": ended_s });
    let chunks = [chunk(2, 0.0, 0.006), chunk(1, 0.006, 0.007)];
    let report = json!({ "format_version": 1, "slowest": { "iteration": 3, "chunks": chunks } });
    sandbox.write("report.json", report.to_string());
    let said =
        said(&sandbox, "--policy ss --tasks-file report.json --workers 1 --overhead-us 0 --json");
    let list = said.json();
    assert_eq!(list[0]["n_chunks"].as_u64(), Some(3), "{}", said.errors);
    assert!((list[0]["makespan_s"].as_f64().unwrap() - 0.007).abs() < 1e-12, "{}", said.output);
}

/// A report that lists only some of its chunks was simulated as if these were all.
#[test]
fn chunks_that_a_report_leaves_out_are_said_and_made_up_for() {
    let sandbox = Sandbox::new();
    let chunk = json!({ "n_tasks": 1, "began_s": 0.0, "ended_s": 0.002 });
    let slowest = json!({ "n_tasks": 20, "chunks": [chunk, chunk], "n_chunks_left_out": 18 });
    let report = json!({ "format_version": 1, "slowest": slowest });
    sandbox.write("report.json", report.to_string());
    let said =
        said(&sandbox, "--policy ss --tasks-file report.json --workers 1 --overhead-us 0 --json");
    let list = said.json();
    assert!((list[0]["makespan_s"].as_f64().unwrap() - 0.04).abs() < 1e-12, "{}", said.output);
    let expected = "`report.json`: only 2 of 20 chunks are listed, with 2 of 20 tasks; the others are taken to be like these";
    assert!(said.errors.contains(expected), "{}", said.errors);
}

#[test]
fn people_get_a_table_and_a_picture() {
    let sandbox = Sandbox::new();
    let said = said(&sandbox, "--tasks 700 --block 0:0.4:3 --policy gss,static --plot out.svg");
    insta::assert_snapshot!("simulate-table", said.silent());
    let picture = sandbox.read("out.svg");
    assert!(picture.starts_with("<svg ") && picture.contains(">gss<"), "{picture}");
}

#[test]
fn what_is_learned_from_iteration_to_iteration_is_shown() {
    let words = "--tasks 700 --task-ms 0.1 --iterations 10 --policy best";
    let list = list_of(words);
    let [first_s, last_s] =
        ["first_iteration_s", "last_iteration_s"].map(|key| list[0][key].as_f64());
    // Single tasks and then rounds of chunks, 50 us each, while no time is known; then one round.
    assert!((10.2e-3..10.5e-3).contains(&first_s.unwrap()), "{list:?}");
    assert!((last_s.unwrap() - 10.05e-3).abs() < 1e-9, "{list:?}");
    let table = said(&Sandbox::new(), words).output;
    assert!(table.contains("     FIRST      LAST  LOST"), "{table}");
    assert!(table.contains("  0.0101 s"), "{table}");
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let times = |seed: u8| list_of(&format!("--tasks 500 --distribution gamma:2,3 --seed {seed}"));
    assert_eq!(times(5), times(5));
    assert_ne!(times(5), times(6));
}

#[track_caller]
fn check(words: &str, code: i32, part: &str) {
    let files =
        [("times.txt", "1\n2\nfast\n"), ("empty.txt", ""), ("other.json", "{\"slowest\": 3}")];
    let sandbox = Sandbox::with(&files);
    let said = said(&sandbox, words);
    said.check_errors(code, part);
    assert_eq!(said.output, "");
}

#[test]
fn what_is_wrong_is_said_with_a_code() {
    check("--tasks-file none.txt", 100, "`none.txt`");
    check("--tasks-file times.txt", 100, "`times.txt`: line 3 is `fast`: write the time");
    let other = "`other.json`: this is not a report that a master/worker";
    check("--tasks-file other.json", 100, other);
    check("--tasks-file /dev/zero", 100, "it is longer than 256 MiB, the most that is read");
    check("--tasks-file empty.txt", 100, "`empty.txt`: there is no task");
    check("--policy gsss", 2, "gss");
    check("--workers 0", 2, "--workers");
    check("--tasks 0", 2, "--tasks");
    check("--task-ms 0", 2, "write a number above 0");
    check("--overhead-us -1", 2, "--overhead-us");
    check("--slow 7:2@0.5 --workers 7", 2, "worker `7` cannot slow down: workers are 0 to 6");
    check("--slow 1:2", 2, "WORKER:FACTOR@FRACTION");
    check("--block 0.8:0.4:3", 2, "START:LENGTH:FACTOR");
    check("--distribution cauchy:1", 2, "lognormal:MEAN,DEVIATION");
    check("--tasks-file times.txt --tasks 5", 2, "--tasks");
    check("--tasks 10000000 --iterations 1000", 2, "too many");
    check("--tasks 10 --plot none/out.svg", 102, "none/out.svg");
}
