//! The MPI functions in use, looked up in the process.
//!
//! A handle travels in a whole register: it is a pointer in some libraries and an `int` in others,
//! which read only the lower half. A variable that a library writes a handle to is zero
//! before, so that a half that is not written stays zero.

use super::library;
use crate::MpiError;
use mpi_abi::Constants;
use std::ffi::{CString, c_char, c_int, c_void};

/// An MPI handle of any kind, in a register.
pub(crate) type Handle = usize;

macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($field:ident = $name:literal ($($argument:ty),*);)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $table {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl $table {
            /// Looks up all functions.
            pub(crate) fn find() -> Result<Self, MpiError> {
                Ok(Self { $($field: {
                    let missing = MpiError::NoFunction { name: $name.to_str().unwrap_or_default() };
                    let address = library::symbol($name).ok_or(missing)?;
                    // SAFETY: the MPI standard gives the function of this name this signature, when
                    // handles are registers.
                    unsafe {
                        std::mem::transmute::<
                            std::ptr::NonNull<c_void>,
                            unsafe extern "C" fn($($argument),*) -> c_int,
                        >(address)
                    }
                },)* })
            }
        }
    };
}

functions! {
    /// Functions that may be called before MPI is initialized.
    InitFunctions {
        initialized = c"MPI_Initialized" (*mut c_int);
        finalized = c"MPI_Finalized" (*mut c_int);
        init_thread = c"MPI_Init_thread" (*mut c_int, *mut c_void, c_int, *mut c_int);
        query_thread = c"MPI_Query_thread" (*mut c_int);
        get_library_version = c"MPI_Get_library_version" (*mut c_char, *mut c_int);
    }
}

functions! {
    /// All other functions. They are looked up after initialization, when a preloaded monitor has interposed itself
    /// on a library that was opened late.
    Functions {
        finalize = c"MPI_Finalize" ();
        abort = c"MPI_Abort" (Handle, c_int);
        error_string = c"MPI_Error_string" (c_int, *mut c_char, *mut c_int);
        get_processor_name = c"MPI_Get_processor_name" (*mut c_char, *mut c_int);
        comm_rank = c"MPI_Comm_rank" (Handle, *mut c_int);
        comm_size = c"MPI_Comm_size" (Handle, *mut c_int);
        comm_dup = c"MPI_Comm_dup" (Handle, *mut Handle);
        comm_free = c"MPI_Comm_free" (*mut Handle);
        comm_set_errhandler = c"MPI_Comm_set_errhandler" (Handle, Handle);
        comm_get_parent = c"MPI_Comm_get_parent" (*mut Handle);
        comm_spawn = c"MPI_Comm_spawn" (
            *const c_char, *const *const c_char, c_int, Handle, c_int, Handle, *mut Handle, *mut c_int
        );
        comm_disconnect = c"MPI_Comm_disconnect" (*mut Handle);
        info_create = c"MPI_Info_create" (*mut Handle);
        info_set = c"MPI_Info_set" (Handle, *const c_char, *const c_char);
        info_free = c"MPI_Info_free" (*mut Handle);
        ibarrier = c"MPI_Ibarrier" (Handle, *mut Handle);
        isend = c"MPI_Isend" (*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
        irecv = c"MPI_Irecv" (*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
        recv = c"MPI_Recv" (*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void);
        send = c"MPI_Send" (*const c_void, c_int, Handle, c_int, c_int, Handle);
        sendrecv = c"MPI_Sendrecv" (
            *const c_void, c_int, Handle, c_int, c_int,
            *mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void
        );
        improbe = c"MPI_Improbe" (c_int, c_int, Handle, *mut c_int, *mut Handle, *mut c_void);
        mrecv = c"MPI_Mrecv" (*mut c_void, c_int, Handle, *mut Handle, *mut c_void);
        iprobe = c"MPI_Iprobe" (c_int, c_int, Handle, *mut c_int, *mut c_void);
        test = c"MPI_Test" (*mut Handle, *mut c_int, *mut c_void);
        get_count = c"MPI_Get_count" (*const c_void, Handle, *mut c_int);
    }
}

functions! {
    /// Functions that all ranks of a communicator call together.
    Collectives {
        comm_split = c"MPI_Comm_split" (Handle, c_int, c_int, *mut Handle);
        barrier = c"MPI_Barrier" (Handle);
        bcast = c"MPI_Bcast" (*mut c_void, c_int, Handle, c_int, Handle);
        allreduce = c"MPI_Allreduce" (*const c_void, *mut c_void, c_int, Handle, Handle, Handle);
        gather = c"MPI_Gather" (
            *const c_void, c_int, Handle, *mut c_void, c_int, Handle, c_int, Handle
        );
        iallreduce = c"MPI_Iallreduce" (
            *const c_void, *mut c_void, c_int, Handle, Handle, Handle, *mut Handle
        );
        allgather = c"MPI_Allgather" (
            *const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle
        );
        allgatherv = c"MPI_Allgatherv" (
            *const c_void, c_int, Handle, *mut c_void, *const c_int, *const c_int, Handle, Handle
        );
    }
}

functions! {
    /// Functions that tell which ranks are lost; few libraries have them.
    FaultFunctions {
        failure_ack = c"MPIX_Comm_failure_ack" (Handle);
        failure_get_acked = c"MPIX_Comm_failure_get_acked" (Handle, *mut Handle);
        comm_group = c"MPI_Comm_group" (Handle, *mut Handle);
        group_size = c"MPI_Group_size" (Handle, *mut c_int);
        group_translate_ranks = c"MPI_Group_translate_ranks" (
            Handle, c_int, *const c_int, Handle, *mut c_int
        );
        group_free = c"MPI_Group_free" (*mut Handle);
    }
}

functions! {
    /// Functions that connect worlds.
    Worlds {
        comm_remote_size = c"MPI_Comm_remote_size" (Handle, *mut c_int);
        intercomm_create = c"MPI_Intercomm_create" (
            Handle, c_int, Handle, c_int, c_int, *mut Handle
        );
        intercomm_merge = c"MPI_Intercomm_merge" (Handle, c_int, *mut Handle);
        open_port = c"MPI_Open_port" (Handle, *mut c_char);
        close_port = c"MPI_Close_port" (*const c_char);
        accept = c"MPI_Comm_accept" (*const c_char, Handle, c_int, Handle, *mut Handle);
        connect = c"MPI_Comm_connect" (*const c_char, Handle, c_int, Handle, *mut Handle);
    }
}

functions! {
    /// Functions for datatypes. The list of datatypes holds handles of the library's width.
    Types {
        error_string = c"MPI_Error_string" (c_int, *mut c_char, *mut c_int);
        contiguous = c"MPI_Type_contiguous" (c_int, Handle, *mut Handle);
        create_struct = c"MPI_Type_create_struct" (
            c_int, *const c_int, *const isize, *const c_void, *mut Handle
        );
        create_resized = c"MPI_Type_create_resized" (Handle, isize, isize, *mut Handle);
        commit = c"MPI_Type_commit" (*mut Handle);
        free = c"MPI_Type_free" (*mut Handle);
    }
}

functions! {
    /// Functions that move stretches of arrays, collectively or by one-sided reads. Lists of datatypes hold handles of
    /// the library's width.
    Exchanges {
        ibcast = c"MPI_Ibcast" (*mut c_void, c_int, Handle, c_int, Handle, *mut Handle);
        alltoallv = c"MPI_Alltoallv" (
            *const c_void, *const c_int, *const c_int, Handle,
            *mut c_void, *const c_int, *const c_int, Handle, Handle
        );
        ialltoallv = c"MPI_Ialltoallv" (
            *const c_void, *const c_int, *const c_int, Handle,
            *mut c_void, *const c_int, *const c_int, Handle, Handle, *mut Handle
        );
        alltoallw = c"MPI_Alltoallw" (
            *const c_void, *const c_int, *const c_int, *const c_void,
            *mut c_void, *const c_int, *const c_int, *const c_void, Handle
        );
        ialltoallw = c"MPI_Ialltoallw" (
            *const c_void, *const c_int, *const c_int, *const c_void,
            *mut c_void, *const c_int, *const c_int, *const c_void, Handle, *mut Handle
        );
        win_create = c"MPI_Win_create" (*mut c_void, isize, c_int, Handle, Handle, *mut Handle);
        win_set_errhandler = c"MPI_Win_set_errhandler" (Handle, Handle);
        win_lock_all = c"MPI_Win_lock_all" (c_int, Handle);
        win_unlock_all = c"MPI_Win_unlock_all" (Handle);
        win_free = c"MPI_Win_free" (*mut Handle);
        rget = c"MPI_Rget" (
            *mut c_void, c_int, Handle, c_int, isize, c_int, Handle, Handle, *mut Handle
        );
    }
}

/// Handles as a contiguous list, in the library's width.
#[derive(Debug)]
pub(crate) enum Handles {
    Narrow(Vec<u32>),
    Wide(Vec<Handle>),
}

impl Handles {
    /// Creates a list of handles as wide as those of the library with these constants.
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

/// Returns a handle for a library with handles of this width.
#[expect(clippy::cast_possible_truncation, reason = "that is what is asked for")]
fn lower_half(handle: Handle) -> u32 {
    handle as u32
}

/// Longest text that a library returns, in bytes (MPICH's version text).
const TEXT_BYTES_MAX: usize = 8192;

/// `MPI_Error_string`.
type ErrorString = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;

/// Returns the error of a call that returned `code`, if it failed.
pub(crate) fn failure(
    error_string: ErrorString,
    call: &'static str,
    code: c_int,
) -> Option<MpiError> {
    if code == 0 {
        return None;
    }
    let why = text(|bytes, n_bytes| {
        // SAFETY: a code that the library returned, and room for its longest text.
        unsafe { error_string(code, bytes, n_bytes) }
    });
    Some(MpiError::Call { call, code, why })
}

/// Returns the value of a predefined handle in this process.
pub(crate) fn value(handle: mpi_abi::Handle) -> Result<Handle, MpiError> {
    match handle {
        mpi_abi::Handle::Value(value) => Ok(value as Handle),
        mpi_abi::Handle::AddressOf(name) => {
            let missing = MpiError::NoFunction { name };
            let symbol = CString::new(name).ok().and_then(|name| library::symbol(&name));
            symbol.map(|address| address.as_ptr() as Handle).ok_or(missing)
        }
    }
}

/// Returns the text that `write` writes, given a buffer and a place for the length.
pub(crate) fn text(write: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
    let mut bytes = vec![0_u8; TEXT_BYTES_MAX];
    let mut n_bytes = 0;
    let code = write(bytes.as_mut_ptr().cast(), &raw mut n_bytes);
    bytes.truncate(if code == 0 { usize::try_from(n_bytes).unwrap_or_default() } else { 0 });
    String::from_utf8_lossy(&bytes).trim_end_matches(['\0', '\n']).to_owned()
}
