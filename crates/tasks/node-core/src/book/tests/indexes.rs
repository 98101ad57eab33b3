//! What a book finds without looking at all tasks is what it would find so.

use crate::book::{Book, Task};
use task_api::TaskOutcome;

/// Checks the queue and the sets of tasks, of which so many are queued.
#[track_caller]
pub(super) fn check(book: &mut Book, n_queued: u64) {
    // A queued task may have to wait until others of its submission have ended.
    let is_bounded = |task: &Task| {
        task.work.terms.as_ref().is_some_and(|terms| terms.schedule.n_at_once_max.is_some())
    };
    let n_free = book.tasks_from(0).filter(|(_, it)| it.is_queued() && !is_bounded(it)).count();
    let has_next = book.next_queued(|_| true).is_some();
    assert!(!has_next || 0 < n_queued);
    assert!(has_next || n_free == 0);
    let active = book.tasks().active(0..=u64::MAX).map(|(number, _)| number);
    let are_active = book.tasks_from(0).filter(|(_, task)| task.is_active());
    assert!(active.eq(are_active.map(|(number, _)| number)));
    let failed = book.tasks().failed(0..=u64::MAX).map(|(number, _)| number);
    let have_failed =
        book.tasks_from(0).filter(|(_, it)| it.outcome().is_some_and(TaskOutcome::is_failure));
    assert!(failed.eq(have_failed.map(|(number, _)| number)));
    let n_uncertain = book.tasks_from(0).filter(|(_, task)| task.is_uncertain).count() as u64;
    assert_eq!(book.tasks().n_uncertain(), n_uncertain);
}
