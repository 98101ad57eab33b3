//! Registration of objects of which each rank holds its rows.

use crate::abi::{malleable_container, malleable_pack, malleable_unpack};
use crate::arrays::ProgramArray;
use crate::failure::misuse;
use crate::packed::PackedRows;
use crate::register::name;
use crate::run::malleable;
use crate::state::Object;
use ::malleable::Class;
use core::ffi::{c_char, c_int, c_void};

/// Adds an object to the newest rows, if all its addresses are given.
///
/// # Safety
/// The program was begun, and the name ends with a zero byte; or they are null.
unsafe fn object(
    program: *mut malleable,
    called: *const c_char,
    make: impl FnOnce() -> Option<Object>,
) -> c_int {
    // SAFETY: by the condition of this function.
    let (Some(program), Some(name)) = (unsafe { program.as_ref() }, unsafe { name(called) }) else {
        return misuse("rows were registered with a null pointer");
    };
    let Some(object) = make() else {
        return misuse(&format!(
            "`{name}` is registered at a null pointer, or with elements of no bytes"
        ));
    };
    program.with(|parts| match parts.state.object(name, object) {
        true => 0,
        false => misuse(&format!("`{name}` belongs to no rows; call `malleable_rows_of` before")),
    })
}

/// Returns the array behind a pointer of the program, unless its address is null.
///
/// # Safety
/// Until the end, `place` is null or holds a pointer that is null or from `malloc`.
unsafe fn behind(place: *mut c_void, element_bytes: usize, class: Class) -> Option<ProgramArray> {
    let is_given = !place.is_null() && element_bytes != 0;
    // SAFETY: by the condition of this function.
    let array =
        || unsafe { ProgramArray::behind(place.cast(), element_bytes, class == Class::Constant) };
    is_given.then(array)
}

/// Returns the array in a container, unless something of it is missing.
///
/// # Safety
/// `container` is null or one whose functions do what the header says until the end.
unsafe fn contained(container: *const malleable_container, class: Class) -> Option<ProgramArray> {
    // SAFETY: by the condition of this function.
    let container = *unsafe { container.as_ref() }?;
    let malleable_container { container: place, element_bytes, start, length, resize } = container;
    let has_all = start.is_some() && length.is_some() && resize.is_some();
    let is_given = !place.is_null() && element_bytes != 0 && has_all;
    // SAFETY: by the condition of this function.
    let array = || unsafe { ProgramArray::contained(container, class == Class::Constant) };
    is_given.then(array)
}

fn even(class: Class, array: Option<ProgramArray>) -> Option<Object> {
    Some(Object::Even(class, array?))
}

const fn class(is_constant: bool) -> Class {
    if is_constant { Class::Constant } else { Class::Variable }
}

/// Registers a constant array with an element of `row_bytes` for each row: `place` is the address of the program's
/// pointer to it. The array must come from `malloc`: a resize frees it and puts a new one in its place, which the
/// program frees in the end. Constant arrays move while the program computes, so it must not write to them after its
/// first resize point.
///
/// # Safety
/// The name ends with a zero byte; until the end, `place` holds a pointer that is null or from `malloc`, to as many
/// elements as this rank has rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_constant_rows(
    program: *mut malleable,
    called: *const c_char,
    place: *mut c_void,
    row_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    let make = || even(Class::Constant, unsafe { behind(place, row_bytes, Class::Constant) });
    // SAFETY: by the condition of this function.
    unsafe { object(program, called, make) }
}

/// Registers a variable array with an element of `row_bytes` for each row: `place` is the address of the program's
/// pointer to it, which may point to another array from `malloc` at each resize point. A resize frees the array and
/// puts a new one in its place, which the program frees in the end.
///
/// # Safety
/// As for `malleable_constant_rows`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_rows(
    program: *mut malleable,
    called: *const c_char,
    place: *mut c_void,
    row_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    let make = || even(Class::Variable, unsafe { behind(place, row_bytes, Class::Variable) });
    // SAFETY: by the condition of this function.
    unsafe { object(program, called, make) }
}

/// Registers the rows of a constant sparse matrix: addresses of the program's pointers to the number of entries of each
/// row, and to the columns and values of all entries, row by row. The arrays must come from `malloc`, as for
/// `malleable_constant_rows`. With `MALLEABLE_WEIGHTED` each part gets an equal number of entries.
///
/// # Safety
/// As for `malleable_constant_rows`, with as many entries as the lengths add up to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_constant_csr(
    program: *mut malleable,
    called: *const c_char,
    lengths: *mut *mut u32,
    columns: *mut *mut u32,
    values: *mut c_void,
    value_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { csr(program, called, lengths, [(columns.cast(), 4), (values, value_bytes)]) }
}

/// Like `malleable_constant_csr`, with columns of 64 bits.
///
/// # Safety
/// As for `malleable_constant_csr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_constant_csr64(
    program: *mut malleable,
    called: *const c_char,
    lengths: *mut *mut u32,
    columns: *mut *mut u64,
    values: *mut c_void,
    value_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { csr(program, called, lengths, [(columns.cast(), 8), (values, value_bytes)]) }
}

/// # Safety
/// As for `malleable_constant_csr`.
unsafe fn csr(
    program: *mut malleable,
    called: *const c_char,
    lengths: *mut *mut u32,
    entries: [(*mut c_void, usize); 2],
) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { uneven(program, called, Class::Constant, lengths, &entries) }
}

/// Registers a variable array whose rows have different numbers of elements, such as the particles of cells: addresses of
/// the program's pointers to the number of elements of each row, and to the elements, row by row. The arrays must come
/// from `malloc`, as for `malleable_rows`; both may be others at each resize point. With `MALLEABLE_WEIGHTED` each part
/// gets an equal number of elements.
///
/// # Safety
/// As for `malleable_constant_csr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_uneven_rows(
    program: *mut malleable,
    called: *const c_char,
    lengths: *mut *mut u32,
    place: *mut c_void,
    element_bytes: usize,
) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { uneven(program, called, Class::Variable, lengths, &[(place, element_bytes)]) }
}

/// # Safety
/// As for `malleable_constant_csr`.
unsafe fn uneven(
    program: *mut malleable,
    called: *const c_char,
    class: Class,
    lengths: *mut *mut u32,
    entries: &[(*mut c_void, usize)],
) -> c_int {
    let make = || {
        // SAFETY: by the condition of this function.
        let lengths = unsafe { behind(lengths.cast(), 4, class) }?;
        // SAFETY: by the condition of this function.
        let array = |(place, n_bytes): &_| unsafe { behind(*place, *n_bytes, class) };
        Some(Object::Uneven(class, lengths, entries.iter().map(array).collect::<Option<_>>()?))
    };
    // SAFETY: by the condition of this function.
    unsafe { object(program, called, make) }
}

/// Registers rows that are structures of the program, such as lists or trees: `pack` writes one of them as bytes, and
/// `unpack` makes it of them. At a resize and at a checkpoint `pack` is called for each row, first for its size. After a
/// resize `unpack` is called for each row that this rank has then; the share has the number of them before.
///
/// # Safety
/// The name ends with a zero byte; the functions may be called with this context until the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_packed_rows(
    program: *mut malleable,
    called: *const c_char,
    pack: malleable_pack,
    unpack: malleable_unpack,
    context: *mut c_void,
) -> c_int {
    let is_given = pack.is_some() && unpack.is_some();
    // SAFETY: by the condition of this function.
    let rows = || Object::Packed(unsafe { PackedRows::by(pack, unpack, context) });
    // SAFETY: by the condition of this function.
    unsafe { object(program, called, || is_given.then(rows)) }
}

/// Registers an array in a container with an element for each row: a resize gives the container another number of
/// elements. Constant arrays move while the program computes, so it must not change them after its first resize point.
///
/// # Safety
/// The name ends with a zero byte; the functions may be called with this container until the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_contained_rows(
    program: *mut malleable,
    called: *const c_char,
    is_constant: bool,
    rows: *const malleable_container,
) -> c_int {
    let class = class(is_constant);
    // SAFETY: by the condition of this function.
    let make = || even(class, unsafe { contained(rows, class) });
    // SAFETY: by the condition of this function.
    unsafe { object(program, called, make) }
}

/// Registers arrays in containers whose rows have different numbers of elements: `lengths` has the number of each row, as
/// 32 bits, and each of the `n_entries` containers at `entries` so many elements, row by row; the columns and the values
/// of a sparse matrix are two. With `MALLEABLE_WEIGHTED` each part gets an equal number of elements.
///
/// # Safety
/// As for `malleable_contained_rows`; there are `n_entries` containers at `entries`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malleable_contained_uneven(
    program: *mut malleable,
    called: *const c_char,
    is_constant: bool,
    lengths: *const malleable_container,
    entries: *const malleable_container,
    n_entries: usize,
) -> c_int {
    let class = class(is_constant);
    let make = || {
        // SAFETY: by the condition of this function.
        let lengths = unsafe { contained(lengths, class) }?;
        if lengths.element_bytes() != 4 || entries.is_null() || n_entries == 0 {
            return None;
        }
        // SAFETY: by the condition of this function.
        let entries = unsafe { std::slice::from_raw_parts(entries, n_entries) };
        // SAFETY: by the condition of this function.
        let array = |entries: &malleable_container| unsafe { contained(entries, class) };
        Some(Object::Uneven(class, lengths, entries.iter().map(array).collect::<Option<_>>()?))
    };
    // SAFETY: by the condition of this function.
    unsafe { object(program, called, make) }
}
