//! Tests of programs with very many functions, all of them probed.

use super::{check_all, passages};
use std::fmt::Write;
use std::path::Path;
use suite::library::Library::{self, Mpich4, OpenMpi4};
use suite::{TestProgram, watch_with};

const N_FUNCTIONS: usize = 5000;

/// Bodies of different kinds; `I` is the number of the function, `BEFORE` the function before it.
const BODIES: [&str; 8] = [
    "return x + I;",
    "double y = x * 0.5; for (int k = 0; k < x % 5; k++) y = y * 1.25 + k; return y;",
    "return BEFORE(x - 3);",
    "switch (x % 7) { case 0: return 5; case 1: return x; case 2: return 9 * x; case 3: return -x; \
     case 4: return 77; case 5: return x ^ I; default: return 0; }",
    "volatile int field[8]; for (int k = 0; k < 8; k++) field[k] = x * k; return field[I % 8];",
    "return BEFORE(x + 1) * 3 + x;",
    "struct six six = {{x, 1, 2, 3, 4, I}}; return total(six);",
    "if (x == 0) return 1; return x % 2 ? x + 1 : x - I;",
];

const HEAD: &str = "
#include <mpi.h>
#include <stdio.h>
#define KEPT __attribute__((noinline, noclone))
struct six { long words[6]; };
static int n_total;
KEPT int total(struct six six) { n_total++; return six.words[0] + 2 * six.words[5]; }
";

/// Text of a program in which `main` calls every function twice, and some functions call the one before them.
fn many() -> String {
    let mut text = HEAD.to_owned();
    let mut add = |line: String| writeln!(text, "{line}").expect("text grows");
    add(format!("static int n_called[{N_FUNCTIONS}], n_all[{N_FUNCTIONS}];"));
    for number in 0..N_FUNCTIONS {
        let before = format!("work_{}", number.saturating_sub(1));
        let body = BODIES[number % BODIES.len()];
        let body = body.replace('I', &number.to_string()).replace("BEFORE", &before);
        add(format!("KEPT int work_{number}(int x) {{ n_called[{number}]++; {body} }}"));
    }
    add("int main(int argc, char **argv) {\n long sum = 0; int rank;".to_owned());
    add(" MPI_Init(&argc, &argv);\n MPI_Comm_rank(MPI_COMM_WORLD, &rank);".to_owned());
    add(" for (int x = 10; x < 12; x++) {".to_owned());
    (0..N_FUNCTIONS).for_each(|number| add(format!("  sum += work_{number}(x + rank);")));
    add(" }".to_owned());
    add(format!(
        " MPI_Reduce(n_called, n_all, {N_FUNCTIONS}, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);\n \
         for (int i = 0; i < {N_FUNCTIONS} && rank == 0; i++) printf(\"called %d work_%d\\n\", n_all[i], i);\n \
         if (rank == 0) printf(\"%ld %d\\n\", sum, n_total);\n MPI_Finalize();\n return 0;\n}}"
    ));
    text
}

#[test]
fn five_thousand_functions_at_once() {
    let program = TestProgram::generated("many", &many());
    for library in Library::SYSTEM {
        check_all(&library.launch(2, &program.built(library)), &[]);
    }
}

/// Tests the example program as `make` builds it: its results lie in files.
#[test]
fn the_example_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for (library, built) in [(OpenMpi4, "xfire-openmpi"), (Mpich4, "xfire-mpich")] {
        let program = root.join("target").join(built).join("xfire");
        assert!(program.exists(), "there is no `{}`; run `make test`", program.display());
        let files = |options: Option<&[&str]>| {
            let folder = tempfile::tempdir().expect("a folder for its files");
            let job = library.launch(3, &program).arg(root.join("apps/xfire/data/test.conf"));
            let job = job.args(["--quiet", "--end_min", "30", "--out"]).arg(folder.path());
            let ended = match options {
                Some(options) => {
                    let watched = watch_with(&job, options);
                    assert!(20 < passages(&watched.summary).len(), "{}", watched.ended.stderr);
                    watched.ended
                }
                None => job.run(),
            };
            assert_eq!(ended.code, 0, "{}", ended.stderr);
            ["perimeters.geojson", "arrival.asc"].map(|name| {
                std::fs::read(folder.path().join(name))
                    .unwrap_or_else(|error| panic!("{name}: {error}"))
            })
        };
        assert!(files(None) == files(Some(&["--quiet", "--probe", "*"])), "{library:?}");
    }
}
