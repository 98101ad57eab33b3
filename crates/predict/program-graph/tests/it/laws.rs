//! Laws that hold for any text.

use program_graph::{SourceFile, View, draw, json, read};
use proptest::prelude::{any, prop, proptest};
use proptest::strategy::{Just, Strategy};
use proptest::{prop_assert, prop_oneof};

/// Generates fragments of programs, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("int main() {"),
        Just("void f(int rank) {"),
        Just("}"),
        Just("{"),
        Just("("),
        Just(")"),
        Just(";"),
        Just("MPI_Comm_rank(MPI_COMM_WORLD, &rank);"),
        Just("MPI_Send(a, n, MPI_INT, rank + 1, 0, c);"),
        Just("MPI_Wait("),
        Just("if (rank == 0)"),
        Just("else"),
        Just("for (int i = 0; i < n; i++)"),
        Just("while (rank"),
        Just("do"),
        Just("switch (rank) { case 0:"),
        Just("break;"),
        Just("return"),
        Just("f(rank);"),
        Just("f(f);"),
        Just("#ifdef X\n"),
        Just("\n#else\n"),
        Just("\n#endif\n"),
        Just("#define F(a) MPI_Barrier(a)\n"),
        Just("F(x);"),
        Just("rank ? MPI_Barrier(c) : f(1);"),
        Just("auto g = [&]() {"),
        Just("};"),
        Just("9999999999999999999"),
        Just("- 1 / 0 %"),
        Just("\u{1F600}"),
        Just("goto out; out:"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.join(" "))
}

fn read_all(text: &str) -> bool {
    ["a.c", "a.cpp", "a.h"].into_iter().all(|name| {
        read(&[SourceFile { name, text }]).map_or(true, |graph| {
            let picture = draw(&graph, name, View::Regions);
            json(&graph)["nodes"].is_array() && picture.ends_with("</svg>\n")
        })
    })
}

proptest! {
    #[test]
    fn any_text_is_read(text in any::<String>()) {
        prop_assert!(read_all(&text));
    }

    #[test]
    fn any_pieces_are_read(text in pieces()) {
        let text = format!("int main() {{ MPI_Barrier(c); {text}");
        prop_assert!(read_all(&text));
    }
}

#[test]
fn deep_and_large_texts_are_read() {
    let deep = |open: &str, close: &str| {
        format!("int main() {{ {} MPI_Barrier(c); {} }}", open.repeat(700), close.repeat(700))
    };
    assert!(read_all(&deep("{", "}")));
    assert!(read_all(&deep("if (x) {", "}")));
    assert!(read_all(&deep("for (;;)", "")));
    assert!(read_all(&format!("int main() {{ MPI_Barrier({}c); }}", "(".repeat(5000))));
    assert!(read_all(&format!("int main() {{ n = {} 1; MPI_Barrier(c); }}", "1 + ".repeat(5000))));
    // Functions that each call the previous one twice would make a graph of 2^30 nodes; those without MPI, as many steps.
    let doubled: String =
        (0..30).map(|i| format!("void f{}() {{ f{i}(); f{i}(); }}\n", i + 1)).collect();
    let text = format!("void f0() {{ MPI_Barrier(c); }}\n{doubled}int main() {{ f30(); }}");
    let graph = read(&[SourceFile { name: "a.c", text: &text }]).expect("a program");
    assert!(graph.roles[0].body[0].all().len() < 500);
    assert!(read_all(
        &text.replace("main() {", "main() { MPI_Wait(r, s); ").replace("MPI_Barrier", "f")
    ));
}

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
    let graph = read(&[SourceFile { name: "deep.c", text: &text }]).expect("it has MPI");
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
