//! Tests of `sintonia new`: the projects that it makes, and names that it refuses.

use crate::sintonia::Sandbox;

/// Checks the error when no project is made.
#[track_caller]
fn check(sandbox: &Sandbox, name: &str, options: &str, code: i32, expected: &str) {
    let words: Vec<&str> = ["new", name].into_iter().chain(options.split(' ')).collect();
    let said = sandbox.sintonia(&words);
    said.check_errors(code, expected);
    assert_eq!(said.output, "");
    assert_eq!(said.errors.trim_end().lines().count() == 1, code == 100, "{}", said.errors);
}

#[test]
fn what_cannot_be_made_is_said() {
    let sandbox = Sandbox::new();
    let check = |name, options, code, expected| check(&sandbox, name, options, code, expected);
    check("", "--lang c", 100, "`` cannot be the name of a program");
    check("a b", "--lang c", 100, "`a b` cannot be the name of a program; begin with");
    check("Hello", "--lang rust", 100, "begin with a lower-case letter");
    check("fn", "--lang rust", 100, "`fn` is a word of the language");
    check("master-worker", "--lang rust", 100, "choose another name");
    check("test", "--lang c", 100, "choose another name for the program");
    check("mine", "--lang rust --dir tmp", 100, "`tmp` is there already");
    check("mine", "--lang rust --sintonia tmp", 100, "say with `--sintonia DIR`");
    check("mine", "--lang ada", 2, "ada");
    let made: Vec<_> = std::fs::read_dir(sandbox.path(".")).expect("a folder").collect();
    assert_eq!(made.len(), 2, "nothing but `shm` and `tmp`: {made:?}");
}

#[test]
fn a_project_is_made_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let said = sandbox.said("new hello --lang rust --dir a/b --json");
    assert_eq!(said.errors, "");
    let made = said.json();
    assert_eq!(["name", "lang", "dir"].map(|key| &made[key]), ["hello", "rust", "a/b"]);
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
