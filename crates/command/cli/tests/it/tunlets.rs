//! Tests of `sintonia tunlets`: what is printed about the built-in tunlets.

use crate::sintonia::Sandbox;

#[track_caller]
fn printed(words: &str) -> String {
    let said = Sandbox::new().said(&format!("tunlets {words}")).silent();
    assert!(said.lines().all(|line| line.len() <= 100), "{said}");
    said
}

#[test]
fn all_are_listed_and_each_is_explained() {
    insta::assert_snapshot!("tunlets-list", printed(""));
    insta::assert_snapshot!("tunlets-factoring", printed("factoring"));
    insta::assert_snapshot!("tunlets-search", printed("search"));
}

#[test]
fn the_json_has_everything() {
    let sandbox = Sandbox::new();
    let all = sandbox.said("tunlets --json").json();
    let names = all.as_array().expect("a list").iter().map(|it| &it["name"]);
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "factoring",
            "worker-count",
            "imbalance",
            "search",
            "waiting",
            "binding",
            "memory",
            "threads",
            "collectives"
        ]
    );
    let one = sandbox.said("tunlets worker-count --json").json();
    assert_eq!(one, all[1]);
    assert_eq!(one["events"][0]["attributes"][0], "NW");
    assert_eq!(one["points"][0]["name"], "NW");
    assert_eq!(one["options"][0]["name"], "objective");
}

#[test]
fn another_name_is_refused_with_those_that_are_there() {
    let said = Sandbox::new().said("tunlets factor");
    said.check_errors(100, "there are factoring, worker-count");
    assert_eq!(said.output, "");
}
