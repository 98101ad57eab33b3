//! Tests of `sintonia learnt` on a profile of the present version; the tests of `suite` make some with real ranks.

use crate::sintonia::{CommandOutput, Sandbox};

/// Profile as it is written, with a lever and a setting that are kept, and an order of ranks.
const SAMPLE: &str = include_str!("../samples/learnt-v1.json");
const NAME: &str = "program-4-16ms-0badcafe";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("state/sintonia/learnt");
    std::fs::create_dir_all(&folder).expect("a folder");
    sandbox.write(&format!("state/sintonia/learnt/{NAME}.json"), SAMPLE);
    sandbox
}

fn said(sandbox: &Sandbox, words: &str) -> CommandOutput {
    let words: Vec<&str> = words.split_whitespace().collect();
    let state = sandbox.path("state");
    let mut command = sandbox.command(&words);
    command.env("XDG_STATE_HOME", state).output().expect("it can be started").into()
}

#[test]
fn a_profile_is_listed_and_explained() {
    let sandbox = sandbox();
    insta::assert_snapshot!("learnt-list", said(&sandbox, "learnt").silent());
    insta::assert_snapshot!("learnt-show", said(&sandbox, "learnt show program").silent());
    let all = said(&sandbox, "learnt --json").json();
    assert_eq!((&all[0]["name"], &all[0]["n_runs"]), (&NAME.into(), &17.into()));
    let file = said(&sandbox, &format!("learnt show {NAME} --rank-file")).silent();
    assert_eq!(file, "rank 0=n1 slot=0\nrank 1=n2 slot=0\nrank 2=n1 slot=1\nrank 3=n2 slot=1\n");
    let file = said(&sandbox, &format!("learnt show {NAME} --host-file")).silent();
    assert_eq!(file, "n1\nn2\nn1\nn2\n");
}

#[test]
fn what_is_forgotten_is_gone() {
    let sandbox = sandbox();
    said(&sandbox, "learnt show none").check_errors(101, "there is no profile `none`");
    said(&sandbox, "learnt forget none").check_errors(101, "there is no profile `none`");
    said(&sandbox, "learnt forget").check_errors(2, "--all");
    said(&sandbox, "learnt forget program").check_output(0, "forgot 1 profile\n");
    assert!(said(&sandbox, "learnt").silent().starts_with("nothing is learnt in"));
    said(&sandbox, "learnt forget --all").check_output(0, "forgot 0 profiles\n");
}

/// One that was damaged is told, and stays, since listing changes nothing.
#[test]
fn a_damaged_profile_is_told() {
    let sandbox = sandbox();
    let damaged = SAMPLE.replace("\"n_runs\": 17", "\"n_runs\": 71");
    assert_ne!(damaged, SAMPLE);
    sandbox.write("state/sintonia/learnt/other.json", damaged);
    let said = said(&sandbox, "learnt");
    said.check_errors(0, "is damaged and not used: it was changed after it was written");
    assert!(said.output.contains(NAME), "{}", said.output);
    assert!(sandbox.path("state/sintonia/learnt/other.json").exists());
}
