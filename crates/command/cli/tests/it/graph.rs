//! Tests of `sintonia graph`: the files of its pictures, and its output.

use crate::sintonia::Sandbox;

const PROGRAM: &str = "#include <mpi.h>\n#include \"ranks.h\"\nint main(void)\n{\n    int rank;\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    \
    if (rank == MASTER)\n        MPI_Send(a, n, MPI_INT, 1, 0, MPI_COMM_WORLD);\n    else\n        \
    MPI_Recv(a, n, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);\n}\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("src")).expect("a folder");
    sandbox.write("src/pass.c", PROGRAM);
    sandbox.write("src/ranks.h", "#define MASTER 0\n");
    sandbox
}

#[track_caller]
fn check_written(words: &str, to: &str) {
    let sandbox = sandbox();
    let said = sandbox.said(&format!("graph {words}"));
    let expected = format!("sintonia: `{to}` shows master with 1 region, workers with 1 region\n");
    assert_eq!((said.code, said.output.as_str(), said.errors), (Some(0), "", expected));
    let picture = sandbox.read(to);
    assert!(picture.starts_with("<svg") && picture.contains(">Recv<"), "{picture}");
}

#[test]
fn a_picture_is_written_where_it_is_asked_for() {
    check_written("src/pass.c", "pass.svg");
    check_written("src -o drawn.svg", "drawn.svg");
    check_written("src/pass.c src/ranks.h --output tmp/a.svg", "tmp/a.svg");
    check_written("src/pass.c --view regions", "pass.svg");
}

#[test]
fn a_picture_goes_to_standard_output() {
    let drawn = sandbox().said("graph src -o -").silent();
    assert!(drawn.starts_with("<svg"), "{drawn}");
}

#[test]
fn a_folder_is_read_with_its_folders_and_headers() {
    let sandbox = Sandbox::new();
    for folder in ["code", "code/src", "code/fem", "code/.git"] {
        std::fs::create_dir(sandbox.path(folder)).expect("a folder");
    }
    sandbox
        .write("code/src/main.cpp", "#include <solve.hpp>\nint main() { fem::solve<int>(3); }\n");
    sandbox.write(
        "code/fem/solve.hpp",
        "namespace fem { template <class T> void solve(T n) { MPI_Barrier(MPI_COMM_WORLD); } }\n",
    );
    sandbox.write("code/.git/old.c", "int main() { MPI_Finalize(); }\n");
    sandbox.write("code/src/none.cpp", "int main() { return 0; }\n");
    let said = sandbox.said("graph code");
    assert!(said.errors.contains("`code.svg` shows all ranks with 1 region"), "{said:?}");
    assert!(said.errors.contains("another `main`; that of `code/src/main.cpp` is taken"));
}

#[test]
fn scripts_get_json() {
    let sandbox = sandbox();
    let graph = sandbox.said("graph src --json").json();
    assert_eq!(graph["format_version"], 1);
    assert_eq!(graph["roles"][1]["name"], "workers");
    let nodes = graph["nodes"].as_array().expect("nodes");
    let send = nodes.iter().find(|node| node["kind"] == "mpi").expect("there is one");
    assert_eq!(send["line"], 8);
    assert_eq!(send["transfers"][0]["bytes"], "4 * n");
    assert!(!sandbox.path("pass.svg").exists());
}

#[track_caller]
fn check_refused(words: &str, code: i32, expected: &str) {
    let said = sandbox().said(&format!("graph {words}"));
    said.check_errors(code, expected);
    assert_eq!(said.output, "");
}

#[test]
fn what_cannot_be_drawn_is_said() {
    check_refused("none.c", 100, "`none.c` cannot be read");
    check_refused("src/ranks.h", 100, "`src/ranks.h` has no function of C or C++");
    let empty = sandbox();
    empty.write("notes/todo.txt", "read");
    let said = empty.said("graph notes");
    said.check_errors(100, "has neither a source in C or C++ nor a recorded run");
    check_refused("src --overlay none", 101, "`none` is not a folder");
    check_refused("src -o none/a.svg", 102, "`none/a.svg`");
    check_refused("", 2, "SOURCE|RUN");
}

#[test]
fn a_run_without_mpi_has_no_graph() {
    let sandbox = sandbox();
    sandbox.said("run --out record --quiet -- true");
    sandbox.said("graph record").check_errors(100, "`record` has no call of MPI");
    sandbox.said("graph record --overlay record").check_errors(2, "`--overlay` needs sources");
}

#[test]
fn it_explains_itself() {
    insta::assert_snapshot!("graph-help", Sandbox::new().said("graph --help").output);
}
