//! Walks through a program as one role does, and collects its steps.
//!
//! # Invariants
//! - Every recursion is counted in `depth`, and every node in the [`StepStack`]; beyond their limits the program is not
//!   followed, and a warning names the place.

use super::call_history::{CallHistory, FirstCalls};
use super::expression::{as_written, read};
use super::program::SourceProgram;
use super::roles::{Conditions, RoleRanks};
use super::scope::{NameValue, Names};
use super::steps::StepStack;
use super::syntax_node::SyntaxNode;
use crate::expr::Expr;
use crate::shape::{GraphNode, JumpKind};
use std::collections::BTreeMap;

/// Largest nesting depth of statements and expressions.
const NESTING_MAX: usize = 250;
/// Largest number of nodes of a role.
const N_NODES_MAX: usize = 20_000;

/// A walk through the program, as the ranks of one role take it.
pub(super) struct Walker<'p, 't> {
    pub(super) program: &'p SourceProgram<'t>,
    pub(super) names: Names<'p, 't>,
    pub(super) conditions: Conditions<'p, 't>,
    pub(super) steps: StepStack,
    /// Bodies of lambdas, by the variables that hold them.
    pub(super) lambdas: BTreeMap<String, SyntaxNode<'t>>,
    depth: usize,
    /// Number of statements and blocks walked so far.
    pub(super) n_walked: usize,
    pub(super) history: CallHistory<'p, 't>,
    /// True if a called function ended the program.
    pub(super) has_ended: bool,
    /// True if the limit on nodes was met.
    is_full: bool,
}

/// Construct that a statement leaves; `None` when the program continues behind it.
pub(super) type Flow = Option<JumpKind>;

impl<'p, 't> Walker<'p, 't> {
    pub(super) fn new(
        program: &'p SourceProgram<'t>,
        ranks: Option<&'p RoleRanks>,
        on_all_paths: &'p FirstCalls<'t>,
    ) -> Self {
        Self {
            program,
            names: Names::new(program),
            conditions: Conditions { program, ranks, met: Vec::new() },
            steps: StepStack::default(),
            lambdas: BTreeMap::new(),
            depth: 0,
            n_walked: 0,
            history: CallHistory::new(on_all_paths),
            has_ended: false,
            is_full: false,
        }
    }

    /// Returns the value of an expression; its effects become steps.
    pub(super) fn expression(&mut self, piece: SyntaxNode<'t>) -> Expr {
        if NESTING_MAX <= self.depth {
            return as_written(piece);
        }
        self.depth += 1;
        let value = read(piece, 0, &mut |piece| self.meaning(piece));
        self.depth -= 1;
        value
    }

    fn meaning(&mut self, piece: SyntaxNode<'t>) -> Option<Expr> {
        if NESTING_MAX <= self.depth {
            return Some(as_written(piece));
        }
        match piece.kind() {
            "identifier" | "field_expression" => Some(self.names.read_variable(piece)),
            "pointer_expression" => {
                let key = piece.key()?;
                Some(match self.names.value_of(&key) {
                    Some(NameValue::Expr(value)) => value.clone(),
                    _ => Expr::Varying(key),
                })
            }
            "call_expression" => Some(self.call(piece)),
            "assignment_expression" => Some(self.assignment(piece)),
            "update_expression" => {
                let argument = piece.field("argument")?;
                if let Some(key) = argument.key() {
                    self.names.forget(&key, self.names.is_in_loop());
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
        match left.key() {
            Some(key) if sign == "=" => self.names.assign(key, value.clone()),
            Some(key) => self.names.forget(&key, self.names.is_in_loop()),
            None => drop(self.expression(left)),
        }
        value
    }

    /// Adds a statement without MPI.
    pub(super) fn plain(&mut self, piece: SyntaxNode<'t>) {
        self.steps.top().statement(self.names.location(piece));
    }

    /// Returns the steps collected during `walk`, and its result.
    pub(super) fn in_new_steps<R>(
        &mut self,
        walk: impl FnOnce(&mut Self) -> R,
    ) -> (Vec<GraphNode>, R) {
        self.steps.begin();
        let result = walk(self);
        (self.steps.end(), result)
    }

    /// Runs `walk` one level deeper, unless a limit on depth or nodes is reached.
    pub(super) fn deeper(
        &mut self,
        piece: SyntaxNode<'t>,
        walk: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        if NESTING_MAX <= self.depth {
            self.steps.warn(piece, "nested too deeply; its contents are left out");
            return None;
        }
        if N_NODES_MAX <= self.steps.n_nodes() {
            if !std::mem::replace(&mut self.is_full, true) {
                self.steps.warn(piece, "the graph is too large; what follows is left out");
            }
            return None;
        }
        self.depth += 1;
        self.n_walked += 1;
        let flow = walk(self);
        self.depth -= 1;
        flow
    }
}
