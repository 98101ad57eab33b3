//! The symbols that a Fortran program calls, and how their arguments are passed.

use crate::kind::Kind;
use crate::operation::Operation;

/// How the arguments of an entry point are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Binding {
    /// `mpif.h` and module `mpi`: addresses of values; the error code is always there.
    Classic,
    /// Module `mpi_f08`: the same, but the address of the error code may be null.
    F08,
    /// Module `mpi_f08` with descriptors: as `F08`, but a choice buffer is the address of a
    /// `CFI_cdesc_t` whose first member, `base_addr`, is the address of the data.
    F08Descriptor,
}

/// One symbol by which Fortran calls an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// The symbol.
    pub symbol: String,
    /// How its arguments are passed.
    pub binding: Binding,
}

/// Every symbol by which Fortran programs call this operation, in either library.
#[must_use]
pub fn fortran_entry_points(operation: &Operation) -> Vec<EntryPoint> {
    let lower = operation.stem.to_lowercase();
    let suffix = if operation.is_large { "large_" } else { "" };
    let mut entries =
        vec![EntryPoint { symbol: format!("mpi_{lower}_f08_{suffix}"), binding: Binding::F08 }];
    if operation.position(Kind::Buf).is_some() {
        let symbol = format!("mpi_{lower}_f08ts_{suffix}");
        entries.push(EntryPoint { symbol, binding: Binding::F08Descriptor });
    }
    if !operation.is_large {
        let upper = operation.stem.to_uppercase();
        let classic = [
            format!("mpi_{lower}_"),
            format!("mpi_{lower}__"),
            format!("mpi_{lower}"),
            format!("MPI_{upper}"),
        ];
        entries.extend(classic.map(|symbol| EntryPoint { symbol, binding: Binding::Classic }));
    }
    entries
}
