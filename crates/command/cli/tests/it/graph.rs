//! Tests of `sintonia graph`: the files of its pictures, and its output.

use crate::sintonia::Sandbox;
use serde_json::Value;

const PROGRAM: &str = "#include <mpi.h>\n#include \"ranks.h\"\nint main(void)\n{\n    int rank;\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    \
    if (rank == MASTER)\n        MPI_Send(a, n, MPI_INT, 1, 0, MPI_COMM_WORLD);\n    else\n        \
    MPI_Recv(a, n, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);\n}\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("src")).expect("a folder");
    std::fs::write(sandbox.path("src/pass.c"), PROGRAM).expect("a file");
    std::fs::write(sandbox.path("src/ranks.h"), "#define MASTER 0\n").expect("a file");
    sandbox
}

#[track_caller]
fn check_written(words: &[&str], to: &str) {
    let sandbox = sandbox();
    let said = sandbox.sintonia(&[&["graph"], words].concat());
    let expected = format!("sintonia: `{to}` shows master with 1 region, workers with 1 region\n");
    assert_eq!((said.code, said.output.as_str(), said.errors), (Some(0), "", expected));
    let picture = std::fs::read_to_string(sandbox.path(to)).expect("it was written");
    assert!(picture.starts_with("<svg") && picture.contains(">Recv<"), "{picture}");
}

#[test]
fn a_picture_is_written_where_it_is_asked_for() {
    check_written(&["src/pass.c"], "pass.svg");
    check_written(&["src", "-o", "drawn.svg"], "drawn.svg");
    check_written(&["src/pass.c", "src/ranks.h", "--output", "tmp/a.svg"], "tmp/a.svg");
    check_written(&["src/pass.c", "--view", "regions"], "pass.svg");
}

#[test]
fn a_picture_goes_to_standard_output() {
    let said = sandbox().sintonia(&["graph", "src", "-o", "-"]);
    assert_eq!((said.code, said.errors.as_str()), (Some(0), ""));
    assert!(said.output.starts_with("<svg"), "{}", said.output);
}

#[test]
fn scripts_get_json() {
    let sandbox = sandbox();
    let said = sandbox.sintonia(&["graph", "src", "--json"]);
    let graph: Value = serde_json::from_str(&said.output).expect("JSON");
    assert_eq!(
        (&graph["format_version"], &graph["roles"][1]["name"]),
        (&1.into(), &"workers".into())
    );
    let send =
        graph["nodes"].as_array().and_then(|nodes| nodes.iter().find(|it| it["kind"] == "mpi"));
    let send = send.expect("there is one");
    assert_eq!((&send["line"], &send["transfers"][0]["bytes"]), (&8.into(), &"4 * n".into()));
    assert!(!sandbox.path("pass.svg").exists());
}

#[track_caller]
fn check_refused(words: &[&str], code: i32, expected: &str) {
    let said = sandbox().sintonia(&[&["graph"], words].concat());
    assert_eq!((said.code, said.output.as_str()), (Some(code), ""));
    assert!(said.errors.contains(expected), "{}", said.errors);
}

#[test]
fn what_cannot_be_drawn_is_said() {
    check_refused(&["none.c"], 100, "`none.c` cannot be read");
    check_refused(&["src/ranks.h"], 100, "`src/ranks.h` has no function of C or C++");
    check_refused(&["."], 100, "has neither a source in C or C++ nor a recorded run");
    check_refused(&["src", "--overlay", "none"], 101, "`none` is not a folder");
    check_refused(&["src", "-o", "none/a.svg"], 102, "`none/a.svg`");
    check_refused(&[], 2, "SOURCE|RUN");
}

#[test]
fn a_run_without_mpi_has_no_graph() {
    let sandbox = sandbox();
    sandbox.sintonia(&["run", "--out", "record", "--quiet", "--", "true"]);
    let said = sandbox.sintonia(&["graph", "record"]);
    said.check_errors(100, "`record` has no call of MPI");
    let said = sandbox.sintonia(&["graph", "record", "--overlay", "record"]);
    assert_eq!(said.code, Some(2), "{}", said.errors);
}

#[test]
fn it_explains_itself() {
    let said = Sandbox::new().sintonia(&["graph", "--help"]);
    insta::assert_snapshot!("graph-help", said.output);
}
