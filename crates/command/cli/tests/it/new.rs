//! Tests of `sintonia new`: the projects that it makes, and names that it refuses.

use crate::sintonia::Sandbox;
use serde_json::Value;

/// Checks the error when no project is made.
#[track_caller]
fn check(sandbox: &Sandbox, words: &[&str], code: i32, expected: &str) {
    let said = sandbox.sintonia(&[&["new"], words].concat());
    assert_eq!((said.code, said.output.as_str()), (Some(code), ""));
    assert!(said.errors.contains(expected), "{}", said.errors);
    assert_eq!(said.errors.trim_end().lines().count() == 1, code == 100, "{}", said.errors);
}

#[test]
fn what_cannot_be_made_is_said() {
    let sandbox = Sandbox::new();
    check(&sandbox, &["", "--lang", "c"], 100, "`` cannot be the name of a program");
    check(
        &sandbox,
        &["a b", "--lang", "c"],
        100,
        "`a b` cannot be the name of a program; begin with",
    );
    check(&sandbox, &["Hello", "--lang", "rust"], 100, "begin with a lower-case letter");
    check(&sandbox, &["fn", "--lang", "rust"], 100, "`fn` is a word of the language");
    check(&sandbox, &["master-worker", "--lang", "rust"], 100, "choose another name");
    check(&sandbox, &["test", "--lang", "c"], 100, "choose another name for the program");
    check(&sandbox, &["mine", "--lang", "rust", "--dir", "tmp"], 100, "`tmp` is there already");
    check(
        &sandbox,
        &["mine", "--lang", "rust", "--sintonia", "tmp"],
        100,
        "say with `--sintonia DIR`",
    );
    check(&sandbox, &["mine", "--lang", "ada"], 2, "ada");
    let made: Vec<_> = std::fs::read_dir(sandbox.path(".")).expect("a folder").collect();
    assert_eq!(made.len(), 2, "nothing but `shm` and `tmp`: {made:?}");
}

#[test]
fn a_project_is_made_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let said = sandbox.sintonia(&["new", "hello", "--lang", "rust", "--dir", "a/b", "--json"]);
    assert_eq!((said.code, said.errors.as_str()), (Some(0), ""));
    let made: Value = serde_json::from_str(&said.output).expect("JSON");
    assert_eq!(
        (&made["name"], &made["lang"], &made["dir"]),
        (&"hello".into(), &"rust".into(), &"a/b".into())
    );
    assert_eq!(made["run_on_ranks"], "mpirun -n 4 target/release/hello --progress");
    let files = made["files"].as_array().expect("a list");
    for file in files {
        let path = sandbox.path("a/b").join(file.as_str().expect("a path"));
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(!text.contains("integral") && !text.contains("../.."), "{path:?}: {text}");
    }
    assert_eq!(files.len(), 5);
    assert!(!sandbox.path("hello").exists());
}
