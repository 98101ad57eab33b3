//! Elements as MPI counts them: by an `int`, and in a datatype of their width.
//!
//! What is only moved goes as unsigned integers of its width, bit by bit. More elements than an `int` counts become one
//! datatype that holds them all; whoever receives them may count them otherwise, since only their number and their kind
//! must agree. Tried with 2³¹ + 1000 bytes in Open MPI 4 and 5 and in MPICH 4 and 5.
//!
//! # Invariants
//! - A datatype of many elements is freed when [`Elements`] is dropped; MPI keeps it for transfers under way.

use crate::calls::{Mpi, value};
use crate::functions::Handle;
use crate::{MpiError, Number};
use bytemuck::Pod;
use mpi_abi::Constants;
use std::ffi::{c_int, c_void};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// So many of a datatype.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) n: c_int,
    pub(crate) datatype: Handle,
    /// Whether the datatype was made for them.
    is_made: bool,
    mpi: &'a Mpi,
}

impl Mpi {
    /// Counts above this one go as one datatype or in pieces: 2³¹ - 1, unless a test says less. All ranks say the same.
    pub fn set_count_max(&self, n_elements: i32) {
        self.count_max.store(n_elements.max(1), Ordering::Relaxed);
    }

    /// The largest count that a call is given.
    pub(crate) fn count_max(&self) -> usize {
        usize::try_from(self.count_max.load(Ordering::Relaxed)).unwrap_or(1)
    }

    /// `n` elements of type `T`.
    pub(crate) fn elements<T: Pod>(&self, n: usize) -> Result<Elements<'_>, MpiError> {
        let datatype = self.datatype_of_width(size_of::<T>())?;
        match c_int::try_from(n) {
            Ok(n) if n <= self.count_max.load(Ordering::Relaxed) => {
                Ok(Elements { n, datatype, is_made: false, mpi: self })
            }
            _ => {
                let datatype = self.many(n, datatype, size_of::<T>())?;
                Ok(Elements { n: 1, datatype, is_made: true, mpi: self })
            }
        }
    }

    /// The predefined datatype of numbers.
    pub(crate) fn datatype_of<T: Number>(&self) -> Result<Handle, MpiError> {
        value(self.library.datatype(T::KIND))
    }

    /// A datatype of so many bytes.
    pub(crate) fn datatype_of_width(&self, n_bytes: usize) -> Result<Handle, MpiError> {
        let kind = match n_bytes {
            1 => mpi_abi::Number::U8,
            2 => mpi_abi::Number::U16,
            4 => mpi_abi::Number::U32,
            8 => mpi_abi::Number::U64,
            _ => return self.made_of_bytes(n_bytes),
        };
        value(self.library.datatype(kind))
    }

    fn made_of_bytes(&self, n_bytes: usize) -> Result<Handle, MpiError> {
        let mut made = self.elements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(datatype) = made.get(&n_bytes) {
            return Ok(*datatype);
        }
        let mut datatype = self.contiguous(n_bytes, self.byte)?;
        self.commit(&mut datatype)?;
        made.insert(n_bytes, datatype);
        Ok(datatype)
    }

    /// A datatype of so many bytes side by side, however many they are.
    pub(crate) fn contiguous_bytes(&self, n_bytes: usize) -> Result<Handle, MpiError> {
        match c_int::try_from(n_bytes) {
            Ok(n) if n <= self.count_max.load(Ordering::Relaxed) => {
                self.contiguous(n_bytes, self.byte)
            }
            _ => self.many(n_bytes, self.byte, 1),
        }
    }

    /// `n` of `datatype`, which is `n_bytes` wide, as one datatype: blocks as long as counts may be, and the rest.
    fn many(&self, n: usize, datatype: Handle, n_bytes: usize) -> Result<Handle, MpiError> {
        let n_in_block = self.count_max();
        let mut block = self.contiguous(n_in_block, datatype)?;
        let parts = self.contiguous(n % n_in_block, datatype).and_then(|rest| {
            Ok([(0, self.contiguous(n / n_in_block, block)?), (n - n % n_in_block, rest)])
        });
        self.free_datatype(&mut block)?;
        let parts = parts?.map(|(start, part)| (start * n_bytes, part));
        let made = self.joined(&parts);
        for (_, mut part) in parts {
            self.free_datatype(&mut part)?;
        }
        let mut made = made?;
        self.commit(&mut made)?;
        Ok(made)
    }

    /// `n` elements that begin `start` elements behind the start of the memory.
    pub(crate) fn placed<T: Pod>(&self, start: usize, n: usize) -> Result<Handle, MpiError> {
        let (width, datatype) = (size_of::<T>(), self.datatype_of_width(size_of::<T>())?);
        let mut part = self.many(n, datatype, width)?;
        let placed = self.joined(&[(start * width, part)]);
        self.free_datatype(&mut part)?;
        let mut placed = placed?;
        self.commit(&mut placed)?;
        Ok(placed)
    }

    fn contiguous(&self, n: usize, datatype: Handle) -> Result<Handle, MpiError> {
        let n = c_int::try_from(n).map_err(|_| MpiError::TooLong { n_bytes: n })?;
        let mut made: Handle = 0;
        // SAFETY: a datatype of the library or of ours, and room for a handle.
        let code = unsafe { (self.types.contiguous)(n, datatype, &raw mut made) };
        self.check("MPI_Type_contiguous", code)?;
        Ok(made)
    }

    /// One datatype of others, each with the place in bytes where it begins.
    pub(crate) fn joined(&self, parts: &[(usize, Handle)]) -> Result<Handle, MpiError> {
        let n = c_int::try_from(parts.len()).map_err(|_| MpiError::TooLong { n_bytes: 0 })?;
        let lengths = vec![1; parts.len()];
        let places: Vec<isize> = parts.iter().map(|(start, _)| start.cast_signed()).collect();
        let datatypes = Handles::of(self.constants, parts.iter().map(|(_, datatype)| *datatype));
        let (mut made, datatypes): (Handle, _) = (0, datatypes.as_ptr());
        let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
        // SAFETY: lists of `n` lengths, places and datatypes as wide as the library's, and room for a handle.
        let code =
            unsafe { (self.types.create_struct)(n, lengths, places, datatypes, &raw mut made) };
        self.check("MPI_Type_create_struct", code)?;
        Ok(made)
    }

    pub(crate) fn commit(&self, datatype: &mut Handle) -> Result<(), MpiError> {
        // SAFETY: a datatype that was just made.
        let code = unsafe { (self.types.commit)(datatype) };
        self.check("MPI_Type_commit", code)
    }

    pub(crate) fn free_datatype(&self, datatype: &mut Handle) -> Result<(), MpiError> {
        // SAFETY: a datatype of ours that is used no more; what was made of it and what is under way lives on.
        let code = unsafe { (self.types.free)(datatype) };
        self.check("MPI_Type_free", code)
    }
}

/// Where elements to be read begin. Nothing begins somewhere as well: an empty slice of bytes may begin at 1, which is
/// `MPI_IN_PLACE` in some libraries.
pub(crate) fn start_of<T>(values: &[T]) -> *const c_void {
    static NOTHING: u64 = 0;
    if values.is_empty() { (&raw const NOTHING).cast() } else { values.as_ptr().cast() }
}

/// Where elements to be written begin; another place for nothing, since the two must not be one.
pub(crate) fn start_of_room<T>(values: &mut [T]) -> *mut c_void {
    static NOTHING: u64 = 0;
    let nothing = (&raw const NOTHING).cast_mut().cast();
    if values.is_empty() { nothing } else { values.as_mut_ptr().cast() }
}

/// Handles side by side, as the library reads them.
#[derive(Debug)]
pub(crate) enum Handles {
    Narrow(Vec<u32>),
    Wide(Vec<Handle>),
}

impl Handles {
    /// A list of handles as wide as those of the library with these constants.
    pub(crate) fn of(constants: &Constants, handles: impl Iterator<Item = Handle>) -> Self {
        if constants.handle_bytes == size_of::<u32>() {
            Self::Narrow(handles.map(lower_half).collect())
        } else {
            Self::Wide(handles.collect())
        }
    }

    pub(crate) fn as_ptr(&self) -> *const c_void {
        match self {
            Self::Narrow(handles) => handles.as_ptr().cast(),
            Self::Wide(handles) => handles.as_ptr().cast(),
        }
    }
}

impl Elements<'_> {
    /// The datatype that was made, whose end is now looked after elsewhere.
    pub(crate) fn keep(mut self) -> Option<Handle> {
        let is_made = std::mem::take(&mut self.is_made);
        is_made.then_some(self.datatype)
    }
}

impl Drop for Elements<'_> {
    fn drop(&mut self) {
        if self.is_made {
            let mut datatype = self.datatype;
            // There is nobody to tell; the end of MPI frees it as well.
            self.mpi.free_datatype(&mut datatype).unwrap_or_default();
        }
    }
}

/// A handle of a library whose handles are that wide.
#[expect(clippy::cast_possible_truncation, reason = "that is what is asked for")]
fn lower_half(handle: Handle) -> u32 {
    handle as u32
}
