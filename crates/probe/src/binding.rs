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
//!
//! A program that runs already has bound everything; all places are bound to the wrappers, and bound back
//! when we leave.

use crate::object::{self, Object};
use crate::wrappers::EXPORTS;
use crate::{next, process};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::Mutex;
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

/// The wrappers of functions that the library has.
fn wrappers() -> HashMap<&'static CStr, usize> {
    let wrappers = EXPORTS.iter().filter(|(name, _)| !next::find(name).is_null());
    wrappers.map(|(name, wrapper)| (*name, *wrapper as usize)).collect()
}

/// In `MPI_Init`: binds the calls of a program that loaded its MPI library later.
pub(crate) fn bind_late() {
    if !IS_LOADED_LATER.swap(false, Ordering::Relaxed) {
        return;
    }
    let wrappers = wrappers();
    for object in object::all() {
        if object.is_mpi_library() {
            continue;
        }
        if is_own(&object) {
            object.show(|name| wrappers.get(name).copied());
            continue;
        }
        for binding in object.bindings(is_wrapper) {
            if let Some(wrapper) = wrappers.get(binding.name) {
                object.bind(binding.place, *wrapper);
            }
        }
    }
}

/// What places held that [`bind_attached`] has bound: address of the place, and the value before.
static BEFORE: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// In a program that runs already: binds its calls, so that they can be bound back.
pub(crate) fn bind_attached() {
    let Ok(mut places) = BEFORE.lock() else { return };
    let objects = object::all();
    let Some(own) = objects.iter().find(|object| is_own(object)) else { return };
    // By our own table: the linker, asked for one of these names, finds the library's function first.
    let is_wanted = |name: &CStr| is_guard(name) || is_wrapper(name) && !next::find(name).is_null();
    let wrappers: HashMap<&CStr, usize> =
        own.exports().filter(|(name, _)| is_wanted(name)).collect();
    object::for_each(|object| {
        // Where entry points for Fortran go on to call the C function, that call is the one that counts.
        if object.is_mpi_library() && !object.is_mpi_library_for_fortran() || is_own(object) {
            return;
        }
        for binding in object.bindings(|name| wrappers.contains_key(name)) {
            let wrapper = wrappers[binding.name];
            places.push((binding.place.addr(), object.bind(binding.place, wrapper)));
        }
    });
}

/// Puts back what [`bind_attached`] has changed, where it is still there.
pub(crate) fn restore() {
    let Ok(mut places) = BEFORE.lock() else { return };
    let places: HashMap<usize, usize> = std::mem::take(&mut *places).into_iter().collect();
    let objects = object::all();
    let Some(own) = objects.iter().find(|object| is_own(object)) else { return };
    object::for_each(|object| {
        for binding in object.bindings(|name| is_wrapper(name) || is_guard(name)) {
            let is_ours = own.holds(object::bound(&binding));
            if let Some(before) = places.get(&binding.place.addr()).filter(|_| is_ours) {
                object.bind(binding.place, *before);
            }
        }
    });
}

fn is_own(object: &Object) -> bool {
    object.holds(process::is_running as *const () as usize)
}

fn is_wrapper(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"MPI_") || name.to_bytes().starts_with(b"mpi_")
}

/// The functions of `signals.rs`.
fn is_guard(name: &CStr) -> bool {
    [c"pthread_sigmask", c"sigprocmask", c"sigaction", c"signal"].contains(&name)
}

/// The functions by which a watch starts; every library has them.
fn is_entrance(name: &CStr) -> bool {
    [c"MPI_Init", c"MPI_Init_thread"].contains(&name)
}
