//! Counts and datatypes of elements: a count is an `int`, and the datatype has the width of an element.
//!
//! Elements that are only moved travel as unsigned integers of their width, bit by bit. More elements than an `int` can
//! count become one datatype that holds them all; the receiver may count them differently, because only their total
//! number and kind must agree. Tested with 2³¹ + 1000 bytes in Open MPI 4 and 5 and in MPICH 4 and 5.
//!
//! # Invariants
//! - A datatype of many elements is freed when [`Elements`] is dropped; MPI keeps it for transfers in progress.

use crate::functions::{Handle, Handles, Types, failure, value};
use crate::{MpiError, Number};
use bytemuck::Pod;
use mpi_abi::{FixedWidthNumber, LibraryFamily};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// A count and its datatype.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) n: c_int,
    pub(crate) datatype: Handle,
    /// True if the datatype was created for these elements.
    is_made: bool,
    datatypes: &'a Datatypes,
}

/// Datatypes of elements, as the library has them or as they are made of its own.
#[derive(Debug)]
pub(crate) struct Datatypes {
    library: LibraryFamily,
    types: Types,
    pub(crate) byte: Handle,
    /// Those of other widths than the library's by their width in bytes, created when needed.
    of_width: Mutex<BTreeMap<usize, Handle>>,
    /// Larger counts are sent as one datatype or in pieces.
    count_max: AtomicI32,
}

impl Datatypes {
    /// Datatypes of an initialized library.
    pub(crate) fn of(library: LibraryFamily) -> Result<Self, MpiError> {
        Ok(Self {
            library,
            types: Types::find()?,
            byte: value(library.constants().byte)?,
            of_width: Mutex::default(),
            count_max: AtomicI32::new(c_int::MAX),
        })
    }

    /// Sets the largest count given to a call.
    pub(crate) fn set_count_max(&self, n_elements: i32) {
        self.count_max.store(n_elements.max(1), Ordering::Relaxed);
    }

    /// Returns the largest count given to a call.
    pub(crate) fn count_max(&self) -> usize {
        usize::try_from(self.count_max.load(Ordering::Relaxed)).unwrap_or(1)
    }

    /// Returns the count and datatype of `n` elements of type `T`.
    pub(crate) fn elements<T: Pod>(&self, n: usize) -> Result<Elements<'_>, MpiError> {
        let datatype = self.datatype_of_width(size_of::<T>())?;
        match c_int::try_from(n) {
            Ok(n) if n <= self.count_max.load(Ordering::Relaxed) => {
                Ok(Elements { n, datatype, is_made: false, datatypes: self })
            }
            _ => {
                let datatype = self.many(n, datatype, size_of::<T>())?;
                Ok(Elements { n: 1, datatype, is_made: true, datatypes: self })
            }
        }
    }

    /// Returns the predefined datatype of a number type.
    pub(crate) fn datatype_of<T: Number>(&self) -> Result<Handle, MpiError> {
        self.predefined(T::KIND)
    }

    pub(crate) fn predefined(&self, number: FixedWidthNumber) -> Result<Handle, MpiError> {
        value(self.library.datatype(number))
    }

    /// Returns a datatype of this width.
    pub(crate) fn datatype_of_width(&self, n_bytes: usize) -> Result<Handle, MpiError> {
        let kind = match n_bytes {
            1 => FixedWidthNumber::U8,
            2 => FixedWidthNumber::U16,
            4 => FixedWidthNumber::U32,
            8 => FixedWidthNumber::U64,
            _ => return self.made_of_bytes(n_bytes),
        };
        self.predefined(kind)
    }

    fn made_of_bytes(&self, n_bytes: usize) -> Result<Handle, MpiError> {
        let mut made = self.of_width.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(datatype) = made.get(&n_bytes) {
            return Ok(*datatype);
        }
        let mut datatype = self.contiguous(n_bytes, self.byte)?;
        self.commit(&mut datatype)?;
        made.insert(n_bytes, datatype);
        Ok(datatype)
    }

    /// Returns a datatype of contiguous bytes, of any number.
    pub(crate) fn contiguous_bytes(&self, n_bytes: usize) -> Result<Handle, MpiError> {
        match c_int::try_from(n_bytes) {
            Ok(n) if n <= self.count_max.load(Ordering::Relaxed) => {
                self.contiguous(n_bytes, self.byte)
            }
            _ => self.many(n_bytes, self.byte, 1),
        }
    }

    /// Returns one datatype of `n` times `datatype`, whose width is `n_bytes`: blocks of the largest count, and a rest.
    fn many(&self, n: usize, datatype: Handle, n_bytes: usize) -> Result<Handle, MpiError> {
        let n_in_block = self.count_max();
        let mut block = self.contiguous(n_in_block, datatype)?;
        let parts = self.contiguous(n % n_in_block, datatype).and_then(|rest| {
            Ok([(0, self.contiguous(n / n_in_block, block)?), (n - n % n_in_block, rest)])
        });
        self.free_datatype(&mut block)?;
        self.committed(&parts?.map(|(start, part)| (start * n_bytes, part)))
    }

    /// Returns one committed datatype of several made ones, which are freed, each with its displacement in bytes.
    pub(crate) fn committed(&self, parts: &[(usize, Handle)]) -> Result<Handle, MpiError> {
        let blocks: Vec<_> = parts.iter().map(|(start, part)| (*start, 1, *part)).collect();
        let joined = self.joined(&blocks);
        for (_, part) in parts {
            self.free_datatype(&mut part.clone())?;
        }
        let mut joined = joined?;
        self.commit(&mut joined)?;
        Ok(joined)
    }

    fn contiguous(&self, n: usize, datatype: Handle) -> Result<Handle, MpiError> {
        let n = count(n)?;
        let mut made: Handle = 0;
        // SAFETY: a datatype of the library or of ours, and room for a handle.
        let code = unsafe { (self.types.contiguous)(n, datatype, &raw mut made) };
        self.check("MPI_Type_contiguous", code)?;
        Ok(made)
    }

    /// Returns one datatype of several blocks, each with its displacement in bytes, its number of values, and their
    /// datatype.
    pub(crate) fn joined(&self, blocks: &[(usize, usize, Handle)]) -> Result<Handle, MpiError> {
        let n = count(blocks.len())?;
        let lengths = blocks.iter().map(|(_, n_values, _)| count(*n_values));
        let lengths: Vec<c_int> = lengths.collect::<Result<_, _>>()?;
        let places: Vec<isize> = blocks.iter().map(|(start, ..)| start.cast_signed()).collect();
        let datatypes = blocks.iter().map(|(.., datatype)| *datatype);
        let datatypes = Handles::of(self.library.constants(), datatypes);
        let (mut made, datatypes): (Handle, _) = (0, datatypes.as_ptr());
        let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
        // SAFETY: lists of `n` lengths, places and datatypes as wide as the library's handles, and room for a handle.
        let code =
            unsafe { (self.types.create_struct)(n, lengths, places, datatypes, &raw mut made) };
        self.check("MPI_Type_create_struct", code)?;
        Ok(made)
    }

    /// Returns the same datatype with this distance between the values of an array.
    pub(crate) fn resized(&self, datatype: Handle, n_bytes: usize) -> Result<Handle, MpiError> {
        let extent = n_bytes.cast_signed();
        let mut made: Handle = 0;
        // SAFETY: a datatype of ours, and room for a handle.
        let code = unsafe { (self.types.create_resized)(datatype, 0, extent, &raw mut made) };
        self.check("MPI_Type_create_resized", code)?;
        Ok(made)
    }

    pub(crate) fn commit(&self, datatype: &mut Handle) -> Result<(), MpiError> {
        // SAFETY: a datatype that was just created.
        let code = unsafe { (self.types.commit)(datatype) };
        self.check("MPI_Type_commit", code)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        failure(self.types.error_string, call, code).map_or(Ok(()), Err)
    }

    pub(crate) fn free_datatype(&self, datatype: &mut Handle) -> Result<(), MpiError> {
        // SAFETY: a datatype of ours that is not used any more; derived datatypes and transfers in progress live on.
        let code = unsafe { (self.types.free)(datatype) };
        self.check("MPI_Type_free", code)
    }
}

/// Converts a number to an MPI count.
pub(crate) fn count(n: usize) -> Result<c_int, MpiError> {
    c_int::try_from(n).map_err(|_| MpiError::TooLong { n_bytes: n })
}

/// Returns the address of elements to be read. An empty slice gets a valid address too: its own may be 1, which is
/// `MPI_IN_PLACE` in some libraries.
pub(crate) fn start_of<T>(values: &[T]) -> *const c_void {
    static NOTHING: u64 = 0;
    if values.is_empty() { (&raw const NOTHING).cast() } else { values.as_ptr().cast() }
}

/// Returns the address of elements to be written; a different one for an empty slice, because the two must not alias.
pub(crate) fn start_of_room<T>(values: &mut [T]) -> *mut c_void {
    static NOTHING: u64 = 0;
    let nothing = (&raw const NOTHING).cast_mut().cast();
    if values.is_empty() { nothing } else { values.as_mut_ptr().cast() }
}

impl Drop for Elements<'_> {
    fn drop(&mut self) {
        if self.is_made {
            let mut datatype = self.datatype;
            // The error cannot be reported; finalizing MPI frees the datatype as well.
            self.datatypes.free_datatype(&mut datatype).unwrap_or_default();
        }
    }
}
