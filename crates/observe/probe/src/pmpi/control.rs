//! Variables that control Open MPI, which it lets be read and written while it runs.
//!
//! They are reached by Open MPI's own functions, not by `MPI_T_init_thread`: that loads all components there are, and the constructor of one
//! of their libraries (`libinfinipath`, through `libfabric`) measures a clock for 0.2 s.

use crate::next;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

/// `MCA_BASE_VAR_SOURCE_SET` in Open MPI 4.1 and 5.0: written by a function.
const SOURCE_SET: c_int = 4;

/// A variable that a component which is in use has registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlVariable {
    idx: c_int,
}

impl ControlVariable {
    /// Finds a variable.
    pub(crate) fn named(name: &CStr) -> Option<Self> {
        let idx = get!(c_int, c"mca_base_var_find_by_name", name.as_ptr() => *const c_char)?;
        Some(Self { idx })
    }

    /// Returns whether it is true, for a variable that is true or false.
    pub(crate) fn is_true(self) -> Option<bool> {
        // SAFETY: such a variable has one byte.
        self.address().map(|address| unsafe { address.cast::<u8>().read() } != 0)
    }

    /// Reads it, for a variable that is a whole number or one of several names.
    pub(crate) fn number(self) -> Option<c_int> {
        // SAFETY: such a variable is an `int`.
        self.address().map(|address| unsafe { address.cast::<c_int>().read() })
    }

    /// Writes such a variable.
    pub(crate) fn set(self, number: c_int) -> Option<()> {
        ask!(
            c"mca_base_var_set_value",
            self.idx => c_int, (&raw const number).cast() => *const c_void, size_of::<c_int>() => usize,
            SOURCE_SET => c_int, null() => *const c_char
        )
    }

    fn address(self) -> Option<*const c_void> {
        let mut address = null::<c_void>();
        ask!(
            c"mca_base_var_get_value",
            self.idx => c_int, &raw mut address => *mut *const c_void,
            std::ptr::null_mut() => *mut c_int, std::ptr::null_mut() => *mut *const c_char
        )?;
        (!address.is_null()).then_some(address)
    }
}
