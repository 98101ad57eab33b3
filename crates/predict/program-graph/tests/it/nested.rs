//! Deeply nested programs are read in time proportional to their length.

use program_graph::{Source, read};

fn program(open: &str, close: &str, n: usize) -> String {
    let (open, close) = (open.repeat(n), close.repeat(n));
    format!(
        "#include <mpi.h>\nint main(int argc, char **argv) {{\nint x = 0; MPI_Init(&argc, &argv);\n{open} x++; {close}\n\
         MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); }}\n"
    )
}

#[track_caller]
fn check(open: &str, close: &str) {
    // Each level used to walk everything inside it, several times: this took a minute.
    let text = program(open, close, 4_000);
    let graph = read(&[Source { name: "deep.c", text: &text }]).expect("it has MPI");
    assert_eq!(graph.roles.len(), 1);
}

/// 2,000 nested conditionals took 12 s, and twice as many four times as long.
#[test]
fn conditionals_within_each_other_are_read() {
    check("if (argc > 2) { x = argc;\n", "}");
    check("if (argc > 2) { if (x) MPI_Barrier(MPI_COMM_WORLD);\n", "}");
}

#[test]
fn loops_within_each_other_are_read() {
    check("for (int i = 0; i < argc; i++)\n", ";");
    check("while (x < argc) { x += 2;\n", "}");
}
