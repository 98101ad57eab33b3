//! The iterations up to the next look, as tools outside see them, and the size that one of them wishes.

/// The present stretch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    is_open: bool,
    wished: Option<u32>,
}

impl Stretch {
    /// So many iterations follow with nothing on its way, whose time tells what the size is worth.
    pub(super) fn start(&mut self, iteration: u64, n_iterations: u32, size: u32) {
        let wished = resize_points::start(iteration, u64::from(n_iterations), size);
        self.is_open = true;
        self.wished = Some(wished).filter(|wished| *wished != size);
    }

    /// They are over, if there were any.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            resize_points::end();
        }
    }

    /// A size that a tool wishes.
    pub(super) fn take_wish(&mut self) -> Option<u32> {
        self.wished.take()
    }
}
