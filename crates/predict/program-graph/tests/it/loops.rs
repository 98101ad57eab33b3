//! Iterations of loops, as far as their text determines them.

use crate::said::{graph, main_of, roles};

#[track_caller]
fn check(body: &str, count: &str) {
    let body = body.replace("SEND", "MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD);");
    let said = roles(&graph(&main_of(&body))).remove(0);
    let expected = format!("loop({count}){{Bcast}}");
    assert!(said.contains(&expected), "{said}, not {expected}");
}

#[test]
fn counts_are_told_in_the_names_of_the_program() {
    check("for (int i = 0; i < n; i++) SEND", "n");
    check("for (int i = 0; i < 10; ++i) { SEND }", "10");
    check("int i; for (i = 1; i <= n; i++) SEND", "n");
    check("for (int i = 1; i < n; i += 2) SEND", "(n - 1) / 2");
    check("for (int i = n; i > 0; i--) SEND", "n");
    check("for (int i = n - 1; i >= 0; i--) SEND", "n");
    check("for (int i = 0; i != n; i++) SEND", "n");
    check("for (int i = 0; n > i; i = i + 1) SEND", "n");
    check("for (int to = 1; to < size; to++) SEND", "p - 1");
    check("int w = size - 1; for (int to = 1; to <= w; to++) SEND", "p - 1");
    check("for (int i = rank; i < n; i += size) SEND", "(n - rank) / p");
    check("for (int i = 0; ok && i < n; i++) SEND", "n");
    check("for (int s = 1; s < size; s *= 2) SEND", "log2(p)");
    check("for (int s = 1; s < size; s <<= 1) SEND", "log2(p)");
    check("for (int s = n; s > 1; s /= 2) SEND", "log2(n)");
    check("for (int i = 0, j = 0; i < n; i++, j++) SEND", "n");
    check("int i = 0; while (i < n) { SEND i++; }", "n");
    check("int i = n; do { SEND i -= 2; } while (i > 1);", "(n - 1) / 2");
    check("int m = atoi(argv[1]); for (int i = 0; i < m; i++) SEND", "m");
    check("int m = 2 * n; for (int i = 0; i < m; i++) SEND", "2 * n");
    check("#define N 100\nfor (int i = 0; i < N; i++) SEND", "N");
}

#[test]
fn a_count_that_is_not_told_is_a_symbol() {
    check("while (!done) SEND", "i@program.c:7");
    check("for (p = list; p != NULL; p = p->next) SEND", "i@program.c:7");
    check("int i = 0; while (i < n) { SEND i++; if (odd) i++; }", "i@program.c:7");
}

#[track_caller]
fn check_whole(body: &str, expected: &str) {
    assert_eq!(roles(&graph(&main_of(body))), [expected]);
}

#[test]
fn loops_stand_in_loops() {
    check_whole(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) MPI_Barrier(MPI_COMM_WORLD); }",
        "all ranks: loop(n){loop(i){Barrier}}",
    );
    check_whole(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = 0; MPI_Barrier(MPI_COMM_WORLD);",
        "all ranks: loop(n){loop(m){}} Barrier",
    );
}
