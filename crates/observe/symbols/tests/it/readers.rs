//! Accesses to a variable, in programs compiled here.

use crate::built::Built;
use symbols::{AccessKind, Program};

/// Checks the functions that refer to a variable, and their kinds of access.
#[track_caller]
fn check(program: &Program, name: &str, expected: &[(&str, AccessKind)]) {
    let variable = program.variable(name).expect("a variable");
    let accesses = program.accesses(&variable);
    let mut found: Vec<_> =
        accesses.iter().map(|access| (access.function.as_str(), access.kind)).collect();
    found.sort_by_key(|(function, kind)| (*function, *kind as u8));
    found.dedup();
    assert_eq!(found, expected, "`{name}`");
}

#[track_caller]
fn check_cached(program: &Program, name: &str, sync: &str, expected: &[&str]) {
    let variable = program.variable(name).expect("a variable");
    let sync = program.function(sync).expect("a function");
    let found = program.cached_across(&variable, sync);
    let found: Vec<_> = found.iter().map(|cached| cached.function.as_str()).collect();
    assert_eq!(found, expected, "`{name}`");
}

#[test]
fn every_instruction_that_names_a_variable_is_found() {
    for flags in [&["-g", "-O2"][..], &["-g", "-O2", "-no-pie", "-fno-pie"]] {
        let built = Built::new("gcc", flags, &["cached.c"]);
        let program = built.program();
        check(&program, "watched", &[("loop", AccessKind::Read)]);
        check(&program, "shown", &[("opaque", AccessKind::Read), ("outer", AccessKind::Write)]);
        check(&program, "kept", &[("loop", AccessKind::Read), ("opaque", AccessKind::Write)]);
    }
    let built = Built::new("gcc", &["-g", "-O2"], &["cached.c"]);
    check(&built.program(), "passed[0]", &[("outer", AccessKind::Address)]);
}

#[test]
fn a_variable_whose_address_the_loader_writes_somewhere_is_found() {
    let flags = ["-g", "-O2", "-fPIC", "-pie", "-Wa,-mrelax-relocations=no"];
    let built = Built::new("gcc", &flags, &["cached.c"]);
    check(&built.program(), "watched", &[("loop", AccessKind::Address)]);
}

#[test]
fn a_loop_that_keeps_a_value_in_a_register_is_named() {
    let built = Built::new("gcc", &["-g", "-O2"], &["cached.c"]);
    let program = built.program();
    check_cached(&program, "kept", "sync_point", &["loop"]);
    check_cached(&program, "watched", "sync_point", &[]);
    check_cached(&program, "read_again", "opaque", &[]);
    let built = Built::new("gcc", &["-g", "-O0"], &["cached.c"]);
    check_cached(&built.program(), "kept", "sync_point", &[]);
}
