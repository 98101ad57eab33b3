//! Tests with one line per problem.

mod understood;

use super::{ranks, read};

const HEAD: &str = "\
format = 1
program = 'fire'
actors = { master = '0', worker = '1-', both = '0-1' }
[[event]]
name = 'start'
actor = 'master'
function = 'step'
at = 'entry'
attributes = ['n']
[[event]]
name = 'end'
actor = 'master'
function = 'step'
at = 'exit'
[[event]]
name = 'compute'
actor = 'worker'
function = 'kernel'
at = 'exit'
";

/// Checks pairs of lines: the end of a description after `head`, with `;` for line breaks, and its only problem, as
/// `LINE: MARKED: SENTENCE`.
#[track_caller]
fn check_all(head: &str, pairs: &str) {
    let lines: Vec<&str> = pairs.trim().lines().map(str::trim).collect();
    assert!(!lines.is_empty() && lines.len().is_multiple_of(2), "{pairs}");
    for pair in lines.chunks(2) {
        let text = format!("{head}{}", pair[0].replace("; ", "\n"));
        let (_, problems) = read(&text);
        let shown: Vec<String> = problems.iter().map(|problem| problem.short(&text)).collect();
        assert_eq!(shown, [pair[1]], "{text}");
    }
}

/// Checks the problems of an item, whose first line is line 20.
#[track_caller]
fn check_item(head: &str, pairs: &str) {
    check_all(&format!("{HEAD}{head}"), pairs);
}

const EVENT: &str = "[[event]]\nname = 'e'\nactor = 'worker'\n";
const POINT: &str = "[[tuning_point]]\nname = 'p'\nactor = 'master'\n";

#[test]
fn text_that_is_no_description_is_refused() {
    let (application, problems) = read("format = 1\nprogram = \n[actors\n");
    assert_eq!(application, None);
    let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3], "{problems:#?}");
    check_all(
        "",
        "
        format = 2; program = 'fire'; actors = { all = 'all' }
          1: 2: `format` is the number `2`, and this version reads format 1
        program = 'fire'; actors = { all = 'all' }
          1: : the description has no `format`; add a line such as `format = 1`
        ",
    );
}

#[test]
fn the_top_says_what_it_is_about() {
    check_all(
        "",
        r#"
        actors = { all = 'all' }; format = 1; program = 'bin/fire'
          3: 'bin/fire': `program` is `bin/fire`; write its file name without folder
        actors = { all = 'all' }; format = 1; program = ''
          3: '': `program` of the description is empty; write a name
        program = 'fire'; format = 1
          1: : the description has no `actors`; add a line such as `actors = { all = "all" }`
        "#,
    );
    check_item(
        "",
        "
        [[events]]; name = 'x'
          20: events: the description has an unknown key `events`; valid keys are format, program, libraries, actors, event, tuning_point, iteration, tunlet
        ",
    );
}

#[test]
fn a_key_is_known_or_near_one_that_is() {
    check_item(
        EVENT,
        "
        function = 'f'; at = 'entry'; attribute = []
          25: attribute: event `e` has an unknown key `attribute`; did you mean `attributes`?
        function = 'f'; at = 'entry'; color = 1
          25: color: event `e` has an unknown key `color`; valid keys are name, actor, function, at, attributes
        ",
    );
    check_item(
        "",
        "
        [[tuning_point]]; name = 'p'; actor = 'master'; range = [1, 2]; at = 'start'; color = 1
          25: color: tuning point `p` has an unknown key `color`; valid keys are name, actor, variable, call, load, replace, type, range, step, at, force, repeat, limit_percent
        [iteration]; start = 'start'; end = 'end'; wokr = 'n'
          23: wokr: `iteration` has an unknown key `wokr`; did you mean `work`?
        ",
    );
}

#[test]
fn an_actor_is_a_set_of_ranks() {
    check_all(
        "format = 1\nprogram = 'fire'\n",
        "
        actors = { a = 'one' }
          3: 'one': actor `a` is `one`; write ranks such as `0`, `1-`, `0-3,8` or `all`
        actors = { a = '3-1' }
          3: '3-1': actor `a` is `3-1`; `3-1` is no rank at all; write the smaller number first
        actors = { a = '' }
          3: '': actor `a` is empty; write a name
        actors = { a = 0 }
          3: 0: actor `a` is the number `0`; write text in quotes
        ",
    );
}

#[test]
fn an_event_is_at_a_place_of_a_function_on_an_actor() {
    check_item(
        EVENT,
        r#"
        at = 'entry'
          20: [[event]]: event `e` has no `function`; add a line such as `function = "solve"`
        function = 'f'; at = 'enrty'
          24: 'enrty': `at` of event `e` is `enrty`; did you mean `entry`?
        function = 'f'; at = 'end'
          24: 'end': `at` of event `e` is `end`; write `entry` or `exit`
        function = 7; at = 'exit'
          23: 7: `function` of event `e` is the number `7`; write text in quotes
        "#,
    );
    check_item(
        "",
        r#"
        [[event]]; name = 'e'; actor = 'wroker'; function = 'f'; at = 'exit'
          22: 'wroker': `actor` of event `e` is `wroker`, which is no actor; did you mean `worker`?
        [[event]]; name = 'end'; actor = 'worker'; function = 'f'; at = 'exit'
          21: 'end': there is another event `end`; give each its own name
        [[event]]; name = 'again'; actor = 'master'; function = 'kernel'; at = 'exit'
          20: [[event]]: events `again` and `compute` are at the same place; keep one, with an actor that covers the ranks of both
        [[event]]; actor = 'worker'; function = 'f'; at = 'exit'
          20: [[event]]: this `[[event]]` has no `name`; add a line such as `name = "a_name"`
        "#,
    );
}

#[test]
fn an_attribute_has_one_source_that_its_place_offers() {
    check_item(
        EVENT,
        r#"
        function = 'f'; at = 'entry'; attributes = [3]
          25: 3: this attribute of event `e` is the number `3`; write text in quotes
        function = 'f'; at = 'entry'; attributes = ['a', 'a']
          25: 'a': event `e` has another attribute `a`; name one otherwise
        function = 'f'; at = 'entry'; attributes = [{ name = 'a', returned = true }]
          25: true: attribute `a` of event `e`: nothing is returned yet at an entry; measure it at the exit
        function = 'f'; at = 'exit'; attributes = [{ name = 'a', argument = 1 }]
          25: 1: attribute `a` of event `e`: arguments are gone at an exit; measure it at the entry
        function = 'f'; at = 'entry'; attributes = [{ name = 'a', argument = 0 }]
          25: 0: `argument` of attribute `a` of event `e` is `0`; count arguments from 1
        function = 'f'; at = 'exit'; attributes = [{ name = 'a', returned = false }]
          25: false: `returned` of attribute `a` of event `e` is `false`; leave it out or say where the value comes from
        function = 'f'; at = 'entry'; attributes = [{ name = 'a', argument = 1, variable = 'v' }]
          25: { name = 'a', argument = 1, variable = 'v' }: attribute `a` of event `e` has several sources; keep one of `variable`, `argument` and `returned`
        function = 'f'; at = 'entry'; attributes = [{ name = 'a', type = 'doubel' }]
          25: 'doubel': `type` of attribute `a` of event `e` is `doubel`, which is no type; did you mean `double`?
        function = 'f'; at = 'entry'; attributes = [{ variable = 'a' }]
          25: { variable = 'a' }: this attribute of event `e` has no `name`; add a line such as `name = "rows"`
        function = 'f'; at = 'exit'; attributes = 'a'
          25: 'a': `attributes` of event `e` is no list; write `["name"]`
        "#,
    );
}

#[test]
fn an_iteration_is_measured_on_one_rank() {
    check_item(
        "[iteration]\n",
        r#"
        end = 'end'
          20: [iteration]: `iteration` has no `start`; add a line such as `start = "iteration_start"`
        start = 'strat'; end = 'end'
          21: 'strat': `start` of `iteration` is `strat`, which is no event; did you mean `start`?
        start = 'start'; end = 'compute'
          22: 'compute': `end` of `iteration` is on actor `worker`, which may be several ranks; name an event on an actor of one rank
        start = 'start'; end = 'start'
          20: [iteration]: `iteration` starts and ends with event `start`; end it with another, such as the exit of `step`
        start = 'start'; end = 'end'; work = 'rows'
          23: 'rows': `work` is `rows`, which event `start` does not have; add it to its `attributes`
        call = 'solve'
          21: 'solve': `call` of `iteration` is `solve`; write the line of an MPI call, such as `solve.c:120`, or its operation and function, such as `MPI_Allreduce in solve`
        "#,
    );
}

#[test]
fn a_tuning_point_is_one_change_in_a_range() {
    check_item(
        POINT,
        r#"
        at = 'start'
          20: [[tuning_point]]: tuning point `p` has no `range`; add a line such as `range = [1, 64]`
        range = [2, 1]; at = 'start'
          23: [2, 1]: `range` of tuning point `p` has no value: 2 is above 1; write the lowest first
        range = [1]; at = 'start'
          23: [1]: `range` of tuning point `p` has 1 values; write `[lowest, highest]`
        range = 5; at = 'start'
          23: 5: `range` of tuning point `p` is the number `5`; write `[lowest, highest]`
        range = [0, inf]; at = 'start'
          23: inf: `range` of tuning point `p` is the number `inf`; write a finite number
        type = 'uint8'; range = [0, 256]; at = 'start'
          24: [0, 256]: `range` of tuning point `p` has 256, which is no uint8; bring it into the type
        type = 'int'; range = [0, 1.5]; at = 'start'
          24: [0, 1.5]: `range` of tuning point `p` has 1.5, which is no int32; bring it into the type
        range = [1, 9]; step = 0; at = 'start'
          24: 0: `step` of tuning point `p` is 0; make it more than 0
        range = [1, 9]; step = 10; at = 'start'
          24: 10: `step` of tuning point `p` is 10; make it smaller than the range
        type = 'int'; range = [1, 9]; step = 0.5; at = 'start'
          25: 0.5: `step` of tuning point `p` is 0.5; make it whole, as the type is
        range = [1, 9]; at = 'start'; variable = 'v'; call = 'f'
          20: [[tuning_point]]: tuning point `p` has `variable` and `call`; keep one of them
        load = 'a.so'; range = [0, 1]; at = 'start'
          24: [0, 1]: tuning point `p` is a switch, 1 or 0; leave `range` and `step` out
        replace = { function = 'f' }; at = 'start'
          23: { function = 'f' }: `replace` of tuning point `p` has no `by`; add a line such as `by = "solve_blocked"`
        replace = { function = 'f', by = 'lib.so:' }; at = 'start'
          23: 'lib.so:': `by` of `replace` of tuning point `p` is `lib.so:`; write `NAME` or `LIBRARY.so:NAME`
        "#,
    );
}

#[test]
fn a_tuning_point_has_a_sync_point_and_a_limit() {
    check_item(
        POINT,
        r#"
        range = [1, 9]
          20: [[tuning_point]]: tuning point `p` has no `at`; add a line such as `at = "iteration_start"`
        range = [1, 9]; at = 'stat'
          24: 'stat': `at` of tuning point `p` is `stat`, which is no event; did you mean `start`?
        range = [1, 9]; at = { function = 'f' }
          24: { function = 'f' }: `at` of tuning point `p` has no `at`; add a line such as `at = "entry"`
        range = [1, 9]; at = 'start'; limit_percent = 101
          25: 101: `limit_percent` of tuning point `p` is 101; write 0 to 100
        range = [1, 9]; at = 'start'; limit_percent = '5'
          25: '5': `limit_percent` of tuning point `p` is the text `5`; write a finite number
        range = [1, 9]; at = 'start'; force = 1
          25: 1: `force` of tuning point `p` is the number `1`; write `true` or `false`
        "#,
    );
}

#[test]
fn options_of_tunlets_are_text_numbers_or_truths() {
    check_item(
        "",
        "
        [tunlet.search]; x = [1]
          21: [1]: `x` of tunlet `search` is a list; write text, a decimal number, `true` or `false`
        [tunlet]; window = 5
          21: 5: tunlet `window` is the number `5`; write a table of keys
        ",
    );
}

#[test]
fn all_problems_are_found_at_once_and_none_follows_from_another() {
    let text = format!(
        "{HEAD}[[event]]\nname = 'broken'\nactor = 'nobody'\nfunction = 'f'\nat = 'here'\n\
         [[tuning_point]]\nname = 'p'\nactor = 'master'\nrange = [1, 2]\nat = 'broken'\n\
         [iteration]\nstart = 'broken'\nend = 'end'\nhue = 1\n"
    );
    let (application, problems) = read(&text);
    let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [22, 24, 33], "{problems:#?}");
    assert_eq!(application.unwrap().events.len(), 3);
}

#[track_caller]
fn check_ranks(text: &str, expected: &[(u32, Option<u32>)]) {
    assert_eq!(ranks(text).unwrap().spans, expected);
}

#[test]
fn ranks_are_single_or_in_spans() {
    check_ranks("0", &[(0, Some(0))]);
    check_ranks("1-", &[(1, None)]);
    check_ranks("0-3,8", &[(0, Some(3)), (8, Some(8))]);
    check_ranks(" 0 - 3 , 8 - ", &[(0, Some(3)), (8, None)]);
    check_ranks("all", &[(0, None)]);
}

#[test]
fn no_rank_at_all_is_no_actor() {
    for text in ["", "-", "-3", "3-1", "0,", "x", "0-x", "99999999999"] {
        assert!(ranks(text).is_err(), "{text}");
    }
}
