//! Tests of `sintonia simulate balance`.

use crate::sintonia::{CommandOutput, Sandbox};
use serde_json::Value;

fn said(sandbox: &Sandbox, words: &str) -> CommandOutput {
    sandbox.said(&format!("simulate balance {words}"))
}

#[track_caller]
fn json(words: &str) -> Value {
    let said = said(&Sandbox::new(), &format!("--json {words}"));
    assert_eq!(said.errors, "");
    said.json()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().expect("a number")
}

#[test]
fn the_words_of_the_issue_give_the_numbers_of_the_source() {
    let found = json(
        "--nodes 8 --cores 1 --tasks 160 --arrival-s 1 --task-s 19.8 --entry 0 --policy event \
         --domain global --detection measured --measure-s 1 --stray 0.005 --latency-ms 0.1 --seed 1",
    );
    assert!((number(&found, "ratio") - 0.921).abs() < 0.03, "{found}");
    assert!((number(&found, "t_opt_s") - 396.0).abs() < 1e-6);
    assert!(number(&found, "t_dist_s") < number(&found, "t_exec_s"));
    assert!((number(&found, "messages") - 1694.0).abs() < 500.0, "{found}");
    assert!((number(&found, "accepted") - 139.0).abs() < 5.0, "{found}");
    assert!(number(&found, "not_accepted") < 139.0, "{found}");
    let [accepted, messages, ratio] =
        ["accepted", "messages", "ratio"].map(|key| number(&found, key));
    let efficiency = accepted / (messages * 160.0) * ratio;
    assert!((number(&found, "efficiency") / efficiency - 1.0).abs() < 1e-12);
}

#[test]
fn compared_policies_are_a_list_and_a_table() {
    let list = json("--compare event,on-demand@random:3,subscription --entry 0,4");
    let names: Vec<_> = list.as_array().expect("a list").iter().map(|row| &row["policy"]).collect();
    assert_eq!(names, ["event", "on-demand@random:3", "subscription"]);
    let sandbox = Sandbox::new();
    let said = said(
        &sandbox,
        "--compare event,power-of-two,subscription --domain random:3 --plot out.svg",
    );
    insta::assert_snapshot!("simulate-balance-table", said.silent());
    let picture = sandbox.read("out.svg");
    assert!(picture.starts_with("<svg ") && picture.contains(">event@random:3<"), "{picture}");
}

#[test]
fn a_recorded_workload_is_played() {
    let sandbox = Sandbox::new();
    // Ten jobs of four processors, one every 10 s, and one that was canceled before it ran.
    let job = |number: u32| {
        let run_s = if number == 5 { -1 } else { 100 };
        format!("{number} {} 3 {run_s} 4 -1 -1 4 -1 -1 1 1 1 1 1 -1 -1 -1\n", 1000 + 10 * number)
    };
    let jobs: String = (0..11).map(job).collect();
    sandbox.write("jobs.swf", format!("; Computer: none\n{jobs}"));
    let words = "--trace jobs.swf --nodes 10 --cores 4 --entry every:1 --json";
    let played = said(&sandbox, words);
    assert!(
        played.errors.contains("left out of `jobs.swf`: 1 job that never"),
        "{}",
        played.errors
    );
    let played = played.json();
    assert_eq!((&played["tasks"], &played["ended"]), (&40.into(), &40.into()));
    assert!((number(&played, "t_opt_s") - 100.0).abs() < 1e-9, "{played}");
    let executed_s = number(&played, "t_exec_s");
    assert!((executed_s - 200.0).abs() < 1.0, "{played}");
    let some = said(&sandbox, &format!("{words} --tasks 8")).json();
    assert_eq!(some["tasks"], 8);
    sandbox.write("cut.swf", "1 2 3\n");
    let cut = said(&sandbox, "--trace cut.swf");
    assert_eq!(cut.code, Some(2));
    assert!(cut.errors.contains("`cut.swf`: line 1 is not one of the Standard"), "{}", cut.errors);
}

#[test]
fn rules_are_listed() {
    let policies = said(&Sandbox::new(), "--policies").silent();
    insta::assert_snapshot!("simulate-balance-policies", policies);
}

#[test]
fn a_scenario_is_read_from_a_file() {
    let text = "nodes = 4\ncores = [1, 2]\nspeeds = [1, 2.5]\ntasks = 50\npolicy = \"event\"\n\
                fail = [\"3@10:20\"]\nlatency-ms = 5\n";
    let sandbox = Sandbox::with(&[("small.toml", text)]);
    let read =
        |words: &str| said(&sandbox, &format!("--scenario small.toml --json {words}")).silent();
    let read = |words: &str| serde_json::from_str::<Value>(&read(words)).expect("JSON");
    let found = read("");
    assert_eq!((&found["policy"], number(&found, "tasks")), (&Value::from("event"), 50.0));
    assert!((number(&found, "t_opt_s") - 50.0 * 19.8 / 12.0).abs() < 1e-6, "{found}");
    let found = read("--policy stealing --tasks 60");
    assert_eq!((&found["policy"], number(&found, "ended")), (&Value::from("stealing"), 60.0));
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let words = |seed: u8| format!("--policy stealing --arrival-random --seed {seed}");
    assert_eq!(json(&words(5)), json(&words(5)));
    assert_ne!(json(&words(5)), json(&words(6)));
}

#[test]
fn a_node_that_never_comes_back_is_named() {
    let said = said(&Sandbox::new(), "--fail 0@50").silent();
    assert!(said.contains("tasks wait at nodes that never come back"), "{said}");
}

#[track_caller]
fn check(words: &str, code: i32, part: &str) {
    let files = [("wrong.toml", "nodes = 3\nnoodles = 2\n"), ("torn.toml", "nodes = \n")];
    let sandbox = Sandbox::with(&files);
    let said = said(&sandbox, words);
    said.check_errors(code, part);
    assert_eq!(said.output, "");
}

#[test]
fn what_is_wrong_is_said_with_a_code() {
    check("--policy evnt", 2, "there is no rule `evnt`; write periodic:T, event");
    check("--policy periodic", 2, "`periodic` needs a period in seconds");
    check("--domain overlapping:1", 2, "`overlapping:1` needs a size of 2 at least");
    check("--compare event,evnt", 2, "there is no rule `evnt`");
    check("--compare event --policy event", 2, "--policy");
    check("--nodes 0", 2, "`nodes` is 0; give a number from 1 to 1000000");
    check("--cores 0", 2, "`cores` is 0; give a number from 1");
    check("--speeds 1,-2", 2, "`speeds` is -2; give a number from 0.001");
    check("--tasks 0", 2, "`tasks` is 0");
    check("--task-s fast", 2, "`fast` is no time of a task; write 19.8");
    check("--task-s -1", 2, "`task-s` is -1");
    check("--arrival-s -1", 2, "`arrival-s` is -1");
    check("--entry 8", 2, "`entry` names node 8, and nodes are numbered from 0 to 7");
    check("--loss 1", 2, "`loss` is 1; give a number from 0 to 0.9");
    check("--fail 3@9:5", 2, "node 3 is back at 5 s, before it fails at 9 s");
    check("--fail 3", 2, "NODE@SECOND");
    check("--scenario none.toml", 100, "`none.toml`");
    check("--scenario wrong.toml", 2, "`wrong.toml`: there is no key `noodles`");
    check("--scenario torn.toml", 2, "`torn.toml`: line 1");
    check("--plot none/out.svg", 102, "none/out.svg");
}
