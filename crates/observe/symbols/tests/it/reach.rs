//! Numbers reached through pointers in programs compiled here.

use crate::built::Built;
use crate::compiled::run;
use std::process::Command;
use symbols::{Passing, Program, Reached, ReachedBase, first_value, members_of_arguments};

/// Says in one line how a number is reached at a function, or why it is not.
fn said(program: &Program, function: &str, name: &str) -> String {
    let function = program.function(function).expect("it is there");
    match program.reached(function, name) {
        Err(error) => error.to_string(),
        Ok(None) => "none".to_owned(),
        Ok(Some(Reached { base, offsets, kind, .. })) => {
            let base = match base {
                ReachedBase::Argument(Passing::Integer(n)) => format!("argument {n}"),
                ReachedBase::Argument(other) => format!("{other:?}"),
                ReachedBase::Variable(variable) => format!("variable {}", variable.name),
            };
            format!("{base} {offsets:?} {}", kind.name())
        }
    }
}

#[track_caller]
fn check(program: &Program, function: &str, name: &str, expected: &str) {
    let said = said(program, function, name);
    assert!(said.contains(expected), "`{name}`: {said}");
}

#[test]
fn members_of_arguments_of_c() {
    for flags in [&["-g", "-O0"][..], &["-g", "-O2"]] {
        let built = Built::new("gcc", flags, &["reach.c"]);
        let program = built.program();
        let check = |name, expected| check(&program, "step", name, expected);
        check("sim->box.cutoff", "argument 0 [32] double");
        check("sim->box.low[1]", "argument 0 [16] double");
        check("sim->parts->next->n", "argument 0 [48, 8, 0] int32");
        check("sim->values[2]", "argument 0 [56, 16] double");
        check("domain->id", "variable domain [0, 0] int32");
        check("n", "none");
        check("sim.box.cutoff", "`sim` of `sim.box.cutoff` is a pointer");
        check("sim->box->cutoff", "`sim->box` is a `box`, not a pointer: write `.`");
        check("sim->box.flag", "bit field");
        check("sim->box", "such as `sim->box.low`");
        check("sim->edge", "has no member `edge`");
        check("by_value.cutoff", "passed by value");
        check("smi->id", "no argument `smi`");
        check("sim->parts->next->next->next->n", "more than 4 pointers");
        let members =
            members_of_arguments(&program, program.function("step").expect("it is there"));
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["sim->id", "sim->box.cutoff"]);
    }
}

#[test]
fn members_behind_this_and_references_of_cpp() {
    let built = Built::new("g++", &["-g", "-O2"], &["reach.cc"]);
    let program = built.program();
    let check = |name, expected| check(&program, "md::Neighbor::build", name, expected);
    check("this->skin", "argument 0 [8] double");
    check("other.skin", "argument 1 [8] double");
    check("this->every", "argument 0 [0] int32");
}

#[test]
fn members_of_arguments_of_fortran() {
    let built = Built::new("gfortran", &["-g", "-O0"], &["reach.f90"]);
    let program = built.program();
    let check = |name, expected| check(&program, "md::step", name, expected);
    check("sim%rows", "argument 1 [0] int32");
    check("sim%box%cutoff", "argument 1 [8] double");
    check("SIM%far%cutoff", "argument 1 [16, 0] double");
}

#[test]
fn numbers_of_a_program_have_first_values() {
    let built = Built::new("gcc", &["-g", "-O0"], &["lookup.c", "other.c"]);
    let program = built.program();
    let numbers = program.numbers();
    let first = |name: &str| {
        let number = numbers.iter().find(|number| number.name == name).expect("it is listed");
        first_value(&program, number).map(|value| value.to_string())
    };
    assert_eq!(first("chunk").as_deref(), Some("4"));
    assert_eq!(first("share").as_deref(), Some("0.5"));
    assert_eq!(first("grid.rows").as_deref(), Some("10"));
    assert_eq!(first("rounds::count").as_deref(), Some("0"));
}

/// The library's function was taken, which is another one.
#[test]
fn a_function_that_is_inlined_everywhere_is_none_of_a_library() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| dir.path().join(name);
    let own = "static inline __attribute__((always_inline)) int exchange(int n) { return n + 1; }\n\
               extern int far(int); __attribute__((noipa)) int step(int n) { return exchange(n) * far(n); }\n\
               int main(int c, char **v) { (void)v; return step(c); }\n";
    std::fs::write(file("own.c"), own).expect("ours");
    std::fs::write(
        file("far.c"),
        "int exchange(int n) { return n; }\nint far(int n) { return n; }\n",
    )
    .expect("ours");
    let gcc = |arguments: &[&str]| {
        run(Command::new("gcc").current_dir(dir.path()).args(["-g", "-O2"]).args(arguments));
    };
    gcc(&["-shared", "-fPIC", "-o", "libfar.so", "far.c"]);
    gcc(&["-o", "own", "own.c", "libfar.so", "-Wl,-rpath,$ORIGIN"]);
    let program = Program::open(&file("own")).expect("a program");
    let error = program.function("exchange").expect_err("it has no code of its own").to_string();
    assert!(error.contains("inlined at 1 places, in `step`"), "{error}");
    assert!(program.function("far").is_ok());
}
