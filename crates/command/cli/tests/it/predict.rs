//! Tests of `sintonia predict` and `sintonia validate`.

use crate::fit::extrap_text;
use crate::sintonia::Sandbox;
use serde_json::{Value, json};

/// Sandbox with models of `2e-6 * n^3 / p + 5`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", extrap_text(["n", "p"], "main->solve"));
    let fitted = sandbox.said("fit a.txt -o models.json");
    assert_eq!(fitted.code, Some(0), "{}", fitted.errors);
    sandbox
}

#[track_caller]
fn object(sandbox: &Sandbox, words: &str) -> Value {
    sandbox.said(words).json()
}

fn near(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|value| (value / expected - 1.0).abs() < 1e-4)
}

#[track_caller]
fn check_predicted(words: &str, expected: &[(Value, f64)]) {
    let all = object(&sandbox(), &format!("predict {words} --json"));
    let list = all["predictions"].as_array().expect("a list");
    let totals: Vec<&Value> = list.iter().filter(|one| one["region"].is_null()).collect();
    assert_eq!(totals.len(), expected.len());
    for (one, (parameters, value)) in totals.iter().zip(expected) {
        assert_eq!(one["parameters"], *parameters);
        assert!(near(&one["value"], *value), "{one}");
        let [low, value, high] = ["low", "value", "high"].map(|key| one[key].as_f64().expect(key));
        assert!(0.0 < low && low <= value && value <= high, "{one}");
    }
}

#[test]
fn points_and_ranges_are_predicted() {
    check_predicted("models.json --set n=1000 --set p=16", &[(json!({"n": 1000, "p": 16}), 130.0)]);
    check_predicted(
        "models.json --set n=1000 --set p=8:16:*2",
        &[(json!({"n": 1000, "p": 8}), 255.0), (json!({"n": 1000, "p": 16}), 130.0)],
    );
    check_predicted("a.txt --set p=16 --set n=1000", &[(json!({"n": 1000, "p": 16}), 130.0)]);
}

#[test]
fn regions_stand_beside_the_program() {
    let all = object(&sandbox(), "predict models.json --set n=1000 --set p=16 --json");
    let list = all["predictions"].as_array().expect("a list");
    assert_eq!((&list[0]["region"], &list[1]["region"]), (&Value::Null, &json!("main->solve")));
    assert!(near(&list[1]["share"], 1.0));
    let warnings = list[0]["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(warnings[0], "`n` = 1000 lies outside of what was measured, 100 to 500");
}

#[test]
fn a_region_may_be_scaled() {
    let sandbox = Sandbox::new();
    let line = |region: &str, n: u32, s: f64| {
        format!(
            "{{\"params\":{{\"n\":{n}}},\"callpath\":\"{region}\",\"metric\":\"time\",\"value\":{s}}}\n"
        )
    };
    let of_n = |n: u32| {
        let s = f64::from(n);
        line("total", n, 4.0 * s)
            + &line("all ranks->main->force->pair", n, 3.0 * s)
            + &line("all ranks->main", n, s)
    };
    sandbox.write("times.jsonl", [1, 2, 4, 8, 16].map(of_n).concat());
    let value = |more: &str| {
        let said = sandbox.said(&format!("predict times.jsonl --set n=32 --json {more}"));
        said.json()["predictions"][0]["value"].as_f64().expect("a time")
    };
    assert!((value("") / 128.0 - 1.0).abs() < 0.01);
    assert!((value("--scale force=0.5") / 80.0 - 1.0).abs() < 0.01);
    let said = sandbox.said("predict times.jsonl --set n=32 --scale solve=2");
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("no such region; they have `all ranks->main`"), "{}", said.errors);
}

#[test]
fn a_cache_that_is_passed_is_told() {
    let sandbox = sandbox();
    let fitted = sandbox.said("fit a.txt -o models.json --cache L3:24000000:n:24:2");
    assert_eq!(fitted.code, Some(0), "{}", fitted.errors);
    let warnings = |n: &str| {
        let all = object(&sandbox, &format!("predict models.json --set n={n} --set p=4 --json"));
        all["predictions"][0]["warnings"].to_string()
    };
    assert!(!warnings("900").contains("L3"), "{}", warnings("900"));
    assert!(warnings("1100").contains("the data exceed the size of `L3`"), "{}", warnings("1100"));
}

#[test]
fn the_best_number_of_processes_is_found() {
    let best = |words: &str| {
        let words = format!("predict models.json --set n=1000 --best p {words} --json");
        object(&sandbox(), &words)["best"][0].clone()
    };
    assert_eq!(best("")["best"], 32);
    assert_eq!(best("--target-time 205.1")["best"], 10);
    let efficient = best("--efficiency 0.95 --cost");
    assert_eq!(efficient["best"], 22, "{efficient}");
    let hours = 22.0 * (2000.0 / 22.0 + 5.0) / 3600.0;
    assert!(near(&efficient["core_hours"], hours), "{efficient}");
    assert_eq!(best("--set p=2,4,8 --target-time 300")["best"], 8);
}

#[test]
fn people_get_tables_and_a_picture() {
    let sandbox = sandbox();
    let one = sandbox.said("predict models.json --set n=1000 --set p=16 --cost");
    insta::assert_snapshot!("predict-point", one.output);
    let many =
        sandbox.said("predict models.json --set n=1000 --set p=2:32:*2 --plot a.svg --csv a.csv");
    insta::assert_snapshot!("predict-points", many.output);
    let picture = sandbox.read("a.svg");
    assert!(picture.contains("<polyline") && picture.contains(">time in s<"), "{picture}");
    let rows = sandbox.read("a.csv");
    assert_eq!(rows.lines().count(), 11, "{rows}");
}

#[test]
fn the_list_of_fit_is_a_file_of_models() {
    let sandbox = sandbox();
    let list = sandbox.said("fit a.txt --json").output;
    sandbox.write("list.json", list);
    let all = object(&sandbox, "predict list.json --set n=1000 --set p=16 --json");
    assert!(near(&all["predictions"][0]["value"], 130.0));
}

#[test]
fn new_measurements_are_compared() {
    let sandbox = sandbox();
    let rows = "n,p,time\n1000,16,130\n1000,32,60\n";
    sandbox.write("later.csv", rows);
    // Rows without a region match no region that has a model.
    let said_of = sandbox.said("validate models.json later.csv");
    assert_eq!(said_of.code, Some(100), "{}", said_of.errors);
    let of_region = rows.replace("\n1000", "\nmain->solve,1000").replacen("n,p", "region,n,p", 1);
    sandbox.write("later.csv", of_region);
    let all = object(&sandbox, "validate models.json later.csv --json");
    assert_eq!(all["summary"]["n_points"], 2);
    assert_eq!(all["summary"]["n_within"], 1);
    assert!(near(&all["points"][1]["error_percent"], 100.0 * 7.5 / 67.5), "{all}");
    assert!(near(&all["summary"]["smape_percent"], 0.5 * 200.0 * 7.5 / 127.5), "{all}");
    let table = sandbox.said("validate models.json later.csv").output;
    insta::assert_snapshot!("validate-table", table);
}

#[track_caller]
fn check(words: &str, code: i32, part: &str) {
    let sandbox = sandbox();
    let text = sandbox.read("models.json");
    sandbox.write("cut.json", &text[..text.len() / 2]);
    sandbox.write("new.json", text.replacen(":1,", ":7,", 1));
    let said = sandbox.said(words);
    said.check_errors(code, part);
    assert_eq!(said.output, "");
}

/// With a parameter of 0 the ends of the interval were not numbers.
#[test]
fn what_lies_outside_of_the_domain_is_said() {
    let sentence = "is outside the domain of the model of `main->solve`: give a number above 0";
    check("predict models.json --set n=100 --set p=0", 100, &format!("`p` = 0 {sentence}"));
    let json = "predict models.json --set n=100 --set p=0,4 --json";
    check(json, 100, &format!("`p` = 0 {sentence}"));
    check("predict models.json --set n=1e200 --set p=4", 100, "overflows at");
}

/// An endless file took all memory.
#[test]
fn an_endless_file_is_refused() {
    check("fit /dev/zero", 105, "`/dev/zero`: it is longer than 256 MiB, the most that is read");
}

/// Arguments were printed unescaped, with newlines and escape sequences.
#[test]
fn arguments_are_shown_in_their_line() {
    let said =
        sandbox().sintonia(&["predict", "no\nsintonia: all is well\u{1b}[2J", "--set", "n=1"]);
    said.check_errors(105, "`no\\nsintonia: all is well\\u001b[2J`");
    assert_eq!(said.errors.lines().count(), 1, "{}", said.errors);
}

#[test]
fn what_is_wrong_is_said_with_a_code() {
    let check_predict = |words: &str, code, part| check(&format!("predict {words}"), code, part);
    check_predict("none.json --set n=1 --set p=1", 105, "`none.json`");
    let cut = "`cut.json`: line 1 ends too early: the file was cut off";
    check_predict("cut.json --set n=1 --set p=1", 105, cut);
    check_predict("new.json --set n=1 --set p=1", 105, "format 7, and 1 is the newest known");
    check_predict("models.json --set n=1", 2, "`p` has no value: add `--set p=VALUE`");
    let check_set = |words: &str, code, part| {
        check(&format!("predict models.json --set n=1 --set p=1 {words}"), code, part);
    };
    check_set("--set q=1", 2, "no parameter `q`; they have n, p");
    check_set("--set p=2", 2, "`p` is given twice");
    check_set("--set p=x", 2, "write NAME=VALUE");
    check_set("--metric bytes", 2, "there is no metric `bytes`; there are time");
    check_set("--target-time 3", 2, "--best");
    check_set("--processes q", 2, "no parameter `q`");
    check_set("--csv none/a.csv", 102, "none/a.csv");
    let unreached = "no `p` from 1 to 32 reaches the target";
    check_predict("models.json --set n=1000 --best p --target-time 3", 100, unreached);
    check("validate models.json none.csv", 105, "`none.csv`");
    check("validate cut.json a.txt", 105, "`cut.json`");
    check("validate models.json a.txt --metric bytes", 2, "the models have no metric `bytes`");
}
