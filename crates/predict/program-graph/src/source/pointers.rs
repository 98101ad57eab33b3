//! Functions that pointers may point to, because the program assigns them in plain sight.
//!
//! # Not here
//! Functions that are passed as arguments and called by their parameter: the walk follows these (`source::calls`).

use super::syntax_node::{Parsed, SyntaxNode};
use std::collections::{BTreeMap, BTreeSet};

/// Functions by the name of the variable or member that is set to them.
pub(super) type AssignedFunctions<'t> = BTreeMap<&'t str, BTreeSet<&'t str>>;

/// Largest number of times that a function is handed on by its pointer's name.
const N_HANDED_MAX: usize = 4;

/// What a program says about a name that may be called.
pub(super) struct Known<'a, 't> {
    pub(super) is_function: &'a dyn Fn(&str) -> bool,
    /// Returns whether objects of a class are called like functions.
    pub(super) is_callable: &'a dyn Fn(&str) -> bool,
    /// Returns the parameters of a function.
    pub(super) parameters: &'a dyn Fn(&str) -> &'a [&'t str],
}

/// Finds `pot->force = lj_force`, `void (*force)(int) = lj_force`, `.force = lj_force` and tables of functions;
/// arguments that reach such a place as a parameter; and objects of classes with a call operator.
///
/// Only names that are called are returned.
pub(super) fn assigned<'t>(files: &'t [Parsed], known: &Known<'_, 't>) -> AssignedFunctions<'t> {
    let mut found = AssignedFunctions::new();
    let mut called = BTreeSet::new();
    let mut sets: Vec<(&'t str, Vec<&'t str>)> = Vec::new();
    let mut see = |piece: SyntaxNode<'t>| {
        if let Some((class, name)) = object(piece).filter(|(class, _)| (known.is_callable)(class)) {
            found.entry(name).or_default().insert(class);
        }
        if let Some(function) = piece.field("function").map(SyntaxNode::name) {
            called.insert(function);
            let list = piece.field("arguments").map(SyntaxNode::children).unwrap_or_default();
            let passed = (known.parameters)(function).iter().copied().zip(list);
            sets.extend(passed.map(|(parameter, value)| (parameter, named(value, 0))));
        }
        sets.extend(set(piece).map(|(name, value)| (name, named(value, 0))));
    };
    files.iter().for_each(|file| file.root().visit(|piece, _| see(piece)));
    sets.retain(|(name, values)| !name.is_empty() && !values.is_empty());
    for _ in 0..N_HANDED_MAX {
        for (name, values) in &sets {
            let functions = values.iter().flat_map(|value| match found.get(value) {
                _ if (known.is_function)(value) => vec![*value],
                handed => handed.into_iter().flatten().copied().collect(),
            });
            let functions: Vec<&str> = functions.collect();
            if !functions.is_empty() {
                found.entry(name).or_default().extend(functions);
            }
        }
    }
    found.retain(|name, _| called.contains(name));
    found
}

/// Returns the members of structs and classes that are no functions themselves, and may point to one.
pub(super) fn members(files: &[Parsed]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for file in files {
        file.root().visit(|piece, around| {
            let parent = around.parent.map_or("", |parent| parent.kind());
            let is_declared = piece.kind() == "field_identifier"
                && matches!(
                    parent,
                    "field_declaration" | "pointer_declarator" | "array_declarator"
                );
            if is_declared {
                found.insert(piece.text());
            }
        });
    }
    found
}

/// Returns the class and the name of an object that is declared.
fn object<'t>(piece: SyntaxNode<'t>) -> Option<(&'t str, &'t str)> {
    let is_one =
        matches!(piece.kind(), "declaration" | "field_declaration" | "parameter_declaration");
    let class = piece.field("type").filter(|_| is_one)?.name();
    let name = piece.field("declarator")?.name();
    (!class.is_empty() && !name.is_empty()).then_some((class, name))
}

/// Returns the name that a piece sets, and the value.
fn set<'t>(piece: SyntaxNode<'t>) -> Option<(&'t str, SyntaxNode<'t>)> {
    match piece.kind() {
        "assignment_expression" => Some((piece.field("left")?.name(), piece.field("right")?)),
        "init_declarator" => Some((piece.field("declarator")?.name(), piece.field("value")?)),
        "initializer_pair" => {
            let designator = piece.field("designator")?;
            let field = designator.children().into_iter().next()?;
            Some((field.name(), piece.field("value")?))
        }
        _ => None,
    }
}

/// Largest nesting depth of values that are looked through.
const DEPTH_MAX: usize = 8;

/// Returns the names that a value consists of: `f`, `&f`, `&Class::f`, `(type) f`, `c ? f : g`, `{ f, g }`.
fn named(value: SyntaxNode<'_>, depth: usize) -> Vec<&str> {
    let parts = match value.kind() {
        _ if DEPTH_MAX < depth => Vec::new(),
        "identifier" | "qualified_identifier" => return vec![value.name()],
        "cast_expression" => value.field("value").into_iter().collect(),
        "conditional_expression" => {
            let parts = ["consequence", "alternative"].map(|part| value.field(part));
            parts.into_iter().flatten().collect()
        }
        "pointer_expression" | "parenthesized_expression" | "initializer_list" => value.children(),
        _ => Vec::new(),
    };
    parts.into_iter().flat_map(|part| named(part, depth + 1)).collect()
}
