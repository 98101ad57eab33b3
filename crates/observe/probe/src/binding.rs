//! Binding of MPI calls to the wrappers: by the linker's search order, or by rewriting the bindings.
//!
//! A preloaded library comes first in the linker's search. That is enough for a program that is linked with
//! its MPI library, with one exception: a program that tests whether a newer function exists must not find
//! our wrapper if the library lacks the function, so such wrappers are hidden.
//!
//! A program that loads its MPI library later (Python) looks symbols up before we can know which library it
//! will be. There everything but `MPI_Init` is hidden at first. When `MPI_Init` is called, all places bound
//! to the library are bound to the wrappers, and the wrappers of functions that the library has are shown
//! again, for objects loaded later still.
//!
//! A running program that is attached to has bound everything; all places are bound to the wrappers, and
//! restored when monitoring ends.

use crate::object::{self, LoadedObject};
use crate::openmp::gomp;
use crate::{monitoring, next};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;

/// Wrappers and their addresses, from when they were hidden until the program has loaded its MPI library.
static HIDDEN: Mutex<Vec<(CString, usize)>> = Mutex::new(Vec::new());

/// Hides the wrappers that the program must not find. Called before `main`, in a process of a monitored run.
pub(crate) fn hide_wrappers() {
    let objects = object::all();
    let Some(own) = objects.iter().find(|object| is_own(object)) else { return };
    if !gomp::is_loaded() {
        own.hide(gomp::is_wrapper);
    }
    if objects.iter().any(LoadedObject::is_mpi_library) {
        own.hide(|name| name.to_bytes().starts_with(b"MPI_") && next::real_symbol(name).is_null());
    } else if let Ok(mut hidden) = HIDDEN.lock() {
        let wrappers = own.exports().filter(|(name, _)| is_wrapper(name));
        *hidden = wrappers.map(|(name, address)| (name.to_owned(), address)).collect();
        own.hide(|name| is_wrapper(name) && !is_entrance(name));
    }
}

/// Binds the calls of a program that loaded its MPI library later. Called in `MPI_Init`.
pub(crate) fn bind_late() {
    let hidden = HIDDEN.lock().map(|mut hidden| std::mem::take(&mut *hidden)).unwrap_or_default();
    if hidden.is_empty() {
        return;
    }
    let of_library = |(name, _): &(CString, usize)| !next::real_symbol(name).is_null();
    let wrappers: HashMap<CString, usize> = hidden.into_iter().filter(of_library).collect();
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

/// Places bound by [`bind_attached`]: address of the place, and its value before.
static BEFORE: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Binds the calls of a running program, so that they can be restored.
pub(crate) fn bind_attached() {
    let Ok(mut places) = BEFORE.lock() else { return };
    let objects = object::all();
    let Some(own) = objects.iter().find(|object| is_own(object)) else { return };
    // With two of them it is not known which one an object calls.
    let has_gomp =
        gomp::is_loaded() && objects.iter().filter(|it| gomp::is_library(&it.path)).count() == 1;
    // Looked up in our own table: the linker would find the library's functions first.
    let is_wanted = |name: &CStr| {
        is_guard(name)
            || is_wrapper(name) && !next::real_symbol(name).is_null()
            || gomp::is_wrapper(name) && has_gomp
    };
    let wrappers: HashMap<&CStr, usize> =
        own.exports().filter(|(name, _)| is_wanted(name)).collect();
    object::for_each(|object| {
        // Fortran entry points in their own library call the C function; that call is the one counted.
        if object.is_mpi_library() && !object.is_mpi_library_for_fortran() || is_own(object) {
            return;
        }
        for binding in object.bindings(|name| wrappers.contains_key(name)) {
            let wrapper = wrappers[binding.name];
            places.push((binding.place.addr(), object.bind(binding.place, wrapper)));
        }
    });
}

/// Restores the places changed by [`bind_attached`] that still hold a wrapper.
pub(crate) fn restore() {
    let Ok(mut places) = BEFORE.lock() else { return };
    let places: HashMap<usize, usize> = std::mem::take(&mut *places).into_iter().collect();
    let objects = object::all();
    let Some(own) = objects.iter().find(|object| is_own(object)) else { return };
    object::for_each(|object| {
        for binding in
            object.bindings(|name| is_wrapper(name) || is_guard(name) || gomp::is_wrapper(name))
        {
            let is_ours = own.holds(object::bound(&binding));
            if let Some(before) = places.get(&binding.place.addr()).filter(|_| is_ours) {
                object.bind(binding.place, *before);
            }
        }
    });
}

fn is_own(object: &LoadedObject) -> bool {
    object.holds(monitoring::is_running as *const () as usize)
}

fn is_wrapper(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"MPI_") || name.to_bytes().starts_with(b"mpi_")
}

/// The functions of `signals.rs`, and `mallopt`.
fn is_guard(name: &CStr) -> bool {
    [c"pthread_sigmask", c"sigprocmask", c"sigaction", c"signal", c"mallopt"].contains(&name)
}

/// Returns whether the function starts monitoring; every library has these functions.
fn is_entrance(name: &CStr) -> bool {
    [c"MPI_Init", c"MPI_Init_thread"].contains(&name)
}
