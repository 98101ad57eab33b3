//! Index of a file, built in one pass, so that a question about a piece needs no walk through it.
//!
//! A piece is asked about once for each of the pieces around it. The parts of a piece lie between
//! its first and its last byte, so each list is sorted by position, and a question is a binary search.

use super::syntax_node::{Context, Parsed, SyntaxNode};
use std::collections::HashMap;

/// Lists of all files.
#[derive(Default)]
pub(super) struct SyntaxIndex<'t> {
    files: HashMap<usize, Lists<'t>>,
}

/// Lists of a file, sorted by position.
#[derive(Default)]
struct Lists<'t> {
    /// Names of functions that reach MPI.
    mpi: Vec<Ranged<()>>,
    loops: Vec<Ranged<()>>,
    functions: Vec<Ranged<()>>,
    /// `break` and `goto`.
    jumps: Vec<Ranged<()>>,
    calls: Vec<Ranged<SyntaxNode<'t>>>,
    /// Pieces that change a variable, with its name.
    changes: Vec<Ranged<(String, SyntaxNode<'t>)>>,
    /// Statements that leave a construct; the value is the first byte from which a piece is left by them.
    leaves: Vec<Ranged<usize>>,
}

/// A range of the text, with a value.
struct Ranged<T> {
    start: usize,
    end: usize,
    what: T,
}

impl<'t> SyntaxIndex<'t> {
    /// Builds all lists except that of names that reach MPI, which are known later.
    pub(super) fn of(files: &'t [Parsed]) -> Self {
        let mut syntax_index = Self::default();
        for file in files {
            let mut lists = Lists::default();
            file.root().visit(|piece, around| lists.add(piece, around));
            syntax_index.files.insert(std::ptr::from_ref(file).addr(), lists);
        }
        syntax_index
    }

    /// Adds the names that reach MPI.
    pub(super) fn find_mpi(&mut self, files: &'t [Parsed], is_of_mpi: impl Fn(&str) -> bool) {
        for file in files {
            let mut found = Vec::new();
            file.root().visit(|piece, _| {
                let is_name =
                    matches!(piece.kind(), "identifier" | "field_identifier" | "type_identifier");
                if is_name && is_of_mpi(piece.text()) {
                    found.push(Ranged::of(piece, ()));
                }
            });
            self.files.entry(std::ptr::from_ref(file).addr()).or_default().mpi = found;
        }
    }

    pub(super) fn has_mpi(&self, piece: SyntaxNode<'t>) -> bool {
        self.within(piece, |lists| &lists.mpi).next().is_some()
    }

    /// Returns whether MPI follows the piece in its function, or surrounds it in a loop.
    pub(super) fn has_mpi_behind(&self, piece: SyntaxNode<'t>) -> bool {
        let Some(lists) = self.files.get(&std::ptr::from_ref(piece.file).addr()) else {
            return false;
        };
        let (start, end) = (piece.node.start_byte(), piece.node.end_byte());
        let is_around = |spot: &&Ranged<()>| spot.start <= start && end <= spot.end;
        // A function of a macro, or one whose end was not found, extends to the end of its text.
        let function = lists.functions.iter().rev().find(is_around);
        let function_end = function.map_or(usize::MAX, |function| function.end);
        let has_mpi = |from: usize, to: usize| {
            let first = lists.mpi.partition_point(|spot| spot.start < from);
            lists.mpi.get(first).is_some_and(|spot| spot.end <= to)
        };
        has_mpi(end, function_end)
            || lists.loops.iter().filter(is_around).any(|around| has_mpi(around.start, around.end))
    }

    pub(super) fn n_loops(&self, piece: SyntaxNode<'t>) -> usize {
        self.within(piece, |lists| &lists.loops).count()
    }

    /// Returns whether the piece contains `break` or `goto`.
    pub(super) fn jumps(&self, piece: SyntaxNode<'t>) -> bool {
        self.within(piece, |lists| &lists.jumps).next().is_some()
    }

    pub(super) fn calls(&self, piece: SyntaxNode<'t>) -> impl Iterator<Item = SyntaxNode<'t>> {
        self.within(piece, |lists| &lists.calls).map(|spot| spot.what)
    }

    /// Returns the changes of variables within a piece, with the variables' names.
    pub(super) fn changes(
        &self,
        piece: SyntaxNode<'t>,
    ) -> impl Iterator<Item = (&str, SyntaxNode<'t>)> {
        self.within(piece, |lists| &lists.changes).map(|spot| (spot.what.0.as_str(), spot.what.1))
    }

    /// Returns whether a statement inside the piece leaves it.
    pub(super) fn leaves(&self, piece: SyntaxNode<'t>) -> bool {
        let start = piece.node.start_byte();
        self.within(piece, |lists| &lists.leaves).any(|spot| spot.what <= start)
    }

    /// Returns the entries of a list within a piece.
    fn within<'a, T: 'a>(
        &'a self,
        piece: SyntaxNode<'t>,
        list: impl Fn(&'a Lists<'t>) -> &'a Vec<Ranged<T>>,
    ) -> impl Iterator<Item = &'a Ranged<T>> {
        let (start, end) = (piece.node.start_byte(), piece.node.end_byte());
        let found = self.files.get(&std::ptr::from_ref(piece.file).addr());
        let all = found.map_or(&[][..], |lists| list(lists).as_slice());
        let first = all.partition_point(|spot| spot.start < start);
        let rest = all[first..].iter().take_while(move |spot| spot.start < end);
        // An entry that starts where the piece does may be larger than it.
        rest.filter(move |spot| spot.end <= end)
    }
}

impl<T> Ranged<T> {
    fn of(piece: SyntaxNode<'_>, what: T) -> Self {
        Self { start: piece.node.start_byte(), end: piece.node.end_byte(), what }
    }
}

impl<'t> Lists<'t> {
    fn add(&mut self, piece: SyntaxNode<'t>, around: &Context<'t>) {
        let of_break = around.loop_limit.max(around.lambda_limit);
        match piece.kind() {
            _ if piece.is_loop() => self.loops.push(Ranged::of(piece, ())),
            "function_definition" => self.functions.push(Ranged::of(piece, ())),
            "call_expression" => {
                self.calls.push(Ranged::of(piece, piece));
                let called = piece.field("function").map_or("", SyntaxNode::text);
                if matches!(called, "exit" | "abort" | "_exit" | "quick_exit") {
                    self.leaves.push(Ranged::of(piece, around.lambda_limit));
                }
            }
            "return_statement" | "throw_statement" => {
                self.leaves.push(Ranged::of(piece, around.lambda_limit));
            }
            "break_statement" => {
                self.jumps.push(Ranged::of(piece, ()));
                self.leaves.push(Ranged::of(piece, of_break));
            }
            "continue_statement" => self.leaves.push(Ranged::of(piece, of_break)),
            "goto_statement" => self.jumps.push(Ranged::of(piece, ())),
            "assignment_expression" => {
                self.change(piece, piece.field("left").and_then(SyntaxNode::key))
            }
            "update_expression" => {
                self.change(piece, piece.field("argument").and_then(SyntaxNode::key))
            }
            "pointer_expression" if piece.text().starts_with('&') => {
                self.change(piece, piece.key())
            }
            _ => {}
        }
    }

    fn change(&mut self, piece: SyntaxNode<'t>, key: Option<String>) {
        self.changes.extend(key.map(|key| Ranged::of(piece, (key, piece))));
    }
}
