//! Functions whose entries and exits are events.
//!
//! They only run the given code: tools measure there, and make changes.

use crate::Variable;
use std::hint::black_box;

/// Runs an iteration of the master.
pub fn iteration(number: u64, n_tasks: u64, inside: &mut dyn FnMut()) {
    Variable::Iteration.set(number);
    Variable::TasksTotal.set(n_tasks);
    mw_iteration(inside);
}

/// Runs the computing of a chunk on a worker.
pub fn work(number: u64, batch: u32, n_tasks: u64, inside: &mut dyn FnMut()) {
    Variable::Iteration.set(number);
    Variable::Batch.set(u64::from(batch));
    Variable::Tasks.set(n_tasks);
    mw_work(inside);
}

/// Runs the master's sending of a chunk.
pub fn send(worker: u32, batch: u32, n_tasks: u64, inside: &mut dyn FnMut()) {
    message(worker, batch, n_tasks);
    mw_send(inside);
}

/// Marks that the master has received the results of a chunk.
pub fn received(worker: u32, batch: u32, n_tasks: u64) {
    message(worker, batch, n_tasks);
    mw_receive();
}

/// Runs the master's making of a new batch; `inside` returns its number of chunks.
pub fn new_batch(batch: u32, inside: &mut dyn FnMut() -> u64) {
    Variable::Batch.set(u64::from(batch));
    mw_new_batch(inside);
}

fn message(worker: u32, batch: u32, n_tasks: u64) {
    Variable::Worker.set(u64::from(worker));
    Variable::Batch.set(u64::from(batch));
    Variable::Tasks.set(n_tasks);
}

points::functions! {
    fn mw_iteration(inside: &mut dyn FnMut()) {
        inside();
        black_box("iteration");
    }
    fn mw_work(inside: &mut dyn FnMut()) {
        inside();
        black_box("work");
    }
    fn mw_send(inside: &mut dyn FnMut()) {
        inside();
        black_box("send");
    }
    fn mw_receive() {
        black_box("receive");
    }
    fn mw_new_batch(inside: &mut dyn FnMut() -> u64) {
        Variable::Chunks.set(inside());
        black_box("new batch");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_there_inside() {
        let mut seen = None;
        iteration(3, 90, &mut || {
            work(3, 2, 10, &mut || {
                let inside = [Variable::Iteration, Variable::TasksTotal, Variable::Batch];
                seen = Some((inside.map(Variable::get), Variable::Tasks.get()));
            });
        });
        assert_eq!(seen, Some(([3, 90, 2], 10)));
        new_batch(1, &mut || 5);
        assert_eq!(Variable::Chunks.get(), 5);
    }
}
