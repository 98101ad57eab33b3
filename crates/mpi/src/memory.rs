//! Memory that MPI reads and writes while the program goes on.

use bytemuck::Pod;
use std::any::Any;
use std::sync::Arc;

/// Memory that MPI reads.
///
/// # Safety
/// Behind an [`Arc`], [`AsRef`] gives the same bytes whenever it is asked, and nobody changes them or moves them.
pub unsafe trait Steady: AsRef<[u8]> + Send + Sync {}

/// Bytes that are read and not changed as long as somebody holds them.
pub type Lent = Arc<dyn Steady>;

/// Memory that MPI writes to.
///
/// # Safety
/// [`AsMut`] gives the same bytes whenever it is asked. They stay where they are when it moves, and nobody else reads or writes
/// them meanwhile.
pub unsafe trait Memory: AsMut<[u8]> + Send {
    /// As what it is: of [`Own`] and [`Shared`], what is inside.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// Elements in a vector.
#[derive(Clone, Debug)]
pub struct Own<T>(pub Vec<T>);

impl<T: Pod> AsRef<[u8]> for Own<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Pod> AsMut<[u8]> for Own<T> {
    fn as_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

// SAFETY: the elements are on the heap, and nothing changes them behind an `Arc`.
unsafe impl<T: Pod + Send + Sync> Steady for Own<T> {}

// SAFETY: the elements are on the heap, and it is their only owner.
unsafe impl<T: Pod + Send> Memory for Own<T> {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
}

/// Elements that are shared with those who read them. To be written, it has to be their only owner.
#[derive(Clone, Debug)]
pub struct Shared<T>(Arc<[T]>);

impl<T: Pod> Shared<T> {
    /// So many zeros.
    pub fn zeros(n: usize) -> Self {
        Self(crate::zeroed(n))
    }

    /// To be read.
    pub fn read(elements: &Arc<[T]>) -> Self {
        Self(Arc::clone(elements))
    }
}

impl<T: Pod> AsRef<[u8]> for Shared<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Pod> AsMut<[u8]> for Shared<T> {
    fn as_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(
            Arc::get_mut(&mut self.0).expect("memory that is written has one owner"),
        )
    }
}

// SAFETY: the elements are on the heap, and nothing changes them behind an `Arc`.
unsafe impl<T: Pod + Send + Sync> Steady for Shared<T> {}

// SAFETY: the elements are on the heap; `as_mut` gives them to their only owner, and none comes to be while MPI has it.
unsafe impl<T: Pod + Send + Sync> Memory for Shared<T> {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
}
