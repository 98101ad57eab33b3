//! What waiting tasks of this node wait for: other tasks of it.
//!
//! A task that waits for others is *blocked* in the book until a record unblocks it. Here is kept how much is left for
//! each range of blocked tasks; it is found again from the book when the daemon starts.
//!
//! # Invariants
//! - A task is unblocked only when each task that it waits for has become what is asked for.
//! - A task of which nothing is known any more counts as one that has not: a user can release those that wait for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use task_api::{DependencyKind, TaskOutcome, TaskState};

use crate::book::{Book, Task};
use crate::interface::SubmissionTerms;

/// Most tasks of a range that are looked at for the one that is named.
const N_NAMED_MAX: usize = 10_000;

/// Ranges of consecutive numbers.
type Ranges = Vec<(u64, u64)>;

/// All that is waited for.
#[derive(Debug, Default)]
pub(super) struct Gates {
    gates: BTreeMap<u64, Gate>,
    /// Gates that wait for a single task, by its number.
    of_task: HashMap<u64, Vec<(u64, DependencyKind)>>,
    /// Gates that wait for ranges, by the first number.
    of_range: BTreeMap<u64, Vec<RangeWatch>>,
    open: BTreeSet<u64>,
    closed: BTreeSet<u64>,
}

/// Blocked tasks with consecutive numbers that wait for the same; the first number is its own.
#[derive(Debug)]
struct Gate {
    last: u64,
    /// Tasks that have not become what is asked for, counted once for each condition.
    n_left: u64,
}

#[derive(Debug)]
struct RangeWatch {
    last: u64,
    kind: DependencyKind,
    gate: u64,
    /// Tasks that are known to have started, where that is what is asked for: they may start again.
    started: BTreeSet<u64>,
}

/// Effect of what became of a task on those that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Open,
    Met,
    /// It can never be what is asked for.
    Unmet,
}

fn verdict(kind: DependencyKind, has_started: bool, outcome: Option<&TaskOutcome>) -> Verdict {
    let of = |is_met: bool| if is_met { Verdict::Met } else { Verdict::Unmet };
    match (kind, outcome) {
        (DependencyKind::Started, None) if has_started => Verdict::Met,
        (_, None) => Verdict::Open,
        (DependencyKind::Started, Some(outcome)) => {
            of(has_started
                || !matches!(outcome, TaskOutcome::Canceled | TaskOutcome::NotStarted(_)))
        }
        (DependencyKind::Ended, Some(_)) => Verdict::Met,
        (DependencyKind::Succeeded, Some(outcome)) => of(outcome.is_success()),
        (DependencyKind::Failed, Some(outcome)) => of(outcome.is_failure()),
    }
}

fn has_started(task: &Task) -> bool {
    task.state == TaskState::Running || task.started_ms().is_some()
}

/// Verdict about a task of the book.
fn verdict_of(book: &Book, number: u64, kind: DependencyKind) -> Verdict {
    match book.task(number) {
        Some(task) => verdict(kind, has_started(task), task.outcome()),
        None => verdict(kind, false, book.archive().outcome(number).as_ref()),
    }
}

impl Gates {
    /// Gates of all tasks of a book that are blocked.
    pub(super) fn of(book: &Book) -> Self {
        let mut gates = Self::default();
        let mut run = None::<(u64, u64, &SubmissionTerms)>;
        for (number, task) in book.tasks_from(0).filter(|(_, task)| task.is_blocked) {
            let Some(terms) = task.work.terms.as_deref().filter(|_| task.waits()) else { continue };
            run = match run {
                Some((first, last, known)) if std::ptr::eq(known, terms) && last + 1 == number => {
                    Some((first, number, terms))
                }
                before => {
                    before.into_iter().for_each(|it| gates.add(book, it));
                    Some((number, number, terms))
                }
            };
        }
        run.into_iter().for_each(|it| gates.add(book, it));
        gates
    }

    /// Adds blocked tasks of one submission with consecutive numbers.
    pub(super) fn add(&mut self, book: &Book, (first, last, terms): (u64, u64, &SubmissionTerms)) {
        if !terms.schedule.after.iter().any(|it| it.is_each) {
            return self.add_gate(book, (first, last), terms);
        }
        (first..=last).for_each(|number| self.add_gate(book, (number, number), terms));
    }

    fn add_gate(&mut self, book: &Book, (gate, last): (u64, u64), terms: &SubmissionTerms) {
        let mut n_left = 0;
        for (begin, end, kind) in terms.after(gate) {
            let mut watch = RangeWatch { last: end, kind, gate, started: BTreeSet::new() };
            let mut n_open = 0;
            for number in begin..=end {
                match verdict_of(book, number, kind) {
                    Verdict::Open => n_open += 1,
                    Verdict::Met => drop(watch.started.insert(number)),
                    Verdict::Unmet => drop(self.closed.insert(gate)),
                }
            }
            n_left += n_open;
            if n_open == 0 {
                continue;
            }
            if kind != DependencyKind::Started {
                watch.started.clear();
            }
            match begin == end {
                true => self.of_task.entry(begin).or_default().push((gate, kind)),
                false => self.of_range.entry(begin).or_default().push(watch),
            }
        }
        self.gates.insert(gate, Gate { last, n_left });
        if n_left == 0 {
            self.open.insert(gate);
        }
    }

    /// Notes that a task has started.
    pub(super) fn started(&mut self, number: u64) {
        self.became(number, true, None);
    }

    /// Notes that tasks have ended.
    pub(super) fn ended(&mut self, book: &Book, (first, last): (u64, u64), outcome: &TaskOutcome) {
        if self.gates.is_empty() {
            return;
        }
        for number in first..=last {
            let has_started = book.task(number).is_some_and(has_started);
            self.became(number, has_started, Some(outcome));
        }
    }

    fn became(&mut self, number: u64, has_started: bool, outcome: Option<&TaskOutcome>) {
        if self.gates.is_empty() {
            return;
        }
        let mut found = Vec::new();
        if let Some(watches) = self.of_task.get_mut(&number) {
            watches.retain(|(gate, kind)| {
                let verdict = verdict(*kind, has_started, outcome);
                found.push((*gate, verdict));
                verdict == Verdict::Open
            });
            if watches.is_empty() {
                self.of_task.remove(&number);
            }
        }
        for watch in self.of_range.range_mut(..=number).flat_map(|(_, watches)| watches) {
            if number <= watch.last {
                let verdict = verdict(watch.kind, has_started, outcome);
                let is_news = watch.kind != DependencyKind::Started
                    || verdict == Verdict::Open
                    || watch.started.insert(number);
                found.extend(is_news.then_some((watch.gate, verdict)));
            }
        }
        for (number, verdict) in found {
            let Some(gate) = self.gates.get_mut(&number) else { continue };
            match verdict {
                Verdict::Open => {}
                Verdict::Met => {
                    gate.n_left = gate.n_left.saturating_sub(1);
                    if gate.n_left == 0 {
                        self.open.insert(number);
                    }
                }
                Verdict::Unmet => drop(self.closed.insert(number)),
            }
        }
    }

    /// Ranges of tasks that wait for nothing any more, and of those that never can run.
    pub(super) fn take(&mut self) -> (Ranges, Ranges) {
        if self.open.is_empty() && self.closed.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let closed = std::mem::take(&mut self.closed);
        let open = std::mem::take(&mut self.open);
        let mut remove = |numbers: BTreeSet<u64>| -> Vec<(u64, u64)> {
            let gates = numbers.into_iter();
            gates.filter_map(|number| Some((number, self.gates.remove(&number)?.last))).collect()
        };
        let (closed, open) = (remove(closed), remove(open));
        let gates = &self.gates;
        self.of_range.retain(|_, watches| {
            watches.retain(|watch| gates.contains_key(&watch.gate));
            !watches.is_empty()
        });
        (open, closed)
    }

    /// Forgets what these tasks wait for.
    pub(super) fn forget(&mut self, first: u64, last: u64) {
        let gates = self.gates.extract_if(.., |gate, it| first <= *gate && it.last <= last);
        if 0 < gates.count() {
            let gates = &self.gates;
            self.of_range.retain(|_, watches| {
                watches.retain(|watch| gates.contains_key(&watch.gate));
                !watches.is_empty()
            });
        }
    }
}

/// The first of the tasks that a blocked task waits for that is not what is asked for, and whether it can never be.
pub(super) fn waits_for(
    book: &Book,
    number: u64,
    task: &Task,
) -> Option<(u64, DependencyKind, bool)> {
    let terms = task.work.terms.as_deref()?;
    let mut open = None;
    for (first, last, kind) in terms.after(number) {
        for other in (first..=last).take(N_NAMED_MAX) {
            match verdict_of(book, other, kind) {
                Verdict::Met => {}
                Verdict::Unmet => return Some((other, kind, true)),
                Verdict::Open => open = open.or(Some((other, kind, false))),
            }
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: DependencyKind, started: bool, outcome: Option<TaskOutcome>, expected: Verdict) {
        assert_eq!(verdict(kind, started, outcome.as_ref()), expected, "{kind:?} {outcome:?}");
    }

    #[test]
    fn each_kind_asks_for_something_else() {
        use DependencyKind::{Ended, Failed, Started, Succeeded};
        for kind in [Started, Succeeded, Ended, Failed] {
            check(kind, false, None, Verdict::Open);
        }
        check(Started, true, None, Verdict::Met);
        check(Ended, true, None, Verdict::Open);
        let exit = |code| Some(TaskOutcome::Exit(code));
        check(Succeeded, true, exit(0), Verdict::Met);
        check(Succeeded, true, exit(1), Verdict::Unmet);
        check(Failed, true, exit(0), Verdict::Unmet);
        check(Failed, true, exit(1), Verdict::Met);
        check(Ended, false, Some(TaskOutcome::Canceled), Verdict::Met);
        check(Succeeded, false, Some(TaskOutcome::Canceled), Verdict::Unmet);
        check(Started, false, Some(TaskOutcome::Canceled), Verdict::Unmet);
        check(Started, false, exit(1), Verdict::Met);
    }
}
