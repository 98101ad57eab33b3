//! Errors of opening a program and of looking up a name.

use std::path::PathBuf;
use thiserror::Error;

/// Failure to read a program.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The file cannot be read.
    #[error("`{path}` cannot be read: check that it is on this machine and who may read it")]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is of another kind, or damaged.
    #[error(
        "`{path}` is not a 64-bit ELF file: name the program itself, not a script that starts it"
    )]
    NotElf {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: object::Error,
    },
    /// The program is for another processor.
    #[error("`{0}` is not for x86-64 processors: functions and variables of others are not found")]
    OtherProcessor(PathBuf),
}

/// Failure to find a function or variable by name; in variants without named fields, the first field is that name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// Nothing has this name.
    #[error("`{program}` has no function or variable `{name}`{}", near_names(near))]
    Unknown {
        /// Requested name.
        name: String,
        /// Path of the program.
        program: PathBuf,
        /// Similar names, best first.
        near: Vec<String>,
    },
    /// Several functions or variables have this name: the full names.
    #[error("`{0}` may be {names}: give one of these names in full", names = list(.1))]
    Ambiguous(String, Vec<String>),
    /// Every call of the function was replaced by its body.
    #[error(
        "`{name}` does not exist as a function: it is inlined at {n_places} places, in {}; choose one of these, \
         or compile it with `__attribute__((noinline))`",
        list(functions)
    )]
    Inlined {
        /// Requested name.
        name: String,
        /// Number of inlined copies.
        n_places: usize,
        /// Functions that contain the copies.
        functions: Vec<String>,
    },
    /// The function is declared but not defined here, or was left out.
    #[error(
        "`{0}` is declared but has no code in `{1}`: nothing calls it, or it is in a library that is loaded later, which `libraries` of a description names"
    )]
    NoCode(String, PathBuf),
    /// Only compiler-made copies of the function exist, with other parameters: their symbols.
    #[error(
        "`{0}` exists only in variants made by the compiler: {copies}; name one of them (its arguments may differ), \
         or compile it with `__attribute__((noipa))`",
        copies = list(.1)
    )]
    OnlyCopies(String, Vec<String>),
    /// The name is a variable instead of a function, or vice versa.
    #[error("`{name}` is a {is}, not a {wanted}")]
    OtherKind {
        /// Requested name.
        name: String,
        /// Kind of the name.
        is: &'static str,
        /// Requested kind.
        wanted: &'static str,
    },
    /// The variable has no place in memory.
    #[error(
        "`{0}` has no place in memory: the compiler found that it never changes, or keeps it in registers; \
         make it `volatile`, or not `static`"
    )]
    Folded(String),
    /// The variable is thread-local.
    #[error("`{0}` is thread-local: every thread has its own, and none can be chosen")]
    ThreadLocal(String),
    /// The variable is reached through a pointer, so that its place changes.
    #[error(
        "{} is {what}: the address of its values changes while the program runs; name an argument of the function \
         (`argument->member`), or copy the relevant value to a separate variable",
        part_of(part, name)
    )]
    Indirect {
        /// Requested name.
        name: String,
        /// Part of the name that is a pointer.
        part: String,
        /// Description: a pointer, a reference, an allocatable array.
        what: &'static str,
    },
    /// The variable is in a read-only section.
    #[error("`{0}` is in the read-only section `{1}`: it is constant")]
    Constant(String, String),
    /// The variable is not a number.
    #[error("`{name}` is a `{type_name}`, not one number{hint}")]
    NotANumber {
        /// Requested name.
        name: String,
        /// Type of the variable.
        type_name: String,
        /// Suggestion what to name instead.
        hint: String,
    },
    /// Something before `->` is not a pointer.
    #[error("`{part}` is a `{type_name}`, not a pointer: write `.` instead of `->`")]
    NoPointer {
        /// Part of the name before the arrow.
        part: String,
        /// Its type.
        type_name: String,
    },
    /// The function has no such argument, and there is no variable of this name: arguments of the function.
    #[error(
        "`{function}` has no argument `{base}`, and there is no variable of this name{}",
        near_names(arguments)
    )]
    NoArgument {
        /// Name before the first step.
        base: String,
        /// The function.
        function: String,
        /// Names of its arguments.
        arguments: Vec<String>,
    },
    /// The argument is not passed by its address.
    #[error("the argument `{0}` is passed by value: name a pointer or a reference")]
    ByValue(String),
    /// More pointers than can be followed.
    #[error("`{0}` follows more than {1} pointers: name something nearer")]
    TooFar(String, usize),
    /// The type has no such member.
    #[error("`{part}` is a `{type_name}` and has no member `{member}`{}", near_names(near))]
    NoMember {
        /// Part of the name whose member was requested.
        part: String,
        /// Type of that part.
        type_name: String,
        /// Requested member.
        member: String,
        /// Existing members.
        near: Vec<String>,
    },
    /// The index is outside the array.
    #[error("`{part}` has no element {index}: they go from {first} to {last}")]
    OutOfBounds {
        /// Name of the array.
        part: String,
        /// Requested index.
        index: i64,
        /// Smallest index.
        first: i64,
        /// Largest index.
        last: i64,
    },
    /// Members and elements need debug information.
    #[error(
        "`{0}` is part of a variable, and `{1}` has no debug information: compile it with `-g`"
    )]
    NeedsDebugInfo(String, PathBuf),
    /// The name has invalid syntax.
    #[error(
        "`{0}` is not a name: write `variable`, `struct.member`, `pointer->member`, `array[3]`, `namespace::name` or `module::name`"
    )]
    Syntax(String),
    /// The symbol table was removed.
    #[error(
        "`{0}` cannot be found: `{1}` is stripped; compile it with `-g` and do not strip it, \
         or put its debug file beside it (`{1}.debug`)"
    )]
    Stripped(String, PathBuf),
}

/// Describes a part of a name.
fn part_of(part: &str, name: &str) -> String {
    if part == name { format!("`{part}`") } else { format!("`{part}` of `{name}`") }
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; is it {}?", list(near)) }
}

/// Formats a list: `a`, `b` or 7 others.
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
