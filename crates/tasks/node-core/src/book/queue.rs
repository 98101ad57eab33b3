//! Order of the tasks that wait: by priority, then by turns among submissions, then as they were submitted.
//!
//! Tasks that ask for the same of a node are a *class*: when the node has no room for one of them, it has none for any. In
//! a class, submissions take turns: the tasks of an array or a named job are a *flow*, and all single tasks are one. Each
//! flow has a virtual time that grows by the cores of each task that leaves it, and the flow that is behind is next
//! (start-time fair queueing; Goyal, Vin, Cheng, 1996). In a flow, tasks that are expected to run longer go first, since
//! what is left at the end is then short; each fourth time it is the oldest one, so that none waits for ever.
//!
//! # Invariants
//! - An entry of a task that no longer waits is skipped, so that removing costs nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use task_api::Demand;

use crate::attempt::Work;

/// Of so many tasks that leave a flow, one is the oldest.
const N_TURNS: u64 = 4;
/// Flow of all tasks that were submitted alone.
const SINGLE: u64 = 0;
/// Bit of the flows of named jobs.
const OF_JOB: u64 = 1 << 63;

/// Queue of waiting tasks.
#[derive(Debug, Default)]
pub(super) struct Queue {
    classes: BTreeMap<ClassKey, Class>,
    n_queued: u64,
    /// Virtual time of the flow that was served last.
    clock: u64,
}

/// Tasks that ask for the same, with the same priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassKey {
    priority: Reverse<i32>,
    demand: Option<Arc<Demand>>,
}

#[derive(Debug, Default)]
struct Class {
    flows: BTreeMap<u64, Flow>,
    /// Virtual times of the flows with their numbers.
    order: BTreeSet<(u64, u64)>,
    n_queued: u64,
}

#[derive(Debug, Default)]
struct Flow {
    lines: BTreeMap<LineKey, Line>,
    time: u64,
    n_served: u64,
    n_queued: u64,
}

/// Expected time, the longest first, and the number of the submission's first task, where it has a line of its own.
type LineKey = (Reverse<u64>, u64);

#[derive(Debug, Default)]
struct Line {
    spans: Spans,
    n_queued: u64,
}

/// Place of a task in the queue.
#[derive(Clone, Debug)]
pub(super) struct Place {
    class: ClassKey,
    flow: u64,
    line: LineKey,
    cost: u64,
}

/// Class of the tasks that wait.
#[derive(Clone, Copy, Debug)]
pub struct QueuedClass<'a> {
    /// What each of the tasks asks for; `None` for one core.
    pub demand: Option<&'a Demand>,
    /// Number of the tasks.
    pub n_tasks: u64,
}

impl Place {
    /// Place of the tasks of a work, which are expected to run for so long.
    pub(super) fn of(work: &Work, expect_ms: Option<u64>) -> Self {
        let Some(terms) = work.terms.as_ref() else {
            let class = ClassKey { priority: Reverse(0), demand: None };
            return Self { class, flow: SINGLE, line: (Reverse(0), SINGLE), cost: 1 };
        };
        let is_single = terms.first == terms.last;
        let job = terms.schedule.job.as_ref().map(|job| {
            let mut hasher = DefaultHasher::new();
            job.hash(&mut hasher);
            hasher.finish() | OF_JOB
        });
        let first = if is_single { SINGLE } else { terms.first };
        let line = if terms.schedule.n_at_once_max.is_some() { terms.first } else { first };
        Self {
            class: ClassKey {
                priority: Reverse(terms.schedule.priority),
                demand: work.class.clone(),
            },
            flow: job.unwrap_or(first),
            line: (Reverse(expect_ms.unwrap_or(0)), line),
            cost: work.demand.as_ref().map_or(1, |demand| demand.cpus_min().max(1).into()),
        }
    }
}

impl Queue {
    /// Number of waiting tasks.
    pub(super) fn n_queued(&self) -> u64 {
        self.n_queued
    }

    /// Classes with waiting tasks, those of high priority first.
    pub(super) fn classes(&self) -> impl Iterator<Item = QueuedClass<'_>> {
        self.classes.iter().map(|(key, class)| QueuedClass {
            demand: key.demand.as_deref(),
            n_tasks: class.n_queued,
        })
    }

    /// Appends new tasks behind the others of their line.
    pub(super) fn push_back(&mut self, place: &Place, first: u64, last: u64) {
        let n_tasks = last - first + 1;
        self.line_with(place, n_tasks).spans.push_back(first, last);
    }

    /// Puts a task that had left back before the others of its line; with `is_returned`, its turn is given back too.
    pub(super) fn push_front(&mut self, place: &Place, number: u64, is_returned: bool) {
        self.line_with(place, 1).spans.push_front(number);
        if is_returned && let Some(class) = self.classes.get_mut(&place.class) {
            class.move_flow(place.flow, |time| time.saturating_sub(place.cost));
        }
    }

    /// Notes that one of the tasks no longer waits; with `is_served`, because its turn came.
    pub(super) fn left(&mut self, place: &Place, is_served: bool) {
        let Some(class) = self.classes.get_mut(&place.class) else { return };
        let Some(flow) = class.flows.get_mut(&place.flow) else { return };
        let Some(line) = flow.lines.get_mut(&place.line) else { return };
        self.n_queued -= 1;
        class.n_queued -= 1;
        flow.n_queued -= 1;
        line.n_queued -= 1;
        if line.n_queued == 0 {
            flow.lines.remove(&place.line);
        }
        if is_served {
            flow.n_served += 1;
            self.clock = self.clock.max(flow.time);
            class.move_flow(place.flow, |time| time.saturating_add(place.cost));
        }
        if class.flows.get(&place.flow).is_some_and(|flow| flow.n_queued == 0)
            && let Some(flow) = class.flows.remove(&place.flow)
        {
            class.order.remove(&(flow.time, place.flow));
        }
        if class.n_queued == 0 {
            self.classes.remove(&place.class);
        }
    }

    /// First task in order for whose class `fits` holds, and whose submission may have more tasks run: `is_full` tells of
    /// the number of a line's submission whether it may not. `is_queued` tells whether a task waits.
    pub(super) fn next(
        &mut self,
        is_queued: &impl Fn(u64) -> bool,
        fits: &impl Fn(Option<&Demand>) -> bool,
        is_full: &impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let mut best = None::<(Reverse<i32>, u64, u64)>;
        for (key, class) in &mut self.classes {
            if best.is_some_and(|(priority, ..)| priority < key.priority) {
                break;
            }
            if !fits(key.demand.as_deref()) {
                continue;
            }
            if let Some((time, number)) = class.next(is_queued, is_full) {
                let found = (key.priority, time, number);
                best = Some(best.map_or(found, |best| best.min(found)));
            }
        }
        best.map(|(.., number)| number)
    }

    /// Moves the line of a submission to its new place, since its tasks are expected to run for another time.
    pub(super) fn moved(&mut self, from: &Place, to: &Place) {
        let class = self.classes.get_mut(&from.class);
        if let Some(flow) = class.and_then(|class| class.flows.get_mut(&from.flow))
            && !flow.lines.contains_key(&to.line)
            && let Some(line) = flow.lines.remove(&from.line)
        {
            flow.lines.insert(to.line, line);
        }
    }

    fn line_with(&mut self, place: &Place, n_tasks: u64) -> &mut Line {
        self.n_queued += n_tasks;
        let class = self.classes.entry(place.class.clone()).or_default();
        class.n_queued += n_tasks;
        let clock = self.clock;
        let order = &mut class.order;
        let flow = class.flows.entry(place.flow).or_insert_with(|| {
            order.insert((clock, place.flow));
            Flow { time: clock, ..Flow::default() }
        });
        flow.n_queued += n_tasks;
        let line = flow.lines.entry(place.line).or_default();
        line.n_queued += n_tasks;
        line
    }
}

impl Class {
    fn move_flow(&mut self, number: u64, change: impl FnOnce(u64) -> u64) {
        if let Some(flow) = self.flows.get_mut(&number) {
            self.order.remove(&(flow.time, number));
            flow.time = change(flow.time);
            self.order.insert((flow.time, number));
        }
    }

    /// First task in order, with the virtual time of its flow.
    fn next(
        &mut self,
        is_queued: &impl Fn(u64) -> bool,
        is_full: &impl Fn(u64) -> bool,
    ) -> Option<(u64, u64)> {
        let flows = &mut self.flows;
        let mut in_order = self.order.iter();
        in_order.find_map(|(time, number)| {
            let flow = flows.get_mut(number)?;
            flow.next(is_queued, is_full).map(|number| (*time, number))
        })
    }
}

impl Flow {
    fn next(
        &mut self,
        is_queued: &impl Fn(u64) -> bool,
        is_full: &impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let lines = self.lines.iter_mut().filter(|((_, first), _)| !is_full(*first));
        let mut fronts = lines.filter_map(|(_, line)| line.spans.next(is_queued));
        if self.n_served % N_TURNS == N_TURNS - 1 { fronts.min() } else { fronts.next() }
    }
}

/// Numbers of tasks as ranges: an array of a million is one entry.
#[derive(Debug, Default)]
struct Spans(VecDeque<(u64, u64)>);

impl Spans {
    fn push_back(&mut self, first: u64, last: u64) {
        match self.0.back_mut() {
            Some((_, end)) if first.checked_sub(1) == Some(*end) => *end = last,
            _ => self.0.push_back((first, last)),
        }
    }

    fn push_front(&mut self, number: u64) {
        match self.0.front_mut() {
            Some((begin, _)) if begin.checked_sub(1) == Some(number) => *begin = number,
            _ => self.0.push_front((number, number)),
        }
    }

    /// First number for which `is_queued`; entries before it are dropped, its own stays.
    fn next(&mut self, is_queued: impl Fn(u64) -> bool) -> Option<u64> {
        while let Some((first, last)) = self.0.front_mut() {
            if is_queued(*first) {
                return Some(*first);
            }
            if *first == *last {
                self.0.pop_front();
            } else {
                *first += 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::SubmissionTerms;
    use std::collections::BTreeSet;
    use task_api::{Resources, Submission};

    /// Queue whose tasks are known to wait.
    #[derive(Default)]
    struct Trial {
        queue: Queue,
        waiting: BTreeSet<u64>,
        places: BTreeMap<u64, Place>,
        next: u64,
    }

    impl Trial {
        fn submit(&mut self, n_tasks: u64, change: impl FnOnce(&mut Submission)) -> u64 {
            let first = self.next + 1;
            let array = (n_tasks != 1).then(|| task_api::ArrayIndices::range(1, n_tasks));
            let mut submission = Submission { array, ..Submission::default() };
            change(&mut submission);
            let terms = SubmissionTerms::of(first, &submission).map(Arc::new);
            let work = Work::new(&submission, Arc::default()).with_terms(terms);
            let place =
                Place::of(&work, work.terms.as_ref().and_then(|terms| terms.demand.expect_ms));
            self.next += n_tasks;
            self.queue.push_back(&place, first, self.next);
            self.waiting.extend(first..=self.next);
            self.places.extend((first..=self.next).map(|number| (number, place.clone())));
            first
        }

        fn take_if(&mut self, fits: impl Fn(Option<&Demand>) -> bool) -> Option<u64> {
            let waiting = &self.waiting;
            let number = self.queue.next(&|number| waiting.contains(&number), &fits, &|_| false)?;
            self.waiting.remove(&number);
            self.queue.left(&self.places[&number], true);
            Some(number)
        }

        fn take(&mut self, n: usize) -> Vec<u64> {
            (0..n).filter_map(|_| self.take_if(|_| true)).collect()
        }
    }

    #[test]
    fn single_tasks_go_in_order_and_those_that_came_back_go_first() {
        let mut trial = Trial::default();
        (0..4).for_each(|_| assert!(0 < trial.submit(1, |_| {})));
        assert_eq!(trial.take(2), [1, 2]);
        let place = trial.places[&1].clone();
        trial.queue.push_front(&place, 1, true);
        trial.waiting.insert(1);
        assert_eq!((trial.queue.n_queued(), trial.take(9)), (3, vec![1, 3, 4]));
        assert_eq!(trial.queue.n_queued(), 0);
    }

    #[test]
    fn arrays_take_turns() {
        let mut trial = Trial::default();
        trial.submit(100, |_| {});
        assert_eq!(trial.take(3), [1, 2, 3]);
        assert_eq!(trial.submit(3, |_| {}), 101);
        let single = trial.submit(1, |_| {});
        assert_eq!(trial.take(7), [single, 101, 4, 102, 5, 103, 6]);
        assert_eq!(trial.take(2), [7, 8]);
    }

    #[test]
    fn what_is_urgent_goes_first() {
        let mut trial = Trial::default();
        trial.submit(2, |_| {});
        trial.submit(2, |it| it.schedule.priority = 5);
        trial.submit(1, |it| it.schedule.priority = -1);
        assert_eq!(trial.take(9), [3, 4, 1, 2, 5]);
    }

    #[test]
    fn what_does_not_fit_is_passed() {
        let mut trial = Trial::default();
        let large = vec![Resources { cpus: 4, ..Resources::default() }];
        trial.submit(2, |it| it.demand.variants = large);
        trial.submit(2, |_| {});
        let taken = (0..3).map(|_| trial.take_if(|demand| demand.is_none()));
        assert_eq!(taken.collect::<Vec<_>>(), [Some(3), Some(4), None]);
        assert_eq!(trial.take(9), [1, 2]);
    }

    #[test]
    fn the_longest_of_a_job_goes_first_and_the_oldest_in_turn() {
        let mut trial = Trial::default();
        for expect_ms in [1, 5, 2, 9, 3, 7] {
            trial.submit(1, |it| {
                it.demand.expect_ms = Some(expect_ms);
                it.schedule.job = Some("graph".to_owned());
            });
        }
        assert_eq!(trial.take(9), [4, 6, 2, 1, 5, 3]);
    }

    #[test]
    fn a_line_that_is_full_is_passed() {
        let mut trial = Trial::default();
        let first = trial.submit(3, |it| it.schedule.n_at_once_max = Some(1));
        trial.submit(1, |_| {});
        let waiting = trial.waiting.clone();
        let is_queued = |number| waiting.contains(&number);
        let next = trial.queue.next(&is_queued, &|_| true, &|line| line == first);
        assert_eq!(next, Some(4));
    }
}
