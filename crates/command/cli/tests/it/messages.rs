//! Tests of `sintonia messages`: the code that it writes, and headers that it refuses.

use crate::sintonia::Sandbox;

const GOOD: &str = "struct task { int n; double *weights; /* [n] */ };\n";
const BAD: &str = "struct task {\n    int n : 3;\n    double *weights;\n};\n";

fn sandbox(header: &str) -> Sandbox {
    Sandbox::with(&[("tasks.h", header)])
}

#[track_caller]
fn check_written(words: &str, to: &str) {
    let sandbox = sandbox(GOOD);
    assert_eq!(sandbox.said(&format!("messages {words}")).silent(), "");
    let code = sandbox.read(to);
    assert!(code.contains("#include \"tasks.h\"") && code.contains("mw_unpack_task("), "{code}");
}

#[test]
fn the_code_is_written_where_it_is_asked_for() {
    check_written("tasks.h", "tasks_messages.h");
    check_written("tasks.h --out tmp", "tmp/tasks_messages.h");
    check_written("tasks.h -o tmp/sent.h", "tmp/sent.h");
}

#[test]
fn what_cannot_be_sent_is_shown() {
    let sandbox = sandbox(BAD);
    let said = sandbox.sintonia(&["messages", "tasks.h"]);
    let expected = "\
tasks.h:2:9: member `n` of `struct task` is a bit-field: `int n : 3`
 2 |     int n : 3;
   |         ^
   = make it a whole integer, such as `uint8_t`

tasks.h:3:12: member `weights` of `struct task` is a pointer of unknown length: `double *weights`
 3 |     double *weights;
   |            ^^^^^^^^
   = give the length in a comment after it: `*weights; /* [n_weights] */`

sintonia: 2 problems in `tasks.h`; nothing is written
";
    assert_eq!((said.code, said.output.as_str(), said.errors.as_str()), (Some(100), "", expected));
    assert!(!sandbox.path("tasks_messages.h").exists());
}

#[test]
fn scripts_get_json() {
    let sandbox = sandbox(GOOD);
    let found = sandbox.said("messages tasks.h --json").json();
    let task = &found["structs"][0];
    assert_eq!((&task["c_type"], &task["is_flat"]), (&"struct task".into(), &false.into()));
    assert_eq!(task["members"][1]["counts"][0]["member"]["name"], "n");
    assert_eq!(found["problems"].as_array().map(Vec::len), Some(0));
    assert!(!sandbox.path("tasks_messages.h").exists());
}

#[test]
fn files_that_are_not_there_are_named() {
    let sandbox = sandbox(GOOD);
    sandbox.said("messages none.h").check_errors(100, "sintonia: `none.h` cannot be read");
    sandbox.said("messages tasks.h --out none/sent.h").check_errors(102, "`none/sent.h`");
}
