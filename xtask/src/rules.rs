//! Rules about the text of one file.
//!
//! # Invariants
//! - Pure: a path and a text in, problems out.
//! - Forbidden words are put together from halves here, so that this file passes.

use crate::{
    Problem,
    code::{self, Token, is_word, tokens},
};

/// Most lines of a file before its tests.
pub const N_LINES_MAX: usize = 400;

/// Modules of the standard library that give access to the outside world.
const IMPURE_MODULES: [&str; 5] = ["env", "fs", "net", "process", "thread"];

/// Clocks, by whatever path they are named.
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];

/// Integer types that are aligned beyond a word.
const WIDE: [&str; 2] = ["u128", "i128"];

/// Words that mark unfinished work.
const UNFINISHED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Paths that exist on one machine only.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Folder that no clone of this repository has.
const OUTSIDE: &str = concat!("../", "shared");

/// Checks that a file begins with a module doc.
#[must_use]
pub fn module_doc(path: &str, text: &str) -> Vec<Problem> {
    if text.starts_with("//!") {
        return Vec::new();
    }
    vec![Problem::of_line(path, 1, "say in a first line `//! ...` what this file is")]
}

/// Checks that a module with children is `foo.rs` beside `foo/`.
#[must_use]
pub fn module_name(path: &str) -> Vec<Problem> {
    if !path.ends_with("/mod.rs") {
        return Vec::new();
    }
    vec![Problem::of_file(path, "name it after its folder, beside the folder")]
}

/// Checks the length of a file: a long one holds a second concept.
#[must_use]
pub fn length(path: &str, text: &str) -> Vec<Problem> {
    let n_lines = code::before_tests(text).lines().count();
    if n_lines <= N_LINES_MAX {
        return Vec::new();
    }
    let sentence = format!("{n_lines} lines before its tests, {N_LINES_MAX} at most: divide it");
    vec![Problem::of_file(path, sentence)]
}

/// Checks that a pure crate takes time and data as arguments; its tests may do as they like.
#[must_use]
pub fn purity(path: &str, text: &str) -> Vec<Problem> {
    let code = code::code_only(code::before_tests(text));
    let tokens = tokens(&code);
    let named = (0..tokens.len()).filter_map(|at| impurity_at(&tokens, at));
    named
        .map(|(line, name)| {
            Problem::of_line(path, line, format!("a pure crate names `{name}`: take an argument"))
        })
        .collect()
}

/// Checks that there is no `unsafe` outside of the edge crates.
#[must_use]
pub fn no_unsafe(path: &str, text: &str) -> Vec<Problem> {
    let code = code::code_only(text);
    let found = tokens(&code).into_iter().filter(|token| token.word == "unsafe");
    found
        .map(|token| Problem::of_line(path, token.line, "`unsafe` outside the edge crates"))
        .collect()
}

/// Checks that no variant is aligned beyond a word: LLVM up to 22 uses slots of smaller alignment for it (record 0022).
#[must_use]
pub fn variants(path: &str, text: &str) -> Vec<Problem> {
    let code = code::code_only(code::before_tests(text));
    let mut depth: Option<usize> = None;
    let mut problems = Vec::new();
    for token in tokens(&code) {
        depth = match (token.word, depth) {
            ("enum", None) => Some(0),
            (";", Some(0)) => None,
            ("{", Some(depth)) => Some(depth + 1),
            ("}", Some(depth)) => depth.checked_sub(1).filter(|depth| *depth != 0),
            (_, depth) => depth,
        };
        if depth.is_some_and(|depth| depth != 0) && WIDE.contains(&token.word) {
            let sentence = format!(
                "a variant holds a `{}`, which compilers get wrong: hold a `u64`, or a `Duration`",
                token.word
            );
            problems.push(Problem::of_line(path, token.line, sentence));
        }
    }
    problems
}

/// Checks that threads are started by calls that return an error if there is none left (`ulimit -u`): the short forms
/// panic.
#[must_use]
pub fn threads(path: &str, text: &str) -> Vec<Problem> {
    let code = code::code_only(code::before_tests(text));
    let tokens = tokens(&code);
    let is_one = |four: &&[Token<'_>]| {
        let words = [four[0].word, four[1].word, four[2].word, four[3].word];
        matches!(words, ["thread", ":", ":", "spawn"] | ["scope", ".", "spawn", "("])
    };
    let sentence = "panics where the system gives no thread: use `thread::Builder`, and say what then becomes of the work";
    tokens
        .windows(4)
        .filter(is_one)
        .map(|four| Problem::of_line(path, four[0].line, sentence))
        .collect()
}

/// Checks that there is no unfinished work, and no path that only this machine or checkout has.
#[must_use]
pub fn words(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for word in UNFINISHED.into_iter().filter(|word| has_word(line, word)) {
            let sentence = format!("`{word}`: do it, or write an issue");
            problems.push(Problem::of_line(path, number, sentence));
        }
        for place in MACHINE_PATHS.into_iter().filter(|place| has_path(line, place)) {
            let sentence = format!("`{place}` exists on one machine only");
            problems.push(Problem::of_line(path, number, sentence));
        }
        if line.contains(OUTSIDE) {
            let sentence = format!("`{OUTSIDE}` is in no clone: copy in what is needed");
            problems.push(Problem::of_line(path, number, sentence));
        }
    }
    problems
}

/// Clock, or module of `std` alone or in a group, that is named at a token; with its line.
fn impurity_at(tokens: &[Token<'_>], at: usize) -> Option<(usize, String)> {
    let Token { word, line } = tokens[at];
    if CLOCKS.contains(&word) {
        return Some((line, word.to_owned()));
    }
    if word != "std" {
        return None;
    }
    let path = tokens.get(at + 1..)?;
    let names = match path {
        [a, b, brace, group @ ..] if a.word == ":" && b.word == ":" && brace.word == "{" => {
            group_heads(group)
        }
        [a, b, name, ..] if a.word == ":" && b.word == ":" => vec![*name],
        _ => return None,
    };
    let found = names.into_iter().find(|name| IMPURE_MODULES.contains(&name.word))?;
    Some((found.line, format!("std::{}", found.word)))
}

/// First segments of the paths in a `use std::{...}`.
fn group_heads<'a>(group: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut heads = Vec::new();
    let mut depth = 0_usize;
    let mut is_head = true;
    for token in group {
        match token.word {
            "}" if depth == 0 => break,
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => is_head = true,
            _ if is_head => {
                heads.push(*token);
                is_head = false;
            }
            _ => {}
        }
    }
    heads
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c| !is_word(c)).any(|candidate| candidate == word)
}

/// Returns whether an absolute path starts with `place`, not in the middle as in `there/wo...`.
fn has_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !is_word(c) && !matches!(c, '.' | '-' | '}' | ')'))
    })
}

#[cfg(test)]
mod tests;
