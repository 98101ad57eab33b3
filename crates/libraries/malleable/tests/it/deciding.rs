//! Programs that decide by themselves how many ranks they have.

use crate::resizing::{resized, rod};
use launch::Library;
use resize_api::ResizeOutcome;
use std::path::Path;

/// Regression: one size cannot predict others, so a program with `--model learn` kept its first size forever, without a
/// message.
#[test]
fn a_program_learns_what_another_size_is_worth() {
    let words = ["--until", "2000", "--iterations", "2000", "--work-us", "4000", "--sizes", "1:4"];
    let job = |folder: &Path| rod(Library::Mpich5, 1, folder, &words);
    let (ended, resizes) = resized(job);
    let mut done = resizes.iter().filter(|resize| resize.outcome == ResizeOutcome::Done);
    assert!(done.clone().all(|resize| resize.reason.starts_with("model")), "{resizes:?}");
    assert!(done.next_back().is_some_and(|last| 1 < last.to), "{resizes:?}");
    assert!(ended.stderr.contains("sintonia: by `--model` the program became"), "{ended:?}");
}

#[test]
fn a_program_that_keeps_its_size_says_why() {
    let words = ["--iterations", "60", "--until", "60", "--model", "auto"];
    let (ended, resizes) = resized(|folder| rod(Library::Mpich5, 1, folder, &words));
    assert!(resizes.is_empty(), "{ended:?} {resizes:?}");
    let lines = ended.stderr.lines().filter(|line| line.starts_with("sintonia: "));
    let lines = lines.collect::<Vec<_>>();
    let said = "`--model` needs `--sizes MIN:MAX`";
    assert!(matches!(lines[..], [line] if line.contains(said)), "{ended:?}");
}
