//! Slots: objects of the program's state, independent of their types.

use bytemuck::Pod;
use std::sync::Arc;

pub use mpi::{Memory, SharedBuffer, StableBytes};

/// Allocates memory for a number of elements, on any thread.
pub type Allocate = Box<dyn FnOnce(usize) -> Box<dyn Memory> + Send>;

/// Array object of the state.
pub trait Slot {
    /// Size of an element, in bytes.
    fn element_bytes(&self) -> usize;
    /// Present number of elements.
    fn n_elements(&self) -> usize;
    /// Lends the contents. Variable ones come back when the slot is dropped, unless it got new contents.
    fn lend(&mut self) -> SharedBuffer;
    /// Returns an allocator of memory for this slot, with any number of elements.
    fn allocator(&self) -> Allocate;
    /// Replaces the contents by `memory`, which must come from this slot's allocator.
    fn put(&mut self, memory: Box<dyn Memory>);
}

/// Array with the lengths of rows.
pub trait RowLengths: Slot {
    /// Present lengths.
    fn lengths(&self) -> &[u32];
}

/// Replicated object of the state: its bytes are copied.
pub trait ReplicatedBytes {
    /// Size of an element in bytes, and whether the number of elements may vary.
    fn form(&self) -> (usize, bool);
    /// Present bytes.
    fn bytes(&self) -> &[u8];
    /// Replaces the bytes.
    fn put(&mut self, bytes: &[u8]);
}

/// Replicated object with a single value.
pub(crate) struct Single<'a, T>(pub(crate) &'a mut T);

impl<T: Pod> ReplicatedBytes for Single<'_, T> {
    fn form(&self) -> (usize, bool) {
        (size_of::<T>(), false)
    }

    fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self.0)
    }

    fn put(&mut self, bytes: &[u8]) {
        bytemuck::bytes_of_mut(self.0).copy_from_slice(bytes);
    }
}

impl<T: Pod> ReplicatedBytes for &mut Vec<T> {
    fn form(&self) -> (usize, bool) {
        (size_of::<T>(), true)
    }

    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.resize(bytes.len() / size_of::<T>().max(1), T::zeroed());
        bytemuck::cast_slice_mut(self).copy_from_slice(bytes);
    }
}

/// Array shared with its readers.
pub(crate) struct SharedArray<'a, T>(pub(crate) &'a mut Arc<[T]>);

impl<T: Pod + Send + Sync> Slot for SharedArray<'_, T> {
    fn element_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn n_elements(&self) -> usize {
        self.0.len()
    }

    fn lend(&mut self) -> SharedBuffer {
        Arc::new(mpi::ArcBuffer::read(self.0))
    }

    fn allocator(&self) -> Allocate {
        Box::new(|n_elements| Box::new(mpi::ArcBuffer::<T>::zeros(n_elements)))
    }

    fn put(&mut self, memory: Box<dyn Memory>) {
        *self.0 = *memory.into_any().downcast().expect("the memory was allocated here");
    }
}

impl RowLengths for SharedArray<'_, u32> {
    fn lengths(&self) -> &[u32] {
        self.0
    }
}

/// Array owned by the state. Lent contents come back at the latest when this is dropped.
pub(crate) struct Own<'a, T: Pod> {
    array: &'a mut Vec<T>,
    lent: Option<Arc<mpi::VecBuffer<T>>>,
}

impl<'a, T: Pod> Own<'a, T> {
    pub(crate) const fn of(array: &'a mut Vec<T>) -> Self {
        Self { array, lent: None }
    }
}

impl<T: Pod> Drop for Own<'_, T> {
    fn drop(&mut self) {
        if let Some(lent) = self.lent.take() {
            // If they are still being sent, the sender keeps them and the state gets a copy.
            *self.array = Arc::try_unwrap(lent).map_or_else(|lent| lent.0.clone(), |own| own.0);
        }
    }
}

impl<T: Pod + Send + Sync> Slot for Own<'_, T> {
    fn element_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn n_elements(&self) -> usize {
        self.array.len()
    }

    fn lend(&mut self) -> SharedBuffer {
        let lent = self.lent.insert(Arc::new(mpi::VecBuffer(std::mem::take(self.array))));
        Arc::<mpi::VecBuffer<T>>::clone(lent)
    }

    fn allocator(&self) -> Allocate {
        Box::new(|n_elements| Box::new(mpi::VecBuffer(vec![T::zeroed(); n_elements])))
    }

    fn put(&mut self, memory: Box<dyn Memory>) {
        self.lent = None;
        *self.array = *memory.into_any().downcast().expect("the memory was allocated here");
    }
}

impl RowLengths for Own<'_, u32> {
    fn lengths(&self) -> &[u32] {
        self.lent.as_ref().map_or(self.array, |lent| &lent.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_comes_back() {
        let mut rows = vec![1_u16, 2, 3];
        let kept = Own::of(&mut rows).lend();
        assert_eq!((*kept).as_ref().len(), 6);
        assert_eq!(rows, [1, 2, 3]);
        drop(Own::of(&mut rows).lend());
        assert_eq!(rows, [1, 2, 3]);
    }

    #[test]
    fn new_contents_replace_what_is_lent() {
        let mut rows = vec![1_u16, 2, 3];
        let mut place = Own::of(&mut rows);
        let lent = place.lend();
        let mut memory = place.allocator()(2);
        memory.as_mut().as_mut().copy_from_slice(&[7, 0, 8, 0]);
        place.put(memory);
        drop((place, lent));
        assert_eq!(rows, [7, 8]);
    }

    #[test]
    fn constants_stay_while_they_are_lent() {
        let mut rows: Arc<[u8]> = [1, 2].into();
        let mut place = SharedArray(&mut rows);
        let lent = place.lend();
        let mut memory = place.allocator()(1);
        memory.as_mut().as_mut()[0] = 9;
        place.put(memory);
        assert_eq!((&*rows, (*lent).as_ref()), (&[9][..], &[1, 2][..]));
    }

    #[test]
    fn words_are_copied() {
        let (mut value, mut list) = (5_u32, vec![1_u8]);
        Single(&mut value).put(&7_u32.to_ne_bytes());
        let mut words = &mut list;
        ReplicatedBytes::put(&mut words, &[3, 4]);
        assert_eq!((words.form(), value, list), ((1, true), 7, vec![3, 4]));
    }
}
