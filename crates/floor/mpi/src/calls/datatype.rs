//! MPI datatypes of structs, for the program's own MPI calls.
//!
//! # Not here
//! Messages sent by this crate: they are bytes.

use crate::MpiError;
use crate::elements::Datatypes;
use crate::functions::{Handle, InitFunctions};
use crate::layout::{Layout, ValueKind};
use crate::library;

/// A committed MPI datatype for the program's own MPI calls.
///
/// ```no_run
/// use mpi::{Datatype, Field, Layout, ValueKind};
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
    datatypes: Datatypes,
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
        let datatypes = Datatypes::of(library)?;
        let handle = match kind {
            ValueKind::Struct(layout) => of_struct(&datatypes, layout)?,
            ValueKind::Number(_) => joined(&datatypes, &[(0, kind, 1)], kind.extent_bytes())?,
        };
        let mut datatype = Self { handle, init_functions, datatypes };
        datatype.datatypes.commit(&mut datatype.handle)?;
        Ok(datatype)
    }

    /// Returns the handle: a pointer in Open MPI and the ABI of MPI 5; in MPICH a C `int`, in the lower half.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }
}

fn of_struct(datatypes: &Datatypes, layout: &Layout) -> Result<Handle, MpiError> {
    let fields = layout.fields.iter();
    let blocks: Vec<_> =
        fields.map(|field| (field.offset_bytes, field.kind, field.n_values)).collect();
    joined(datatypes, &blocks, layout.extent_bytes)
}

/// Returns the datatype of blocks, each with its offset in bytes, kind of value, and number of values.
fn joined(
    datatypes: &Datatypes,
    blocks: &[(usize, ValueKind, usize)],
    extent_bytes: usize,
) -> Result<Handle, MpiError> {
    let mut parts = Vec::new();
    for (offset_bytes, kind, n_values) in blocks {
        let part = match kind {
            ValueKind::Number(number) => datatypes.predefined(*number)?,
            ValueKind::Struct(layout) => of_struct(datatypes, layout)?,
        };
        parts.push((*offset_bytes, *n_values, part));
    }
    let joined = datatypes.joined(&parts);
    for ((.., mut part), (_, kind, _)) in parts.into_iter().zip(blocks) {
        if matches!(kind, ValueKind::Struct(_)) {
            datatypes.free_datatype(&mut part)?;
        }
    }
    let mut joined = joined?;
    let resized = datatypes.resized(joined, extent_bytes);
    datatypes.free_datatype(&mut joined)?;
    resized
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if !self.init_functions.is(self.init_functions.finalized) {
            // The error cannot be reported; finalizing MPI frees the datatype as well.
            self.datatypes.free_datatype(&mut self.handle).unwrap_or_default();
        }
    }
}
