//! Generates C code that sends structs: functions that write and read their bytes, and MPI datatypes.
//!
//! A message holds the members one after the other, as they lie in memory but without gaps, followed by the
//! elements behind pointers. Sender and receiver must have the same kind of processor.

mod bytes;

use crate::header::{ElementKind, Header, Member, Struct};
use std::fmt::Write;

/// Returns a C header with the functions for all structs of the header `name`, which must have no problems.
#[must_use]
pub fn messages(header: &Header, name: &str) -> String {
    let guard: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let guard = format!("{}_MESSAGES", guard.trim_end_matches("_h").to_ascii_uppercase());
    let mut code = ABOUT.replace("HEADER", name);
    line(&mut code, &format!("#ifndef {guard}\n#define {guard}\n"));
    line(&mut code, &format!("#include \"{name}\"\n"));
    code.push_str(HELPERS);
    let has_enumeration =
        |of: &Struct| of.members.iter().any(|it| it.kind == ElementKind::Enumeration);
    for of in header.structs.iter().filter(|of| has_enumeration(of)) {
        enumerations(&mut code, of);
    }
    for of in &header.structs {
        bytes::declare(&mut code, of);
    }
    for of in &header.structs {
        bytes::write(&mut code, header, of);
    }
    line(&mut code, "#ifdef MPI_VERSION\n");
    for of in header.structs.iter().filter(|of| of.is_flat) {
        write_datatype(&mut code, header, of);
    }
    line(&mut code, "#endif /* MPI_VERSION */\n");
    line(&mut code, &format!("#endif /* {guard} */"));
    code
}

const ABOUT: &str = "\
/* Messages of the structs in `HEADER`: what `sintonia messages HEADER` makes of them. Change that header and make
 * this one again.
 *
 * For a struct `x`:
 *   mw_pack_size_x(from)         bytes that it takes in a message
 *   mw_pack_x(from, to)          writes them; returns how many there are
 *   mw_unpack_x(to, from, n)     reads one from `n` bytes; returns how many it took, or 0 when there are too few, or
 *                                no memory: then there is nothing to free
 *   mw_free_x(of)                frees what its pointers lead to, after `mw_unpack_x`
 *   mw_datatype_x()              its MPI datatype when `mpi.h` was included before, for arrays too; `MPI_Type_free`
 *                                frees it. Only when it has no pointers.
 *
 * Messages have the bytes of numbers as they lie in memory: they are for machines of one kind. */
";

/// Code shared by all generated headers.
const HELPERS: &str = "\
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MW_MESSAGES
#define MW_MESSAGES

static inline void mw_messages_put(const void *from, size_t n_bytes, unsigned char **at)
{
    if (n_bytes != 0)
        memcpy(*at, from, n_bytes);
    *at += n_bytes;
}

static inline int mw_messages_take(void *to, size_t n_bytes, const unsigned char **at, size_t *n_left)
{
    if (*n_left < n_bytes)
        return 0;
    if (n_bytes != 0)
        memcpy(to, *at, n_bytes);
    *at += n_bytes;
    *n_left -= n_bytes;
    return 1;
}

static inline size_t mw_messages_times(size_t a, size_t b)
{
    return b != 0 && SIZE_MAX / b < a ? SIZE_MAX : a * b;
}

/* Whether so many elements of at least this size may still come. */
static inline int mw_messages_fit(size_t n, size_t n_bytes, size_t n_left)
{
    return n <= n_left / n_bytes;
}

#endif /* MW_MESSAGES */

";

fn line(code: &mut String, text: &str) {
    code.push_str(text);
    code.push('\n');
}

/// Generates a check that fails to compile where an enumeration is not as large as its datatype, `int`.
fn enumerations(code: &mut String, of: &Struct) {
    for member in of.members.iter().filter(|member| member.kind == ElementKind::Enumeration) {
        let (of, name, c_type) = (&of.name, &member.name, &member.c_type);
        let _written = writeln!(
            code,
            "/* As large as an `int`, or this is an error. */\n\
             typedef char mw_messages_{of}_{name}_is_int[sizeof({c_type}) == sizeof(int) ? 1 : -1];\n"
        );
    }
}

/// Returns the struct of a member's elements, if they are structs.
fn struct_of<'a>(header: &'a Header, member: &Member) -> Option<&'a Struct> {
    match member.kind {
        ElementKind::Struct(place) => header.structs.get(place),
        ElementKind::Number(_) | ElementKind::Enumeration => None,
    }
}

/// Returns the C expression for the first element of a member that is an element or an array.
fn first(member: &Member) -> String {
    format!("{}{}", member.name, "[0]".repeat(member.extents.len()))
}

/// Writes the MPI datatype of a struct without pointers.
fn write_datatype(code: &mut String, header: &Header, of: &Struct) {
    let Struct { name, c_type, members, .. } = of;
    let n = members.len();
    let joined = |text: &dyn Fn(&Member) -> String| {
        members.iter().map(text).collect::<Vec<_>>().join(",\n        ")
    };
    let lengths = joined(&|member| {
        if member.extents.is_empty() {
            return "1".to_owned();
        }
        let (whole, one) = (&member.name, first(member));
        format!("(int)(sizeof(({c_type} *)0)->{whole} / sizeof(({c_type} *)0)->{one})")
    });
    let places = joined(&|member| format!("(MPI_Aint)offsetof({c_type}, {})", member.name));
    let types = joined(&|member| match (member.kind, struct_of(header, member)) {
        (ElementKind::Number(number), _) => number.mpi().to_owned(),
        (_, Some(inner)) => format!("mw_datatype_{}()", inner.name),
        _ => "MPI_INT".to_owned(),
    });
    line(code, &format!("static inline MPI_Datatype mw_datatype_{name}(void)\n{{"));
    line(code, &format!("    int lengths[{n}] = {{\n        {lengths}\n    }};"));
    line(code, &format!("    MPI_Aint places[{n}] = {{\n        {places}\n    }};"));
    line(code, &format!("    MPI_Datatype types[{n}] = {{\n        {types}\n    }};"));
    line(code, "    MPI_Datatype members, whole;");
    line(code, &format!("    MPI_Type_create_struct({n}, lengths, places, types, &members);"));
    // Resized, so that the elements of an array are as far apart as the compiler puts them.
    line(
        code,
        &format!("    MPI_Type_create_resized(members, 0, (MPI_Aint)sizeof({c_type}), &whole);"),
    );
    line(code, "    MPI_Type_commit(&whole);\n    MPI_Type_free(&members);");
    for (place, member) in members.iter().enumerate() {
        if struct_of(header, member).is_some() {
            line(code, &format!("    MPI_Type_free(&types[{place}]);"));
        }
    }
    line(code, "    return whole;\n}\n");
}
