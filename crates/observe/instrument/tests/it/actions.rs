//! Tests of switching, counting, actions, replaced functions, and removing probes.

use crate::run::{Program, Report};

#[track_caller]
fn run(orders: &str) -> (Vec<String>, Report) {
    let program = Program::build(&["calls.c"], "-O2");
    let report = program.probed(orders);
    let lines = report.output.lines().map(str::to_owned).collect();
    (lines, report)
}

#[test]
fn a_variable_is_set_before_the_function_reads_it() {
    let (lines, report) = run("probe step sync; set step chunk 9 3");
    // Passages 1 and 2 have chunk 4, passages 3 and 4 have 9; the pointer adds 3 x + 1.
    assert_eq!(lines[3], "8 15 37 49 ");
    assert!(report.text.contains("set 9 at 3\n"), "{}", report.text);
    let hits = report.lines("record", "step");
    assert_eq!(hits.len(), 8);
    assert_eq!(hits[6], "entry 4 0 0 0 0 0 0");
    assert_eq!(hits[7], "exit 4 0 0 0 0 0 0");
}

#[test]
fn an_action_at_an_exit_comes_after_the_function() {
    let (lines, _) = run("probe step sync; set step chunk 9 2 exit");
    assert_eq!(lines[3], "8 15 37 49 ");
}

#[test]
fn a_passage_is_counted_while_its_events_are_off() {
    let (lines, report) = run("probe step sync off; set step chunk 9 4");
    assert_eq!(lines[3], "8 15 22 49 ");
    assert!(report.text.contains("set 9 at 4\n"));
    assert!(!report.counts.contains_key("step"));
}

#[test]
fn a_function_is_called_at_a_sync_point() {
    let (lines, report) = run("all; remove mix; probe mix sync; call mix answer 1");
    let (plain, _) = run("");
    assert_eq!(lines, plain);
    assert!(report.text.contains("called 4.25 at 1\n"), "{}", report.text);
    assert_eq!(report.counts["answer"], [2, 2, 0, 0], "the call passes its probes");
}

#[test]
fn another_function_takes_the_place_of_one_with_its_probes() {
    let (lines, report) = run("probe step; replace step other_step");
    assert_eq!(lines[3], "1005 1009 1013 1017 ");
    assert_eq!(report.counts["step"], [4, 4, 0, 0]);
    let (lines, report) = run("probe step off; probe other_step; replace step other_step");
    assert_eq!(lines[3], "1005 1009 1013 1017 ");
    assert_eq!(report.counts["other_step"], [4, 4, 0, 0]);
}

#[test]
fn probes_that_are_off_or_out_record_nothing() {
    let (plain, _) = run("");
    let (lines, report) = run("probe fibonacci off; probe step; remove step");
    assert_eq!(lines, plain);
    assert!(report.counts.is_empty(), "{}", report.text);
}
