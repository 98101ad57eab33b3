//! Graphs from sources in C and C++.
//!
//! The program is walked from `main`, once for each role: first to see which conditions on the rank it has, then as
//! the ranks of each role do. What variables are worth is followed on the way, so that a condition, a peer or a count
//! is told in terms of the rank, the number of ranks and the names that the program is given.
//!
//! # Invariants
//! - Any text gives a graph or an error; none makes the reader fail.
//!
//! # Not here
//! Types, pointers, and arithmetic that the walk cannot follow: such a value keeps its name.

mod branches;
mod calls;
mod expression;
mod facts;
mod loops;
mod operation;
mod piece;
mod program;
mod roles;
mod scope;
mod statements;
mod steps;
mod tidy;
mod walker;

use crate::expr::Expr;
use crate::regions;
use crate::shape::{Graph, Kind, Node, Origin, Role, Warning};
use piece::{Parsed, Tongue};
use program::Program;
use roles::Ranks;
use scope::{Scope, Value};
use std::collections::BTreeSet;
use thiserror::Error;
use walker::Walker;

/// A file of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// Its name, which also says whether it is C or C++.
    pub name: &'a str,
    /// What stands in it.
    pub text: &'a str,
}

/// Sources without a graph.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError {
    /// Nothing in them looks like C.
    #[error("{files} has no function of C or C++: give the sources of the program")]
    NotC {
        /// Their names.
        files: String,
    },
    /// No place to start.
    #[error("no `main` in {files}: give the file with it, too")]
    NoMain {
        /// Their names.
        files: String,
    },
    /// A program without MPI.
    #[error(
        "`main` reaches no MPI operation in {files}: give the files with the functions that call MPI, too"
    )]
    NoMpi {
        /// Their names.
        files: String,
    },
}

/// Warnings about the syntax of a file; more are left out.
const N_WARNINGS_MAX: usize = 20;

/// The graph of a program.
///
/// # Errors
/// When there is no `main`, no MPI operation that it reaches, or no C.
pub fn read(sources: &[Source<'_>]) -> Result<Graph, SourceError> {
    let names: Vec<String> = sources.iter().map(|source| format!("`{}`", source.name)).collect();
    let files = names.join(", ");
    let mut parsed: Vec<Parsed> = sources.iter().filter_map(parse).collect();
    let macros: Vec<Parsed> = parsed.iter().flat_map(program::macros).collect();
    let warnings = parsed.iter().flat_map(syntax).collect();
    parsed.extend(macros);
    let program = Program::of(&parsed);
    if program.functions.is_empty() {
        return Err(SourceError::NotC { files });
    }
    if !program.functions.contains_key("main") {
        return Err(SourceError::NoMain { files });
    }
    if !program.is_of_mpi("main") {
        return Err(SourceError::NoMpi { files });
    }
    let graph = graph(&program, warnings);
    let has_mpi = graph.roles.iter().flat_map(|role| &role.body).any(Node::has_mpi);
    if has_mpi { Ok(graph) } else { Err(SourceError::NoMpi { files }) }
}

/// As C, or C++ where that fits better.
fn parse(source: &Source<'_>) -> Option<Parsed> {
    let text = typed(source.text);
    let first = Parsed::of(source.name, text.clone(), Tongue::of(source.name), 1)?;
    let is_header = source.name.ends_with(".h");
    if is_header && first.tree.root_node().has_error() {
        return Parsed::of(source.name, text, Tongue::Cpp, 1);
    }
    Some(first)
}

/// `main(int argc, ...)` without a type is no C any more, but was; lines stay where they are.
fn typed(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let rest = line.strip_prefix("main").map(str::trim_start);
        let is_untyped = rest.is_some_and(|rest| rest.starts_with('('));
        if is_untyped { format!("int {line}") } else { line.to_owned() }
    });
    lines.collect()
}

/// What the parser could not make sense of.
fn syntax(file: &Parsed) -> Vec<Warning> {
    let mut warnings = Vec::new();
    facts::visit(file, |piece, around| {
        if !piece.node.is_error() || N_WARNINGS_MAX <= warnings.len() {
            return;
        }
        // A word before a function or a declaration is a macro of the program.
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

fn graph(program: &Program<'_>, mut warnings: BTreeSet<Warning>) -> Graph {
    warnings.extend(other_mains(program));
    let (_, _, conditions) = walk(program, None, &mut warnings);
    let (roles, left_out) = roles::of_conditions(&conditions, &program.constants);
    for condition in left_out {
        warnings.insert(Warning {
            file: "the program".to_owned(),
            line: 0,
            text: format!("has too many roles; `{condition}` is shown as a branch"),
        });
    }
    let walked = roles.into_iter().map(|ranks| {
        let (body, _, _) = walk(program, Some(&ranks), &mut warnings);
        (ranks, body)
    });
    let mut joined: Vec<(Ranks, Vec<Node>)> = Vec::new();
    for (ranks, body) in walked.collect::<Vec<_>>() {
        match joined.iter_mut().find(|(_, known)| form(known) == form(&body)) {
            Some((known, _)) => known.ranks.extend(ranks.ranks),
            None => joined.push((ranks, body)),
        }
    }
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

/// Sources of several programs: one is drawn.
fn other_mains(program: &Program<'_>) -> Vec<Warning> {
    let all = program.functions.get("main").map_or(&[][..], Vec::as_slice);
    let Some(taken) = program.function("main", 2, None).map(|main| main.body) else {
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

/// Steps of a role, the ranks that were asked for, and the conditions that were met.
fn walk<'a>(
    program: &Program<'_>,
    ranks: Option<&'a Ranks>,
    warnings: &mut BTreeSet<Warning>,
) -> (Vec<Node>, Option<&'a Ranks>, Vec<Expr>) {
    let mut walker = Walker::new(program, ranks);
    if let Some(main) = program.function("main", 2, None) {
        let mut scope = Scope { function: "main", ..Scope::default() };
        for parameter in &main.parameters {
            let value = Value::Expr(Expr::Name((*parameter).to_owned()));
            scope.values.insert((*parameter).to_owned(), value);
        }
        walker.scopes.push(scope);
        walker.statement(main.body);
    }
    warnings.append(&mut walker.warnings);
    let mut steps = walker.steps.pop().unwrap_or_default().finish();
    tidy::tidy(&mut steps);
    (steps, ranks, walker.conditions)
}

fn named(
    mut joined: Vec<(Ranks, Vec<Node>)>,
    conditions: &[Expr],
    program: &Program<'_>,
) -> Vec<Role> {
    for (ranks, _) in &mut joined {
        ranks.ranks.sort_unstable();
    }
    let words = |ranks: &Ranks| roles::in_words(&ranks.ranks, conditions, &program.constants);
    let all: Vec<String> = joined.iter().map(|(ranks, _)| words(ranks)).collect();
    let are_two = all == ["rank 0", "ranks 1-"];
    let roles = joined.into_iter().zip(all).map(|((ranks, body), words)| {
        let holds = |condition: &Expr| {
            Some((condition.clone(), ranks.hold(condition, &program.constants)?))
        };
        let name = match words.as_str() {
            "rank 0" if are_two => "master".to_owned(),
            "ranks 1-" if are_two => "workers".to_owned(),
            words => words.to_owned(),
        };
        Role {
            name,
            ranks: words,
            conditions: conditions.iter().filter_map(holds).collect(),
            measured_ranks: Vec::new(),
            body,
        }
    });
    roles.collect()
}

/// What tells two sequences apart: everything but simple statements.
fn form(nodes: &[Node]) -> String {
    let mut text = String::new();
    for node in nodes {
        if let Kind::Compute(compute) = &node.kind {
            if compute.is_costly {
                text.push_str(&compute.label);
            }
            continue;
        }
        let said = match &node.kind {
            Kind::Mpi(mpi) => format!("{mpi:?}"),
            Kind::Loop(of) => format!("loop {}", of.count),
            Kind::Branch(of) => of.condition.clone(),
            Kind::Group(of) => of.function.clone(),
            Kind::Exit(of) => format!("{of:?}"),
            Kind::Compute(_) => String::new(),
        };
        text.push_str(&format!("{}:{}{said}", node.place.file, node.place.line));
        for body in node.bodies() {
            text.push_str(&format!("{{{}}}", form(body)));
        }
    }
    text
}
