//! All functions probed: the output is the same, and there are as many exits as entries.

use crate::run::Program;

const OPTIONS: [&str; 8] = [
    "-O0",
    "-O2",
    "-O3",
    "-Os",
    "-O2 -no-pie",
    "-O2 -fcf-protection",
    "-O2 -fno-plt",
    "-O2 -fno-omit-frame-pointer -static-libgcc",
];

/// Functions left in ways without a recorded exit: jumped over, ended with their thread, or part of an unwinder.
const LEFT_UNSEEN: [&str; 6] = ["deep", "worker", "other", "_Unwind_", "uw_", "execute_cfa"];

#[track_caller]
fn check(sources: &[&str]) {
    for options in OPTIONS {
        let program = Program::build(sources, options);
        let report = program.probed("all");
        assert_eq!(report.output, program.plain(), "{options}");
        assert!(report.counts.contains_key("main"), "{options}: {}", report.text);
        for (function, [entries, exits, tails, unwound]) in &report.counts {
            if !LEFT_UNSEEN.iter().any(|name| function.starts_with(name)) {
                assert_eq!(*entries, exits + tails + unwound, "{options}: {function}");
            }
        }
    }
}

#[test]
fn calls_of_c_come_out_the_same() {
    check(&["calls.c"]);
}

#[test]
fn exceptions_and_ends_of_threads_come_out_the_same() {
    check(&["unwinding.cc"]);
}

#[test]
fn a_fortran_module_comes_out_the_same() {
    check(&["module.f90"]);
}

#[test]
fn openmp_threads_come_out_the_same() {
    check(&["threads.cc"]);
}

#[test]
fn first_instructions_of_any_kind_come_out_the_same() {
    check(&["corners.c", "corners_code.s"]);
}

#[test]
fn user_level_threads_that_move_come_out_the_same() {
    let program = Program::build(&["migrating.c"], "-O2");
    let report = program.probed("all");
    assert_eq!(report.output, program.plain());
    // The second call is abandoned: the functions entered in it are never left.
    assert_eq!(report.counts["leave"], [2, 1, 0, 0]);
    assert_eq!(report.counts["begins_here"], [10, 4, 2, 0]);
}

#[test]
fn wide_vectors_come_out_the_same() {
    check(&["vectors.c"]);
    let program = Program::build(&["vectors.c"], "-O2");
    let report = program.probed(
        "probe scaled i0:int64 f0:double exit ret:double sync; set scaled chunk 4 2; set scaled chunk 4 3 exit",
    );
    assert_eq!(report.output, program.plain());
}

#[test]
fn programs_with_profiles_come_out_the_same() {
    let program = Program::build(&["calls.c"], "-O2 -pg");
    assert_eq!(program.probed("all").output, program.plain());
}

#[test]
fn passages_are_counted_exactly() {
    let report = Program::build(&["unwinding.cc"], "-O2").probed("all");
    let count = |name| report.counts[name];
    assert_eq!(count("_Z7throweri"), [10, 5, 0, 5]);
    assert_eq!(count("_Z6middlei"), [4, 2, 0, 2]);
    assert_eq!(count("_Z6directi"), [6, 6, 0, 0]);
    assert_eq!(count("_Z5leavev"), [1, 0, 0, 1]);
    let report = Program::build(&["threads.cc"], "-O2").probed("all");
    assert_eq!(report.counts["_Z4worki"], [20_000, 19_793, 0, 207]);
    let report = Program::build(&["calls.c"], "-O2").probed("all");
    assert_eq!(report.counts["empty"], [10, 10, 0, 0]);
    assert_eq!(report.counts["tail"], [1, 0, 1, 0]);
}

#[test]
fn what_cannot_be_probed_is_refused_and_stays_as_it_was() {
    let program = Program::build(&["corners.c", "corners_code.s"], "-O2");
    let report = program.probed("all");
    let says = |what, function, words: &str| {
        let lines = report.lines(what, function);
        assert!(lines.iter().any(|line| line.contains(words)), "{function}: {lines:?}");
    };
    says("refused", "never_runs", "begins with `ud2`");
    says("refused", "no_instruction", "not a known instruction");
    says("refused", "_start", "where the program starts");
    says("warning", "loop_no_room", "slow probe");
    says("warning", "loop_first", "begins with a loop");
    assert_eq!(report.lines("warning", "loop_inside"), [""; 0], "there is room for a short jump");
    assert_eq!(report.counts["loop_no_room"], [3, 3, 0, 0]);
}

#[test]
fn probed_signal_handlers_disturb_no_record_of_what_they_interrupt() {
    let program = Program::build(&["signals.c"], "-O1");
    let report = program.interrupted("all");
    assert_eq!(report.output, program.plain());
    assert_eq!(report.counts["outside"], [80_000, 80_000, 0, 0]);
    assert_eq!(report.counts["nested"], [80_400, 80_400, 0, 0]);
}
