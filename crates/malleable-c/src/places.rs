//! Values and arrays of the program, as places of its state.
//!
//! # Invariants
//! - An array is freed once: by the library when a change of the size replaced it and nobody sends it any more, else by
//!   the program.
//! - What no change replaced is the program's own again, at the same address unless somebody still sends it.

use crate::memory::Array;
use malleable::places::{Allocate, Lent, Memory, Slot, Words};
use std::sync::Arc;

/// A pointer of the program to an array, and how large elements are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Where the pointer is.
    at: *mut *mut u8,
    element_bytes: usize,
}

impl Place {
    /// # Safety
    /// The program keeps a pointer there as long as the library may look: null, or one from `malloc`.
    pub(crate) unsafe fn new(at: *mut *mut u8, element_bytes: usize) -> Self {
        Self { at, element_bytes }
    }

    pub(crate) fn get(self) -> *mut u8 {
        // SAFETY: by the condition of `new`; the program may have it aligned for another type of pointer only.
        unsafe { self.at.read_unaligned() }
    }

    pub(crate) fn set(self, start: *mut u8) {
        // SAFETY: as above.
        unsafe { self.at.write_unaligned(start) }
    }
}

/// What is known of an array from one resize point to the next.
#[derive(Default)]
pub(crate) struct Kept {
    /// A constant that was lent: it travels while the program computes.
    lent: Option<Arc<Array>>,
    /// Elements that came with a change of the size.
    pub(crate) n_come: Option<usize>,
}

impl Kept {
    /// Gives back to the program what was lent and is not replaced.
    pub(crate) fn give_back(&mut self, place: Place) {
        let Some(lent) = self.lent.take() else { return };
        match Arc::try_unwrap(lent) {
            Ok(array) => place.set(array.into_raw()),
            Err(lent) => place.set(Array::copy_of(&lent).into_raw()),
        }
    }
}

/// An array during a resize point.
pub(crate) struct Foreign<'a> {
    place: Place,
    n_elements: usize,
    is_constant: bool,
    kept: &'a mut Kept,
}

impl<'a> Foreign<'a> {
    /// The array of a place, which has so many elements.
    pub(crate) fn new(
        place: Place,
        n_elements: usize,
        is_constant: bool,
        kept: &'a mut Kept,
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

    fn lend(&mut self) -> Lent {
        let (start, n_bytes) = (self.place.get(), self.n_elements * self.place.element_bytes);
        let is_same = |lent: &Arc<Array>| lent.start() == start && lent.n_bytes() == n_bytes;
        if let Some(lent) = self.kept.lent.as_ref().filter(|lent| is_same(lent)) {
            return Arc::<Array>::clone(lent);
        }
        // SAFETY: so many elements lie there, as the program says; it gets them back when this ends.
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
            // SAFETY: the array that is replaced, which the program has given up by registering it.
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

/// A value of the program, which every rank has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    start: *mut u8,
    n_bytes: usize,
}

impl Value {
    /// # Safety
    /// So many bytes of the program lie there as long as the library may look.
    pub(crate) unsafe fn new(start: *mut u8, n_bytes: usize) -> Self {
        Self { start, n_bytes }
    }
}

impl Words for Value {
    fn form(&self) -> (usize, bool) {
        (self.n_bytes, false)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: by the condition of `new`; the program does nothing meanwhile.
        unsafe { std::slice::from_raw_parts(self.start, self.n_bytes) }
    }

    fn put(&mut self, bytes: &[u8]) {
        // SAFETY: as above.
        let own = unsafe { std::slice::from_raw_parts_mut(self.start, self.n_bytes) };
        own.copy_from_slice(bytes);
    }
}
