//! Functions whose entries and exits are events.
//!
//! They only run the given code: tools measure there, and make changes.

use super::Variables;
use points::set;
use std::hint::black_box;

/// Runs an iteration of the master.
pub(crate) fn iteration(number: u64, n_tasks: u64, inside: &mut dyn FnMut()) {
    set(Variables::mw_iteration_number(), number);
    set(Variables::mw_n_tasks_total(), n_tasks);
    mw_iteration(inside);
}

/// Runs the computing of a chunk on a worker.
pub(crate) fn work(number: u64, batch: u32, n_tasks: u64, inside: &mut dyn FnMut()) {
    set(Variables::mw_iteration_number(), number);
    set(Variables::mw_batch(), u64::from(batch));
    set(Variables::mw_n_tasks(), n_tasks);
    mw_work(inside);
}

/// Runs the master's sending of a chunk.
pub(crate) fn send(worker: u32, batch: u32, n_tasks: u64, inside: &mut dyn FnMut()) {
    message(worker, batch, n_tasks);
    mw_send(inside);
}

/// Marks that the master has received the results of a chunk.
pub(crate) fn received(worker: u32, batch: u32, n_tasks: u64) {
    message(worker, batch, n_tasks);
    mw_receive();
}

/// Runs the master's making of a new batch; `inside` returns its number of chunks.
pub(crate) fn new_batch(batch: u32, inside: &mut dyn FnMut() -> u64) {
    set(Variables::mw_batch(), u64::from(batch));
    mw_new_batch(inside);
}

fn message(worker: u32, batch: u32, n_tasks: u64) {
    set(Variables::mw_worker(), u64::from(worker));
    set(Variables::mw_batch(), u64::from(batch));
    set(Variables::mw_n_tasks(), n_tasks);
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
        set(Variables::mw_n_chunks(), inside());
        black_box("new batch");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use points::get;

    #[test]
    fn values_are_there_inside() {
        let mut seen = None;
        iteration(3, 90, &mut || {
            work(3, 2, 10, &mut || {
                let inside = [
                    Variables::mw_iteration_number(),
                    Variables::mw_n_tasks_total(),
                    Variables::mw_batch(),
                    Variables::mw_n_tasks(),
                ];
                seen = Some(inside.map(get));
            });
        });
        assert_eq!(seen, Some([3, 90, 2, 10]));
        new_batch(1, &mut || 5);
        assert_eq!(get(Variables::mw_n_chunks()), 5);
    }
}
