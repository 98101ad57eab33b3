//! Each part that cannot be sent is reported with its place and a remedy.

use c_structs::read;

/// Checks the only problem found in a header.
#[track_caller]
fn check(text: &str, line: usize, kind: &str, remedy: &str) {
    let (_, problems) = read(text);
    let found: Vec<_> =
        problems.iter().map(|it| (it.line, it.kind.to_string(), it.kind.remedy())).collect();
    assert_eq!(found, [(line, kind.to_owned(), remedy.to_owned())]);
}

#[test]
fn a_problem_is_shown_where_it_is() {
    let text = "struct task {\n\tdouble weight, *values;\n    int n;\n};\n";
    let (_, problems) = read(text);
    let shown: String = problems.iter().map(|problem| problem.render("task.h", text)).collect();
    let expected = "task.h:2:17: member `values` of `struct task` is a pointer of unknown length: `double weight, *values`\n \
                    2 | \tdouble weight, *values;\n   \
                      | \t               ^^^^^^^\n   \
                      = give the length in a comment after it: `*values; /* [n_values] */`\n";
    assert_eq!(shown, expected);
}

#[test]
fn problems_are_told_together() {
    let text = "union u { int i; };\nstruct a {\n  union u u;\n  int bits : 3;\n  int ok;\n  void (*call)(int);\n};\nstruct b { int rest[]; };\n";
    let (header, problems) = read(text);
    let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [3, 4, 6, 8]);
    assert_eq!(header.structs[0].members.len(), 1);
}

#[test]
fn members_that_cannot_be_sent() {
    let member = |declaration: &str, why: &str, remedy: &str| {
        let text = format!(
            "typedef int (*compare_fn)(int);\nunion u {{ int i; }};\nstruct s {{\n  int n;\n  {declaration};\n}};\n"
        );
        let name = declaration.split(|c: char| !c.is_alphanumeric()).find(|it| *it == "m");
        let name = name.unwrap_or("(without a name)");
        check(&text, 5, &format!("member `{name}` of `struct s` {why}: `{declaration}`"), remedy);
    };
    let unions = "send its members beside each other, or an array of `unsigned char`";
    member("union u m", "is a union", unions);
    member("union { int i; } m", "is a union", unions);
    let function = "send a number that says which function is meant";
    member("double (*m)(double)", "is a pointer to a function", function);
    member("compare_fn m", "is a pointer to a function", function);
    member("unsigned m : 3", "is a bit-field", "make it a whole integer, such as `uint8_t`");
    member(
        "double m[]",
        "is an array without a length",
        "give it a length, or make it a pointer: `*m; /* [n_m] */`",
    );
    let lay = "store the elements contiguously: `*m; /* [n_rows][n_columns] */`";
    member("double **m", "contains pointers", lay);
    member("char *m[3]", "contains pointers", lay);
    member("void *m", "is a `void` pointer", "make it bytes: `unsigned char *m; /* [n_m] */`");
    member("const int m", "is `const`", "leave `const` out; messages are received into it");
    member("int *const m", "is `const`", "leave `const` out; messages are received into it");
    let unknown = "define it in this header, or use a number, an enum or a struct that it defines";
    member("time_t m", "is of a type that this header does not define", unknown);
    member("struct other m", "is of a type that this header does not define", unknown);
    member(
        "int m[K]",
        "has a size that is not a positive integer constant",
        "write a number, or a name that this header defines as one",
    );
    member(
        "int m[n - n]",
        "has a size that is not a positive integer constant",
        "write a number, or a name that this header defines as one",
    );
    let nested = "define that type before this struct, with a name";
    member("struct { int i; } m", "has a type defined inside this struct", nested);
    member("struct s m", "is a struct that is defined later", "define that struct before this one");
}

#[test]
fn counts_that_count_nothing() {
    let remedy = "name an integer member of the same struct, or a constant";
    for (text, count, declared) in [
        ("struct s {\n  double *m; /* [n] */\n};", "n", "double *m"),
        ("struct s { double n;\n  double *m; /* [n] */\n};", "n", "double *m"),
        ("struct s { int n[2];\n  double *m; /* [n] */\n};", "n", "double *m"),
        ("struct s { int n;\n  double *m; /* [n + 1] */\n};", "n + 1", "double *m"),
    ] {
        let kind = format!(
            "member `m` of `struct s` has the length `{count}`, which is neither an integer member of the struct nor a constant of this header: `{declared}`"
        );
        check(text, 2, &kind, remedy);
    }
}

#[test]
fn headers_that_define_nothing_to_send() {
    check("", 1, "there is no struct here", "define one: `struct task { double weight; };`");
    check("struct { int i; } s;", 1, "a struct has no name", "give it one: `struct task { ... };`");
    check(
        "struct s { int i; };\nstruct s { int i; };",
        2,
        "`s` is defined twice",
        "leave one of them out",
    );
    check("struct s { };", 1, "`struct s` has no members", "give it one, or leave it out");
    check(
        "struct s {\n#ifdef BIG\n  int i;\n#endif\n};",
        2,
        "members of `struct s` depend on `#ifdef BIG`",
        "make two structs, or keep the members always",
    );
}

/// `double complex` was reported as "not understood as C", although it is C.
#[test]
fn complex_numbers_are_called_so() {
    let remedy = "make it two numbers, as it lies in memory: `double z[2]`, or `float`";
    for word in ["complex", "_Complex"] {
        let text =
            format!("#include <complex.h>\nstruct s {{\n  int n;\n  double {word} z;\n}};\n");
        let (_, problems) = read(&text);
        let said: Vec<_> =
            problems.iter().map(|it| (it.line, it.kind.to_string(), it.kind.remedy())).collect();
        let kind =
            format!("`double {word} z;` is a complex number, and only plain ones can be sent");
        assert_eq!(said, [(4, kind, remedy.to_owned())]);
    }
}

/// A `long double`, whose bytes differ between processors, passed without a remark.
#[test]
fn a_number_that_differs_between_processors_is_remarked() {
    let (header, problems) = read("struct s { double plain; long double wide[2]; };");
    assert_eq!(problems, []);
    assert_eq!(
        header.remarks(),
        [
            "member `wide` of `struct s` is a `long double`, which is not the same on all processors: all ranks have to run on one kind"
        ]
    );
}

#[test]
fn what_is_not_c_is_told() {
    for (text, expected) in [
        ("template <typename T> struct s { T t; };", "`template` is C++"),
        ("class s { int i; };", "`class` is C++"),
        ("namespace n { struct s { int i; }; }", "`namespace` is C++"),
        ("struct s { int i };", "` as C; check that it compiles"),
        ("struct s { std::vector<int> v; };", "` as C; check that it compiles"),
        ("struct s { int i;", "` as C; check that it compiles"),
    ] {
        let (_, problems) = read(text);
        let said: String = problems.iter().map(|problem| problem.to_string() + "\n").collect();
        assert!(said.contains(expected), "{text}: {said}");
    }
}
