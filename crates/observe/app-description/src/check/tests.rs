//! Tests with one line per problem, against a program with a few names.

use super::check as problems_of;
use crate::{FunctionFacts, Passed, ProgramNames, VariableFacts, complete, read};
use events::ValueType;

/// `step(int, grid)` is never inlined, `small(double)` is partly inlined, `kernel` has no debug information.
struct Fire;

fn passed(type_name: &str, kind: Option<ValueType>) -> Passed {
    Passed { type_name: type_name.to_owned(), kind }
}

fn facts(inlined_in: &[&str], arguments: &[Passed], returns: Passed) -> FunctionFacts {
    FunctionFacts {
        not_probeable: None,
        inlined_in: inlined_in.iter().map(|&name| name.to_owned()).collect(),
        arguments: Some(arguments.to_vec()),
        returns: Some(returns),
    }
}

impl ProgramNames for Fire {
    fn function(&self, name: &str) -> Result<FunctionFacts, String> {
        let int = || passed("int", Some(ValueType::I32));
        let double = || passed("double", Some(ValueType::F64));
        match name {
            "step" => Ok(facts(&[], &[int(), passed("grid", None)], int())),
            "small" => Ok(facts(&["main", "run"], &[double()], passed("void", None))),
            "main" => Ok(FunctionFacts::default()),
            "retune" | "retune2" => Ok(facts(&[], &[double()], int())),
            "tiny" => Ok(FunctionFacts {
                not_probeable: Some("its 1 bytes are too few".to_owned()),
                ..FunctionFacts::default()
            }),
            "kernel" => Ok(FunctionFacts::default()),
            _ => Err(format!("the program has no function `{name}`; did you mean `step`?")),
        }
    }

    fn variable(&self, name: &str) -> Result<VariableFacts, String> {
        let variable = |type_name: &str, kind, n_bytes| VariableFacts {
            type_name: type_name.to_owned(),
            kind,
            n_bytes,
            not_settable: None,
        };
        match name {
            "n" => Ok(variable("int", Some(ValueType::I32), 4)),
            "small_n" => Ok(variable("unsigned char", Some(ValueType::U8), 1)),
            "F0" | "hoisted" => Ok(variable("double", Some(ValueType::F64), 8)),
            "fixed" => Ok(VariableFacts {
                not_settable: Some("`fixed` is constant; take another".to_owned()),
                ..variable("int", Some(ValueType::I32), 4)
            }),
            "raw" => Ok(variable("", None, 4)),
            _ => Err(format!("the program has no variable `{name}`")),
        }
    }

    fn unseen(&self, variable: &str, function: &str) -> Option<String> {
        let is_hoisted = variable == "hoisted" && function == "step";
        is_hoisted.then(|| "`main` reads `hoisted` before its loop; make it `volatile`".to_owned())
    }
}

/// Checks the problem of a description with one item from line 4 on, as `LINE: MARKED: SENTENCE`.
#[track_caller]
fn check(item: &str, expected: &str) {
    let text = format!("format = 1\nprogram = 'fire'\nactors = {{ all = '0' }}\n{item}\n");
    let (application, problems) = read(&text);
    assert_eq!(problems, []);
    let problems = problems_of(&text, &application.unwrap(), &Fire);
    let shown: Vec<String> = problems.iter().map(|problem| problem.short(&text)).collect();
    assert_eq!(shown.join("\n"), expected);
}

#[track_caller]
fn check_event(function: &str, place: &str, attributes: &str, expected: &str) {
    check(
        &format!(
            "[[event]]\nname = 'e'\nactor = 'all'\nfunction = '{function}'\nat = '{place}'\nattributes = [{attributes}]"
        ),
        expected,
    );
}

#[track_caller]
fn check_point(change: &str, at: &str, expected: &str) {
    check(
        &format!(
            "[[tuning_point]]\nname = 'p'\nactor = 'all'\n{change}\nat = {{ function = '{at}', at = 'entry' }}"
        ),
        expected,
    );
}

#[test]
fn what_is_there_is_no_problem() {
    check_event(
        "step",
        "entry",
        "'n', { name = 'i', argument = 1 }, { name = 'raw', type = 'float' }",
        "",
    );
    check_event("step", "exit", "{ name = 'rc', returned = true, type = 'uint32' }", "");
    check_point("variable = 'F0'\nrange = [0, 1]", "step", "");
    check_point("call = 'retune'\nrange = [0, 1]", "step", "");
    check_point("load = 'x.so'", "step", "");
    check_point("replace = { function = 'retune', by = 'retune2' }", "step", "");
    check_point("replace = { function = 'retune', by = 'x.so:other' }", "step", "");
}

#[test]
fn events_are_at_functions_that_are_there() {
    check_event(
        "stpe",
        "entry",
        "{ name = 'i', argument = 1 }",
        "7: 'stpe': event `e`: the program has no function `stpe`; did you mean `step`?",
    );
    check_event(
        "small",
        "exit",
        "",
        "7: 'small': warning: event `e`: `small` was inlined in `main` and `run`, and is not seen there; compile it with \
         `__attribute__((noinline))`",
    );
}

#[test]
fn the_main_function_is_entered_too_early() {
    check_event(
        "main",
        "entry",
        "",
        "7: 'main': event `e`: `main` is entered before there are probes and left after the last of them; take a \
         function that it calls",
    );
}

#[test]
fn events_sync_points_and_what_is_replaced_need_probes() {
    let sentence = "`tiny` cannot have probes: its 1 bytes are too few; take one that calls it";
    check_event("tiny", "entry", "", &format!("7: 'tiny': event `e`: {sentence}"));
    check_point("load = 'x.so'", "tiny", &format!("8: 'tiny': tuning point `p`: {sentence}"));
    let replace = "replace = { function = 'tiny', by = 'x.so:f' }";
    check_point(replace, "step", &format!("7: 'tiny': tuning point `p`: {sentence}"));
}

#[test]
fn attributes_are_numbers_that_can_be_read() {
    check_event(
        "step",
        "entry",
        "'m'",
        "9: 'm': attribute `m` of event `e`: the program has no variable `m`",
    );
    check_event(
        "step",
        "entry",
        "{ name = 'grid', argument = 2 }",
        "9: 'grid': attribute `grid` of event `e`: argument 2 of `step` is `grid`, not one number; measure something else",
    );
    check_event(
        "step",
        "entry",
        "{ name = 'x', argument = 3 }",
        "9: 'x': attribute `x` of event `e`: `step` has no argument 3; they go from 1 to 2",
    );
    check_event(
        "kernel",
        "entry",
        "{ name = 'x', argument = 1, type = 'int' }",
        "9: 'x': attribute `x` of event `e`: the arguments of `kernel` are unknown: it has no debug information (compile it with `-g`), or is a variant that the compiler made",
    );
    check_event(
        "kernel",
        "exit",
        "{ name = 'x', returned = true }",
        "9: 'x': attribute `x` of event `e`: what `kernel` returns: its type is unknown without debug information; \
         add `type`, or compile with `-g`",
    );
}

#[test]
fn declared_types_are_those_of_the_program() {
    check_event(
        "step",
        "entry",
        "{ name = 'n', type = 'double' }",
        "9: 'double': attribute `n` of event `e`: `n` has the type `int`, which is no double; correct its `type` or leave it out",
    );
    check_event(
        "step",
        "entry",
        "{ name = 'x', variable = 'raw', type = 'double' }",
        "9: 'double': attribute `x` of event `e`: `raw` has 4 bytes, too few for a double; correct its `type`",
    );
    check_event(
        "step",
        "entry",
        "\n  { name = 'i', argument = 1, type = 'int' }, { name = 'n', type = 'double' }\n",
        "10: 'double': attribute `n` of event `e`: `n` has the type `int`, which is no double; correct its `type` or leave it out",
    );
}

#[test]
fn tuning_points_are_changed_where_every_call_passes() {
    check_point(
        "variable = 'F0'\nrange = [0, 1]",
        "small",
        "9: 'small': tuning point `p`: its sync point `small` was inlined in `main` and `run`; take another function, compile it with \
         `__attribute__((noinline))`, or add `force = true`",
    );
    check_point(
        "variable = 'F0'\nrange = [0, 1]\nforce = true",
        "small",
        "10: 'small': warning: tuning point `p`: its sync point `small` was inlined in `main` and `run`; it is changed only where the \
         function itself is called",
    );
    check_point(
        "variable = 'hoisted'\nrange = [0, 1]",
        "step",
        "7: 'hoisted': warning: tuning point `p`: `main` reads `hoisted` before its loop; make it `volatile`",
    );
}

#[test]
fn changes_fit_the_types_of_the_program() {
    check_event("step", "entry", "'fixed'", "");
    check_point(
        "variable = 'fixed'\nrange = [0, 1]",
        "step",
        "7: 'fixed': tuning point `p`: `fixed` is constant; take another",
    );
    check_point(
        "variable = 'F0'\ntype = 'int'\nrange = [0, 1]",
        "step",
        "8: 'int': tuning point `p`: `F0` has the type `double`, which is no int32; correct its `type` or leave it out",
    );
    check_point(
        "variable = 'small_n'\nrange = [1, 1000]",
        "step",
        "8: [1, 1000]: tuning point `p`: its range has 1000, which is no uint8, the type of `small_n`; bring it into the type",
    );
    check_point(
        "range = [1, 1000]",
        "step",
        "5: 'p': tuning point `p`: the program has no variable `p`",
    );
    check_point(
        "call = 'step'\nrange = [1, 2]",
        "step",
        "7: 'step': tuning point `p`: `step` has 2 arguments; it is called with the value alone, so name one that takes one",
    );
    check_point(
        "replace = { function = 'retune', by = 'step' }",
        "kernel",
        "7: 'step': tuning point `p`: `step` cannot take the place of `retune`: it takes 2 arguments, not 1; \
         give it the same signature",
    );
    check_point(
        "replace = { function = 'retune', by = 'small' }",
        "kernel",
        "7: 'small': tuning point `p`: `small` cannot take the place of `retune`: what it returns is `void`, not `int`; \
         give it the same signature",
    );
}

#[test]
fn types_left_out_are_those_of_the_program() {
    let text = "
format = 1
program = 'fire'
actors = { all = 'all' }
[[event]]
name = 'e'
actor = 'all'
function = 'step'
at = 'entry'
attributes = ['n', { name = 'i', argument = 1 }, { name = 'raw', type = 'float' }, 'raw2']
[[tuning_point]]
name = 'F0'
actor = 'all'
range = [0, 1]
at = 'e'
[[tuning_point]]
name = 'call'
call = 'retune'
actor = 'all'
range = [0, 1]
at = 'e'
[[tuning_point]]
name = 'load'
load = 'x.so'
actor = 'all'
at = 'e'
";
    let (application, problems) = read(text);
    assert_eq!(problems, []);
    let application = complete(&application.unwrap(), &Fire);
    let attributes = &application.events[0].attributes;
    let kinds: Vec<_> = attributes.iter().map(|attribute| attribute.kind).collect();
    let (int, double) = (Some(ValueType::I32), Some(ValueType::F64));
    assert_eq!(kinds, [int, int, Some(ValueType::F32), None]);
    let kinds: Vec<_> = application.tuning_points.iter().map(|point| point.kind).collect();
    assert_eq!(kinds, [double, double, Some(ValueType::Bool)]);
}
