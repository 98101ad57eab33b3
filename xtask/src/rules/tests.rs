//! Tests that each rule passes and catches what it should.

use super::*;

#[track_caller]
fn check(problems: &[Problem], lines: &[usize]) {
    let found: Vec<usize> = problems.iter().filter_map(|problem| problem.line).collect();
    assert_eq!(found, lines, "{problems:?}");
}

#[test]
fn a_file_says_what_it_is() {
    check(&module_doc("a.rs", "//! What it is.\n"), &[]);
    check(&module_doc("a.rs", "// What it is.\n"), &[1]);
    check(&module_doc("a.rs", "use std::fmt;\n//! Late.\n"), &[1]);
    check(&module_doc("a.rs", ""), &[1]);
}

#[test]
fn a_parent_stands_beside_its_folder() {
    assert_eq!(module_name("crates/a/src/b.rs"), []);
    assert_eq!(module_name("crates/a/src/modem.rs"), []);
    assert_eq!(module_name("crates/a/src/b/mod.rs").len(), 1);
}

#[test]
fn a_file_is_short_before_its_tests() {
    let full = "//\n".repeat(N_LINES_MAX);
    assert_eq!(length("a.rs", &full), []);
    assert_eq!(length("a.rs", &format!("{full}//\n")).len(), 1);
    assert_eq!(length("a.rs", &format!("{full}#[cfg(test)]\nmod tests {{}}\n")), []);
}

#[test]
fn no_variant_is_aligned_beyond_a_word() {
    check(
        &variants("a.rs", "enum Late { After { waited_ms: u64 }, Never }\nfn f(n: u128) {}\n"),
        &[],
    );
    check(
        &variants("a.rs", "enum Late {\n After { waited_ms: u128 },\n Never(i128),\n}\n"),
        &[2, 3],
    );
    check(&variants("a.rs", "enum A { B { c: u8 }, D }\nstruct E { f: u128 }\n"), &[]);
    check(
        &variants(
            "a.rs",
            "// An enum { of u128 }\n#[cfg(test)]\nmod tests { enum A { B(u128) } }\n",
        ),
        &[],
    );
}

/// Programs panicked when the system had no more threads for them.
#[test]
fn a_thread_may_be_refused() {
    check(&threads("a.rs", "thread::spawn(f);\nstd::thread::spawn(f);\n"), &[1, 2]);
    check(&threads("a.rs", "thread::scope(|scope| {\n scope.spawn(f);\n});\n"), &[2]);
    check(&threads("a.rs", "thread::Builder::new().spawn(f);\n"), &[]);
    check(&threads("a.rs", "thread::Builder::new().spawn_scoped(scope, f);\n"), &[]);
    check(&threads("a.rs", "#[cfg(test)]\nmod tests { fn f() { thread::spawn(g); } }\n"), &[]);
}

#[test]
fn a_pure_crate_names_no_world() {
    check(&purity("a.rs", "use std::fmt;\nuse std::time::Duration;\n"), &[]);
    check(&purity("a.rs", "use std::fs;\n"), &[1]);
    check(&purity("a.rs", "let x = std::env::var(\"A\");\n"), &[1]);
    check(&purity("a.rs", "\nuse std::{fmt, thread};\n"), &[2]);
    check(&purity("a.rs", "use std::{\n    fmt,\n    net::TcpStream,\n};\n"), &[3]);
    check(&purity("a.rs", "use std::{fmt::{self, fs}, str};\n"), &[]);
    check(&purity("a.rs", "use std::time::{Duration, Instant};\n"), &[1]);
    check(&purity("a.rs", "let now = time::SystemTime::now();\n"), &[1]);
    check(&purity("a.rs", "std::process::id();\nstd :: process :: id();\n"), &[1, 2]);
}

#[test]
fn words_and_tests_of_a_pure_crate_are_free() {
    check(&purity("a.rs", "// not std::fs\nlet a = \"std::net\";\n"), &[]);
    check(&purity("a.rs", "let version = env!(\"CARGO_PKG_VERSION\");\n"), &[]);
    check(&purity("a.rs", "#[cfg(test)]\nmod tests { use std::fs; }\n"), &[]);
    check(&purity("a.rs", "struct Instants;\nmod process {}\n"), &[]);
}

#[test]
fn unsafe_is_found_in_code_only() {
    check(&no_unsafe("a.rs", "// unsafe\n#![deny(unsafe_code)]\nlet a = \"unsafe\";\n"), &[]);
    check(&no_unsafe("a.rs", "\nunsafe { f() }\n"), &[2]);
    check(&no_unsafe("a.rs", "#[unsafe(no_mangle)]\nextern fn f() {}\n"), &[1]);
    check(&no_unsafe("a.rs", "#[cfg(test)]\nmod tests { unsafe fn f() {} }\n"), &[2]);
}

#[test]
fn unfinished_work_is_found_as_a_word() {
    let [todo, fixme] = UNFINISHED;
    check(&words("a.md", &format!("a\n// {todo}: b\n# {fixme}(c)\n")), &[2, 3]);
    check(&words("a.md", &format!("{todo}S\nMY_{fixme}\ntodo = \"warn\"\n")), &[]);
}

#[test]
fn machine_paths_are_found_where_they_start() {
    for place in MACHINE_PATHS {
        check(&words("a.sh", &format!("cd {place}main\n\"{place}a\"\nX={place}\n")), &[1, 2, 3]);
        check(&words("a.sh", &format!("a{place}b\n${{dir}}{place}\n.{place}\n")), &[]);
    }
}

#[test]
fn a_folder_outside_the_clone_is_found() {
    check(&words("a.md", &format!("shared memory\nsee {OUTSIDE}/notes\n")), &[2]);
}
