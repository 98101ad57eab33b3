//! Tests of `sintonia run --app`: errors are shown before the command starts.

use crate::sintonia::Sandbox;

const BAD_DESCRIPTION: i32 = 103;
const GOOD: &str = "format = 1\nprogram = \"sh\"\n[actors]\nmaster = \"0\"\n";

/// Runs a command that leaves a file, with this description and these options; checks that it is not started, and words
/// of the error.
#[track_caller]
fn check(description: &str, options: &[&str], expected: &str) {
    let sandbox = Sandbox::with(&[("app.toml", description)]);
    let command = ["--", "sh", "-c", "touch started"];
    let words = [&["run", "--quiet", "--app", "app.toml"], options, &command].concat();
    let said = sandbox.sintonia(&words);
    said.check_errors(BAD_DESCRIPTION, expected);
    assert!(!sandbox.path("started").exists());
    sandbox.check_clean();
}

#[test]
fn a_wrong_description_starts_nothing() {
    check("format = 1\nprogram = ", &[], "app.toml:2");
    check(&GOOD.replace("sh", "other"), &[], "`other`");
    let event =
        "[[event]]\nname = \"e\"\nactor = \"master\"\nfunction = \"no_such\"\nat = \"entry\"\n";
    check(&format!("{GOOD}{event}"), &[], "no_such");
}

#[test]
fn a_tunlet_that_is_not_there_starts_nothing() {
    check(GOOD, &["--tunlet", "factorign"], "factoring");
    check(GOOD, &["--tunlet", "./none.so"], "none.so");
}

#[test]
fn a_tunlet_without_what_it_needs_starts_nothing() {
    check(GOOD, &["--tunlet", "factoring"], "needs the event `compute_");
    let options = format!("{GOOD}[tunlet.imbalance]\npatient = 2\n");
    check(&options, &["--tunlet", "imbalance"], "did you mean `patience`?");
    check(GOOD, &["--tunlet", "imbalance", "--tunlet", "imbalance"], "named twice");
}

#[test]
fn a_pattern_that_nothing_matches_in_a_stripped_program_starts_nothing() {
    check(GOOD, &["--probe", "no_such_function"], "it is stripped of all other names");
}

#[test]
fn a_good_description_changes_nothing_about_the_command() {
    let sandbox = Sandbox::with(&[("app.toml", GOOD)]);
    let command = ["--", "sh", "-c", "echo $SINTONIA_TUNE; exit 7"];
    let words = [&["run", "--quiet", "--app", "app.toml"][..], &command].concat();
    let said = sandbox.sintonia(&words);
    said.check_output(7, "1\n");
}
