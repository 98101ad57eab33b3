//! MPI datatypes of structs without pointers.

use super::{first, line, struct_of};
use crate::header::{Header, Kind, Member, Struct};

pub(super) fn write(code: &mut String, header: &Header, of: &Struct) {
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
        (Kind::Number(number), _) => number.mpi().to_owned(),
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
