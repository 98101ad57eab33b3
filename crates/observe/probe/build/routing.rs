//! Generates the code around the call of operations whose algorithm can be chosen, and of those that make communicators.

use crate::accounting::variable;
use mpi_abi::{CType, Class, Mode, Operation, ParameterKind};

/// Operations whose algorithm can be chosen, each with its number of elements and their datatype: those that MPI demands
/// to be equal on all ranks.
const CHOOSABLE: [(&str, Option<(&str, &str)>); 4] = [
    ("Barrier", None),
    ("Allreduce", Some(("count", "datatype"))),
    ("Allgather", Some(("recvcount", "recvtype"))),
    ("Alltoall", Some(("recvcount", "recvtype"))),
];

/// Operations by which all ranks of a communicator make others within one.
const MAKING: [&str; 10] = [
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_create",
    "Comm_split",
    "Comm_split_type",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
];

/// Code around the call of the real function.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// Code before the call.
    pub(crate) before: String,
    /// Arguments to pass.
    pub(crate) passed: String,
    /// Code right after the call.
    pub(crate) after: String,
    /// Code at the end, with the program's handles.
    pub(crate) last: String,
}

/// Language of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Fortran,
}

impl Routing {
    pub(crate) fn of(operation: &Operation, passed: &str, language: Language) -> Self {
        let plain = Self { passed: passed.to_owned(), ..Self::default() };
        if operation.mode != Mode::Blocking {
            return plain;
        }
        let stem = operation.stem.as_str();
        let choosable = CHOOSABLE.iter().find(|(known, _)| *known == stem);
        match choosable.filter(|_| operation.class == Class::Collective) {
            Some((_, data)) => chosen(operation, passed, *data, language),
            None if MAKING.contains(&stem) => making(operation, plain, language),
            None => plain,
        }
    }
}

fn chosen(
    operation: &Operation,
    passed: &str,
    data: Option<(&str, &str)>,
    language: Language,
) -> Routing {
    let argument = |name: &str| {
        let param = operation.named(name).expect("the table has the parameter");
        argument(operation, param, language)
    };
    let comm = operation.position(ParameterKind::Comm).expect("a collective operation");
    let data = match data {
        Some((count, datatype)) => format!(
            "collectives::Data {{ count: {}, datatype: {}, op: {} }}",
            argument(count),
            argument(datatype),
            operation
                .named("op")
                .map_or("None".to_owned(), |_| format!("Some({})", argument("op")))
        ),
        None => "collectives::Data::NONE".to_owned(),
    };
    let own = variable(operation, comm);
    let handle = self::argument(operation, comm, language);
    let begin = format!(
        "    let routed = collectives::begin(collectives::Kind::{}, {handle}, {data});\n",
        operation.stem
    );
    let names = passed.split(", ").map(|name| if name == own { "routed_comm" } else { name });
    let passed = names.collect::<Vec<_>>().join(", ");
    let (before, after) = match language {
        Language::C => (
            format!("{begin}    let routed_comm = routed.comm({own});\n"),
            "    routed.end(result);\n".to_owned(),
        ),
        Language::Fortran => (
            format!(
                "    let mut own_code = 0;\n    let p_ierror = fortran::code_or(p_ierror, &mut own_code);\n{begin}    let routed_comm = routed.fortran_comm({own});\n"
            ),
            "    routed.end(fortran::code(p_ierror));\n".to_owned(),
        ),
    };
    Routing { before, passed, after, last: String::new() }
}

fn making(operation: &Operation, plain: Routing, language: Language) -> Routing {
    let comm = operation.position(ParameterKind::Comm).expect("it is made from a communicator");
    let new = operation.position(ParameterKind::NewComm).expect("it makes a communicator");
    let (handle, new) = (argument(operation, comm, language), variable(operation, new));
    let (succeeded, at) = match language {
        Language::C => ("result == 0", "c_at"),
        Language::Fortran => ("fortran::succeeded(p_ierror)", "fortran_at"),
    };
    Routing {
        before: format!("    let creation = collectives::creating({handle});\n"),
        last: format!(
            "    if {succeeded} {{ collectives::made(creation, Handle::{at}({new})) }}\n"
        ),
        ..plain
    }
}

/// Returns an argument as a number or a handle.
fn argument(operation: &Operation, param: usize, language: Language) -> String {
    let name = variable(operation, param);
    match (operation.params[param].kind.c_type(), language) {
        (CType::Handle, Language::C) => format!("Handle::c({name})"),
        (CType::Handle, Language::Fortran) => format!("Handle::fortran_at({name})"),
        (CType::Int, Language::C) => format!("{name} as i64"),
        (_, Language::C) => name,
        (CType::Int, Language::Fortran) => format!("fortran::number({name})"),
        (_, Language::Fortran) => format!("fortran::large_number({name})"),
    }
}
