//! Rule for `docs/threats.md`: each promise names tests, and these exist.
//!
//! A row of its tables ends with the tests that check it, each written `crate::name` in backquotes.

use crate::{Problem, tree::TextFile};

/// Path of the page from the root of the repository.
pub const FILE: &str = "docs/threats.md";

/// Problems of rows without a test, and of tests that do not exist.
#[must_use]
pub fn promises(files: &[TextFile]) -> Vec<Problem> {
    let Some(page) = files.iter().find(|file| file.path == FILE) else { return Vec::new() };
    let lines = page.text.lines().zip(1..);
    lines.flat_map(|(line, number)| problems_of_row(files, line, number)).collect()
}

fn problems_of_row(files: &[TextFile], line: &str, number: usize) -> Vec<Problem> {
    let Some(tests) = tests_of_row(line) else { return Vec::new() };
    if tests.is_empty() {
        return vec![Problem::of_line(FILE, number, "names no test: a promise needs one")];
    }
    let missing = tests.iter().filter(|test| !exists(files, test));
    missing
        .map(|test| Problem::of_line(FILE, number, format!("there is no test `{test}`")))
        .collect()
}

/// Names in backquotes in the last cell; `None` if the line is no row of promises.
fn tests_of_row(line: &str) -> Option<Vec<&str>> {
    let is_heading = line.trim_end().ends_with("| test |") || line.starts_with("|-");
    let row = line.strip_prefix("| ").filter(|_| !is_heading)?;
    let last = row.trim_end().trim_end_matches('|').rsplit(" | ").next()?;
    Some(last.split('`').skip(1).step_by(2).collect())
}

/// Returns whether a crate of this name has a test function of this name.
fn exists(files: &[TextFile], test: &str) -> bool {
    let Some((krate, name)) = test.split_once("::") else { return false };
    let signature = format!("fn {name}(");
    let mut in_crate = files.iter().filter(|file| is_in(krate, &file.path));
    in_crate.any(|file| {
        file.path.ends_with(".rs")
            && file.text.match_indices(&signature).any(|(at, _)| follows_test(&file.text[..at]))
    })
}

fn is_in(krate: &str, path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    match folders[..] {
        ["crates", _, name, ..] | ["apps", name, ..] => name == krate,
        _ => folders[0] == krate,
    }
}

/// Whether the last attributes before a function make it a test.
fn follows_test(before: &str) -> bool {
    let mut lines = before.lines().rev().skip_while(|line| line.trim().is_empty());
    lines
        .by_ref()
        .take_while(|line| line.trim_start().starts_with(['#', '/']))
        .any(|line| line.trim() == "#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(row: &str, expected: &[&str]) {
        let page = format!("| threat | promise | test |\n|---|---|---|\n{row}\n");
        let code = "#[cfg(test)]\nmod tests {\n    /// Fault.\n    #[test]\n    fn a_spot() {}\n    fn help() {}\n}\n";
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let files = [file(FILE, &page), file("crates/observe/ring/src/lib.rs", code)];
        let sentences: Vec<_> = promises(&files).into_iter().map(|p| p.sentence).collect();
        assert_eq!(sentences, expected);
    }

    #[test]
    fn a_promise_needs_a_test_that_exists() {
        check("| a wild write | the rank goes on | `ring::a_spot` |", &[]);
        check("| a wild write | the rank goes on | |", &["names no test: a promise needs one"]);
        check("| a | b | `ring::gone` |", &["there is no test `ring::gone`"]);
        check("| a | b | `ring::help` |", &["there is no test `ring::help`"]);
        check("| a | b | `ring::a_spot`, `wire::a_spot` |", &["there is no test `wire::a_spot`"]);
        check("No row.", &[]);
    }
}
