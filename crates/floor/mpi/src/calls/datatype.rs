//! MPI datatypes of structs, for the program's own MPI calls.
//!
//! # Not here
//! Messages sent by this crate: they are bytes.

use crate::MpiError;
use crate::functions::{Handle, Handles, InitFunctions, Types, failure, value};
use crate::layout::{Layout, ValueKind};
use crate::library;
use mpi_abi::LibraryFamily;
use std::ffi::c_int;

/// A committed MPI datatype for the program's own MPI calls.
///
/// ```no_run
/// use mpi::{Datatype, Field, ValueKind, Layout};
/// use mpi_abi::FixedWidthNumber;
///
/// const REAL: ValueKind = ValueKind::Number(FixedWidthNumber::F64);
/// const BODY: Layout = Layout {
///     fields: &[
///         Field { name: "position", offset_bytes: 0, kind: REAL, n_values: 2 },
///         Field { name: "mass", offset_bytes: 16, kind: REAL, n_values: 1 },
///     ],
///     extent_bytes: 24,
/// };
/// let body = Datatype::commit(ValueKind::Struct(&BODY))?;
/// // As an `MPI_Datatype` it goes into `MPI_Send` and its like.
/// let handle = body.handle();
/// # Ok::<(), mpi::MpiError>(())
/// ```
///
/// Padding between the fields is not sent, and is left unchanged where a struct is received.
///
/// # Invariants
/// - It is freed when dropped, unless MPI was finalized before.
#[derive(Debug)]
pub struct Datatype {
    handle: Handle,
    init_functions: InitFunctions,
    types: Types,
    library: LibraryFamily,
}

impl Datatype {
    /// Commits the datatype of a value to the MPI library of this process, which must be initialized: by the
    /// program, or by an [`Mpi`](crate::Mpi).
    ///
    /// # Errors
    /// When MPI is not initialized, is already finalized, or an MPI call fails.
    pub fn commit(kind: ValueKind) -> Result<Self, MpiError> {
        let library = library::load()?;
        let init_functions = InitFunctions::find()?;
        if init_functions.is(init_functions.finalized) {
            return Err(MpiError::Finalized);
        }
        if !init_functions.is(init_functions.initialized) {
            return Err(MpiError::NotInitialized);
        }
        let types = Types::find()?;
        let mut datatype = Self { handle: 0, init_functions, types, library };
        datatype.handle = match kind {
            ValueKind::Struct(layout) => datatype.of_struct(layout)?,
            ValueKind::Number(_) => datatype.joined(&[(0, kind, 1)], kind.extent_bytes())?,
        };
        let handle = &raw mut datatype.handle;
        // SAFETY: a datatype that was just created, and is not committed yet.
        let code = unsafe { (datatype.types.commit)(handle) };
        datatype.check("MPI_Type_commit", code)?;
        Ok(datatype)
    }

    /// Returns the handle: a pointer in Open MPI and the ABI of MPI 5; in MPICH a C `int`, in the lower half.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    fn of_struct(&self, layout: &Layout) -> Result<Handle, MpiError> {
        let fields = layout.fields.iter();
        let blocks: Vec<_> =
            fields.map(|field| (field.offset_bytes, field.kind, field.n_values)).collect();
        self.joined(&blocks, layout.extent_bytes)
    }

    /// Returns the datatype of blocks, each with its offset in bytes, kind of value, and number of values.
    fn joined(
        &self,
        blocks: &[(usize, ValueKind, usize)],
        extent_bytes: usize,
    ) -> Result<Handle, MpiError> {
        let mut parts = Vec::new();
        for (_, kind, _) in blocks {
            parts.push(match kind {
                ValueKind::Number(number) => value(self.library.datatype(*number))?,
                ValueKind::Struct(layout) => self.of_struct(layout)?,
            });
        }
        let joined = self.create(blocks, &parts);
        for (mut part, (_, kind, _)) in parts.into_iter().zip(blocks) {
            if matches!(kind, ValueKind::Struct(_)) {
                self.free(&mut part)?;
            }
        }
        let mut joined = joined?;
        let resized = self.resized(joined, extent_bytes);
        self.free(&mut joined)?;
        resized
    }

    fn create(
        &self,
        blocks: &[(usize, ValueKind, usize)],
        parts: &[Handle],
    ) -> Result<Handle, MpiError> {
        let n_blocks = number(blocks.len())?;
        let lengths: Vec<c_int> =
            blocks.iter().map(|(_, _, n_values)| number(*n_values)).collect::<Result<_, _>>()?;
        let offsets: Vec<isize> = blocks.iter().map(|(offset, ..)| offset.cast_signed()).collect();
        let list = Handles::of(self.library.constants(), parts.iter().copied());
        let parts = list.as_ptr();
        let (lengths, offsets) = (lengths.as_ptr(), offsets.as_ptr());
        let mut handle: Handle = 0;
        // SAFETY: as many lengths, offsets and datatypes as there are blocks, datatypes as wide as the
        // library's, and room for a handle.
        let code = unsafe {
            (self.types.create_struct)(n_blocks, lengths, offsets, parts, &raw mut handle)
        };
        self.check("MPI_Type_create_struct", code)?;
        Ok(handle)
    }

    fn resized(&self, datatype: Handle, extent_bytes: usize) -> Result<Handle, MpiError> {
        let extent = extent_bytes.cast_signed();
        let mut handle: Handle = 0;
        // SAFETY: a datatype of ours, and room for a handle.
        let code = unsafe { (self.types.create_resized)(datatype, 0, extent, &raw mut handle) };
        self.check("MPI_Type_create_resized", code)?;
        Ok(handle)
    }

    fn free(&self, datatype: &mut Handle) -> Result<(), MpiError> {
        // SAFETY: a datatype of ours that is not used any more; datatypes derived from it live on.
        let code = unsafe { (self.types.free)(&raw mut *datatype) };
        self.check("MPI_Type_free", code)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        failure(self.types.error_string, call, code).map_or(Ok(()), Err)
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if self.handle == 0 || self.init_functions.is(self.init_functions.finalized) {
            return;
        }
        let mut handle = self.handle;
        // The error cannot be reported; finalizing MPI frees the datatype as well.
        self.free(&mut handle).unwrap_or_default();
    }
}

/// Converts a number to an MPI count.
fn number(n: usize) -> Result<c_int, MpiError> {
    c_int::try_from(n).map_err(|_| MpiError::TooLong { n_bytes: n })
}
