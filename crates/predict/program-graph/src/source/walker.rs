//! Walks through a program as one role does, and collects its steps.
//!
//! # Invariants
//! - Every recursion is counted in `depth`, and every node in `n_nodes`; beyond their limits the program is not
//!   followed, and a warning names the place.

use super::expression::{DEPTH_MAX, as_written, read};
use super::program::Program;
use super::roles::Ranks;
use super::scope::{Scope, Value};
use super::steps::Steps;
use super::syntax_node::SyntaxNode;
use crate::expr::Expr;
use crate::shape::{JumpKind, Kind, SourceLocation, Warning};
use std::collections::{BTreeMap, BTreeSet};

/// Largest nesting depth of statements and expressions.
const NESTING_MAX: usize = 250;
/// Largest number of nodes of a role.
const N_NODES_MAX: usize = 3000;

pub(super) struct Walker<'p, 't> {
    pub(super) program: &'p Program<'t>,
    /// Ranks whose control flow is followed; `None` follows all branches.
    pub(super) ranks: Option<&'p Ranks>,
    pub(super) scopes: Vec<Scope<'t>>,
    pub(super) globals: BTreeMap<String, Value<'t>>,
    /// Members of structs that hold the rank, or the number of ranks.
    pub(super) members: BTreeMap<String, Expr>,
    /// Communicators that are parts of another, in which ranks are renumbered.
    pub(super) parts: BTreeSet<String>,
    /// Bodies of lambdas, by the variables that hold them.
    pub(super) lambdas: BTreeMap<String, SyntaxNode<'t>>,
    pub(super) steps: Vec<Steps>,
    pub(super) depth: usize,
    pub(super) n_nodes: usize,
    /// True if a called function ended the program.
    pub(super) has_ended: bool,
    /// Conditions on the rank, in the order in which they were met.
    pub(super) conditions: Vec<Expr>,
    pub(super) warnings: BTreeSet<Warning>,
}

/// Construct that a statement leaves; `None` when the program continues behind it.
pub(super) type Flow = Option<JumpKind>;

impl<'p, 't> Walker<'p, 't> {
    pub(super) fn new(program: &'p Program<'t>, ranks: Option<&'p Ranks>) -> Self {
        Self {
            program,
            ranks,
            scopes: Vec::new(),
            globals: BTreeMap::new(),
            members: BTreeMap::new(),
            parts: BTreeSet::new(),
            lambdas: BTreeMap::new(),
            steps: vec![Steps::default()],
            depth: 0,
            n_nodes: 0,
            has_ended: false,
            conditions: Vec::new(),
            warnings: BTreeSet::new(),
        }
    }

    /// Returns the value of an expression; its effects become steps.
    pub(super) fn expression(&mut self, piece: SyntaxNode<'t>) -> Expr {
        self.expression_at(piece, 0)
    }

    fn expression_at(&mut self, piece: SyntaxNode<'t>, depth: usize) -> Expr {
        if NESTING_MAX <= self.depth {
            return as_written(piece);
        }
        self.depth += 1;
        let value = read(piece, depth, &mut |piece, depth| self.meaning(piece, depth));
        self.depth -= 1;
        value
    }

    fn meaning(&mut self, piece: SyntaxNode<'t>, depth: usize) -> Option<Expr> {
        if DEPTH_MAX < depth || NESTING_MAX <= self.depth {
            return Some(as_written(piece));
        }
        match piece.kind() {
            "identifier" | "field_expression" => Some(self.read_variable(piece)),
            "pointer_expression" => match super::scope::key(piece) {
                Some(key) => match self.value_of(&key) {
                    Some(Value::Expr(value)) => Some(value.clone()),
                    _ => Some(Expr::Varying(key)),
                },
                None => None,
            },
            "call_expression" => Some(self.call(piece)),
            "assignment_expression" => Some(self.assignment(piece)),
            "update_expression" => {
                let argument = piece.field("argument")?;
                if let Some(key) = super::scope::key(argument) {
                    self.forget(&key, self.is_in_loop());
                }
                Some(as_written(piece))
            }
            "conditional_expression" => Some(self.choice(piece)),
            "binary_expression" => self.shortcut(piece),
            "lambda_expression" => {
                if let Some(body) = piece.field("body").filter(|it| self.program.reaches_mpi(*it)) {
                    self.statement(body);
                }
                Some(as_written(piece))
            }
            _ => None,
        }
    }

    fn assignment(&mut self, piece: SyntaxNode<'t>) -> Expr {
        let (Some(left), Some(right)) = (piece.field("left"), piece.field("right")) else {
            return as_written(piece);
        };
        let value = self.expression(right);
        let sign = piece.field("operator").map_or("=", SyntaxNode::text);
        match super::scope::key(left) {
            Some(key) if sign == "=" => self.assign(key, value.clone()),
            Some(key) => self.forget(&key, self.is_in_loop()),
            None => drop(self.expression(left)),
        }
        value
    }

    /// Returns whether a condition holds for this role; `None` when it depends on more than the rank.
    pub(super) fn holds(&mut self, condition: &Expr) -> Option<bool> {
        if condition.has_rank() && !self.conditions.contains(condition) {
            self.conditions.push(condition.clone());
        }
        self.holds_quietly(condition)
    }

    /// Does the same without making the condition one that distinguishes roles.
    pub(super) fn holds_quietly(&self, condition: &Expr) -> Option<bool> {
        match self.ranks {
            Some(ranks) => ranks.hold(condition, &self.program.constants),
            None => super::roles::always(condition, &self.program.constants),
        }
    }

    pub(super) fn location(&self, piece: SyntaxNode<'t>) -> SourceLocation {
        if let Some(location) = self.scopes.last().and_then(|scope| scope.called_at.clone()) {
            return location;
        }
        SourceLocation {
            file: piece.file.name.clone(),
            line: piece.line(),
            end_line: piece.end_line(),
            function: self.scopes.last().map_or("", |scope| scope.function).to_owned(),
        }
    }

    pub(super) fn plain(&mut self, piece: SyntaxNode<'t>) {
        let location = self.location(piece);
        self.top().statement(location);
    }

    pub(super) fn push(&mut self, kind: Kind, location: SourceLocation) {
        self.n_nodes += 1;
        self.top().push(kind, location);
    }

    pub(super) fn top(&mut self) -> &mut Steps {
        if self.steps.is_empty() {
            self.steps.push(Steps::default());
        }
        self.steps.last_mut().expect("there is one, made above if need be")
    }

    /// Returns the steps collected during `walk`, and its result.
    pub(super) fn in_new_steps<R>(
        &mut self,
        walk: impl FnOnce(&mut Self) -> R,
    ) -> (Vec<crate::shape::Node>, R) {
        self.steps.push(Steps::default());
        let result = walk(self);
        let steps = self.steps.pop().unwrap_or_default();
        (steps.finish(), result)
    }

    pub(super) fn warn(&mut self, piece: SyntaxNode<'t>, text: impl Into<String>) {
        let (file, line) = (piece.file.name.clone(), piece.line());
        self.warnings.insert(Warning { file, line, text: text.into() });
    }

    /// Runs `walk` one level deeper, unless a limit on depth or nodes is reached.
    pub(super) fn deeper(
        &mut self,
        piece: SyntaxNode<'t>,
        walk: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        if NESTING_MAX <= self.depth {
            self.warn(piece, "nested too deeply; its contents are left out");
            return None;
        }
        if N_NODES_MAX <= self.n_nodes {
            self.warn(piece, "the graph is too large; what follows is left out");
            return None;
        }
        self.depth += 1;
        let flow = walk(self);
        self.depth -= 1;
        flow
    }
}
