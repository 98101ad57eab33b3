//! Checks the special values and layouts with programs compiled with the installed MPI libraries.

use std::fmt::Write;
use std::process::Command;

use mpi_abi::{ByteCount, Constants, FixedWidthNumber, Handle, LibraryFamily, StatusLayout};

use crate::compiler::compilers;

/// C expression with its expected value.
type Row = (String, i64);

#[test]
fn values_are_those_of_the_headers() {
    for compiler in compilers() {
        let rows = rows(compiler.library);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("values");
        let path = program.to_str().expect("a path in UTF-8");
        compiler.compile(&source(&rows), &["-Wno-pointer-to-int-cast", "-o", path]);
        let output = Command::new(&program).output().expect("the program runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let values: Vec<i64> = text.lines().map(|line| line.parse().expect("a number")).collect();
        for ((expression, expected), value) in rows.iter().zip(&values) {
            assert_eq!(value, expected, "`{expression}` of {}", compiler.command);
        }
        assert_eq!(values.len(), rows.len());
    }
}

/// C program that prints the value of each expression; it does not start MPI.
fn source(rows: &[Row]) -> String {
    let mut text = String::from(
        "#include <mpi.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\
         int main(void) {\n",
    );
    for (expression, _) in rows {
        writeln!(text, "printf(\"%lld\\n\", (long long)({expression}));").expect("a string grows");
    }
    text + "return 0; }\n"
}

fn rows(library: LibraryFamily) -> Vec<Row> {
    let mut rows = vec![
        row("MPI_SUCCESS", 0),
        row("(intptr_t)MPI_BOTTOM", 0),
        row("sizeof(MPI_Count)", 8),
        row("sizeof(MPI_Offset)", 8),
        row("sizeof(MPI_Aint) == sizeof(void *)", 1),
        row("sizeof(MPI_File)", 8),
    ];
    rows.extend(number_rows(library.constants()));
    rows.extend(handle_rows(library.constants()));
    rows.extend(
        FixedWidthNumber::ALL
            .map(|number| handle_row((number.mpi_name(), library.datatype(number)))),
    );
    rows.extend(status_rows(library.status_layout()));
    rows
}

fn row(expression: impl Into<String>, value: impl TryInto<i64>) -> Row {
    (expression.into(), value.try_into().ok().expect("a value of at most 63 bits"))
}

fn number_rows(constants: &Constants) -> Vec<Row> {
    vec![
        row("sizeof(MPI_Comm)", constants.handle_bytes),
        row("(intptr_t)MPI_STATUS_IGNORE", constants.status_ignore),
        row("(intptr_t)MPI_STATUSES_IGNORE", constants.statuses_ignore),
        row("(intptr_t)MPI_IN_PLACE", constants.in_place),
        row("MPI_ANY_SOURCE", constants.any_source),
        row("MPI_ANY_TAG", constants.any_tag),
        row("MPI_PROC_NULL", constants.proc_null),
        row("MPI_ROOT", constants.root),
        row("MPI_UNDEFINED", constants.undefined),
        row("MPI_MODE_NOCHECK", constants.mode_nocheck),
        row("MPI_MAX_PORT_NAME", constants.max_port_name),
        row("MPI_MAX_PROCESSOR_NAME", constants.max_processor_name),
        row("MPI_THREAD_SERIALIZED", constants.thread_serialized),
        row("MPI_THREAD_MULTIPLE", constants.thread_multiple),
        row("MPI_CART", constants.cart),
        row("MPI_GRAPH", constants.graph),
        row("MPI_DIST_GRAPH", constants.dist_graph),
    ]
}

fn handle_rows(constants: &Constants) -> Vec<Row> {
    let named = [
        ("MPI_COMM_WORLD", constants.comm_world),
        ("MPI_COMM_SELF", constants.comm_self),
        ("MPI_COMM_NULL", constants.comm_null),
        ("MPI_REQUEST_NULL", constants.request_null),
        ("MPI_MESSAGE_NO_PROC", constants.message_no_proc),
        ("MPI_DATATYPE_NULL", constants.datatype_null),
        ("MPI_BYTE", constants.byte),
        ("MPI_INFO_NULL", constants.info_null),
        ("MPI_ERRORS_RETURN", constants.errors_return),
        ("MPI_SUM", constants.sum),
        ("MPI_MIN", constants.min),
        ("MPI_MAX", constants.max),
        ("MPI_WIN_NULL", constants.win_null),
    ];
    named.into_iter().map(handle_row).collect()
}

fn handle_row((name, handle): (&str, Handle)) -> Row {
    match handle {
        Handle::Value(value) => row(format!("(uintptr_t){name}"), value),
        Handle::AddressOf(symbol) => row(format!("(void *){name} == (void *)&{symbol}"), 1),
    }
}

fn status_rows(layout: StatusLayout) -> Vec<Row> {
    let mut members = vec![
        ("MPI_SOURCE", layout.source_offset),
        ("MPI_TAG", layout.tag_offset),
        ("MPI_ERROR", layout.error_offset),
    ];
    match layout.count {
        ByteCount::Size { offset } => members.push(("_ucount", offset)),
        ByteCount::Split { low_offset, high_and_cancelled_offset } => {
            members.push(("count_lo", low_offset));
            members.push(("count_hi_and_cancelled", high_and_cancelled_offset));
        }
        ByteCount::Opaque => {}
    }
    let member_row = |(name, offset)| row(format!("offsetof(MPI_Status, {name})"), offset);
    let mut rows = vec![row("sizeof(MPI_Status)", layout.size_bytes)];
    rows.extend(members.into_iter().map(member_row));
    rows
}
