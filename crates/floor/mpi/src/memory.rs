//! Memory that MPI reads and writes while the program continues.

use bytemuck::Pod;
use std::any::Any;
use std::sync::Arc;

/// Memory that MPI reads.
///
/// # Safety
/// Behind an [`Arc`], [`AsRef`] must return the same bytes on every call, and they must be neither changed nor moved.
pub unsafe trait StableBytes: AsRef<[u8]> + Send + Sync {}

/// Bytes that are only read and stay unchanged while they are held.
pub type SharedBuffer = Arc<dyn StableBytes>;

/// Memory that MPI writes to.
///
/// # Safety
/// [`AsMut`] must return the same bytes on every call. They must keep their address when the value is moved, and nothing
/// else may read or write them meanwhile.
pub unsafe trait Memory: AsMut<[u8]> + Send {
    /// Returns the value as its concrete type; for [`VecBuffer`] and [`ArcBuffer`], the contents.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// Elements in a vector.
#[derive(Clone, Debug)]
pub struct VecBuffer<T>(pub Vec<T>);

impl<T: Pod> AsRef<[u8]> for VecBuffer<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Pod> AsMut<[u8]> for VecBuffer<T> {
    fn as_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

// SAFETY: the elements are on the heap, and nothing changes them behind an `Arc`.
unsafe impl<T: Pod + Send + Sync> StableBytes for VecBuffer<T> {}

// SAFETY: the elements are on the heap, and this is their only owner.
unsafe impl<T: Pod + Send> Memory for VecBuffer<T> {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
}

/// Elements that are shared with readers. To be written, this must be their only owner.
#[derive(Clone, Debug)]
pub struct ArcBuffer<T>(Arc<[T]>);

impl<T: Pod> ArcBuffer<T> {
    /// Creates `n` zeros.
    pub fn zeros(n: usize) -> Self {
        Self(zeroed(n))
    }

    /// Shares these elements for reading.
    pub fn read(elements: &Arc<[T]>) -> Self {
        Self(Arc::clone(elements))
    }
}

impl<T: Pod> AsRef<[u8]> for ArcBuffer<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Pod> AsMut<[u8]> for ArcBuffer<T> {
    fn as_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(
            Arc::get_mut(&mut self.0).expect("memory that is written has one owner"),
        )
    }
}

// SAFETY: the elements are on the heap, and nothing changes them behind an `Arc`.
unsafe impl<T: Pod + Send + Sync> StableBytes for ArcBuffer<T> {}

// SAFETY: the elements are on the heap; `as_mut` gives them to their only owner, and no other is created while MPI has it.
unsafe impl<T: Pod + Send + Sync> Memory for ArcBuffer<T> {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
}

/// Returns `n` zeros, which cost nothing until they are used: the system provides pages when they are written to.
#[must_use]
pub fn zeroed<T: Pod>(n: usize) -> Arc<[T]> {
    let memory = Arc::<[T]>::new_zeroed_slice(n);
    // SAFETY: zeros are a value of any plain data.
    unsafe { memory.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_has_one_owner() {
        let mut memory = zeroed::<u16>(5);
        assert_eq!(*memory, [0; 5]);
        assert!(Arc::get_mut(&mut memory).is_some());
        assert!(zeroed::<f64>(0).is_empty());
    }
}
