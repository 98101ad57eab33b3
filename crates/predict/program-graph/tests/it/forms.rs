//! Programs in real-world forms: macros, `#if`, old C, C++, errors.

use crate::said::{graph, main_of, named, roles};
use program_graph::{SourceError, SourceFile, read};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    check_named("a.c", text, expected);
}

#[track_caller]
fn check_named(name: &str, text: &str, expected: &[&str]) {
    assert_eq!(roles(&named(name, text)), expected);
}

#[test]
fn calls_are_followed() {
    check(
        "void low(int n) { MPI_Barrier(c); }\nvoid high(void) { low(1); low(2); }\nint main() { high(); }",
        &["all ranks: high(){low(){Barrier} low(){Barrier}}"],
    );
    check(
        "void tree(int n) { MPI_Barrier(c); if (n > 0) tree(n - 1); }\nint main() { tree(argc); }",
        &["all ranks: tree(){Barrier if(n > 0){tree()again|}}"],
    );
    check(
        "static void step(int i) { MPI_Barrier(c); }\nvoid each(void (*f)(int)) { for (int i = 0; i < n; i++) f(i); }\n\
         int main() { each(step); }",
        &["all ranks: each(){loop(n){step(){Barrier}}}"],
    );
    check(
        "int square(int *a, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i] += j; }\n\
         int main() { square(a, m); MPI_Barrier(c); }",
        &["all ranks: square(){loop(m){loop(m){}}} Barrier"],
    );
}

#[test]
fn pointers_that_are_set_in_plain_sight_are_followed() {
    const FORCES: &str = "typedef struct pot { int (*force)(struct pot *, int); } pot;\n\
        int near(pot *p, int n) { for (int i = 0; i < n; i++) p[i] = 0; return 0; }\n\
        int far(pot *p, int n) { MPI_Barrier(c); return near(p, n); }\n";
    let check = |set: &str, expected: &str| {
        let text = format!("{FORCES}{set} MPI_Wait(r, s); p->force(p, m); }}");
        check(&text, &[&format!("all ranks: Wait {expected}")]);
    };
    check("int main() { p->force = near;", "near(){loop(m){}}");
    check("int main() { p->force = far;", "far(){Barrier near(){loop(m){}}}");
    check("pot known = { .force = &far };\nint main() {", "far(){Barrier near(){loop(m){}}}");
    check(
        "void begin(pot *p) { if (p) p->force = near; else p->force = far; }\nint main() { begin(p);",
        "if(which `p->force`){far(){Barrier near(){loop(m){}}}|near(){loop(m){}}}",
    );
    check(
        "void hold(pot *p, int (*by)(pot *, int)) { p->force = by; }\n\
         void give(pot *p, void *with) { hold(p, with); }\nint main() { give(p, (void *) far);",
        "far(){Barrier near(){loop(m){}}}",
    );
    check(
        "int same(pot *p, int n) { return n; }\n\
         int main() { p->force = same; p->force = near;",
        "<force()>",
    );
}

#[test]
fn large_functions_are_shown_once() {
    let statements = "if (n) MPI_Barrier(c);\n".repeat(100);
    let text = format!(
        "void large(int n) {{ {statements} }}\nvoid middle(void) {{ large(1); }}\n\
         int main() {{ large(1); MPI_Wait(r, s); large(2); middle(); }}"
    );
    let words = roles(&graph(&text)).concat();
    assert!(words.ends_with("} Wait large()earlier middle(){large()earlier}"), "{words}");
    assert_eq!(words.matches("large(){").count(), 1);
}

#[test]
fn functions_that_are_only_declared_compute() {
    check(
        "void solve(double *a, int n);\nint main() { solve(a, 10); printf(\"\"); MPI_Barrier(c); }",
        &["all ranks: <solve()> Barrier"],
    );
}

#[test]
fn several_files_are_one_program() {
    let files = [
        SourceFile { name: "main.c", text: "int main() { work(0); }" },
        SourceFile {
            name: "work.c",
            text: "static void step() { MPI_Barrier(c); }\nvoid work(int a) { step(); }",
        },
        SourceFile { name: "other.c", text: "static void step() { MPI_Finalize(); }" },
    ];
    let graph = read(&files).expect("a program");
    assert_eq!(roles(&graph), ["all ranks: work(){step(){Barrier}}"]);
}

#[test]
fn of_several_programs_the_first_is_taken() {
    let files = [
        SourceFile { name: "one.c", text: "int main() { MPI_Barrier(c); }" },
        SourceFile { name: "two.c", text: "\nint main() { MPI_Wait(r, s); }" },
    ];
    let graph = read(&files).expect("a program");
    assert_eq!(roles(&graph), ["all ranks: Barrier"]);
    let said = graph.warnings.first().map(ToString::to_string);
    assert_eq!(said.as_deref(), Some("two.c:2: another `main`; that of `one.c` is taken"));
}

#[test]
fn old_c_is_read() {
    check(
        "main(argc, argv)\nint argc;\nchar **argv;\n{\n MPI_Barrier(c);\n}\n",
        &["all ranks: Barrier"],
    );
    check("main(int argc, char **argv)\n{\n MPI_Barrier(c);\n}\n", &["all ranks: Barrier"]);
    check("main()\n{\n MPI_Barrier(c);\n}\n", &["all ranks: Barrier"]);
}

#[test]
fn macros_are_followed() {
    check(
        "#define CHECK(x) do { int e = x; if (e) abort(); } while (0)\nint main() { CHECK(MPI_Barrier(c)); }",
        &["all ranks: Barrier"],
    );
    check(
        "#define PUT(a, to) \\\n  MPI_Send(a, 1, MPI_INT, to, 0, c)\nint main() { PUT(x, 1); }",
        &["all ranks: PUT(){Send}"],
    );
    check(
        "API void f(void) { MPI_Barrier(c); }\nint main() { f(); }",
        &["all ranks: f(){Barrier}"],
    );
}

#[test]
fn one_side_of_conditional_text_is_taken() {
    check(
        "int main() {\n#ifdef SERIAL\n f();\n#else\n MPI_Barrier(c);\n#endif\n}",
        &["all ranks: Barrier"],
    );
    check(
        "int main() {\n#if 0\n MPI_Send(a, 1, MPI_INT, 0, 0, c);\n#else\n MPI_Barrier(c);\n#endif\n}",
        &["all ranks: Barrier"],
    );
    let both = "int main() {\n#ifdef A\n MPI_Barrier(c);\n#else\n MPI_Wait(r, s);\n#endif\n}";
    check(both, &["all ranks: Barrier"]);
    assert!(graph(both).warnings.iter().any(|warning| warning.line == 2));
}

#[test]
fn cpp_is_read() {
    check_named(
        "a.cpp",
        "namespace s { template <class T> struct Halo { void go(T *t) { MPI_Barrier(c); } }; }\n\
         int main() { s::Halo<double> h; for (int i = 0; i < n; ++i) { h.go(u); } }",
        &["all ranks: loop(n){go(){Barrier}}"],
    );
    check_named(
        "a.cpp",
        "class Env { public: Env() { MPI_Comm_rank(MPI_COMM_WORLD, &rank_); }\n\
         void go() { if (rank_ == 0) MPI_Send(a, 1, MPI_INT, 1, 0, c); else MPI_Recv(a, 1, MPI_INT, 0, 0, c, s); }\n\
         int rank_; };\nint main() { Env env; env.go(); }",
        &["master: go(){Send}", "workers: go(){Recv}"],
    );
    check_named(
        "a.cc",
        "int main() { auto sum = [&](double x) { MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, c); return y; };\n\
         for (auto v : values) sum(v); try { MPI_Barrier(c); } catch (...) { } }",
        &["all ranks: loop(size(values)){Allreduce} Barrier"],
    );
}

#[test]
fn templates_are_followed() {
    check_named(
        "a.cpp",
        "template <typename V> struct Sum { template <class T> T of(const V &x) { MPI_Allreduce(a, b, 1, MPI_INT, o, c); }\n\
         T operator()(int n) const { MPI_Barrier(c); } };\n\
         template <typename M, class V> void solve(M &m, V &v, Sum<V> sum) { sum.template of<double>(v); sum(3); }\n\
         template <typename S> double run(int n) { Sum<S> sum; for (int i = 0; i < n; ++i) solve<S, int>(m, v, sum); }\n\
         int main() { fe::run<double>(k); }",
        &["all ranks: run(){loop(k){solve(){of(){Allreduce} Sum(){Barrier}}}}"],
    );
    check_named(
        "a.cpp",
        "template <class T> class Halo { public: void go(int n); void operator()(T &x); };\n\
         template <class T> void Halo<T>::go(int n) { MPI_Barrier(c); }\n\
         template <class T> void Halo<T>::operator()(T &x) { go(1); }\n\
         int main() { Halo<double> halo; halo.go(1); halo(x); Halo<int>()(y); }",
        &["all ranks: go(){Barrier} Halo(){go(){Barrier}} Halo(){go(){Barrier}}"],
    );
}

#[test]
fn errors_leave_the_rest() {
    let text = "int main() { MPI_Barrier(c); @@@ ; if ( { MPI_Wait(r, s); }";
    let graph = graph(text);
    assert!(roles(&graph)[0].contains("Barrier"), "{:?}", roles(&graph));
    assert!(!graph.warnings.is_empty());
}

#[test]
fn ways_out_are_shown() {
    check(
        "int f(int c) { if (c) return 1; MPI_Barrier(w); return 0; }\nint main() { f(x); }",
        &["all ranks: f(){return Barrier}"],
    );
    check(
        "int main() { for (;;) { MPI_Recv(a, 1, MPI_INT, 0, 0, w, s); if (a[0] == 0) break; } }",
        &["all ranks: loop(i@a.c:1){Recv break}"],
    );
    check(
        "int main() { if (argc < 2) { MPI_Abort(w, 1); } MPI_Barrier(w); }",
        &["all ranks: exit Barrier"],
    );
}

#[test]
fn branches_have_arms() {
    check(
        "int main() { if (k > 1) MPI_Barrier(w); else if (k) MPI_Wait(r, s); else MPI_Waitall(1, r, s); }",
        &["all ranks: if(k > 1){Barrier|if(k){Wait|Waitall}}"],
    );
    check(
        "int main() { switch (tag) { case 1: MPI_Barrier(w); break; case 2: case 3: MPI_Wait(r, s); } }",
        &["all ranks: if(switch (tag)){Barrier|Wait|Wait}"],
    );
    check(
        "int main() { int f; MPI_Test(r, &f, s); if (f) MPI_Barrier(w); }",
        &["all ranks: Test if(f){Barrier|}"],
    );
}

#[track_caller]
fn check_error(text: &str, expected: fn(String) -> SourceError) {
    let found = read(&[SourceFile { name: "a.c", text }]);
    assert_eq!(found, Err(expected("`a.c`".to_owned())));
}

#[test]
fn what_is_no_program_is_said_in_a_sentence() {
    check_error("int f(void) { return 0; }", SourceError::NoMain);
    check_error("int main() { return 0; }", SourceError::NoMpi);
    check_error("", SourceError::NotC);
    check_error("program heat\n call MPI_Init(ierr)\nend program", SourceError::NotC);
    let said = SourceError::NoMain("`a.c`".to_owned()).to_string();
    assert_eq!(said, "no `main` in `a.c`: give the file with it, too");
}

#[test]
fn a_call_that_is_not_known_is_told() {
    let text = main_of("MPI_Barrier(c); MPI_Frobnicate(x);");
    let warnings = graph(&text).warnings;
    assert!(
        warnings.iter().any(|it| it.line == 7 && it.text.contains("MPI_Frobnicate")),
        "{warnings:?}"
    );
}
