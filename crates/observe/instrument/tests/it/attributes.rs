//! Tests of the attributes read at a passage.

use crate::run::Program;

#[track_caller]
fn check(orders: &str, what: &str, function: &str, expected: &[&str]) {
    for options in ["-O0", "-O2", "-O2 -no-pie"] {
        let program = Program::build(&["calls.c"], options);
        let report = program.probed(orders);
        assert_eq!(report.output, program.plain(), "{options}");
        assert_eq!(report.lines(what, function), expected, "{options}: {}", report.text);
    }
}

#[test]
fn arguments_come_from_registers_and_from_the_stack() {
    let (b, d) = (2.5_f64.to_bits(), 4.5_f32.to_bits());
    check(
        "probe mix i0:int32 f0:double i1:int64 f1:float i6:int16",
        "record",
        "mix",
        &[&format!("entry 0 0 1 {b} 3 {d} 9")],
    );
}

#[test]
fn addresses_are_followed_unless_they_are_null() {
    let (a, b, c) =
        (u64::from(7_i32.wrapping_neg().cast_unsigned()), 2.5_f32.to_bits(), 0.75_f64.to_bits());
    let orders = "probe led_to r0:int32 r1:float r2:double r6:int16 i2:uint64";
    for options in ["-O0", "-O2"] {
        let program = Program::build(&["calls.c"], options);
        let report = program.probed(orders);
        assert_eq!(report.output, program.plain(), "{options}");
        let mut lines = report.lines("record", "led_to");
        lines.sort_unstable();
        let expected = [0, a].map(|a| format!("entry 0 0 {a} {b} {c} 300 "));
        assert_eq!(lines.len(), 2, "{}", report.text);
        // The last attribute is the address itself.
        assert!(
            lines.iter().zip(&expected).all(|(line, start)| line.starts_with(start)),
            "{lines:?}"
        );
    }
}

#[test]
fn more_than_five_attributes_take_more_records() {
    let orders =
        "probe mix i0:int32 i1:int64 i2:int32 i3:int32 i4:int32 i5:int32 i6:int16 var=chunk:int32";
    check(orders, "record", "mix", &["entry 0 0 1 3 5 6 7"]);
    check(orders, "more", "mix", &["entry 0 0 8 9 4 0 0"]);
}

#[test]
fn variables_and_returned_values_are_read_at_exits() {
    check(
        "probe step i0:int32 exit ret:int32 var=chunk:int32",
        "record",
        "step",
        &[
            "entry 0 0 1 0 0 0 0",
            "exit 0 0 4 4 0 0 0",
            "entry 0 0 2 0 0 0 0",
            "exit 0 0 8 4 0 0 0",
            "entry 0 0 3 0 0 0 0",
            "exit 0 0 12 4 0 0 0",
            "entry 0 0 4 0 0 0 0",
            "exit 0 0 16 4 0 0 0",
        ],
    );
    let half = 1.5_f32.to_bits();
    let ratio = 0.25_f32.to_bits();
    check(
        "probe half exit ret:float var=ratio:float",
        "record",
        "half",
        &[&format!("exit 0 0 {half} {ratio} 0 0 0")],
    );
}

#[test]
fn a_tail_call_has_returned_nothing() {
    let program = Program::build(&["calls.c"], "-O2");
    let report =
        program.probed("probe tail exit ret:int32 var=chunk:int32; probe leaf exit ret:int32");
    assert_eq!(report.lines("record", "tail"), ["exit 0 1 0 4 0 0 0"]);
    assert_eq!(report.counts["leaf"][0], 6);
}

#[test]
fn nothing_is_read_where_it_is_not() {
    let program = Program::build(&["calls.c"], "-O2");
    let report =
        program.probed("probe leaf ret:int32; probe tail exit i0:int32; probe half f8:double");
    for function in ["leaf", "tail", "half"] {
        assert_eq!(report.lines("refused", function).len(), 1, "{}", report.text);
    }
}
