//! Every way in which programs distinguish ranks.

use crate::said::{graph, main_of, roles};

const SEND: &str = "MPI_Send(a, n, MPI_INT, 1, 0, MPI_COMM_WORLD);";
const RECV: &str = "MPI_Recv(a, n, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);";

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let body = body.replace("SEND", SEND).replace("RECV", RECV);
    assert_eq!(roles(&graph(&main_of(&body))), expected);
}

/// Checks for the usual two roles.
#[track_caller]
fn check_two(body: &str) {
    check(body, &["master: Send", "workers: Recv"]);
}

#[test]
fn the_master_is_told_from_workers() {
    check_two("if (rank == 0) SEND else RECV");
    check_two("if (0 == rank) { SEND } else { RECV }");
    check_two("if (rank != 0) RECV else SEND");
    check_two("if (!rank) SEND else RECV");
    check_two("if (rank) RECV else SEND");
    check_two("if (rank > 0) RECV else SEND");
    check_two("if (rank >= 1) { RECV } if (rank < 1) { SEND }");
    check_two("switch (rank) { case 0: SEND break; default: RECV break; }");
    check_two("switch (rank) { case 0: { SEND } break; default: RECV }");
    check_two("if (rank == 0) { SEND return 0; } RECV");
    check_two("if (rank == 0) { SEND exit(0); } RECV");
    check_two("int is_master = rank == 0; if (is_master) SEND else RECV");
    check_two("int me = rank; if (me == 0) SEND if (me != 0) RECV");
    check_two("enum { ROOT }; if (rank == ROOT) SEND else RECV");
    check_two("const int master = 0; if (rank == master) SEND else RECV");
    check_two(
        "rank == 0 ? MPI_Send(a, n, MPI_INT, 1, 0, c) : MPI_Recv(a, n, MPI_INT, 0, 0, c, &s);",
    );
    check_two(
        "rank == 0 && MPI_Send(a, n, MPI_INT, 1, 0, c); rank && MPI_Recv(a, n, MPI_INT, 0, 0, c, &s);",
    );
    check_two("if (rank == 0) { if (rank == 0) SEND else RECV } else if (rank > 0) RECV");
    check_two("if (!(rank == 0)) RECV else SEND");
}

#[test]
fn a_role_that_loops_forever_does_nothing_else() {
    check(
        "if (rank == 0) { for (;;) { SEND } } RECV",
        &["master: loop(i@program.c:7){Send} Recv", "workers: Recv"],
    );
}

#[test]
fn ranks_may_be_told_apart_otherwise() {
    check("if (rank < k) SEND else RECV", &["ranks 0 to k - 1: Send", "ranks k-: Recv"]);
    check("if (rank % 2 == 0) SEND else RECV", &["even ranks: Send", "odd ranks: Recv"]);
    check("if (rank & 1) RECV else SEND", &["even ranks: Send", "odd ranks: Recv"]);
    check(
        "if (rank < size - 1) SEND if (rank > 0) RECV",
        &["rank 0: Send", "ranks 1 to p - 2: Send Recv", "rank p - 1: Recv"],
    );
    check(
        "if (rank == 0 && argc > 1) SEND RECV",
        &["master: if(rank == 0 && argc > 1){Send|} Recv", "workers: Recv"],
    );
    check("if (argc > 1) SEND RECV", &["all ranks: if(argc > 1){Send|} Recv"]);
    check("if (rank == 0) puts(\"hello\"); SEND", &["all ranks: Send"]);
}

#[test]
fn what_a_rank_does_without_mpi_makes_no_role() {
    let table = "for (int i = 0; i < n; i++) printf(\"%d\", a[i]);";
    check(
        &format!("if (rank == 0) {{ {table} }} MPI_Barrier(c);"),
        &["all ranks: <loops under a condition> Barrier"],
    );
    check(
        "if (rank == 0) { f = fopen(name, \"r\"); if (!f) exit(1); } MPI_Barrier(c);",
        &["all ranks: exit Barrier"],
    );
    check("double t; if (!rank) t = clock(); MPI_Barrier(c);", &["all ranks: Barrier"]);
    check_whole(
        &format!(
            "int is_printer(void) {{ int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); return r == 0; }}\n\
             void report(int n) {{ if (!is_printer()) return; {table} }}\n\
             void times(int n) {{ MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, 0, c); if (!is_printer()) return; {table} }}\n\
             int main() {{ report(3); MPI_Barrier(c); times(4); }}"
        ),
        &["all ranks: report(){loop(3){}} Barrier times(){Reduce return loop(4){}}"],
    );
}

#[test]
fn leaving_before_mpi_makes_roles() {
    check_whole(
        "void only_first(int r) { if (r != 0) return; MPI_Barrier(c); }\n\
         int main() { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); only_first(rank); MPI_Wait(r, s); }",
        &["master: only_first(){Barrier} Wait", "workers: Wait"],
    );
    check(
        "for (;;) { MPI_Barrier(c); if (rank == 0) break; }",
        &["master: loop(i@program.c:7){Barrier break}", "workers: loop(i@program.c:7){Barrier}"],
    );
}

#[test]
fn a_loop_of_one_role_is_not_of_the_others() {
    check(
        "for (int i = 0; rank == 0 && i < n; i++) SEND MPI_Barrier(c);",
        &["master: loop(n){Send} Barrier", "workers: Barrier"],
    );
}

#[test]
fn neighbors_at_the_ends_are_no_roles() {
    check(
        "int left = rank - 1, right = rank + 1; if (rank == 0) left = MPI_PROC_NULL;\n\
         if (rank == size - 1) right = MPI_PROC_NULL;\n\
         MPI_Sendrecv(a, 1, MPI_INT, left, 0, b, 1, MPI_INT, right, 0, c, s);",
        &["all ranks: Sendrecv"],
    );
}

#[test]
fn a_rank_that_changes_in_a_loop_is_no_role() {
    check(
        "for (int i = 0; i < size; i++) if (rank == i) SEND",
        &["all ranks: loop(p){if(rank == i){Send|}}"],
    );
}

#[track_caller]
fn check_whole(text: &str, expected: &[&str]) {
    let text = text.replace("SEND", SEND).replace("RECV", RECV);
    assert_eq!(roles(&graph(&text)), expected);
}

#[test]
fn the_rank_is_known_whatever_its_name() {
    check_whole(
        "#define MASTER 0\nint id;\nvoid start(void) { MPI_Comm_rank(MPI_COMM_WORLD, &id); }\n\
         int main() { start(); if (id == MASTER) SEND else RECV }",
        &["master: Send", "workers: Recv"],
    );
    check_whole(
        "void who(int *r, int *p) { MPI_Comm_rank(MPI_COMM_WORLD, r); MPI_Comm_size(MPI_COMM_WORLD, p); }\n\
         int main() { int me, np; who(&me, &np); if (me == np - 1) SEND else RECV }",
        &["ranks 0 to p - 2: Recv", "rank p - 1: Send"],
    );
    check_whole(
        "int my_rank(void) { int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); return r; }\n\
         int main() { if (my_rank() == 0) SEND else RECV }",
        &["master: Send", "workers: Recv"],
    );
    check_whole(
        "struct world { int rank, size; } w;\n\
         void go(struct world *x) { if (x->rank == 0) SEND else RECV }\n\
         int main() { MPI_Comm_rank(MPI_COMM_WORLD, &w.rank); go(&w); }",
        &["master: go(){Send}", "workers: go(){Recv}"],
    );
    check_whole(
        "int part, all;\nint main() { MPI_Comm row; MPI_Comm_rank(MPI_COMM_WORLD, &all);\n\
         MPI_Comm_split(MPI_COMM_WORLD, all / 4, all, &row); MPI_Comm_rank(row, &part);\n\
         if (part == 0) SEND }",
        &["all ranks: Comm_split if(part == 0){Send|}"],
    );
}
