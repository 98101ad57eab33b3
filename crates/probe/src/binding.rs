//! Which calls reach the wrappers: by the linker's search order, or by binding them ourselves.
//!
//! A preloaded library comes first in the linker's search. That is enough for a program that is linked
//! with its MPI library, with one exception: a program that looks whether a newer function exists must
//! not find our wrapper where the library has none, so such wrappers are hidden.
//!
//! A program that loads its MPI library later (Python) asks before we can know which library it will
//! be. There everything but `MPI_Init` is hidden at first, and when `MPI_Init` is called, all places
//! that were bound to the library are bound to the wrappers, and the wrappers of functions that the
//! library has are shown again, for what is loaded later still.

use crate::object::{self, Object};
use crate::wrappers::EXPORTS;
use crate::{next, process};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_LOADED_LATER: AtomicBool = AtomicBool::new(false);

/// Before `main`, in a process of a watched run: hides what the program must not find.
pub(crate) fn hide_wrappers() {
    let objects = object::all();
    let Some(own) = objects.iter().find(|object| is_own(object)) else { return };
    if objects.iter().any(Object::is_mpi_library) {
        own.hide(|name| name.to_bytes().starts_with(b"MPI_") && next::find(name).is_null());
    } else {
        IS_LOADED_LATER.store(true, Ordering::Relaxed);
        own.hide(|name| is_wrapper(name) && !is_entrance(name));
    }
}

/// In `MPI_Init`: binds the calls of a program that loaded its MPI library later.
pub(crate) fn bind_late() {
    if !IS_LOADED_LATER.swap(false, Ordering::Relaxed) {
        return;
    }
    let wrappers: HashMap<&CStr, usize> =
        EXPORTS.iter().map(|(name, wrapper)| (*name, *wrapper as usize)).collect();
    let has = |name: &CStr| !next::find(name).is_null();
    for object in object::all() {
        if object.is_mpi_library() {
            continue;
        }
        if is_own(&object) {
            object.show(|name| wrappers.get(name).copied().filter(|_| has(name)));
            continue;
        }
        for binding in object.mpi_bindings() {
            if let Some(wrapper) = wrappers.get(binding.name)
                && has(binding.name)
            {
                object.bind(binding.place, *wrapper);
            }
        }
    }
}

fn is_own(object: &Object) -> bool {
    object.holds(process::is_running as *const () as usize)
}

fn is_wrapper(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"MPI_") || name.to_bytes().starts_with(b"mpi_")
}

/// The functions by which a watch starts; every library has them.
fn is_entrance(name: &CStr) -> bool {
    [c"MPI_Init", c"MPI_Init_thread"].contains(&name)
}
