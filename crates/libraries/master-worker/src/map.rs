//! The simplest program: one function applied to many items.

use crate::{Error, Iteration, Options, Program, outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::Arc;

/// Applies a function to every item, on all ranks, and returns the results in the order of the items; `None` on
/// the ranks of workers.
///
/// ```
/// use master_worker::{Options, map};
///
/// let squares = map((1..=5).collect(), Options::new(), |item: u64| item * item)?;
/// assert_eq!(squares, Some(vec![1, 4, 9, 16, 25]));
/// # Ok::<(), master_worker::Error>(())
/// ```
///
/// # Errors
/// As for [`run`](crate::run()).
pub fn map<I, R, F>(items: Vec<I>, options: Options, function: F) -> Result<Option<Vec<R>>, Error>
where
    I: Serialize + DeserializeOwned + Clone + Send + Sync,
    R: Serialize + DeserializeOwned + Clone + Send,
    F: Fn(I) -> R + Clone + Send,
{
    let results = vec![None; items.len()];
    let program = Map { items: Arc::new(items), function, results };
    let outcome = outcome(program, options)?;
    // Every task is recovered before a run ends without an error.
    Ok(outcome.map(|outcome| outcome.program.results.into_iter().flatten().collect()))
}

#[derive(Clone)]
struct Map<I, R, F> {
    items: Arc<Vec<I>>,
    function: F,
    results: Vec<Option<R>>,
}

impl<I, R, F> Program for Map<I, R, F>
where
    I: Serialize + DeserializeOwned + Clone + Send + Sync,
    R: Serialize + DeserializeOwned + Clone + Send,
    F: Fn(I) -> R + Clone + Send,
{
    type Shared = ();
    type Input = Vec<I>;
    type Output = Vec<R>;

    fn next(&mut self, iteration: u64) -> Option<Iteration<()>> {
        (iteration == 0).then(|| Iteration::new(self.items.len() as u64, ()))
    }

    fn input(&self, tasks: Range<u64>) -> Vec<I> {
        self.items[places(&tasks)].to_vec()
    }

    fn work(&self, _shared: &(), _tasks: Range<u64>, input: Vec<I>) -> Vec<R> {
        input.into_iter().map(&self.function).collect()
    }

    fn recover(&mut self, tasks: Range<u64>, output: Vec<R>) {
        for (place, result) in self.results[places(&tasks)].iter_mut().zip(output) {
            *place = Some(result);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "tasks are places in a vector")]
fn places(tasks: &Range<u64>) -> Range<usize> {
    tasks.start as usize..tasks.end as usize
}
