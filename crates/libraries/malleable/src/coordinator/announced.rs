//! The iterations up to the next check as outside tools see them, and the size that a tool requests.

use crate::resize_points;

/// Iterations up to the next check.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnnouncedIterations {
    is_open: bool,
    requested: Option<u32>,
}

impl AnnouncedIterations {
    /// Announces that `n_iterations` undisturbed iterations follow, whose time shows the performance of
    /// the size.
    pub(super) fn start(&mut self, iteration: u64, n_iterations: u32, size: u32) {
        let requested = resize_points::start(iteration, u64::from(n_iterations), size);
        self.is_open = true;
        self.requested = Some(requested).filter(|requested| *requested != size);
    }

    /// Ends the announced iterations, if there are any.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            resize_points::end();
        }
    }

    /// Takes the size that a tool requested.
    pub(super) fn take_requested(&mut self) -> Option<u32> {
        self.requested.take()
    }
}
