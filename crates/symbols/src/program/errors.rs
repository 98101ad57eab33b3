//! Why a program cannot be looked into, or a name leads nowhere.

use std::path::PathBuf;
use thiserror::Error;

/// A program that cannot be looked into.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It cannot be read.
    #[error("`{path}` cannot be read: check that it is on this machine and who may read it")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is something else, or damaged.
    #[error(
        "`{path}` is not a 64-bit ELF file: name the program itself, not a script that starts it"
    )]
    NotElf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: object::Error,
    },
    /// It is for another processor.
    #[error(
        "`{path}` is not for x86-64 processors: functions and variables of others are not found"
    )]
    OtherProcessor {
        /// The file.
        path: PathBuf,
    },
}

/// A name that leads to no function or variable.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// Nothing has this name.
    #[error("`{program}` has nothing called `{name}`{}", near_names(near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where.
        program: PathBuf,
        /// Names that are nearly the same, best first.
        near: Vec<String>,
    },
    /// Several things have this name.
    #[error("`{name}` may be {}: give one of these names in full", list(candidates))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The full names.
        candidates: Vec<String>,
    },
    /// Every call of the function was replaced by its body.
    #[error(
        "`{name}` is not there as a function: it is inlined at {n_places} places, in {}; choose one of these, \
         or compile it with `__attribute__((noinline))`",
        list(functions)
    )]
    Inlined {
        /// What was asked for.
        name: String,
        /// How often.
        n_places: usize,
        /// Functions that hold the copies.
        functions: Vec<String>,
    },
    /// The function is declared but nowhere defined here, or was left out.
    #[error(
        "`{name}` is declared but has no code in `{program}`: nothing calls it, or it is in a library that is loaded later"
    )]
    NoCode {
        /// What was asked for.
        name: String,
        /// Where.
        program: PathBuf,
    },
    /// The compiler made copies with other parameters and left the function itself out.
    #[error(
        "`{name}` is there only in variants that the compiler made: {}; name one of them (its arguments may differ), \
         or compile it with `__attribute__((noipa))`",
        list(copies)
    )]
    OnlyCopies {
        /// What was asked for.
        name: String,
        /// Their symbols.
        copies: Vec<String>,
    },
    /// It is a variable, and a function was asked for, or the other way round.
    #[error("`{name}` is a {is}, not a {wanted}")]
    OtherKind {
        /// What was asked for.
        name: String,
        /// What it is.
        is: &'static str,
        /// What was expected.
        wanted: &'static str,
    },
    /// The variable has no place in memory.
    #[error(
        "`{name}` has no place in memory: the compiler found that it never changes, or keeps it in registers; \
         make it `volatile`, or not `static`"
    )]
    Folded {
        /// What was asked for.
        name: String,
    },
    /// Every thread has its own.
    #[error("`{name}` is thread-local: every thread has its own, and none can be chosen")]
    ThreadLocal {
        /// What was asked for.
        name: String,
    },
    /// It lies wherever a pointer says.
    #[error(
        "{} is {what}: where its values lie changes while the program runs; copy what matters to a variable of its own",
        part_of(part, name)
    )]
    Indirect {
        /// What was asked for.
        name: String,
        /// The part of it that is a pointer.
        part: String,
        /// A pointer, a reference, an allocatable array.
        what: &'static str,
    },
    /// It cannot be written.
    #[error("`{name}` is in `{section}`, which nobody can write: it is constant")]
    Constant {
        /// What was asked for.
        name: String,
        /// Where it lies.
        section: String,
    },
    /// It is no number.
    #[error("`{name}` is a `{type_name}`, not one number{hint}")]
    NotANumber {
        /// What was asked for.
        name: String,
        /// Its type.
        type_name: String,
        /// What to name instead.
        hint: String,
    },
    /// Its type has no such member.
    #[error("`{part}` is a `{type_name}` and has no member `{member}`{}", near_names(near))]
    NoMember {
        /// What the member was looked for in.
        part: String,
        /// Its type.
        type_name: String,
        /// The member.
        member: String,
        /// Members.
        near: Vec<String>,
    },
    /// Its index is outside the array.
    #[error("`{part}` has no element {index}: they go from {first} to {last}")]
    OutOfBounds {
        /// The array.
        part: String,
        /// The index.
        index: i64,
        /// Smallest index.
        first: i64,
        /// Largest index.
        last: i64,
    },
    /// A member or element needs debug information.
    #[error(
        "`{name}` is part of a variable, and `{program}` has no debug information: compile it with `-g`"
    )]
    NeedsDebugInfo {
        /// What was asked for.
        name: String,
        /// The program.
        program: PathBuf,
    },
    /// The name is not written as names are.
    #[error(
        "`{name}` is not a name: write `variable`, `struct.member`, `array[3]`, `namespace::name` or `module::name`"
    )]
    Syntax {
        /// What was asked for.
        name: String,
    },
    /// The symbol table was removed.
    #[error(
        "`{name}` cannot be found: `{program}` is stripped; compile it with `-g` and do not strip it, \
         or put its debug file beside it (`{program}.debug`)"
    )]
    Stripped {
        /// What was asked for.
        name: String,
        /// The program.
        program: PathBuf,
    },
}

/// What is meant, and of what it is a part.
fn part_of(part: &str, name: &str) -> String {
    if part == name { format!("`{part}`") } else { format!("`{part}` of `{name}`") }
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; is it {}?", list(near)) }
}

/// `a`, `b` or 7 others.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let mut shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if SHOWN < names.len() {
        shown.push(format!("{} others", names.len() - SHOWN));
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => shown.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expected: &str) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(list(&names), expected);
    }

    #[test]
    fn lists_end() {
        check(&["a"], "`a`");
        check(&["a", "b"], "`a` or `b`");
        check(&["a", "b", "c", "d", "e", "f", "g"], "`a`, `b`, `c`, `d`, `e`, `f` or 1 others");
    }
}
