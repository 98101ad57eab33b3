//! Memory used by background transfers: it belongs to the request until that is complete.

use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;

mod sealed {
    pub trait Sealed {}
}

/// Elements whose address does not change when their owner is moved, and which do not change during a
/// transfer.
pub trait Source<T>: sealed::Sealed + Send + 'static {
    /// Returns the elements.
    fn elements(&self) -> &[T];
}

/// A range of shared elements.
#[derive(Clone, Debug)]
pub struct SharedSlice<T> {
    of: Arc<[T]>,
    range: Range<usize>,
}

impl<T> SharedSlice<T> {
    /// Creates a share of these elements of `of`, cut off at its end.
    #[must_use]
    pub fn new(of: &Arc<[T]>, range: Range<usize>) -> Self {
        let end = range.end.min(of.len());
        Self { of: Arc::clone(of), range: range.start.min(end)..end }
    }
}

impl<T> sealed::Sealed for Vec<T> {}
impl<T> sealed::Sealed for Arc<[T]> {}
impl<T> sealed::Sealed for Arc<Vec<T>> {}
impl<T> sealed::Sealed for SharedSlice<T> {}

impl<T: Pod + Send> Source<T> for Vec<T> {
    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Pod + Send + Sync> Source<T> for Arc<[T]> {
    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Pod + Send + Sync> Source<T> for Arc<Vec<T>> {
    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Pod + Send + Sync> Source<T> for SharedSlice<T> {
    fn elements(&self) -> &[T] {
        self.of.get(self.range.clone()).unwrap_or_default()
    }
}
