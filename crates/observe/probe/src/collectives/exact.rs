//! Calls whose result is the same bit by bit with every algorithm.
//!
//! Integers are added, compared and combined exactly in any order. Floating-point sums are not; nor are the minimum and the
//! maximum of numbers that may be zeros of both signs, or no numbers. What the program's own functions do is not known.

use crate::handle::Handle;
use crate::library::{self, MpiLibrary};
use crate::{monitoring, pmpi};
use std::sync::OnceLock;

/// Predefined operations in which the order of arguments does not matter.
const OPS: [&str; 10] = [
    "ompi_mpi_op_sum",
    "ompi_mpi_op_prod",
    "ompi_mpi_op_min",
    "ompi_mpi_op_max",
    "ompi_mpi_op_land",
    "ompi_mpi_op_band",
    "ompi_mpi_op_lor",
    "ompi_mpi_op_bor",
    "ompi_mpi_op_lxor",
    "ompi_mpi_op_bxor",
];

/// Whole numbers, bits and truth values.
const DATATYPES: [&str; 31] = [
    "ompi_mpi_signed_char",
    "ompi_mpi_unsigned_char",
    "ompi_mpi_byte",
    "ompi_mpi_short",
    "ompi_mpi_unsigned_short",
    "ompi_mpi_int",
    "ompi_mpi_unsigned",
    "ompi_mpi_long",
    "ompi_mpi_unsigned_long",
    "ompi_mpi_long_long_int",
    "ompi_mpi_unsigned_long_long",
    "ompi_mpi_int8_t",
    "ompi_mpi_uint8_t",
    "ompi_mpi_int16_t",
    "ompi_mpi_uint16_t",
    "ompi_mpi_int32_t",
    "ompi_mpi_uint32_t",
    "ompi_mpi_int64_t",
    "ompi_mpi_uint64_t",
    "ompi_mpi_aint",
    "ompi_mpi_offset",
    "ompi_mpi_count",
    "ompi_mpi_c_bool",
    "ompi_mpi_cxx_bool",
    "ompi_mpi_integer",
    "ompi_mpi_integer1",
    "ompi_mpi_integer2",
    "ompi_mpi_integer4",
    "ompi_mpi_integer8",
    "ompi_mpi_logical",
    "ompi_mpi_logical8",
];

/// Handles of what is exact.
struct Exact {
    ops: Vec<usize>,
    datatypes: Vec<usize>,
}

static EXACT: OnceLock<Exact> = OnceLock::new();

fn exact() -> &'static Exact {
    EXACT.get_or_init(|| {
        let handles = |names: &[&str]| {
            let handles = names.iter().map(|name| library::address_of(name));
            handles.filter(|handle| *handle != 0).collect()
        };
        Exact { ops: handles(&OPS), datatypes: handles(&DATATYPES) }
    })
}

/// Returns whether the algorithm of a call may be chosen; all ranks answer alike, since MPI demands the same operation and
/// datatype of them.
pub(super) fn may_choose(op: Option<Handle>, datatype: Handle, library: &MpiLibrary) -> bool {
    let Some(op) = op else { return true };
    let op = library.c_handle(op, pmpi::op_from_fortran);
    let exact = exact();
    if !op.is_some_and(|op| exact.ops.contains(&op)) {
        return false;
    }
    let allows_sums = monitoring::process().is_some_and(|process| process.options.may_change_sums);
    let datatype = library.c_handle(datatype, pmpi::type_from_fortran);
    allows_sums || datatype.is_some_and(|datatype| exact.datatypes.contains(&datatype))
}
