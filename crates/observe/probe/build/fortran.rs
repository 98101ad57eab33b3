//! Generates the Fortran wrappers of an operation: every argument is an address, the accounting is that of C.

use crate::accounting::{used_params, variable};
use crate::routing::{Language, Routing};
use crate::wrapper::{before, freeing, own_body};
use mpi_abi::{Binding, CType, EntryPoint, Operation, ParameterKind, fortran_entry_points};

pub(crate) fn write(
    code: &mut String,
    names: &mut Vec<Vec<String>>,
    number: usize,
    operation: &Operation,
) {
    let entries = fortran_entry_points(operation);
    for binding in [Binding::Classic, Binding::F08, Binding::F08Descriptor] {
        let symbols: Vec<&EntryPoint> = entries.iter().filter(|e| e.binding == binding).collect();
        if symbols.is_empty() {
            continue;
        }
        let entry = names.len();
        names.push(symbols.iter().map(|entry| entry.symbol.clone()).collect());
        for symbol in &symbols {
            let symbol = &symbol.symbol;
            code.push_str(&format!("trampoline!(\"{symbol}\", f_{symbol}, fortran_{entry});\n"));
        }
        write_body(code, &Entry { number, entry, binding, operation });
    }
}

struct Entry<'a> {
    number: usize,
    entry: usize,
    binding: Binding,
    operation: &'a Operation,
}

fn write_body(code: &mut String, entry: &Entry<'_>) {
    let operation = entry.operation;
    let mut names: Vec<String> = operation
        .params
        .iter()
        .enumerate()
        .filter(|(_, param)| param.kind.is_in_fortran())
        .map(|(position, _)| variable(operation, position))
        .collect();
    names.push("p_ierror".to_owned());
    let n_hidden = operation.params.iter().filter(|param| param.kind.has_hidden_length()).count();
    names.extend((0..n_hidden).map(|hidden| format!("p_hidden_{hidden}")));
    let typed: Vec<String> = names.iter().map(|name| format!("{name}: usize")).collect();
    code.push_str(&format!(
        "/// `{symbol}` from Fortran.\n\
         #[allow(clippy::too_many_arguments, reason = \"generated\")]\n\
         unsafe extern \"C-unwind\" fn fortran_{number}({typed}) {{\n\
         \x20   type Real = unsafe extern \"C-unwind\" fn({types});\n\
         \x20   let Some(real) = next::fortran({number}) else {{ return fortran::set_missing(p_ierror) }};\n\
         \x20   // SAFETY: the symbol is the Fortran entry point of this name and signature.\n\
         \x20   let real = unsafe {{ std::mem::transmute::<next::Function, Real>(real) }};\n\
         {body}}}\n",
        symbol = operation.name,
        number = entry.entry,
        typed = typed.join(", "),
        types = vec!["usize"; names.len()].join(", "),
        body = body(entry, &names.join(", ")),
    ));
}

fn body(entry: &Entry<'_>, passed: &str) -> String {
    let number = entry.number;
    let real =
        format!("// SAFETY: the program's own arguments.\n    unsafe {{ real({passed}) }};\n");
    own_body(entry.operation, number, &real, "fortran::succeeded(p_ierror)")
        .unwrap_or_else(|| counted(entry, passed))
}

fn counted(entry: &Entry<'_>, passed: &str) -> String {
    let number = entry.number;
    let values: String = used_params(entry.operation)
        .into_iter()
        .map(|p| format!(", {}", value(entry, p)))
        .collect();
    let Routing { before: first, passed, after, last } =
        Routing::of(entry.operation, passed, Language::Fortran);
    format!(
        "{freeing}{first}    let Some(mut call) = MonitoredCall::begin_fortran({number}, {goes_on}, {is_poll}) else {{\n\
         \x20       // SAFETY: the program's own arguments.\n\
         \x20       unsafe {{ real({passed}) }};\n\
         {after}{last}        return MonitoredCall::end_fortran_layer();\n    }};\n\
         {before}\
         \x20   // SAFETY: the program's own arguments; a status that was ignored is replaced by our own.\n\
         \x20   unsafe {{ real({passed}) }};\n\
         {after}\
         \x20   call.returned();\n\
         \x20   if fortran::succeeded(p_ierror) {{ account_{number}(&mut call{values}) }}\n\
         \x20   call.finish({number});\n\
         {last}",
        // MPICH's plain `mpi_f08` entry points call PMPI directly, all others call MPI.
        goes_on = entry.binding != Binding::F08,
        is_poll = entry.operation.is_poll(),
        before = before(number, entry.operation, true),
        freeing = freeing(entry.operation, true),
    )
}

/// Returns the value that accounting takes, read from the address that Fortran passed.
fn value(entry: &Entry<'_>, param: usize) -> String {
    let name = variable(entry.operation, param);
    let kind = entry.operation.params[param].kind;
    match kind.c_type() {
        CType::Int => format!("fortran::number({name})"),
        CType::Count | CType::Aint | CType::Offset => format!("fortran::large_number({name})"),
        CType::Handle => format!("Handle::fortran_at({name})"),
        _ if kind == ParameterKind::Buf && entry.binding == Binding::F08Descriptor => {
            format!("fortran::described({name})")
        }
        _ => name,
    }
}
