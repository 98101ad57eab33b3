//! Table of the communicating MPI operations, and the binary interfaces of the MPI libraries.
//!
//! `operations.txt` states for each operation its class, its parameters, and the data it moves. The probe's
//! build script generates its C and Fortran wrappers from the table; the collector and the report take the
//! names of operations from it.
//!
//! ```
//! let send = mpi_abi::find("MPI_Send").expect("`MPI_Send` is in the table");
//! let operation = mpi_abi::operation(send).expect("an identifier that was just found");
//! assert_eq!(operation.class, mpi_abi::Class::PointToPoint);
//! assert_eq!(operation.params[0].name, "buf");
//! ```
//!
//! # Invariants
//! - Pure data: nothing here opens a library or uses a handle.
//! - An [`OperationId`] is the position in the table; a large-count variant follows its operation.
//! - A parameter is referred to by its position in [`Operation::params`].
//!
//! # Not here
//! Generated wrappers (crate `probe`), and the measurements of an operation (crate `events`).

mod accounting;
mod collective;
mod fortran;
mod kind;
mod library;
mod named;
mod number;
mod operation;
mod parse;
mod settings;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use accounting::{Amount, Case, Condition, Count, Factor, Flow, Movement};
pub use collective::{CollectiveKind, Rooted};
pub use fortran::{Binding, EntryPoint, fortran_entry_points};
pub use kind::{CType, ParameterKind};
pub use library::{
    ByteCount, Constants, FortranAddress, FortranAddresses, Handle, LibraryFamily, StatusLayout,
};
pub use number::FixedWidthNumber;
pub use operation::{Class, Mode, Operation, OperationId, Param};
pub use parse::{LocalName, SkippedLine, Table, parse};
pub use settings::{MPICH_SETTINGS, OPEN_MPI_SETTINGS, Setting};

/// Text of the table, in the format documented at its top.
pub const TABLE_TEXT: &str = include_str!("../operations.txt");

static TABLE: LazyLock<Table> = LazyLock::new(|| parse(TABLE_TEXT).0);

static IDS_BY_NAME: LazyLock<HashMap<&'static str, OperationId>> = LazyLock::new(|| {
    let ids = (0..=u16::MAX).map(OperationId);
    operations().iter().map(|operation| operation.name.as_str()).zip(ids).collect()
});

/// All operations, in the order of the table.
#[must_use]
pub fn operations() -> &'static [Operation] {
    &TABLE.operations
}

/// Returns the operation with this identifier; `None` if the identifier comes from a newer table.
#[must_use]
pub fn operation(id: OperationId) -> Option<&'static Operation> {
    operations().get(usize::from(id.0))
}

/// Returns the identifier of the operation with this full name, for example `MPI_Send_c`.
#[must_use]
pub fn find(name: &str) -> Option<OperationId> {
    IDS_BY_NAME.get(name).copied()
}

/// Returns whether the table lists this function, for example `MPI_Comm_rank`, as not communicating.
#[must_use]
pub fn is_local(name: &str) -> bool {
    name.strip_prefix("MPI_")
        .is_some_and(|name| TABLE.local.iter().any(|local| local.matches(name)))
}
