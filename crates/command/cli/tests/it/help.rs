//! Tests of the help texts as they are printed.

use crate::sintonia::{CommandOutput, Sandbox};

#[track_caller]
fn check(name: &str, words: &[&str]) {
    let said = Sandbox::new().sintonia(words);
    assert_eq!((said.code, said.errors.as_str()), (Some(0), ""));
    insta::assert_snapshot!(name, said.output);
}

#[test]
fn every_subcommand_explains_itself() {
    check("sintonia", &["--help"]);
    check("run", &["run", "--help"]);
    check("experiment", &["experiment", "--help"]);
    check("report", &["report", "--help"]);
    check("export", &["export", "--help"]);
    check("doctor", &["doctor", "--help"]);
    check("functions", &["functions", "--help"]);
    check("messages", &["messages", "--help"]);
    check("netbench", &["netbench", "--help"]);
    check("tunlets", &["tunlets", "--help"]);
    check("new", &["new", "--help"]);
    check("new-tunlet", &["new-tunlet", "--help"]);
    check("fit", &["fit", "--help"]);
    check("predict", &["predict", "--help"]);
    check("validate", &["validate", "--help"]);
    check("malleable", &["malleable", "--help"]);
    check("resize", &["resize", "--help"]);
    check("slurm-policy", &["slurm-policy", "--help"]);
    check("node", &["node", "--help"]);
    check("node-start", &["node", "start", "--help"]);
    check("node-stop", &["node", "stop", "--help"]);
    check("node-key", &["node", "key", "--help"]);
    check("submit", &["submit", "--help"]);
    check("nodes", &["nodes", "--help"]);
    check("tasks", &["tasks", "--help"]);
    check("cancel", &["cancel", "--help"]);
    check("explain", &["explain", "--help"]);
    check("simulate-balance", &["simulate", "balance", "--help"]);
    check("simulate-chunking", &["simulate", "chunking", "--help"]);
}

#[test]
fn a_wrong_option_is_named() {
    let said = Sandbox::new().sintonia(&["run", "--qiet", "--", "true"]);
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("--qiet") && said.errors.contains("--quiet"), "{}", said.errors);
}

/// A reader that closes the pipe (`| head -1`) is not an error.
#[test]
fn nobody_has_to_read_what_is_printed() {
    let sandbox = Sandbox::new();
    let all = ["--help", "--version", "help run", "tunlets", "experiment --example", "nodes"];
    for words in all {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let words: Vec<&str> = words.split(' ').collect();
        let ended = sandbox.command(&words).stdout(writer).output().expect("it can be started");
        let said = CommandOutput::from(ended);
        assert_ne!(said.code, Some(110), "{words:?}: {said:?}");
        assert!(!said.errors.contains("mistake"), "{words:?}: {said:?}");
    }
}
