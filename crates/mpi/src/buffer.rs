//! Memory that transfers in the background read and write: it belongs to the request until that is complete.

use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;

mod sealed {
    pub trait Sealed {}
}

/// Elements that stay where they are in memory when their owner is moved, and that nobody changes meanwhile.
pub trait Source<T>: sealed::Sealed + Send + 'static {
    /// The elements.
    fn elements(&self) -> &[T];
}

/// Some of the elements that several own.
#[derive(Clone, Debug)]
pub struct Share<T> {
    of: Arc<[T]>,
    range: Range<usize>,
}

impl<T> Share<T> {
    /// These elements of `of`, as many as there are of them.
    #[must_use]
    pub fn new(of: &Arc<[T]>, range: Range<usize>) -> Self {
        let end = range.end.min(of.len());
        Self { of: Arc::clone(of), range: range.start.min(end)..end }
    }
}

impl<T> sealed::Sealed for Vec<T> {}
impl<T> sealed::Sealed for Arc<[T]> {}
impl<T> sealed::Sealed for Arc<Vec<T>> {}
impl<T> sealed::Sealed for Share<T> {}

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

impl<T: Pod + Send + Sync> Source<T> for Share<T> {
    fn elements(&self) -> &[T] {
        self.of.get(self.range.clone()).unwrap_or_default()
    }
}
