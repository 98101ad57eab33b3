//! The few calls of the probe to the MPI library itself, all of them local to the process but those that make shadows of
//! communicators.
#![allow(unsafe_code, reason = "calls the MPI library")]

use crate::next;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Returns the function `$name` of a type; `None` if the library lacks it.
macro_rules! real {
    ($name:literal, $type:ty) => {{
        static SLOT: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let address = *SLOT.get_or_init(|| next::real_symbol($name).addr());
        // SAFETY: 0 becomes `None`; anything else is the PMPI function of this name and signature.
        unsafe { std::mem::transmute::<usize, Option<$type>>(address) }
    }};
}

/// Calls the function `$name` with arguments of the given types; `None` when it is missing or fails.
macro_rules! ask {
    ($name:literal, $($value:expr => $type:ty),*) => {
        real!($name, unsafe extern "C" fn($($type),*) -> c_int)
            // SAFETY: valid handles and addresses of local variables, as the function asks for.
            .filter(|real| unsafe { real($($value),*) } == 0)
            .map(|_| ())
    };
}

/// Returns the number of type `$number` that the function `$name` stores at the address in its last argument.
macro_rules! get {
    ($number:ty, $name:literal $(, $value:expr => $type:ty)*) => {{
        let mut number: $number = 0;
        ask!($name, $($value => $type,)* &raw mut number => *mut $number).map(|()| number)
    }};
}

/// Calls the function `$name` (an `f2c` conversion) and returns the C handle.
macro_rules! from_fortran {
    ($name:literal, $number:expr) => {
        // SAFETY: the program passed this Fortran handle to MPI.
        real!($name, unsafe extern "C" fn(c_int) -> usize).map(|real| unsafe { real($number) })
    };
}

mod control;

pub(crate) use control::ControlVariable;

/// C handle of a Fortran communicator.
pub(crate) fn comm_from_fortran(number: c_int) -> Option<usize> {
    from_fortran!(c"PMPI_Comm_f2c", number)
}

/// C handle of a Fortran window.
pub(crate) fn win_from_fortran(number: c_int) -> Option<usize> {
    from_fortran!(c"PMPI_Win_f2c", number)
}

/// C handle of a Fortran datatype.
pub(crate) fn type_from_fortran(number: c_int) -> Option<usize> {
    from_fortran!(c"PMPI_Type_f2c", number)
}

/// C handle of a Fortran operation of reductions.
pub(crate) fn op_from_fortran(number: c_int) -> Option<usize> {
    from_fortran!(c"PMPI_Op_f2c", number)
}

/// Fortran handle of a communicator.
pub(crate) fn comm_to_fortran(comm: usize) -> Option<c_int> {
    // SAFETY: the handle of a communicator.
    real!(c"PMPI_Comm_c2f", unsafe extern "C" fn(usize) -> c_int).map(|real| unsafe { real(comm) })
}

/// Makes a communicator of the same ranks as another one, which all of them do.
pub(crate) fn comm_split(comm: usize, color: c_int, key: c_int) -> Option<usize> {
    get!(usize, c"PMPI_Comm_split", comm => usize, color => c_int, key => c_int)
}

/// Frees a communicator, which all its ranks do.
pub(crate) fn comm_free(mut comm: usize) {
    let _nothing = ask!(c"PMPI_Comm_free", &raw mut comm => *mut usize);
}

/// Error handler of a communicator; give it back with [`set_errhandler`].
pub(crate) fn errhandler(comm: usize) -> Option<usize> {
    get!(usize, c"PMPI_Comm_get_errhandler", comm => usize)
}

/// Gives a communicator an error handler.
pub(crate) fn set_errhandler(comm: usize, errhandler: usize) {
    let _nothing = ask!(c"PMPI_Comm_set_errhandler", comm => usize, errhandler => usize);
}

/// Gives back the reference to an error handler.
pub(crate) fn errhandler_free(mut errhandler: usize) {
    let _nothing = ask!(c"PMPI_Errhandler_free", &raw mut errhandler => *mut usize);
}

/// Calls the error handler of a communicator, which may not come back.
pub(crate) fn call_errhandler(comm: usize, code: c_int) {
    let function =
        real!(c"PMPI_Comm_call_errhandler", unsafe extern "C-unwind" fn(usize, c_int) -> c_int);
    if let Some(function) = function {
        // SAFETY: the program's own communicator.
        unsafe { function(comm, code) };
    }
}

/// Thread level of MPI, as the library numbers them.
pub(crate) fn thread_level() -> Option<c_int> {
    get!(c_int, c"PMPI_Query_thread")
}

/// Rank in a communicator.
pub(crate) fn comm_rank(comm: usize) -> Option<c_int> {
    get!(c_int, c"PMPI_Comm_rank", comm => usize)
}

/// Number of ranks in the (local group of a) communicator.
pub(crate) fn comm_size(comm: usize) -> Option<c_int> {
    get!(c_int, c"PMPI_Comm_size", comm => usize)
}

/// Returns whether a communicator is an intercommunicator.
pub(crate) fn comm_is_inter(comm: usize) -> Option<bool> {
    get!(c_int, c"PMPI_Comm_test_inter", comm => usize).map(|flag| flag != 0)
}

/// Returns the group whose ranks are peers in a communicator; the caller frees it.
pub(crate) fn comm_peer_group(comm: usize, is_inter: bool) -> Option<usize> {
    if is_inter {
        get!(usize, c"PMPI_Comm_remote_group", comm => usize)
    } else {
        get!(usize, c"PMPI_Comm_group", comm => usize)
    }
}

/// Returns the group of a window; the caller frees it.
pub(crate) fn win_group(win: usize) -> Option<usize> {
    get!(usize, c"PMPI_Win_get_group", win => usize)
}

/// Number of ranks in a group.
pub(crate) fn group_size(group: usize) -> Option<c_int> {
    get!(c_int, c"PMPI_Group_size", group => usize)
}

pub(crate) fn group_translate(group: usize, ranks: &[c_int], other: usize) -> Option<Vec<c_int>> {
    let mut translated = vec![-1; ranks.len()];
    let n_ranks = c_int::try_from(ranks.len()).ok()?;
    ask!(
        c"PMPI_Group_translate_ranks",
        group => usize, n_ranks => c_int, ranks.as_ptr() => *const c_int,
        other => usize, translated.as_mut_ptr() => *mut c_int
    )?;
    Some(translated)
}

pub(crate) fn group_free(mut group: usize) {
    let _nothing = ask!(c"PMPI_Group_free", &raw mut group => *mut usize);
}

/// Size of the data in one element of a datatype, in bytes.
pub(crate) fn type_size(datatype: usize) -> Option<u64> {
    u64::try_from(get!(i64, c"PMPI_Type_size_x", datatype => usize)?).ok()
}

/// Returns the bytes of a status by an MPI call, for libraries whose layout is unknown.
pub(crate) fn status_bytes(status: *const c_void, byte: usize) -> Option<u64> {
    let count = get!(c_int, c"PMPI_Get_count", status => *const c_void, byte => usize)?;
    u64::try_from(count).ok()
}

/// Kind of topology of a communicator, as the library numbers them.
pub(crate) fn topology(comm: usize) -> Option<c_int> {
    get!(c_int, c"PMPI_Topo_test", comm => usize)
}

/// Number of dimensions of a Cartesian communicator.
pub(crate) fn cart_n_dims(comm: usize) -> Option<c_int> {
    get!(c_int, c"PMPI_Cartdim_get", comm => usize)
}

/// Number of neighbors of a rank in a graph communicator.
pub(crate) fn graph_n_neighbors(comm: usize, rank: c_int) -> Option<c_int> {
    get!(c_int, c"PMPI_Graph_neighbors_count", comm => usize, rank => c_int)
}

/// Number of neighbors that this rank sends to in a distributed graph communicator.
pub(crate) fn dist_graph_outdegree(comm: usize) -> Option<c_int> {
    let (mut indegree, mut outdegree, mut weighted) = (0, 0, 0);
    ask!(
        c"PMPI_Dist_graph_neighbors_count",
        comm => usize, &raw mut indegree => *mut c_int,
        &raw mut outdegree => *mut c_int, &raw mut weighted => *mut c_int
    )?;
    Some(outdegree)
}

/// Returns the intercommunicator to the processes that spawned this one.
pub(crate) fn parent() -> Option<usize> {
    get!(usize, c"PMPI_Comm_get_parent")
}

/// Version text of the library.
pub(crate) fn library_version() -> String {
    const ROOM: usize = 8192;
    let mut text = vec![0_u8; ROOM];
    let mut len = 0;
    let asked = ask!(
        c"PMPI_Get_library_version",
        text.as_mut_ptr().cast() => *mut c_char, &raw mut len => *mut c_int
    );
    let text = asked.and_then(|()| CStr::from_bytes_until_nul(&text).ok());
    text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
