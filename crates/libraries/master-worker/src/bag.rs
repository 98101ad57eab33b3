//! A bag of tasks that make further tasks: searches of trees, refinement where it is needed.
//!
//! A worker that has done its tasks goes on with those that they made, for a short time; what is left then comes to the
//! master, which deals it to all. So short tasks cost few messages, and all workers have work soon.

use crate::{Error, Hint, Iteration, Options, Program, outcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Time after which a worker returns the tasks that were made and not done.
const SLICE: Duration = Duration::from_millis(2);

/// Tasks that a task makes.
#[derive(Debug)]
pub struct Bag<T> {
    made: Vec<(T, i32)>,
}

impl<T> Bag<T> {
    /// Adds a task.
    pub fn add(&mut self, task: T) {
        self.add_with_priority(task, 0);
    }

    /// Adds a task with this priority: of the tasks that wait, higher ones come first, on their worker and among those
    /// that the master has. That of other tasks is 0.
    pub fn add_with_priority(&mut self, task: T, priority: i32) {
        self.made.push((task, priority));
    }
}

/// Applies a function to tasks, and to those that it adds to its bag, on all ranks, until none is left. Returns the results
/// depth first: a task's own, then those of the tasks that it made, in the order in which it did. So they are the same on
/// any number of ranks. `None` on the ranks of workers.
///
/// ```
/// use master_worker::{Bag, Options, bag};
///
/// // Ways to place 6 queens; a task is the columns of those in the first rows.
/// let place = |queens: Vec<i8>, bag: &mut Bag<Vec<i8>>| {
///     let row = queens.len() as i8;
///     let is_free = |column: i8| (0..row).zip(&queens).all(|(at, other)| {
///         column != *other && (column - *other).abs() != row - at
///     });
///     (0..6).filter(|column| is_free(*column)).for_each(|column| {
///         bag.add(queens.iter().copied().chain([column]).collect());
///     });
///     u64::from(row == 6)
/// };
/// let ways = bag(vec![vec![]], Options::new(), place)?;
/// assert_eq!(ways.map(|ways| ways.into_iter().sum()), Some(4_u64));
/// # Ok::<(), master_worker::Error>(())
/// ```
///
/// The master keeps a result of every task until the end: where only a sum is wanted, let a task do all that is small
/// itself.
///
/// # Errors
/// As for [`run`](crate::run()).
pub fn bag<T, R, F>(first: Vec<T>, options: Options, function: F) -> Result<Option<Vec<R>>, Error>
where
    T: Serialize + DeserializeOwned + Clone + Send,
    R: Serialize + DeserializeOwned + Clone + Send,
    F: Fn(T, &mut Bag<T>) -> R + Clone + Send,
{
    let n_first = first.len();
    let tree = Tree { nodes: first.iter().map(|_| None).collect(), n_first };
    let waiting = |(node, task)| Some(Waiting { task, priority: 0, node });
    let waiting = first.into_iter().enumerate().map(|(node, task)| waiting((node, task)));
    let program = Search { function, waiting: waiting.collect(), tree };
    let outcome = outcome(program, options)?;
    Ok(outcome.map(|outcome| outcome.program.tree.into_results()))
}

/// Task that no worker has returned.
#[derive(Clone)]
struct Waiting<T> {
    task: T,
    priority: i32,
    /// Position of its result.
    node: usize,
}

#[derive(Clone)]
struct Search<T, R, F> {
    function: F,
    /// Tasks by their numbers; `None` for those that are done.
    waiting: Vec<Option<Waiting<T>>>,
    tree: Tree<R>,
}

/// Result of a task, and where those of the tasks are that it made.
#[derive(Clone, Serialize, Deserialize)]
struct Node<R> {
    result: R,
    made: Range<usize>,
}

/// What a worker did: its tasks, then those that they made.
#[derive(Serialize, Deserialize)]
struct Visited<T, R> {
    /// `None` for those that are not done.
    nodes: Vec<Option<Node<R>>>,
    /// Tasks that are not done, with their position and priority.
    left: Vec<(usize, i32, T)>,
}

impl<T, R, F> Program for Search<T, R, F>
where
    T: Serialize + DeserializeOwned + Clone + Send,
    R: Serialize + DeserializeOwned + Clone + Send,
    F: Fn(T, &mut Bag<T>) -> R + Clone + Send,
{
    type Shared = ();
    type Input = Vec<T>;
    type Output = Visited<T, R>;

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration == 0).then(|| Iteration::new(self.waiting.len() as u64, ()))
    }

    fn n_arrived(&self) -> Option<u64> {
        Some(self.waiting.len() as u64)
    }

    fn hints(&self, arrived: Range<u64>) -> Vec<Hint> {
        let start = arrived.start;
        let waiting = (start..).zip(&self.waiting[places(&arrived)]);
        let urgent = waiting.filter_map(|(number, waiting)| {
            let priority = waiting.as_ref()?.priority;
            (priority != 0).then(|| Hint::new(number..number + 1).priority(priority))
        });
        urgent.collect()
    }

    fn input(&self, tasks: Range<u64>) -> Vec<T> {
        let waiting = self.waiting[places(&tasks)].iter();
        waiting.flatten().map(|waiting| waiting.task.clone()).collect()
    }

    fn work(&self, _shared: &(), _tasks: Range<u64>, input: Vec<T>) -> Visited<T, R> {
        let until = Instant::now() + SLICE;
        let mut visit = Visit::of(&self.function);
        let n_given = input.len();
        visit.nodes.extend((0..n_given).map(|_| None));
        visit.made.extend((0..n_given).map(|_| None));
        input.into_iter().enumerate().for_each(|(at, task)| visit.do_task(at, task));
        while let Some((priority, at)) = visit.order.pop() {
            let Some(task) = visit.made[at].take() else { continue };
            if until <= Instant::now() {
                visit.made[at] = Some(task);
                visit.order.push((priority, at));
                break;
            }
            visit.do_task(at, task);
        }
        visit.ended()
    }

    fn recover(&mut self, tasks: Range<u64>, visited: Visited<T, R>) {
        let done = self.waiting[places(&tasks)].iter_mut().filter_map(Option::take);
        let given: Vec<usize> = done.map(|waiting| waiting.node).collect();
        let n_given = given.len();
        let n_before = self.tree.nodes.len();
        let of_all = |at: usize| given.get(at).copied().unwrap_or(n_before + at - n_given);
        self.tree.nodes.resize_with(n_before + visited.nodes.len() - n_given, || None);
        for (at, node) in visited.nodes.into_iter().enumerate() {
            let made = |at: usize| n_before + at - n_given;
            self.tree.nodes[of_all(at)] =
                node.map(|Node { result, made: Range { start, end } }| Node {
                    result,
                    made: made(start)..made(end),
                });
        }
        let left = visited.left.into_iter();
        let waiting = |(at, priority, task)| Some(Waiting { task, priority, node: of_all(at) });
        self.waiting.extend(left.map(waiting));
    }
}

/// Tasks that a worker does one after the other.
struct Visit<'a, T, R, F> {
    function: &'a F,
    nodes: Vec<Option<Node<R>>>,
    /// Tasks that were made and are not done, each at the position of its node.
    made: Vec<Option<T>>,
    /// Priorities and positions of these: of equal ones the last made comes next, so that few wait.
    order: BinaryHeap<(i32, usize)>,
}

impl<'a, T, R, F: Fn(T, &mut Bag<T>) -> R> Visit<'a, T, R, F> {
    fn of(function: &'a F) -> Self {
        Self { function, nodes: Vec::new(), made: Vec::new(), order: BinaryHeap::new() }
    }

    fn do_task(&mut self, at: usize, task: T) {
        let mut bag = Bag { made: Vec::new() };
        let result = (self.function)(task, &mut bag);
        let start = self.nodes.len();
        for (task, priority) in bag.made {
            self.order.push((priority, self.nodes.len()));
            self.nodes.push(None);
            self.made.push(Some(task));
        }
        self.nodes[at] = Some(Node { result, made: start..self.nodes.len() });
    }

    fn ended(mut self) -> Visited<T, R> {
        // In the order in which they were made: consecutive tasks are dealt together.
        let mut left: Vec<_> =
            self.order.into_iter().map(|(priority, at)| (at, priority)).collect();
        left.sort_unstable();
        let left = left
            .into_iter()
            .filter_map(|(at, priority)| self.made[at].take().map(|task| (at, priority, task)));
        Visited { left: left.collect(), nodes: self.nodes }
    }
}

/// Results of all tasks, and which task made which.
#[derive(Clone)]
struct Tree<R> {
    nodes: Vec<Option<Node<R>>>,
    n_first: usize,
}

impl<R> Tree<R> {
    fn into_results(mut self) -> Vec<R> {
        let mut results = Vec::with_capacity(self.nodes.len());
        let mut next: Vec<usize> = (0..self.n_first).rev().collect();
        while let Some(at) = next.pop() {
            if let Some(Node { result, made }) = self.nodes[at].take() {
                results.push(result);
                next.extend(made.rev());
            }
        }
        results
    }
}

#[expect(clippy::cast_possible_truncation, reason = "tasks are places in a vector")]
fn places(tasks: &Range<u64>) -> Range<usize> {
    tasks.start as usize..tasks.end as usize
}
