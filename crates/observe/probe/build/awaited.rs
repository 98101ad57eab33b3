//! Generates the code that publishes what a call waits for, before it is made.

use crate::accounting::variable;
use mpi_abi::{CType, Class, Mode, Operation, ParameterKind};

/// Operations with a communicator in which not all of its members take part.
const OF_SOME_MEMBERS: [&str; 1] = ["Comm_create_group"];

pub(crate) fn write(number: usize, operation: &Operation, is_fortran: bool) -> String {
    let Some(comm) = operation.position(ParameterKind::Comm) else { return String::new() };
    let argument = |param: usize| argument(operation, param, is_fortran);
    let named = |name: &str| operation.named(name).map(argument);
    let comm = argument(comm);
    let count = operation.params.iter().position(|param| param.kind.is_count());
    let count = count.map_or_else(|| "0".to_owned(), argument);
    match (operation.class, operation.mode) {
        (Class::PointToPoint, Mode::Blocking) => {
            let (dest, source) = (named("dest"), named("source"));
            let Some(peer) = dest.clone().or(source.clone()) else { return String::new() };
            let tag = named("tag").or(named("sendtag")).unwrap_or_else(|| "-1".to_owned());
            let mut code = format!("    call.awaits({comm}, ({peer}, {tag}), {count});\n");
            if let (Some(_), Some(source), Some(tag)) = (dest, source, named("recvtag")) {
                code.push_str(&format!("    call.awaits_source({source}, {tag});\n"));
            }
            code
        }
        _ if is_collective(operation) => {
            let root = named("root").unwrap_or_else(|| "-1".to_owned());
            format!("    call.enters_collective({number}, {comm}, {root}, {count});\n")
        }
        _ => String::new(),
    }
}

fn is_collective(operation: &Operation) -> bool {
    match operation.class {
        Class::Collective
        | Class::Neighborhood
        | Class::OneSided
        | Class::Io
        | Class::Communicator => !OF_SOME_MEMBERS.contains(&operation.stem.as_str()),
        Class::Process => operation.root().is_some(),
        _ => false,
    }
}

/// Returns an argument as a number or a handle.
fn argument(operation: &Operation, param: usize, is_fortran: bool) -> String {
    let name = variable(operation, param);
    match (operation.params[param].kind.c_type(), is_fortran) {
        (CType::Handle, true) => format!("Handle::fortran_at({name})"),
        (CType::Handle, false) => format!("Handle::c({name})"),
        (CType::Int, true) => format!("fortran::number({name})"),
        (_, true) => format!("fortran::large_number({name})"),
        (CType::Int | CType::Aint, false) => format!("{name} as i64"),
        (_, false) => name,
    }
}
