//! Symbols that a Fortran program calls, and how their arguments are passed.
//!
//! Determined with `nm -D` and `objdump -d` from Debian's Open MPI 4.1.4 (`libmpi_mpifh.so.40`,
//! `libmpi_usempif08.so.40`) and MPICH 4.0.2 (`libmpichfort.so.12`); the PyPI wheels of Open MPI 5.0.11 and
//! MPICH 5.0.2 have no Fortran interface.
//!
//! | entry point of `MPI_Send` | Open MPI | MPICH |
//! |---|---|---|
//! | `mpi_send_`, `mpi_send__`, `mpi_send`, `MPI_SEND`: one function (gfortran: first) | calls `PMPI_Send` | calls `MPI_Send` |
//! | `mpi_send_f08_` | calls `ompi_send_f` or `pmpi_send_`, then `PMPI_Send` | calls `PMPI_Send` (only without a choice buffer) |
//! | `mpi_send_f08ts_` (descriptors) | no | calls `MPI_Send` (only with a choice buffer) |
//! | `mpi_barrier_f08_large_`, `mpi_send_f08ts_large_` | no | call `PMPI_…_c`, `MPI_Send_c` |
//!
//! So wrapping the C functions is not enough in either library: Open MPI's Fortran calls and those
//! of MPICH's `_f08_` without a choice buffer never reach `MPI_X`. Where both are wrapped, the inner
//! call must not count again.
//!
//! A choice buffer that is not contiguous in memory makes MPICH's `_f08ts_` call `MPI_X` with a
//! datatype made for it and a count of 1; the number of bytes stays the same.
//!
//! # Invariants
//! - Arguments: the address of each parameter that [`ParameterKind::is_in_fortran`], the address of the
//!   error code (null when an `mpi_f08` call leaves it out), then by value a `size_t` for each
//!   parameter that [`ParameterKind::has_hidden_length`].
//! - `INTEGER` has 32 bits, and `LOGICAL` is true when it is not 0.
//! - Positions that a call returns (`indx`, `array_of_indices`) count from 1 in Fortran.
//! - Handles are `INTEGER`s: the C handles themselves in MPICH, indices for `PMPI_Comm_f2c` and its
//!   like in Open MPI.
//!
//! # Not here
//! The addresses that stand for `MPI_IN_PLACE` and the like: [`LibraryFamily`](crate::LibraryFamily).

use crate::kind::ParameterKind;
use crate::operation::Operation;

/// Convention by which an entry point takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Binding {
    /// `mpif.h` and module `mpi`: addresses of values; the error code is always present.
    Classic,
    /// Module `mpi_f08`: the same, but the address of the error code may be null.
    F08,
    /// Module `mpi_f08` with descriptors: as `F08`, but a choice buffer is the address of a
    /// `CFI_cdesc_t` whose first member, `base_addr`, is the address of the data.
    F08Descriptor,
}

/// Symbol by which Fortran calls an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// The symbol.
    pub symbol: String,
    /// Convention for its arguments.
    pub binding: Binding,
}

/// Returns every symbol by which Fortran programs may call this operation, in either library.
///
/// Empty for an operation with a variable number of arguments. Large-count variants are reached through
/// module `mpi_f08` only.
#[must_use]
pub fn fortran_entry_points(operation: &Operation) -> Vec<EntryPoint> {
    if operation.is_variadic() {
        return Vec::new();
    }
    let lower = format!("mpi_{}", operation.stem.to_lowercase());
    let suffix = if operation.is_large { "large_" } else { "" };
    let mut entries = vec![entry(format!("{lower}_f08_{suffix}"), Binding::F08)];
    if operation.position(ParameterKind::Buf).is_some() {
        entries.push(entry(format!("{lower}_f08ts_{suffix}"), Binding::F08Descriptor));
    }
    if !operation.is_large {
        let mut symbols = manglings(&lower).to_vec();
        if operation.named("baseptr").is_some() {
            // Module `mpi` of Open MPI, when the base is a `TYPE(C_PTR)`.
            symbols.extend(manglings(&format!("{lower}_cptr")));
        }
        entries.extend(symbols.into_iter().map(|symbol| entry(symbol, Binding::Classic)));
    }
    entries
}

/// Symbols that compilers generate for a name outside of modules.
fn manglings(lower: &str) -> [String; 4] {
    [format!("{lower}_"), format!("{lower}__"), lower.to_owned(), lower.to_uppercase()]
}

fn entry(symbol: String, binding: Binding) -> EntryPoint {
    EntryPoint { symbol, binding }
}
