//! Values and arrays of the program, as objects of its state.
//!
//! # Invariants
//! - An array is freed once: by the library when a resize replaced it and it is no longer being sent, else by the
//!   program.
//!  - An array that no resize replaced belongs to the program again, at the same address unless it is still being sent.

use crate::memory::Array;
use malleable::places::{Allocate, Memory, ReplicatedBytes, SharedBuffer, Slot};
use std::sync::Arc;

/// Address of the program's pointer to an array, and the size of its elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerSlot {
    /// Address of the pointer.
    at: *mut *mut u8,
    element_bytes: usize,
}

impl PointerSlot {
    /// # Safety
    /// The program keeps a pointer there as long as the library may read it: null, or one from `malloc`.
    pub(crate) unsafe fn new(at: *mut *mut u8, element_bytes: usize) -> Self {
        Self { at, element_bytes }
    }

    pub(crate) fn get(self) -> *mut u8 {
        // SAFETY: by the condition of `new`; the address may be aligned only for another type of pointer.
        unsafe { self.at.read_unaligned() }
    }

    pub(crate) fn set(self, start: *mut u8) {
        // SAFETY: as above.
        unsafe { self.at.write_unaligned(start) }
    }
}

/// State of an array from one resize point to the next.
#[derive(Default)]
pub(crate) struct ArrayState {
    /// Constant array that was lent: it is sent while the program computes.
    lent: Option<Arc<Array>>,
    /// Number of elements after a resize.
    pub(crate) n_come: Option<usize>,
}

impl ArrayState {
    /// Gives a lent array that was not replaced back to the program.
    pub(crate) fn give_back(&mut self, place: PointerSlot) {
        let Some(lent) = self.lent.take() else { return };
        match Arc::try_unwrap(lent) {
            Ok(array) => place.set(array.into_raw()),
            Err(lent) => place.set(Array::copy_of(&lent).into_raw()),
        }
    }
}

/// Array during a resize point.
pub(crate) struct Foreign<'a> {
    place: PointerSlot,
    n_elements: usize,
    is_constant: bool,
    kept: &'a mut ArrayState,
}

impl<'a> Foreign<'a> {
    /// Wraps the array of a place, which has `n_elements` elements.
    pub(crate) fn new(
        place: PointerSlot,
        n_elements: usize,
        is_constant: bool,
        kept: &'a mut ArrayState,
    ) -> Self {
        Self { place, n_elements, is_constant, kept }
    }
}

impl Slot for Foreign<'_> {
    fn element_bytes(&self) -> usize {
        self.place.element_bytes
    }

    fn n_elements(&self) -> usize {
        self.n_elements
    }

    fn lend(&mut self) -> SharedBuffer {
        let (start, n_bytes) = (self.place.get(), self.n_elements * self.place.element_bytes);
        let is_same = |lent: &Arc<Array>| lent.start() == start && lent.n_bytes() == n_bytes;
        if let Some(lent) = self.kept.lent.as_ref().filter(|lent| is_same(lent)) {
            return Arc::<Array>::clone(lent);
        }
        // SAFETY: the program states that `n_elements` elements lie there; it gets them back when this ends.
        let array = Arc::new(unsafe { Array::adopt(start, n_bytes) });
        let lent = self.kept.lent.insert(array);
        Arc::<Array>::clone(lent)
    }

    fn allocator(&self) -> Allocate {
        let element_bytes = self.place.element_bytes;
        Box::new(move |n_elements| Box::new(Array::zeros(n_elements * element_bytes)))
    }

    fn put(&mut self, memory: Box<dyn Memory>) {
        let array = memory.into_any().downcast::<Array>().expect("the memory was allocated here");
        if self.kept.lent.take().is_none() {
            let n_bytes = self.n_elements * self.place.element_bytes;
            // SAFETY: this is the array being replaced, which the program gave up by registering it.
            drop(unsafe { Array::adopt(self.place.get(), n_bytes) });
        }
        let n_come = array.n_bytes() / self.place.element_bytes.max(1);
        (self.kept.n_come, self.n_elements) = (Some(n_come), n_come);
        self.place.set(array.into_raw());
    }
}

impl Drop for Foreign<'_> {
    fn drop(&mut self) {
        if !self.is_constant {
            self.kept.give_back(self.place);
        }
    }
}

/// Value of the program, which every rank has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramValue {
    start: *mut u8,
    n_bytes: usize,
}

impl ProgramValue {
    /// # Safety
    /// `start` points to `n_bytes` bytes of the program as long as the library may access them.
    pub(crate) unsafe fn new(start: *mut u8, n_bytes: usize) -> Self {
        Self { start, n_bytes }
    }
}

impl ReplicatedBytes for ProgramValue {
    fn form(&self) -> (usize, bool) {
        (self.n_bytes, false)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: by the condition of `new`; the program does not run meanwhile.
        unsafe { std::slice::from_raw_parts(self.start, self.n_bytes) }
    }

    fn put(&mut self, bytes: &[u8]) {
        // SAFETY: as above.
        let own = unsafe { std::slice::from_raw_parts_mut(self.start, self.n_bytes) };
        own.copy_from_slice(bytes);
    }
}
