//! Tests of ended tasks that are submitted again.

use task_api::{FailureRules, RerunSelection};

use super::*;
use crate::interface::Killed;

fn rerun(rig: &mut Rig, tasks: &str, which: RerunSelection) -> Result<String, String> {
    let request = ClientRequest::Rerun { tasks: tasks.parse().unwrap(), which };
    match &rig.ask(request)[..] {
        [DaemonAnswer::Submitted { tasks }] => Ok(tasks.to_string()),
        [DaemonAnswer::Refused { sentence }] => Err(sentence.clone()),
        other => unreachable!("{other:?}"),
    }
}

/// A node on which tasks 2, 3 and 5 of six have failed, and 6 was canceled.
fn some_failed() -> Rig {
    let mut rig = Rig::new();
    let array = Some(ArrayIndices::range(11, 16));
    let failures = FailureRules { n_fails_max: Some(9), ..FailureRules::default() };
    let name = Some("sweep".to_owned());
    let submission = Submission { name, array, failures, ..submission() };
    rig.ask(ClientRequest::Submit { submission: Box::new(submission) });
    for code in [0, 1, 1, 0, 1] {
        rig.end_by(0, AttemptEnd::Exit(code));
    }
    rig.ask(ClientRequest::Cancel { tasks: "n.6".parse().unwrap() });
    rig.end_by(0, AttemptEnd::Killed(Killed::Canceled));
    rig
}

fn indices(book: &Book, first: u64) -> Vec<Option<u64>> {
    book.tasks_from(first).map(|(_, task)| task.array_index()).collect()
}

#[test]
fn tasks_that_failed_run_again_with_their_indices() {
    let mut rig = some_failed();
    assert_eq!(rerun(&mut rig, "n.1-6", RerunSelection::Failed), Ok("n.7-9".to_owned()));
    assert_eq!(indices(rig.core.book(), 7), [12, 13, 15].map(Some));
    assert_eq!(rig.seen.jobs[0].input.array_index, Some(12));
    assert!(rig.seen.jobs[0].work.command().eq(["true"]));
    let book = rig.core.book();
    assert!(book.tasks_from(7).all(|(_, task)| task.work.title() == "sweep"));
    // They are an array of their own, which bounds its failures.
    let terms = book.task(9).unwrap().work.terms.clone().unwrap();
    assert_eq!((terms.first, terms.last, terms.failures.n_fails_max), (7, 9, Some(9)));
    assert_eq!(rerun(&mut rig, "n.1-6", RerunSelection::Unsuccessful), Ok("n.10-13".to_owned()));
    assert_eq!(rerun(&mut rig, "n.1", RerunSelection::All), Ok("n.14".to_owned()));
    let mut book = Book::new(node_id("n"), BookLimits::default());
    rig.core.book_mut().snapshot(|record| book.apply(record));
    assert_eq!(indices(&book, 10), [12, 13, 15, 16, 11].map(Some));
}

#[test]
fn another_node_that_does_not_answer_may_have_submitted_them() {
    let mut rig = Rig::new();
    rig.member(Presence::Up, 1);
    let (tasks, which) = ("other.1".parse().unwrap(), RerunSelection::Failed);
    assert!(rig.ask(ClientRequest::Rerun { tasks, which }).is_empty());
    rig.pass(11_000);
    let said = rig.refusal();
    assert!(said.ends_with("before you try again: `sintonia tasks --home other`"), "{said}");
}

#[test]
fn what_cannot_run_again_is_said() {
    let mut rig = some_failed();
    let said = rerun(&mut rig, "n.1", RerunSelection::Failed).unwrap_err();
    assert_eq!(said, "no task of `n.1` failed; `--canceled` and `--all` take more");
    let said = rerun(&mut rig, "n.1-99", RerunSelection::Failed).unwrap_err();
    assert!(said.contains("`n.1-99` was not submitted"), "{said}");
    let limits = BookLimits { n_ended_max: 2, ..BookLimits::default() };
    let mut book = Book::new(node_id("n"), limits);
    rig.core.book_mut().snapshot(|record| book.apply(record));
    let mut rig = Rig::of(CoreOptions::new("n"), book);
    let said = rerun(&mut rig, "n.1-6", RerunSelection::Failed).unwrap_err();
    assert!(said.starts_with("of 2 of these tasks, the first of them `n.2`, only"), "{said}");
    assert!(said.contains("`node start --keep-tasks N` keeps more"), "{said}");
    assert_eq!(rerun(&mut rig, "n.4-6", RerunSelection::Failed), Ok("n.7".to_owned()));
}
