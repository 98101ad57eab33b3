//! Tests with one line per problem, against a program with a few names.

use super::check as problems_of;
use crate::{FunctionFacts, Passed, ProgramNames, ReachedFacts, VariableFacts, complete, read};
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

    fn reached(&self, name: &str, function: &str) -> Result<Option<ReachedFacts>, String> {
        let (type_name, kind) = ("double".to_owned(), ValueType::F64);
        match (name, function) {
            ("grid->dx", "step") => {
                Ok(Some(ReachedFacts { type_name, kind, is_of_argument: true }))
            }
            ("field->dt", _) => Ok(Some(ReachedFacts { type_name, kind, is_of_argument: false })),
            _ if name.contains("->") => Err(format!("`{function}` has no argument of `{name}`")),
            _ => Ok(None),
        }
    }

    fn unseen(&self, variable: &str, function: &str) -> Option<String> {
        let is_hoisted = variable == "hoisted" && function == "step";
        is_hoisted.then(|| "`main` reads `hoisted` before its loop; make it `volatile`".to_owned())
    }
}

/// Checks pairs of lines: the fields of an item after `head`, whose first line is line 4, with `;` for line breaks,
/// and its problem, as `LINE: MARKED: SENTENCE`.
#[track_caller]
fn check_all(head: &str, pairs: &str) {
    let lines: Vec<&str> = pairs.trim().lines().map(str::trim).collect();
    assert!(!lines.is_empty() && lines.len().is_multiple_of(2), "{pairs}");
    for pair in lines.chunks(2) {
        let item = format!("{head}{}", pair[0].replace("; ", "\n"));
        let text = format!("format = 1\nprogram = 'fire'\nactors = {{ all = '0' }}\n{item}\n");
        let (application, problems) = read(&text);
        assert_eq!(problems, []);
        let problems = problems_of(&text, &application.unwrap(), &Fire);
        let shown: Vec<String> = problems.iter().map(|problem| problem.short(&text)).collect();
        assert_eq!(shown.join("\n"), pair[1].replace("no problem", ""), "{item}");
    }
}

const EVENT: &str = "[[event]]\nname = 'e'\nactor = 'all'\n";
const POINT: &str = "[[tuning_point]]\nname = 'p'\nactor = 'all'\n";

#[test]
fn members_behind_pointers_are_checked_at_their_function() {
    check_all(
        EVENT,
        "
        function = 'step'; at = 'entry'; attributes = [{ name = 'dx', variable = 'grid->dx' }, 'field->dt']
          no problem
        function = 'step'; at = 'exit'; attributes = ['field->dt']
          no problem
        function = 'step'; at = 'exit'; attributes = ['grid->dx']
          9: 'grid->dx': attribute `grid->dx` of event `e`: `grid->dx` begins at an argument of `step`, which is gone at its exit; use the entry
        function = 'retune'; at = 'entry'; attributes = ['grid->dx']
          9: 'grid->dx': attribute `grid->dx` of event `e`: `retune` has no argument of `grid->dx`
        ",
    );
    check_all(
        POINT,
        "
        variable = 'grid->dx'; range = [0, 1]; at = { function = 'step', at = 'entry' }
          no problem
        variable = 'grid->dx'; range = [0, 1]; at = { function = 'step', at = 'exit' }
          7: 'grid->dx': tuning point `p`: `grid->dx` begins at an argument of `step`, which is gone at its exit; use the entry
        ",
    );
}

#[test]
fn what_is_there_is_no_problem() {
    check_all(
        EVENT,
        "
        function = 'step'; at = 'entry'; attributes = ['n', { name = 'i', argument = 1 }, { name = 'raw', type = 'float' }]
          no problem
        function = 'step'; at = 'exit'; attributes = [{ name = 'rc', returned = true, type = 'uint32' }]
          no problem
        ",
    );
    check_all(
        POINT,
        "
        variable = 'F0'; range = [0, 1]; at = { function = 'step', at = 'entry' }
          no problem
        call = 'retune'; range = [0, 1]; at = { function = 'step', at = 'entry' }
          no problem
        load = 'x.so'; at = { function = 'step', at = 'entry' }
          no problem
        replace = { function = 'retune', by = 'retune2' }; at = { function = 'step', at = 'entry' }
          no problem
        replace = { function = 'retune', by = 'x.so:other' }; at = { function = 'step', at = 'entry' }
          no problem
        ",
    );
}

#[test]
fn events_are_at_functions_that_are_there() {
    check_all(
        EVENT,
        "
        function = 'stpe'; at = 'entry'; attributes = [{ name = 'i', argument = 1 }]
          7: 'stpe': event `e`: the program has no function `stpe`; did you mean `step`?
        function = 'small'; at = 'exit'
          7: 'small': warning: event `e`: `small` was inlined in `main` and `run`, and is not seen there; compile it with `__attribute__((noinline))`
        ",
    );
}

#[test]
fn the_main_function_is_entered_too_early() {
    check_all(
        EVENT,
        "
        function = 'main'; at = 'entry'
          7: 'main': event `e`: `main` is entered before there are probes and left after the last of them; take a function that it calls
        ",
    );
}

#[test]
fn events_sync_points_and_what_is_replaced_need_probes() {
    check_all(
        EVENT,
        "
        function = 'tiny'; at = 'entry'
          7: 'tiny': event `e`: `tiny` cannot have probes: its 1 bytes are too few; take one that calls it
        ",
    );
    check_all(
        POINT,
        "
        load = 'x.so'; at = { function = 'tiny', at = 'entry' }
          8: 'tiny': tuning point `p`: `tiny` cannot have probes: its 1 bytes are too few; take one that calls it
        replace = { function = 'tiny', by = 'x.so:f' }; at = { function = 'step', at = 'entry' }
          7: 'tiny': tuning point `p`: `tiny` cannot have probes: its 1 bytes are too few; take one that calls it
        ",
    );
}

#[test]
fn attributes_are_numbers_that_can_be_read() {
    check_all(
        EVENT,
        "
        function = 'step'; at = 'entry'; attributes = ['m']
          9: 'm': attribute `m` of event `e`: the program has no variable `m`
        function = 'step'; at = 'entry'; attributes = [{ name = 'grid', argument = 2 }]
          9: 'grid': attribute `grid` of event `e`: argument 2 of `step` is `grid`, not one number; measure something else
        function = 'step'; at = 'entry'; attributes = [{ name = 'x', argument = 3 }]
          9: 'x': attribute `x` of event `e`: `step` has no argument 3; they go from 1 to 2
        function = 'kernel'; at = 'entry'; attributes = [{ name = 'x', argument = 1, type = 'int' }]
          9: 'x': attribute `x` of event `e`: the arguments of `kernel` are unknown: it has no debug information (compile it with `-g`), or is a variant that the compiler made
        function = 'kernel'; at = 'exit'; attributes = [{ name = 'x', returned = true }]
          9: 'x': attribute `x` of event `e`: what `kernel` returns: its type is unknown without debug information; add `type`, or compile with `-g`
        ",
    );
}

#[test]
fn declared_types_are_those_of_the_program() {
    check_all(
        EVENT,
        "
        function = 'step'; at = 'entry'; attributes = [{ name = 'n', type = 'double' }]
          9: 'double': attribute `n` of event `e`: `n` has the type `int`, which is no double; correct its `type` or leave it out
        function = 'step'; at = 'entry'; attributes = [{ name = 'x', variable = 'raw', type = 'double' }]
          9: 'double': attribute `x` of event `e`: `raw` has 4 bytes, too few for a double; correct its `type`
        function = 'step'; at = 'entry'; attributes = [;  { name = 'i', argument = 1, type = 'int' }, { name = 'n', type = 'double' }; ]
          10: 'double': attribute `n` of event `e`: `n` has the type `int`, which is no double; correct its `type` or leave it out
        ",
    );
}

#[test]
fn tuning_points_are_changed_where_every_call_passes() {
    check_all(
        POINT,
        "
        variable = 'F0'; range = [0, 1]; at = { function = 'small', at = 'entry' }
          9: 'small': tuning point `p`: its sync point `small` was inlined in `main` and `run`; take another function, compile it with `__attribute__((noinline))`, or add `force = true`
        variable = 'F0'; range = [0, 1]; force = true; at = { function = 'small', at = 'entry' }
          10: 'small': warning: tuning point `p`: its sync point `small` was inlined in `main` and `run`; it is changed only where the function itself is called
        variable = 'hoisted'; range = [0, 1]; at = { function = 'step', at = 'entry' }
          7: 'hoisted': warning: tuning point `p`: `main` reads `hoisted` before its loop; make it `volatile`
        ",
    );
}

#[test]
fn changes_fit_the_types_of_the_program() {
    check_all(
        EVENT,
        "
        function = 'step'; at = 'entry'; attributes = ['fixed']
          no problem
        ",
    );
    check_all(
        POINT,
        "
        variable = 'fixed'; range = [0, 1]; at = { function = 'step', at = 'entry' }
          7: 'fixed': tuning point `p`: `fixed` is constant; take another
        variable = 'F0'; type = 'int'; range = [0, 1]; at = { function = 'step', at = 'entry' }
          8: 'int': tuning point `p`: `F0` has the type `double`, which is no int32; correct its `type` or leave it out
        variable = 'small_n'; range = [1, 1000]; at = { function = 'step', at = 'entry' }
          8: [1, 1000]: tuning point `p`: its range has 1000, which is no uint8, the type of `small_n`; bring it into the type
        range = [1, 1000]; at = { function = 'step', at = 'entry' }
          5: 'p': tuning point `p`: the program has no variable `p`
        call = 'step'; range = [1, 2]; at = { function = 'step', at = 'entry' }
          7: 'step': tuning point `p`: `step` has 2 arguments; it is called with the value alone, so name one that takes one
        replace = { function = 'retune', by = 'step' }; at = { function = 'kernel', at = 'entry' }
          7: 'step': tuning point `p`: `step` cannot take the place of `retune`: it takes 2 arguments, not 1; give it the same signature
        replace = { function = 'retune', by = 'small' }; at = { function = 'kernel', at = 'entry' }
          7: 'small': tuning point `p`: `small` cannot take the place of `retune`: what it returns is `void`, not `int`; give it the same signature
        ",
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
