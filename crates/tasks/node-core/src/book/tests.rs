//! Books are what their records make of them.

use proptest::{collection::vec, prelude::*};
use task_api::{
    ArrayIndices, FailureRules, Output, OutputText, Schedule, Submission, TaskLimits, TaskOutcome,
};

mod indexes;

use super::*;
use crate::interface::{ExecContext, SharedWork, SubmissionTerms, TaskKey};

const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);

fn submission(n_tasks: u64) -> Submission {
    Submission {
        command: vec!["true".to_owned()],
        folder: "/".to_owned(),
        array: (1 < n_tasks).then_some(ArrayIndices::range(5, 4 + n_tasks)),
        limits: TaskLimits { n_starts_max: 2, ..TaskLimits::default() },
        ..Submission::default()
    }
}

fn book(n_tasks: u64) -> Book {
    let limits = BookLimits { n_open_max: 1000, n_ended_max: 3, ..BookLimits::default() };
    let mut book = Book::new(ME, BookLimits { output_bytes_max: 10, ..limits });
    for record in book.records_of(&submission(n_tasks), 1) {
        book.apply(&record);
    }
    book
}

fn given(number: u64, instance: u32) -> JournalRecord {
    JournalRecord::Given { number, instance, to: OTHER, incarnation: 3, at_ms: 2 }
}

fn started(number: u64, instance: u32) -> JournalRecord {
    JournalRecord::Started { number, instance, at_ms: 3 }
}

fn back(number: u64, instance: u32, reason: Reason) -> JournalRecord {
    JournalRecord::Back { number, instance, reason, at_ms: 3 }
}

fn ended(number: u64, instance: u32, text: &str) -> JournalRecord {
    let output = Output { stdout: OutputText(text.as_bytes().to_vec()), ..Output::default() };
    let outcome = TaskOutcome::Exit(0);
    JournalRecord::Ended(EndRecord {
        output,
        ..EndRecord::without_run(number, instance, ME, outcome, 4)
    })
}

fn failed(number: u64, instance: u32) -> JournalRecord {
    let outcome = TaskOutcome::Exit(3);
    JournalRecord::Ended(EndRecord::without_run(number, instance, ME, outcome, 4))
}

fn retried(number: u64, retry: Retry) -> JournalRecord {
    let outcome = TaskOutcome::Exit(3);
    let failure = Some(Failure { node: OTHER, outcome, last_line: "no file".into() });
    JournalRecord::Retried { number, retry, failure }
}

#[test]
fn a_task_that_is_tried_again_waits_and_is_not_in_the_queue() {
    let mut book = book(1);
    book.apply(&started(1, 1));
    let retry = Retry { n_failed: 1, instance: 1, at_ms: 4, delay_ms: 500 };
    book.apply(&retried(1, retry));
    let waits = |book: &Book| (book.tasks().n_queued(), book.tasks().n_waiting());
    assert_eq!((waits(&book), book.n_open()), ((0, 1), 1));
    book.apply(&retried(1, Retry { n_failed: 2, ..retry }));
    assert_eq!(book.task(1).unwrap().failed(), retry, "that was the same failure");
    let mut again = written_anew(&mut book);
    assert_eq!(facts(&again), facts(&book));
    again.tasks_mut().begin_delays(Moment(0), 304);
    again.tasks_mut().end_delays(Moment(199_999_999));
    assert_eq!(waits(&again), (0, 1));
    again.tasks_mut().end_delays(Moment(200_000_000));
    assert_eq!((waits(&again), again.next_queued(|_| true)), ((1, 1), Some(1)));
    // The end of a delay is not recorded: the start of the next attempt is enough.
    book.apply(&started(1, 2));
    assert_eq!(book.tasks().running().collect::<Vec<_>>(), [(1, 2)]);
    assert_eq!(waits(&book), (0, 0));
}

#[test]
fn a_task_is_given_comes_back_runs_and_ends() {
    let mut book = book(2);
    assert_eq!(
        (book.tasks().n_queued(), book.n_open(), book.next_queued(|_| true)),
        (2, 2, Some(1))
    );
    assert_eq!(book.task(2).unwrap().array_index(), Some(6));
    book.apply(&given(1, 1));
    assert_eq!((book.tasks().n_queued(), book.next_queued(|_| true)), (1, Some(2)));
    book.apply(&back(1, 1, Reason::Unanswered(OTHER)));
    assert_eq!((book.tasks().n_queued(), book.next_queued(|_| true)), (2, Some(1)));
    assert!(book.leases().is_empty());
    book.apply(&started(1, 1));
    assert_eq!(book.tasks().running().collect::<Vec<_>>(), [(1, 1)]);
    book.apply(&back(1, 1, Reason::NodeLost));
    book.apply(&started(1, 0));
    assert!(book.tasks().running().next().is_none(), "that was before");
    book.apply(&started(1, 2));
    book.apply(&started(1, 3));
    assert_eq!(book.tasks().running().collect::<Vec<_>>(), [(1, 2)], "it runs already");
    book.apply(&back(1, 1, Reason::Silent(OTHER)));
    assert_eq!(book.task(1).unwrap().state, TaskState::Running, "that was another instance");
    book.apply(&ended(1, 2, "hello"));
    assert_eq!((book.tasks().n_queued(), book.n_open()), (1, 1));
    assert_eq!(book.task(1).unwrap().output().unwrap().stdout.0, b"hello");
}

/// The record of the task's return was in a damaged spot; its cancel, which was undamaged, was ignored, and it ran
/// again.
#[test]
fn a_cancel_counts_where_the_return_of_its_task_is_missing() {
    let mut book = book(2);
    book.apply(&given(1, 1));
    book.apply(&given(2, 1));
    book.apply(&JournalRecord::Doubted { first: 1, last: 1 });
    book.apply(&JournalRecord::Canceled { first: 1, last: 2, at_ms: 3 });
    assert_eq!(book.n_open(), 1, "the second one is known to be elsewhere");
    assert!(book.task(1).is_none_or(|task| task.is_over()));
}

#[test]
fn a_task_that_is_lost_too_often_is_over() {
    let mut book = book(1);
    for instance in 1..=2 {
        assert!(!book.task(1).unwrap().is_over());
        book.apply(&given(1, instance));
        book.apply(&back(1, instance, Reason::Silent(OTHER)));
    }
    assert_eq!(book.task(1).unwrap().outcome(), Some(&TaskOutcome::Lost));
    assert_eq!((book.tasks().n_queued(), book.next_queued(|_| true)), (0, None));
}

#[test]
fn a_task_whose_starts_at_home_were_lost_too_often_is_over() {
    let mut book = book(1);
    for instance in 1..=2 {
        assert!(!book.task(1).unwrap().is_over());
        book.apply(&started(1, instance));
        book.apply(&back(1, instance, Reason::NodeLost));
    }
    assert_eq!(book.task(1).unwrap().outcome(), Some(&TaskOutcome::Lost));
    assert_eq!(book.tasks().running().count(), 0);
}

#[test]
fn a_book_that_is_written_anew_keeps_a_bounded_story() {
    let mut book = book(2);
    for instance in 1..=30 {
        book.apply(&started(1, instance));
        book.apply(&back(1, instance, Reason::Leaving));
    }
    book.apply(&started(2, 1));
    let notes = book.task(1).unwrap().notes();
    assert_eq!((notes.0.len(), notes.1), (24, 36));
    let last = notes.0.last().unwrap();
    assert_eq!(last, &Note { at_ms: 3, what: NotedEvent::Back(Reason::Leaving) });
    let again = written_anew(&mut book);
    assert_eq!(histories(&again), histories(&book));
    assert_eq!(again.task(2).unwrap().started_ms(), Some(3));
}

#[test]
fn what_waits_is_canceled_at_once_and_what_runs_when_it_is_back() {
    let mut book = book(3);
    book.apply(&given(2, 1));
    book.apply(&JournalRecord::Canceled { first: 1, last: 3, at_ms: 3 });
    book.apply(&JournalRecord::CancelWished { number: 2, at_ms: 3 });
    let over = |book: &Book| (1..4).map(|n| book.task(n).unwrap().is_over()).collect::<Vec<_>>();
    assert_eq!(over(&book), [true, false, true]);
    book.apply(&back(2, 1, Reason::Silent(OTHER)));
    assert_eq!(book.task(2).unwrap().outcome(), Some(&TaskOutcome::Canceled));
    assert_eq!(book.tasks().n_queued(), 0);
}

#[test]
fn a_bounded_number_of_ended_tasks_and_bytes_is_kept() {
    let mut book = book(6);
    for number in 1..6 {
        book.apply(&ended(number, 1, "1234"));
    }
    assert!(book.task(1).unwrap().output().unwrap().stdout.0.is_empty());
    assert_eq!(book.task(1).unwrap().output().unwrap().n_dropped_bytes, 4);
    assert_eq!(book.task(5).unwrap().output().unwrap().n_dropped_bytes, 0);
    book.prune(9, |number| number == 2);
    assert_eq!(book.tasks_from(0).map(|(number, _)| number).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    book.prune(9, |_| false);
    assert_eq!(book.tasks_from(0).map(|(number, _)| number).collect::<Vec<_>>(), [3, 4, 5, 6]);
}

/// Fault: nothing at all was known of tasks beyond the bound.
#[test]
fn of_all_that_ended_it_is_known_how() {
    let mut book = book(10);
    for number in 1..9 {
        let outcome = if number == 4 { TaskOutcome::Exit(7) } else { TaskOutcome::Exit(0) };
        let end = EndRecord::without_run(number, 1, ME, outcome, 4);
        let output = Output { stdout: OutputText(b"123".to_vec()), ..Output::default() };
        book.apply(&JournalRecord::Ended(EndRecord { output, ..end }));
    }
    book.prune(9, |_| false);
    let again = written_anew(&mut book);
    for book in [book, again] {
        let past = book.archive().summary((1, u64::MAX), 9, |_| true);
        assert_eq!(
            (past.n_tasks, past.runs.len(), past.sentence()),
            (5, 3, "4 exit 0, 1 exit 7".to_owned())
        );
        assert_eq!(book.archive().outcome(4), Some(TaskOutcome::Exit(7)));
        assert_eq!(book.archive().outcome(6), None, "that is kept as a whole");
        let kept = book.kept();
        assert_eq!((kept.n_tasks, kept.n_brief), (3, 5));
        // 10 bytes are kept: three of each of the last three tasks.
        assert_eq!(
            (kept.output_bytes, kept.n_outputs_dropped, kept.output_bytes_dropped),
            (9, 5, 15)
        );
    }
}

/// Fault: the surroundings were written again for each array that had ended, up to 100,000 times.
#[test]
fn what_ended_does_not_make_a_snapshot_long() {
    let mut book = book(1000);
    let mut snapshot = |n_open: u64| {
        for idx in 0..20 {
            let first = book.next_number();
            let submission = Submission {
                command: vec!["true".to_owned()],
                array: Some(ArrayIndices::range(idx, idx + 1)),
                ..Submission::default()
            };
            book.records_of(&submission, 1).iter().for_each(|record| book.apply(record));
            for number in (first..first + 2).take_while(|_| idx < 20 - n_open) {
                book.apply(&ended(number, 1, "123"));
            }
        }
        let mut n_arounds = 0;
        book.snapshot(|record| {
            n_arounds += u64::from(matches!(record, JournalRecord::Around { .. }))
        });
        n_arounds
    };
    assert_eq!(
        snapshot(1),
        2 * 2 + 2,
        "both kinds twice, and once more for both arrays that are not over"
    );
    let again = written_anew(&mut book);
    assert_eq!(facts(&again), facts(&book));
}

fn around_idx() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX)]
}

/// Schedules of several kinds.
fn schedule(kind: u64) -> Schedule {
    let json = match kind % 3 {
        0 => r#"{"after":[{"tasks":"n.1-2","when":"ended"}]}"#,
        1 => r#"{"priority":1,"is_held":true}"#,
        _ => r#"{"n_at_once_max":1,"job":"job"}"#,
    };
    serde_json::from_str(json).unwrap()
}
fn record() -> impl Strategy<Value = JournalRecord> {
    let number = 1..12_u64;
    let instance = 1..4_u32;
    prop_oneof![
        (1..20_u64, 1..5_u64, around_idx()).prop_map(|(first, n_tasks, around_idx)| {
            let work = SharedWork { title: None, words: "true".to_owned(), around_idx };
            JournalRecord::Submitted { first, n_tasks, at_ms: 1, work, array_first: None }
        }),
        (1..20_u64, 1..5_u64, 1..20_u64).prop_map(|(first, n_tasks, rules_first)| {
            let work = SharedWork { title: None, words: "true".to_owned(), around_idx: 0 };
            let failures = FailureRules { n_fails_max: Some(1), ..FailureRules::default() };
            let schedule = schedule(first);
            let submission = Submission { failures, schedule, ..submission(10) };
            let terms = Box::new(SubmissionTerms::of(rules_first, &submission).unwrap());
            let (at_ms, array) = (1, Some((first, 2)));
            JournalRecord::SubmittedWith { first, n_tasks, at_ms, work, array, terms }
        }),
        (number.clone(), 0..4_u64, any::<bool>()).prop_map(|(first, n, is_held)| {
            let last = first + n;
            match n {
                0 => JournalRecord::Unblocked { first, last: first + 9 },
                _ => JournalRecord::Held { first, last, is_held },
            }
        }),
        (number.clone(), instance.clone(), 0..2_u64).prop_map(|(number, instance, delay_ms)| {
            retried(number, Retry { n_failed: instance, instance, at_ms: 4, delay_ms })
        }),
        (number.clone(), instance.clone()).prop_map(|(n, instance)| failed(n, instance)),
        (number.clone(), 0..4_u64, any::<bool>()).prop_map(|(first, n_failed, is_stopped)| {
            let stopped_ms = is_stopped.then_some(6);
            JournalRecord::ArrayFailures { first, n_failed, stopped_ms }
        }),
        // A number may be redefined later, and two numbers may mean the same.
        (around_idx(), "[ab]").prop_map(|(idx, folder)| {
            let around = ExecContext::of(&Submission { folder, ..submission(1) });
            JournalRecord::Around { idx, around }
        }),
        (number.clone(), instance.clone()).prop_map(|(number, instance)| given(number, instance)),
        (number.clone(), instance.clone(), any::<bool>()).prop_map(|(number, instance, lost)| {
            let reason = if lost { Reason::Silent(OTHER) } else { Reason::Leaving };
            back(number, instance, reason)
        }),
        (number.clone(), instance.clone()).prop_map(|(number, instance)| started(number, instance)),
        (number.clone(), instance.clone()).prop_map(|(number, instance)| back(
            number,
            instance,
            Reason::NodeLost
        )),
        (number.clone(), 0..9_u32, 1..30_u64).prop_map(|(number, n_dropped, n_notes)| {
            let note = |at_ms| Note { at_ms, what: NotedEvent::Moved(OTHER) };
            JournalRecord::Story { number, n_dropped, notes: (0..n_notes).map(note).collect() }
        }),
        (number.clone(), instance.clone()).prop_map(|(n, instance)| ended(n, instance, "123")),
        (number.clone(), 0..5_u64).prop_map(|(first, n)| {
            JournalRecord::Canceled { first, last: first + n, at_ms: 2 }
        }),
        number.clone().prop_map(|number| JournalRecord::CancelWished { number, at_ms: 2 }),
        (number.clone(), 0..5_u64)
            .prop_map(|(first, n)| JournalRecord::Doubted { first, last: first + n }),
        Just(JournalRecord::Doubted { first: 1, last: u64::MAX }),
        (number.clone(), 0..9_u64)
            .prop_map(|(first, n)| JournalRecord::Settled { first, last: first + n }),
        Just(JournalRecord::Damaged { at_ms: 5, n_bytes: 6, n_missing: 7 }),
        (number, instance).prop_map(|(number, instance)| {
            let attempt = Attempt { task: TaskKey { home: OTHER, number }, instance };
            JournalRecord::Acknowledged(vec![attempt])
        }),
    ]
}

fn written_anew(book: &mut Book) -> Book {
    let mut again = Book::new(ME, book.limits);
    let mut snapshot = Vec::new();
    book.snapshot(|record| snapshot.push(record.clone()));
    for record in &snapshot {
        again.apply(record);
    }
    again
}

fn histories(book: &Book) -> Vec<(u64, (&[Note], u32))> {
    book.tasks_from(0).map(|(number, task)| (number, task.notes())).collect()
}

/// All that decides what happens next.
fn facts(book: &Book) -> String {
    let task = |(number, task): (u64, &Task)| {
        let n_lost = if task.is_over() { 0 } else { task.n_lost };
        let failed = if task.is_over() { Retry::default() } else { task.failed() };
        let failed = (failed, task.is_delayed);
        let state = (task.state, task.node(), task.instance, n_lost, task.is_uncertain, failed);
        let wished = task.is_cancel_requested && !task.is_over();
        let end = (wished, task.outcome().cloned(), task.output().cloned());
        let folder = &task.work.around.folder;
        format!("{number} {state:?} {end:?} {:?} {folder}\n", task.array_index())
    };
    let tasks = book.tasks_from(0).map(task).collect::<String>();
    // Of arrays without failures nothing is written down.
    let array =
        |(_, task): (u64, &Task)| book.tasks().arrays().get(task.work.terms.as_deref()).copied();
    let arrays = book.tasks_from(0).filter_map(array).filter(|array| 0 < array.n_failed);
    let arrays = arrays.collect::<Vec<_>>();
    format!("{tasks}{:?} {} {} {arrays:?}", book.leases, book.tasks().n_queued(), book.next)
}

proptest! {
    #[test]
    fn any_records_make_a_book_and_its_snapshot_makes_it_again(records in vec(record(), 0..60)) {
        let mut book = book(4);
        for record in &records {
            book.apply(record);
            if matches!(record, JournalRecord::Doubted { first: 1, last: u64::MAX }) {
                prop_assert_eq!(book.tasks().n_uncertain(), book.n_open());
            }
        }
        let n_queued = book.tasks_from(0).filter(|(_, task)| task.is_queued()).count() as u64;
        prop_assert_eq!(book.tasks().n_queued(), n_queued);
        let n_open = book.tasks_from(0).filter(|(_, task)| !task.is_over()).count() as u64;
        prop_assert_eq!(book.n_open(), n_open);
        indexes::check(&mut book, n_queued);

        let again = written_anew(&mut book);
        prop_assert_eq!(facts(&again), facts(&book));
        prop_assert_eq!(histories(&again), histories(&book));
    }
}
