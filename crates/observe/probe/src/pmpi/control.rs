//! Control variables of the MPI library (`MPI_T`), all of them whole numbers.

use crate::next;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

/// Use of control variables; the library counts these uses.
#[derive(Debug)]
pub(crate) struct ControlSession {
    is_open: bool,
}

impl ControlSession {
    /// Begins to use control variables.
    pub(crate) fn begin() -> Self {
        // Threads are those of the program, so that no more need be promised than it has asked for.
        let begun = get!(c_int, c"PMPI_T_init_thread", 0 => c_int);
        Self { is_open: begun.is_some() }
    }

    /// Reads a variable.
    pub(crate) fn get(&self, name: &CStr) -> Option<c_int> {
        let variable = self.open(name)?;
        // Variables that are true or false have one byte.
        let mut number: c_int = 0;
        let address = (&raw mut number).cast::<c_void>();
        let read = ask!(c"PMPI_T_cvar_read", variable => *mut c_void, address => *mut c_void);
        close(variable);
        read.map(|()| number)
    }

    /// Writes a variable.
    pub(crate) fn set(&self, name: &CStr, number: c_int) -> Option<()> {
        let variable = self.open(name)?;
        let address = (&raw const number).cast::<c_void>();
        let written = ask!(c"PMPI_T_cvar_write", variable => *mut c_void, address => *const c_void);
        close(variable);
        written
    }

    fn open(&self, name: &CStr) -> Option<*mut c_void> {
        self.is_open.then_some(())?;
        let idx = get!(c_int, c"PMPI_T_cvar_get_index", name.as_ptr() => *const std::ffi::c_char)?;
        let (mut variable, mut n_values) = (null_mut::<c_void>(), 0);
        ask!(
            c"PMPI_T_cvar_handle_alloc",
            idx => c_int, null_mut() => *mut c_void,
            &raw mut variable => *mut *mut c_void, &raw mut n_values => *mut c_int
        )?;
        if n_values == 1 {
            return Some(variable);
        }
        close(variable);
        None
    }
}

impl Drop for ControlSession {
    fn drop(&mut self) {
        if self.is_open {
            let _nothing = ask!(c"PMPI_T_finalize",);
        }
    }
}

fn close(mut variable: *mut c_void) {
    let _nothing = ask!(c"PMPI_T_cvar_handle_free", &raw mut variable => *mut *mut c_void);
}
