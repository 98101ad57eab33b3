//! Builds graphs from sources in C and C++.
//!
//! The program is walked from `main`, first along all paths to collect its conditions on the rank, then once for each
//! role. Values of variables are tracked on the way, so that a condition, a peer or a count
//! is expressed by the rank, the number of ranks and names that the program is given.
//!
//! # Invariants
//! - Any text gives a graph or an error; the reader never crashes.
//!
//! # Not here
//! Types, pointers, and arithmetic that the walk cannot track: such a value keeps its name.

mod branches;
mod call_history;
mod calls;
mod expression;
mod form;
mod loops;
mod operation;
mod pointers;
mod program;
mod roles;
mod scope;
mod statements;
mod steps;
mod syntax_index;
mod syntax_node;
mod tidy;
mod walker;

use crate::expr::Expr;
use crate::regions;
use crate::shape::{Graph, GraphNode, Origin, Role, Warning, role_names};
use call_history::FirstCalls;
use form::form;
use program::SourceProgram;
use roles::RoleRanks;
use scope::{NameValue, Scope};
use std::collections::BTreeSet;
use syntax_node::{Parsed, SourceLanguage};
use thiserror::Error;
use walker::Walker;

/// A source file of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile<'a> {
    /// Name, which also determines whether it is C or C++.
    pub name: &'a str,
    /// Contents.
    pub text: &'a str,
}

/// Reason why sources have no graph, with the names of the files.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError {
    /// No file contains a function of C or C++.
    #[error("{0} has no function of C or C++: give the sources of the program")]
    NotC(String),
    /// No file defines `main`.
    #[error("no `main` in {0}: give the file with it, too")]
    NoMain(String),
    /// The program does not use MPI.
    #[error(
        "`main` reaches no MPI operation in {0}: give the files with the functions that call MPI, too"
    )]
    NoMpi(String),
}

/// Largest number of syntax warnings for a file.
const N_WARNINGS_MAX: usize = 20;

/// Builds the graph of a program.
///
/// # Errors
/// When the sources contain no function, no `main`, or no MPI operation that `main` reaches.
pub fn read(sources: &[SourceFile<'_>]) -> Result<Graph, SourceError> {
    let names: Vec<String> = sources.iter().map(|source| format!("`{}`", source.name)).collect();
    let files = names.join(", ");
    let mut parsed: Vec<Parsed> = sources.iter().filter_map(parse).collect();
    let macros: Vec<Parsed> = parsed.iter().flat_map(program::macros).collect();
    let warnings = parsed.iter().flat_map(syntax).collect();
    parsed.extend(macros);
    let program = SourceProgram::of(&parsed);
    if program.functions.is_empty() {
        return Err(SourceError::NotC(files));
    }
    if !program.functions.contains_key("main") {
        return Err(SourceError::NoMain(files));
    }
    if !program.is_of_mpi("main") {
        return Err(SourceError::NoMpi(files));
    }
    let graph = graph(&program, warnings);
    let has_mpi = graph.roles.iter().flat_map(|role| &role.body).any(GraphNode::has_mpi);
    if has_mpi { Ok(graph) } else { Err(SourceError::NoMpi(files)) }
}

/// Parses a source as C, or as C++ where that fits better.
fn parse(source: &SourceFile<'_>) -> Option<Parsed> {
    let text = typed(source.text);
    let first = Parsed::of(source.name, text.clone(), SourceLanguage::of(source.name), 1)?;
    let is_header = source.name.ends_with(".h");
    if is_header && first.tree.root_node().has_error() {
        return Parsed::of(source.name, text, SourceLanguage::Cpp, 1);
    }
    Some(first)
}

/// Adds the missing type to `main(int argc, ...)`, which old C allowed; line numbers stay.
fn typed(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let rest = line.strip_prefix("main").map(str::trim_start);
        let is_untyped = rest.is_some_and(|rest| rest.starts_with('('));
        if is_untyped { format!("int {line}") } else { line.to_owned() }
    });
    lines.collect()
}

/// Returns warnings about parts that the parser could not understand.
fn syntax(file: &Parsed) -> Vec<Warning> {
    let mut warnings = Vec::new();
    file.root().visit(|piece, around| {
        if !piece.node.is_error() || N_WARNINGS_MAX <= warnings.len() {
            return;
        }
        // An unknown word before a function or a declaration is a macro of the program.
        let is_before = around
            .parent
            .is_some_and(|parent| matches!(parent.kind(), "function_definition" | "declaration"));
        let is_word = piece.text().chars().all(|c| c.is_alphanumeric() || c == '_');
        if !(is_before && is_word) {
            warnings.push(Warning {
                file: file.name.clone(),
                line: piece.line(),
                text: format!("not understood: `{}`", expression::short(piece)),
            });
        }
    });
    warnings
}

fn graph(program: &SourceProgram<'_>, mut warnings: BTreeSet<Warning>) -> Graph {
    warnings.extend(other_mains(program));
    let all = walk(program, (None, &FirstCalls::new()), &mut warnings);
    let conditions = all.conditions;
    let (roles, left_out) = roles::of_conditions(&conditions, &program.constants);
    for condition in left_out {
        warnings.insert(Warning {
            file: "the program".to_owned(),
            line: 0,
            text: format!("has too many roles; `{condition}` is shown as a branch"),
        });
    }
    let joined = joined(program, (roles, &all.first_calls), &mut warnings);
    let mut graph = Graph {
        origin: Origin::Source,
        roles: named(joined, &conditions, program),
        constants: program.constants.clone(),
        warnings: warnings.into_iter().collect(),
        n_ranks: None,
    };
    regions::number(&mut graph);
    graph
}

/// Walks the program once for each role, and joins roles that communicate in the same way.
fn joined<'t>(
    program: &SourceProgram<'t>,
    (roles, first_calls): (Vec<RoleRanks>, &FirstCalls<'t>),
    warnings: &mut BTreeSet<Warning>,
) -> Vec<(RoleRanks, Vec<GraphNode>)> {
    let mut joined: Vec<(RoleRanks, Vec<GraphNode>, String)> = Vec::new();
    for ranks in roles {
        let body = walk(program, (Some(&ranks), first_calls), warnings).steps;
        let form = form(&body);
        match joined.iter_mut().find(|(.., known)| *known == form) {
            Some((known, ..)) => known.ranks.extend(ranks.ranks),
            None => joined.push((ranks, body, form)),
        }
    }
    let again = joined.into_iter().map(|(mut ranks, body, known)| {
        ranks.ranks.sort_unstable();
        // What only some of the ranks do besides is a branch now.
        let of_all = walk(program, (Some(&ranks), first_calls), warnings).steps;
        let body = if form(&of_all) == known { of_all } else { body };
        (ranks, body)
    });
    again.collect()
}

/// Returns warnings about further `main` functions: only one program is drawn.
fn other_mains(program: &SourceProgram<'_>) -> Vec<Warning> {
    let all = program.functions.get("main").map_or(&[][..], Vec::as_slice);
    let Some(taken) = program.main().map(|main| main.body) else {
        return Vec::new();
    };
    let others = all.iter().map(|main| main.body).filter(|body| !body.is(taken));
    others
        .map(|body| Warning {
            file: body.file.name.clone(),
            line: body.line(),
            text: format!("another `main`; that of `{}` is taken", taken.file.name),
        })
        .collect()
}

/// Result of a walk through a program.
struct Walked<'t> {
    steps: Vec<GraphNode>,
    /// Conditions on the rank that were met.
    conditions: Vec<Expr>,
    first_calls: FirstCalls<'t>,
}

/// Walks the program as these ranks, or along all paths; `first_calls` are those of the walk along all paths.
fn walk<'t>(
    program: &SourceProgram<'t>,
    (ranks, first_calls): (Option<&RoleRanks>, &FirstCalls<'t>),
    warnings: &mut BTreeSet<Warning>,
) -> Walked<'t> {
    let mut walker = Walker::new(program, ranks, first_calls);
    if let Some(main) = program.main() {
        let mut scope = Scope { function: "main", ..Scope::default() };
        for parameter in &main.parameters {
            let value = NameValue::Expr(Expr::Name((*parameter).to_owned()));
            scope.values.insert((*parameter).to_owned(), value);
        }
        walker.names.scopes.push(scope);
        walker.statement(main.body);
    }
    let (mut steps, mut met) = walker.steps.finish();
    warnings.append(&mut met);
    tidy::tidy(&mut steps);
    Walked { steps, conditions: walker.conditions.met, first_calls: walker.history.first_calls }
}

fn named(
    joined: Vec<(RoleRanks, Vec<GraphNode>)>,
    conditions: &[Expr],
    program: &SourceProgram<'_>,
) -> Vec<Role> {
    let words = |ranks: &RoleRanks| roles::in_words(&ranks.ranks, conditions, &program.constants);
    let all: Vec<String> = joined.iter().map(|(ranks, _)| words(ranks)).collect();
    let names = role_names(&all);
    let roles = joined.into_iter().zip(all).zip(names).map(|(((ranks, body), words), name)| {
        let holds = |condition: &Expr| {
            Some((condition.clone(), ranks.hold(condition, &program.constants)?))
        };
        let conditions = conditions.iter().filter_map(holds).collect();
        Role { name, ranks: words, conditions, measured_ranks: Vec::new(), body }
    });
    roles.collect()
}
