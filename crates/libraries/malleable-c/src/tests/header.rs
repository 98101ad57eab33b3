//! Tests that the header matches the sources, and that compilers accept it.

use super::program::{repository, run};
use c_header::Header;
use std::path::Path;
use std::process::Command;

const HEADER: Header<'_> =
    Header { package: "malleable-c", path: "crates/libraries/malleable-c/include/malleable.h" };

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
const SOURCES: [&str; 5] = ["abi", "run", "register", "failure", "arguments"];

fn generated() -> String {
    let mut builder =
        c_header::builder("MALLEABLE_H", ABOUT).with_line_length(120).with_trailer(COMMUNICATOR);
    for source in SOURCES {
        builder =
            builder.with_src(repository(&format!("crates/libraries/malleable-c/src/{source}.rs")));
    }
    let text = c_header::text(builder);
    // Safety sections are for people who write Rust.
    let lines = text.split_inclusive('\n').collect::<Vec<_>>();
    without_safety(&lines)
}

/// Removes the sections `# Safety`, up to the end of a comment.
fn without_safety(lines: &[&str]) -> String {
    let mut is_left_out = false;
    let mut kept = String::new();
    for (place, line) in lines.iter().enumerate() {
        let follows = lines.get(place + 1).is_some_and(|next| next.trim() == "// # Safety");
        is_left_out = line.starts_with("//") && (is_left_out || follows && line.trim() == "//");
        if !is_left_out {
            kept.push_str(line);
        }
    }
    kept
}

#[test]
fn the_header_is_up_to_date() {
    HEADER.expect(&generated());
}

#[track_caller]
fn check(compiler: &str, standard: &str, source: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", standard, "-DOMPI_SKIP_MPICXX"]);
    command.arg("-I").arg(repository("crates/libraries/malleable-c/include")).arg(source);
    run(&mut command);
}

#[test]
fn compilers_take_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let with_mpi = "#include <malleable.h>\n#include <mpi.h>\n#include <malleable.h>\n\
        MPI_Comm own(malleable *m);\nMPI_Comm own(malleable *m) { return malleable_comm(m); }\n";
    let without = "#include <malleable.h>\nint own(malleable *m);\nint own(malleable *m) { return malleable_end(m); }\n";
    for (name, compiler, standard, text) in [
        ("a.c", "mpicc.openmpi", "-std=c99", with_mpi),
        ("a.c", "mpicc.mpich", "-std=c99", with_mpi),
        ("a.cc", "mpicxx.openmpi", "-std=c++11", with_mpi),
        ("a.cc", "mpicxx.mpich", "-std=c++11", with_mpi),
        ("a.c", "gcc", "-std=c99", without),
        ("a.c", "clang", "-std=c99", without),
    ] {
        let source = dir.path().join(name);
        std::fs::write(&source, text).expect("a file");
        check(compiler, standard, &source);
    }
}
