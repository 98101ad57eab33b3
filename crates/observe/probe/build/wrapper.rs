//! Generates the C wrapper of an operation.

use crate::accounting::{statuses, used_params, variable};
use crate::awaited;
use crate::routing::{Language, Routing};
use mpi_abi::{CType, Mode, Operation, ParameterKind};

/// Rust type with C's calling convention.
fn c_type(kind: ParameterKind) -> &'static str {
    match kind.c_type() {
        CType::Int => "c_int",
        CType::Count | CType::Offset => "i64",
        CType::Aint => "isize",
        _ => "usize",
    }
}

/// Returns the value that accounting takes, from the C argument.
fn value(operation: &Operation, param: usize) -> String {
    let name = variable(operation, param);
    match operation.params[param].kind.c_type() {
        CType::Int | CType::Aint => format!("{name} as i64"),
        CType::Handle => format!("Handle::c({name})"),
        _ => name,
    }
}

/// Returns whether the operation starts or ends monitoring instead of being counted like the others.
pub(crate) fn has_own_body(operation: &Operation) -> bool {
    own_body(operation, 0, "", "").is_some()
}

/// Generates the body of an operation that starts or ends monitoring, given the statement that calls the real
/// function and the condition of its success.
pub(crate) fn own_body(
    operation: &Operation,
    number: usize,
    real: &str,
    succeeded: &str,
) -> Option<String> {
    let starts = |function| {
        format!(
            "    process::before_init();\n    let begin = process::Begin::now();\n    {real}    if {succeeded} {{ process::{function}({number}, begin) }}\n"
        )
    };
    let ends = |function| format!("    process::{function}({number});\n    {real}");
    match operation.stem.as_str() {
        "Init" | "Init_thread" => Some(starts("after_init")),
        "Session_init" => Some(starts("after_session_init")),
        "Finalize" => Some(ends("before_finalize")),
        "Session_finalize" => Some(ends("before_session_finalize")),
        _ => None,
    }
}

pub(crate) fn write(code: &mut String, number: usize, operation: &Operation) {
    let names: Vec<String> = (0..operation.params.len()).map(|p| variable(operation, p)).collect();
    let typed: Vec<String> = (0..operation.params.len())
        .map(|param| format!("{}: {}", names[param], c_type(operation.params[param].kind)))
        .collect();
    let types: Vec<&str> = operation.params.iter().map(|param| c_type(param.kind)).collect();
    code.push_str(&format!(
        "trampoline!(\"{name}\", {name}, c_{number});\n\
         #[allow(clippy::too_many_arguments, clippy::let_and_return, reason = \"generated\")]\n\
         unsafe extern \"C-unwind\" fn c_{number}({typed}) -> c_int {{\n\
         \x20   type Real = unsafe extern \"C-unwind\" fn({types}) -> c_int;\n\
         \x20   let Some(real) = next::c({number}) else {{ return next::MISSING }};\n\
         \x20   // SAFETY: the symbol is the MPI function of this name and signature.\n\
         \x20   let real = unsafe {{ std::mem::transmute::<next::Function, Real>(real) }};\n\
         {body}}}\n",
        name = operation.name,
        typed = typed.join(", "),
        types = types.join(", "),
        body = body(number, operation, &names),
    ));
}

fn body(number: usize, operation: &Operation, names: &[String]) -> String {
    let passed = names.join(", ");
    let real = format!(
        "// SAFETY: the program's own arguments.\n    let result = unsafe {{ real({passed}) }};\n"
    );
    match own_body(operation, number, &real, "result == 0") {
        Some(body) => format!("{body}    result\n"),
        None => counted(number, operation, &passed),
    }
}

fn counted(number: usize, operation: &Operation, passed: &str) -> String {
    let values: String =
        used_params(operation).into_iter().map(|p| format!(", {}", value(operation, p))).collect();
    let Routing { before: first, passed, after, last } =
        Routing::of(operation, passed, Language::C);
    format!(
        "{freeing}{first}    let Some(mut call) = MonitoredCall::begin({number}, {is_poll}) else {{\n\
         \x20       // SAFETY: the program's own arguments.\n\
         \x20       let result = unsafe {{ real({passed}) }};\n\
         {after}{last}        return result;\n    }};\n\
         {before}\
         \x20   // SAFETY: the program's own arguments; a status that was ignored is replaced by our own.\n\
         \x20   let result = unsafe {{ real({passed}) }};\n\
         {after}\
         \x20   call.returned();\n\
         \x20   if result == 0 {{ account_{number}(&mut call{values}) }}\n\
         \x20   call.finish({number});\n\
         {last}\
         \x20   result\n",
        is_poll = operation.is_poll(),
        before = before(number, operation, false),
        freeing = freeing(operation, false),
    )
}

/// Generates the code before the call: it replaces an ignored status, notes requests that the call will
/// overwrite, and publishes what the call waits for.
pub(crate) fn before(number: usize, operation: &Operation, is_fortran: bool) -> String {
    let mut code = String::new();
    let reads_status = operation.movements.iter().any(|movement| {
        movement.cases.iter().any(|case| matches!(case.amount, mpi_abi::Amount::Status(_)))
    });
    if let (true, Some(status)) = (reads_status, operation.position(ParameterKind::Status)) {
        let status = variable(operation, status);
        code.push_str(&format!(
            "    let mut own_status = OwnStatus::new();\n    let {status} = call.arguments.status_or({status}, &mut own_status);\n"
        ));
    }
    if let Some(requests) = operation.completes {
        let n_requests = ["count", "incount"].iter().find_map(|name| operation.named(name));
        let n_requests = n_requests.map_or("1".to_owned(), |param| {
            let name = variable(operation, param);
            if is_fortran { format!("fortran::number({name})") } else { format!("{name} as i64") }
        });
        code.push_str(&format!(
            "    call.will_complete({}, {n_requests});\n",
            variable(operation, requests)
        ));
        if let Some((param, false)) = statuses(operation) {
            let status = variable(operation, param);
            code.push_str(&format!("    let {status} = call.status_or_own({status});\n"));
        }
        if operation.mode == Mode::Blocking {
            code.push_str(&format!(
                "    call.awaits_requests({}, {n_requests});\n",
                variable(operation, requests)
            ));
        }
    }
    code + &awaited::write(number, operation, is_fortran)
}

/// Generates the code before the call, counted or not, for operations that free a handle: the handle may be reused.
pub(crate) fn freeing(operation: &Operation, is_fortran: bool) -> String {
    let scope = match operation.stem.as_str() {
        "Comm_free" | "Comm_disconnect" => "Communicator",
        "Win_free" => "Window",
        "Type_free" => return "    datatypes::forget();\n".to_owned(),
        _ => return String::new(),
    };
    let language = if is_fortran { "fortran" } else { "c" };
    let handle = format!("Handle::{language}_at({})", variable(operation, 0));
    let shadows = match scope {
        "Communicator" => format!("    collectives::freeing({handle});\n"),
        _ => String::new(),
    };
    format!("{shadows}    communicators::forget(Scope::{scope}, {handle});\n")
}
