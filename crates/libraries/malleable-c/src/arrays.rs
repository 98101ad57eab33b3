//! Values and arrays of the program, as objects of its state.
//!
//! # Invariants
//! - An array behind a pointer is freed once: by the library when a resize replaced it and it is no longer being sent,
//!   else by the program.
//! - Such an array that no resize replaced belongs to the program again, at the same address unless it is still being
//!   sent.
//! - An array in a container is the container's: it is read, resized and filled.

use crate::abi::malleable_container;
use crate::memory::Array;
use malleable::places::{Allocate, Memory, ReplicatedBytes, RowLengths, SharedBuffer, Slot};
use std::ptr;
use std::sync::Arc;

/// Where the program keeps an array.
#[derive(Clone, Copy)]
enum Place {
    /// Behind a pointer, at this address: null, or from `malloc`.
    Pointer(*mut *mut u8),
    /// In a container.
    Container(malleable_container),
}

/// Array of the program.
pub(crate) struct ProgramArray {
    place: Place,
    element_bytes: usize,
    is_constant: bool,
    /// Constant array that was lent: it is sent while the program computes.
    lent: Option<Arc<Array>>,
    /// Number of elements after a resize.
    pub(crate) n_come: Option<usize>,
}

impl ProgramArray {
    fn new(place: Place, element_bytes: usize, is_constant: bool) -> Self {
        Self { place, element_bytes, is_constant, lent: None, n_come: None }
    }

    /// # Safety
    /// The program keeps a pointer at `at` as long as the library may read it: null, or one from `malloc`.
    pub(crate) unsafe fn behind(at: *mut *mut u8, element_bytes: usize, is_constant: bool) -> Self {
        Self::new(Place::Pointer(at), element_bytes, is_constant)
    }

    /// # Safety
    /// The functions do what the header says for this container, as long as the library may call them.
    pub(crate) unsafe fn contained(functions: malleable_container, is_constant: bool) -> Self {
        Self::new(Place::Container(functions), functions.element_bytes, is_constant)
    }

    pub(crate) fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    fn start(&self) -> *mut u8 {
        match self.place {
            // SAFETY: by the condition of `behind`; the address may be aligned only for another type of pointer.
            Place::Pointer(at) => unsafe { at.read_unaligned() },
            Place::Container(malleable_container { container, start, .. }) => {
                // SAFETY: by the condition of `contained`.
                start.map_or(ptr::null_mut(), |start| unsafe { start(container) }.cast())
            }
        }
    }

    /// Number of elements: of a container as it says; behind a pointer there are `n_said`.
    fn n_elements(&self, n_said: usize) -> usize {
        match self.place {
            Place::Pointer(_) => n_said,
            Place::Container(malleable_container { container, length, .. }) => {
                // SAFETY: by the condition of `contained`.
                length.map_or(0, |length| unsafe { length(container) })
            }
        }
    }

    /// Returns the array for a resize point, where the program says that there are `n_said` elements.
    pub(crate) fn slot(&mut self, n_said: usize) -> Foreign<'_> {
        let n_elements = self.n_elements(n_said);
        Foreign { n_elements, array: self }
    }

    /// Number of entries in all of `n_rows` rows of these lengths.
    pub(crate) fn sum(&mut self, n_rows: usize) -> usize {
        self.slot(n_rows).lengths().iter().map(|length| *length as usize).sum()
    }

    /// Gives a lent array that was not replaced back to the program.
    pub(crate) fn give_back(&mut self) {
        let Some(lent) = self.lent.take() else { return };
        let Place::Pointer(at) = self.place else { return };
        let start = match Arc::try_unwrap(lent) {
            Ok(array) => array.into_raw(),
            Err(lent) => Array::copy_of(&lent).into_raw(),
        };
        // SAFETY: by the condition of `behind`.
        unsafe { at.write_unaligned(start) }
    }

    /// Replaces the present array, of `n_bytes` bytes.
    fn replace(&mut self, mut array: Array, n_bytes: usize) {
        let n_come = array.n_bytes() / self.element_bytes.max(1);
        let was_lent = self.lent.take().is_some();
        self.n_come = Some(n_come);
        match self.place {
            Place::Pointer(at) => {
                if !was_lent {
                    // SAFETY: this is the array being replaced, which the program gave up by registering it.
                    drop(unsafe { Array::adopt(self.start(), n_bytes) });
                }
                // SAFETY: by the condition of `behind`.
                unsafe { at.write_unaligned(array.into_raw()) }
            }
            Place::Container(malleable_container { container, resize, .. }) => {
                // SAFETY: by the condition of `contained`.
                let start = resize.map(|resize| unsafe { resize(container, n_come) });
                let start = start.unwrap_or(ptr::null_mut()).cast();
                // SAFETY: the container has room for so many elements now.
                let mut room = unsafe { Array::borrow(start, array.n_bytes()) };
                assert_eq!(room.n_bytes(), array.n_bytes(), "a container has no room for its rows");
                room.as_mut().copy_from_slice(array.as_mut());
            }
        }
    }
}

/// Array during a resize point.
pub(crate) struct Foreign<'a> {
    n_elements: usize,
    array: &'a mut ProgramArray,
}

impl Foreign<'_> {
    fn n_bytes(&self) -> usize {
        self.n_elements * self.array.element_bytes
    }
}

impl Slot for Foreign<'_> {
    fn element_bytes(&self) -> usize {
        self.array.element_bytes
    }

    fn n_elements(&self) -> usize {
        self.n_elements
    }

    fn lend(&mut self) -> SharedBuffer {
        let (start, n_bytes) = (self.array.start(), self.n_bytes());
        let is_same = |lent: &Arc<Array>| lent.start() == start && lent.n_bytes() == n_bytes;
        if let Some(lent) = self.array.lent.as_ref().filter(|lent| is_same(lent)) {
            return Arc::<Array>::clone(lent);
        }
        let array = match self.array.place {
            // SAFETY: the program states that `n_elements` elements lie there; it gets them back when this ends.
            Place::Pointer(_) => unsafe { Array::adopt(start, n_bytes) },
            // SAFETY: the container has them until it is resized, which happens once they are no longer read.
            Place::Container(..) => unsafe { Array::borrow(start, n_bytes) },
        };
        let lent = self.array.lent.insert(Arc::new(array));
        Arc::<Array>::clone(lent)
    }

    fn allocator(&self) -> Allocate {
        let element_bytes = self.array.element_bytes;
        Box::new(move |n_elements| Box::new(Array::zeros(n_elements * element_bytes)))
    }

    fn put(&mut self, memory: Box<dyn Memory>) {
        let array = memory.into_any().downcast::<Array>().expect("the memory was allocated here");
        let n_bytes = self.n_bytes();
        self.array.replace(*array, n_bytes);
        self.n_elements = self.array.n_come.unwrap_or(0);
    }
}

impl RowLengths for Foreign<'_> {
    fn lengths(&self) -> &[u32] {
        let start = self.array.start().cast::<u32>();
        if start.is_null() || self.n_elements == 0 {
            return &[];
        }
        // SAFETY: the program has a length for each of its rows there, and does not run meanwhile.
        unsafe { std::slice::from_raw_parts(start, self.n_elements) }
    }
}

impl Drop for Foreign<'_> {
    fn drop(&mut self) {
        if !self.array.is_constant {
            self.array.give_back();
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
