//! Tests of `sintonia tunlets`: what is printed about the built-in tunlets.

use crate::sintonia::Sandbox;

#[track_caller]
fn printed(words: &[&str]) -> String {
    let said = Sandbox::new().sintonia(&[&["tunlets"][..], words].concat());
    assert_eq!((said.code, said.errors.as_str()), (Some(0), ""));
    assert!(said.output.lines().all(|line| line.len() <= 100), "{}", said.output);
    said.output
}

#[test]
fn all_are_listed_and_each_is_explained() {
    insta::assert_snapshot!("tunlets-list", printed(&[]));
    insta::assert_snapshot!("tunlets-factoring", printed(&["factoring"]));
    insta::assert_snapshot!("tunlets-search", printed(&["search"]));
}

#[test]
fn the_json_has_everything() {
    let sandbox = Sandbox::new();
    let json = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&sandbox.sintonia(words).output).expect("JSON")
    };
    let all = json(&["tunlets", "--json"]);
    let names = all.as_array().expect("a list").iter().map(|it| it["name"].clone());
    let names: Vec<_> = names.collect();
    assert_eq!(names, ["factoring", "worker-count", "imbalance", "search"]);
    let one = json(&["tunlets", "worker-count", "--json"]);
    assert_eq!(one, all[1]);
    assert_eq!(one["events"][0]["attributes"][0], "NW");
    assert_eq!(one["points"][0]["name"], "NW");
    assert_eq!(one["options"][0]["name"], "objective");
}

#[test]
fn another_name_is_refused_with_those_that_are_there() {
    let said = Sandbox::new().sintonia(&["tunlets", "factor"]);
    assert_eq!((said.code, said.output.as_str()), (Some(100), ""));
    assert!(said.errors.contains("there are factoring, worker-count"), "{}", said.errors);
}
