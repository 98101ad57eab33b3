//! Places of calls in real programs, compiled here with usual options.

mod built;
mod carried;
mod compiled;
mod lookup;
mod reach;
mod readers;

use compiled::{Compiled, have};
use symbols::Detail;

const INLINED: (&str, &str, &str, u32) = ("inlined", "exchange", "calls.c", 6);
const PLAIN: (&str, &str, &str, u32) = ("plain", "work", "calls.c", 11);
const LAST: (&str, &str, &str, u32) = ("last", "stop", "calls.c", 18);

/// Compiles the C program with `flags` and expects every call at its line in the source.
#[track_caller]
fn check(flags: &[&str]) {
    let program = Compiled::new("gcc", flags, &["calls.c"]);
    program.check(&[INLINED, PLAIN, LAST]);
}

#[test]
fn calls_are_found_where_they_are_written() {
    check(&["-g", "-O2"]);
    check(&["-g", "-O0"]);
    check(&["-g", "-O2", "-no-pie"]);
    check(&["-g", "-O2", "-gdwarf-4"]);
    check(&["-g", "-O2", "-gz"]);
    check(&["-g", "-O2", "-gz=zlib-gnu"]);
    check(&["-g", "-O2", "-gsplit-dwarf"]);
    check(&["-g", "-O2", "-static"]);
    check(&["-g", "-O2", "-no-pie", "-Wl,-Ttext-segment=0x10000000"]);
    check(&["-g", "-O2", "-Wl,-z,noseparate-code"]);
    check(&["-g", "-O2", "-Wl,-z,max-page-size=0x200000", "-Wl,-z,separate-code"]);
}

#[test]
fn code_whose_offset_is_not_its_address_is_found() {
    if have("ld.gold") {
        check(&["-g", "-O2", "-fuse-ld=gold"]);
        check(&["-g", "-O2", "-fuse-ld=gold", "-no-pie"]);
    }
}

#[test]
fn without_debug_information_the_function_holding_the_code_is_named() {
    let program = Compiled::new("gcc", &["-O2"], &["calls.c"]);
    program.check(&[("inlined", "work", "", 0), ("plain", "work", "", 0), ("last", "stop", "", 0)]);
    assert_eq!(program.detail("plain"), Detail::Functions);
}

#[test]
fn a_stripped_program_has_modules_and_offsets() {
    let program = Compiled::new("gcc", &["-g", "-O2"], &["calls.c"]);
    let offset = program.place("plain").offset;
    program.tool("strip", &["--strip-all"]);
    program.check(&[("inlined", "", "", 0), ("plain", "", "", 0), ("last", "", "", 0)]);
    let place = program.place("plain");
    assert_eq!((place.module.as_str(), place.offset), (program.path(), offset));
    assert_eq!(program.detail("plain"), Detail::Nothing);
}

#[test]
fn a_stripped_program_that_exports_its_functions_names_them() {
    let program = Compiled::new("gcc", &["-g", "-O2", "-rdynamic"], &["calls.c"]);
    program.tool("strip", &["--strip-all"]);
    program.check(&[("inlined", "work", "", 0), ("last", "stop", "", 0)]);
}

#[test]
fn separate_debug_information_is_found_through_its_link() {
    let program = Compiled::new("gcc", &["-g", "-O2"], &["calls.c"]);
    let debug = program.path().to_owned() + ".debug";
    program.tool("objcopy", &["--only-keep-debug", &debug]);
    program.tool("strip", &["--strip-all"]);
    program.tool("objcopy", &[&format!("--add-gnu-debuglink={debug}")]);
    program.check(&[INLINED, PLAIN, LAST]);
    assert_eq!(program.detail("plain"), Detail::Lines);
}

#[test]
fn debug_information_of_another_build_is_not_believed() {
    let other = Compiled::new("gcc", &["-g", "-O0"], &["calls.c"]);
    let program = Compiled::new("gcc", &["-g", "-O2"], &["calls.c"]);
    let debug = program.path().to_owned() + ".debug";
    other.tool("objcopy", &["--only-keep-debug", &debug]);
    program.tool("strip", &["--strip-all"]);
    program.tool("objcopy", &[&format!("--add-gnu-debuglink={debug}")]);
    program.check(&[PLAIN].map(|(call, ..)| (call, "", "", 0)));
}

#[test]
fn calls_in_a_shared_library_are_found() {
    for flags in [&["-g", "-O2"][..], &["-g", "-O2", "-Wl,-Ttext-segment=0x30000000"]] {
        let program = Compiled::with_library(flags);
        program.check(&[PLAIN, ("library", "hidden", "library.c", 4)]);
        assert!(program.place("library").module.ends_with("library.so"));
    }
}

#[test]
fn a_program_that_was_removed_or_replaced_is_no_error() {
    let program = Compiled::new("gcc", &["-g", "-O2"], &["calls.c"]);
    std::fs::write(program.path(), "something else").unwrap();
    program.check(&[("plain", "", "", 0)]);
    std::fs::remove_file(program.path()).unwrap();
    program.check(&[("plain", "", "", 0)]);
    assert_ne!(program.place("plain").offset, 0);
}

#[test]
fn cpp_names_are_as_in_the_source() {
    if have("g++") {
        let program = Compiled::new("g++", &["-g", "-O2"], &["calls.cpp"]);
        program.check(&[
            ("template", "fire::Front<double>::advance", "calls.cpp", 13),
            ("binding", "fire::Front<double>::advance", "calls.cpp", 14),
            ("lambda", "main::{lambda(int)#1}::operator()", "calls.cpp", 22),
        ]);
    }
}

#[test]
fn fortran_names_are_as_in_the_source() {
    if have("gfortran") {
        let program = Compiled::new("gfortran", &["-g", "-O1", "-fno-inline"], &["calls.f90"]);
        program.check(&[
            ("module", "halo::exchange", "calls.f90", 16),
            ("external", "outside", "calls.f90", 24),
            ("program", "fire", "calls.f90", 33),
        ]);
    }
}
