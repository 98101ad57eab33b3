//! Tests of reading headers.

use c_structs::{ElementKind, Factor, read};

const SHAPES: &str = include_str!("../programs/shapes.h");

/// Checks the members of the last struct of a header without problems, as text.
#[track_caller]
fn check(text: &str, expected: &str) {
    let (header, problems) = read(text);
    assert_eq!(problems, []);
    let last = header.structs.last().expect("a struct");
    let members = last.members.iter().map(|member| {
        let extents: String = member.extents.iter().map(|extent| format!("[{extent}]")).collect();
        let counts = member.counts.iter().map(|count| match count {
            Factor::Member { name, is_signed } => {
                format!("{name}{}", if *is_signed { "+-" } else { "" })
            }
            Factor::Constant(number) => number.to_string(),
        });
        let counts = counts.collect::<Vec<_>>().join("*");
        let star = if member.is_dynamic() { "*" } else { "" };
        format!("{} {star}{}{extents}({counts})", member.c_type, member.name).replace("()", "")
    });
    let flat = if last.is_flat { "flat" } else { "deep" };
    let found = format!("{} {flat}: {}", last.c_type, members.collect::<Vec<_>>().join(", "));
    assert_eq!(found, expected);
}

#[test]
fn structs_are_found_wherever_they_stand() {
    check("struct a { int b; };", "struct a flat: int b");
    check("typedef struct { int b; } a;", "a flat: int b");
    check("typedef struct a_s { int b; } a;", "a flat: int b");
    check("typedef struct a a;\nstruct a { int b; };", "struct a flat: int b");
    check("struct a { int b; } first = {1};", "struct a flat: int b");
    check(
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\nstruct a { int b; };\n#ifdef __cplusplus\n}\n#endif\n",
        "struct a flat: int b",
    );
    check(
        "#ifndef A_H\n#define A_H\n#if 1\nstruct a { int b; };\n#endif\n#endif",
        "struct a flat: int b",
    );
}

#[test]
fn members_are_what_they_say() {
    check(
        "struct a { unsigned  long int b, c[2]; };",
        "struct a flat: unsigned long int b, unsigned long int c[2]",
    );
    check("#define N 2 /* two */\nstruct a { char b[N][2 * N]; };", "struct a flat: char b[2][4]");
    check("enum { N = 3, M };\nstruct a { char b[M]; };", "struct a flat: char b[4]");
    check(
        "typedef float real;\ntypedef real length;\nstruct a { length b; };",
        "struct a flat: length b",
    );
    check("enum e { F };\nstruct a { enum e b; };", "struct a flat: enum e b");
    check("struct b { int c; };\nstruct a { struct b b[2]; };", "struct a flat: struct b b[2]");
    check("struct a { int n; double *b; /* [n] */ };", "struct a deep: int n, double *b(n+-)");
    check(
        "struct a { double *b; // [n][4]\nunsigned n; };",
        "struct a deep: double *b(n*4), unsigned n",
    );
    check(
        "struct a { short n; double *b, *c; /* [n] */ };",
        "struct a deep: short n, double *b(n+-), double *c(n+-)",
    );
    check(
        "struct b { int n, *c; /* [n] */ };\nstruct a { struct b b; };",
        "struct a deep: struct b b",
    );
}

#[test]
fn all_kinds_are_understood() {
    let (header, problems) = read(SHAPES);
    assert_eq!(problems, []);
    let names: Vec<_> = header.structs.iter().map(|of| (of.name.as_str(), of.is_flat)).collect();
    let expected = [
        ("numbers", true),
        ("vec", true),
        ("box", true),
        ("mesh", false),
        ("node", false),
        ("forest", false),
    ];
    assert_eq!(names, expected);
    let numbers = &header.structs[0].members;
    assert!(numbers.iter().all(|member| matches!(member.kind, ElementKind::Number(_))));
    assert_eq!(numbers.len(), 21);
}
