//! Shared memory filled with zeros, whose pages are not touched yet.

use bytemuck::Pod;
use std::sync::Arc;

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
