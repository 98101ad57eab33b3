//! Tests of the help texts as they are printed.

use crate::sintonia::{CommandOutput, Sandbox};

#[test]
fn every_subcommand_explains_itself() {
    let subcommands = "run tune learnt experiment report export doctor functions suggest messages netbench tunlets new new-tunlet fit predict \
         validate malleable resize slurm-policy node submit submit-file nodes tasks jobs cancel hold release rerun explain";
    let nested = [
        "learnt show",
        "learnt forget",
        "node start",
        "node auto",
        "node deploy",
        "node stop",
        "node key",
        "simulate balance",
        "simulate cases",
        "simulate chunking",
        "simulate jobs",
        "simulate queue",
        "simulate sizes",
    ];
    for words in subcommands.split(' ').chain(nested).chain([""]) {
        let name = if words.is_empty() { "sintonia".to_owned() } else { words.replace(' ', "-") };
        insta::assert_snapshot!(name, Sandbox::new().said(&format!("{words} --help")).silent());
    }
}

#[test]
fn a_wrong_option_is_named() {
    let said = Sandbox::new().said("run --qiet -- true");
    said.check_errors(2, "--qiet");
    said.check_errors(2, "--quiet");
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
