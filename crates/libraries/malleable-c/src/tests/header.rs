//! Tests that the header matches the sources, and that compilers accept it.

use c_header::CHeader;

const HEADER: CHeader<'_> =
    CHeader { package: "malleable-c", path: "crates/libraries/malleable-c/include/malleable.h" };

const ABOUT: &str = "\
/* Programs that change their number of ranks while they run, in C and C++.
 *
 * An iterative program registers its data once, and calls `malleable_resize_point` at the head of its loop. Whoever wants
 * another number of ranks says so from outside (`sintonia resize JOB N`, a policy of Slurm, a schedule, a model): processes
 * are started while the program computes, its data move, and the loop goes on with the next iteration.
 *
 *   mpicc program.c -lsintonia_malleable
 *   mpirun -n 2 ./a.out --schedule 100:4,200:1
 *
 *   malleable *m = malleable_begin(&argc, &argv);
 *   malleable_rows_of(m, n_rows, MALLEABLE_EVEN, 0, &share);
 *   malleable_rows(m, \"heat\", &heat, sizeof *heat);
 *   if (!malleable_is_new(m))
 *       heat = make(share);
 *   for (uint64_t i = 0; i < n; i++) {
 *       if (malleable_resize_point(m, &i) == MALLEABLE_LEFT)
 *           break;
 *       step(heat, share, malleable_comm(m));
 *   }
 *   malleable_end(m);
 *
 * The library never ends the process: it returns codes, and `malleable_message` says in words what went wrong. MPI is begun
 * here, so that several threads may call it. One thread calls the functions here.
 *
 * Made from the sources in crates/libraries/malleable-c/src; a test says how. */";

/// Part that depends on the compiler's MPI library: its handles are pointers, or numbers.
const COMMUNICATOR: &str = "\
// The communicator of the present ranks, for programs that include `mpi.h`; a change of the size replaces it.
#define malleable_comm(program) ((MPI_Comm)malleable_handle(program))

#endif";

/// The sources, in the order of the header.
const SOURCES: [&str; 7] = ["abi", "run", "fortran", "register", "rows", "failure", "arguments"];

#[test]
fn the_header_is_up_to_date() {
    let builder =
        c_header::builder("MALLEABLE_H", ABOUT).with_line_length(120).with_trailer(COMMUNICATOR);
    HEADER.expect(&HEADER.made_of(builder, &SOURCES));
}

#[test]
fn compilers_take_it() {
    let with_mpi = "#include <malleable.h>\n#include <mpi.h>\n#include <malleable.h>\n\
        MPI_Comm own(malleable *m);\nMPI_Comm own(malleable *m) { return malleable_comm(m); }\n";
    let without = "#include <malleable.h>\nint own(malleable *m);\nint own(malleable *m) { return malleable_end(m); }\n";
    let in_cpp = "#include <malleable.hpp>\nMPI_Comm own(const sintonia::Malleable &run);\n\
        MPI_Comm own(const sintonia::Malleable &run) { return run.comm(); }\n";
    for (name, compiler, standard, text) in [
        ("a.c", "mpicc.openmpi", "-std=c99", with_mpi),
        ("a.c", "mpicc.mpich", "-std=c99", with_mpi),
        ("a.cc", "mpicxx.openmpi", "-std=c++14", in_cpp),
        ("a.cc", "mpicxx.mpich", "-std=c++20", in_cpp),
        ("a.cc", "mpicxx.openmpi", "-std=c++11", with_mpi),
        ("a.cc", "mpicxx.mpich", "-std=c++11", with_mpi),
        ("a.c", "gcc", "-std=c99", without),
        ("a.c", "clang", "-std=c99", without),
    ] {
        HEADER.accept(compiler, &[standard, "-DOMPI_SKIP_MPICXX"], name, text);
    }
}
