//! Tests of `sintonia simulate jobs`.

use crate::sintonia::{CommandOutput, Sandbox};
use serde_json::Value;

const PIPELINE: &str = r#"
name = "pipeline"
[[task]]
id = "report"
command = "echo done"
after_ok = ["solve"]
[[task]]
id = "mesh"
command = "echo meshing"
expect = "20s"
[[task]]
id = "solve"
command = ["sh", "-c", "echo part %{index}"]
array = "1-12"
cpus = 2
memory = "3G"
expect = "1m"
after_ok = ["mesh"]
"#;

fn said(words: &str) -> CommandOutput {
    let sandbox = Sandbox::new();
    sandbox.write("pipeline.toml", PIPELINE);
    sandbox.said(&format!("simulate jobs pipeline.toml {words}"))
}

#[test]
fn a_job_file_is_shown_with_its_bounds() {
    insta::assert_snapshot!("simulate-jobs", said("--nodes 2 --cores 4 --task-s 5").silent());
}

#[test]
fn memory_makes_tasks_wait() {
    let json = |words: &str| {
        said(&format!("--nodes 2 --cores 4 --task-s 5 --json {words}")).parsed::<Value>()
    };
    let makespan_s = |json: &Value| json["makespan_s"].as_f64().unwrap();
    let (enough, little) = (json(""), json("--memory 4G"));
    // Two at a time on each node, and then only one.
    assert!((205.0..207.0).contains(&makespan_s(&enough)), "{enough}");
    assert!((385.0..389.0).contains(&makespan_s(&little)), "{little}");
    assert_eq!(enough["path_s"].as_f64(), Some(85.0));
}

#[test]
fn what_cannot_be_is_said() {
    said("--nodes 2 --cores 1")
        .check_errors(2, "`solve` asks for 2 cores, 3 GiB, which 0 of 2 nodes have");
    said("--task-s soon").check_errors(2, "time of a task");
    Sandbox::new().said("simulate jobs none.toml").check_errors(2, "none.toml");
}
