//! Tests that the header matches the sources, and that compilers accept it.

use c_header::CHeader;

const HEADER: CHeader<'static> = CHeader {
    package: "master-worker-c",
    path: "crates/libraries/master-worker-c/include/master_worker.h",
};
const ABOUT: &str = "/* Programs of a master and workers that deal themselves well: on the ranks of an MPI launcher, or on threads.
 *
 * You fill a `mw_program` with your functions and call `mw_run`. The library sends the tasks of an iteration out in
 * chunks whose sizes follow what was measured, computes again elsewhere what failed or whose worker died, writes
 * checkpoints, and can be watched and tuned from outside (`sintonia run`).
 *
 *   cc program.c -lmaster_worker            the shared library; or, with the static one:
 *   cc program.c libmaster_worker.a -lm
 *   ./a.out --progress                      on a thread per core
 *   mpirun -n 4 ./a.out --progress          on four ranks, with Open MPI or MPICH: the same program
 *
 * The MPI library is found when the program runs, so `cc` does as well as `mpicc`. A program that calls MPI itself
 * calls `MPI_Init_thread` before `mw_run` and `MPI_Finalize` after it; one that does not can call `mw_run` or `mw_map`
 * once.
 *
 * A function `worker_...` is called on every worker. Where ranks are threads that is several threads at once, each with
 * its own copy of the bytes of `state`: keep other memory that they write apart, made in `worker_init`. The result of
 * a task depends on the task and the shared data only; then it is the same on any number of ranks. Results arrive in
 * any order: put them where their tasks are.
 *
 * All ranks run the same program on machines of one kind: bytes are sent as they are. Pointers that a function is
 * passed are valid until it returns. C++: no exception may leave a function that the library calls; catch it there and
 * return `mw_fail(...)`, as `mw::guarded` of `master_worker.hpp` does.
 *
 * Made from the sources in crates/libraries/master-worker-c/src; a test says how. */";

/// The sources, in the order of the header.
const SOURCES: [&str; 9] =
    ["abi", "callbacks", "buffer", "kept", "failure", "options", "run", "map", "bag"];

#[test]
fn the_header_is_up_to_date() {
    let builder =
        c_header::builder("MASTER_WORKER_H", ABOUT).with_line_length(120).with_trailer("#endif");
    HEADER.expect(&HEADER.made_of(builder, &SOURCES));
}

#[test]
fn compilers_take_it() {
    let text = "#include <master_worker.h>\n#include <master_worker.h>\n\
        int own(int argc, char **argv);\n\
        int own(int argc, char **argv) { mw_program program; program.state = 0; return mw_run(&program, argc, argv); }\n";
    for (name, compiler, standard) in
        [("a.c", "gcc", "-std=c99"), ("a.c", "clang", "-std=c99"), ("a.cc", "g++", "-std=c++11")]
    {
        HEADER.accept(compiler, &["-Wpedantic", standard], name, text);
    }
}
