//! Loops, and their iterations as far as the source determines them.
//!
//! A variable that starts at `first`, grows by `step` and stays below `bound` gives `(bound - first) / step`
//! iterations; one that is doubled, `log2(bound / first)`.

use super::expression::{constant, cut, short};
use super::scope::{NameValue, Names};
use super::steps::unknown;
use super::syntax_node::SyntaxNode;
use super::tidy::without_exits;
use super::walker::{Flow, Walker};
use crate::expr::{Expr, Operator};
use crate::shape::{GraphNode, GraphNodeKind, JumpKind, Loop, Repeat};
use std::collections::HashMap;

/// Change of a variable in each iteration.
enum Stride {
    By(Expr),
    /// The variable is multiplied, or divided, by this.
    Times(Expr),
}

impl<'t> Walker<'_, 't> {
    pub(super) fn repeat(&mut self, piece: SyntaxNode<'t>) -> Flow {
        if let Some(init) = piece.field("initializer") {
            self.statement(init);
        }
        let location = self.names.location(piece);
        let header = header(piece);
        let updates = self.names.updates(piece);
        let first: Vec<(String, Expr)> =
            updates.iter().map(|(key, _)| (key.clone(), self.names.known(key))).collect();
        self.names.forget_changed(piece, true);
        self.names.scope().n_loops_around += 1;
        let condition = piece.field("condition");
        let (before, decides) =
            self.in_new_steps(|walker| condition.map(|condition| walker.expression(condition)));
        let is_never = decides
            .as_ref()
            .is_some_and(|it| self.conditions.holds_before(it, piece) == Some(false));
        if is_never && piece.kind() != "do_statement" {
            let scope = self.names.scope();
            scope.n_loops_around = scope.n_loops_around.saturating_sub(1);
            return None;
        }
        let (count, repeat) = self.names.count(piece, decides.as_ref(), &updates, &first);
        let (mut body, flow) = self.in_new_steps(|walker| {
            let flow = piece.field("body").and_then(|body| walker.statement(body));
            if let Some(leaves) = flow.filter(|leaves| *leaves != JumpKind::Iteration) {
                walker.steps.exit(leaves, walker.names.location(piece));
            }
            if let Some(update) = piece.field("update") {
                walker.expression(update);
            }
            flow
        });
        // The condition is evaluated in each iteration.
        body.splice(0..0, before);
        self.names.forget_changed(piece, true);
        let scope = self.names.scope();
        scope.n_loops_around = scope.n_loops_around.saturating_sub(1);
        // Whether it contains a `break` or `goto`.
        let jumps = piece.field("body").is_some_and(|body| self.program.syntax_index.jumps(body));
        let is_endless = matches!(&decides, Some(Expr::Number(1)) | None) && !jumps;
        if !body.iter().any(GraphNode::has_mpi) {
            without_exits(&mut body);
        }
        self.steps.push(GraphNodeKind::Loop(Loop { count, header, repeat, body }), location);
        let leaves = flow.filter(|it| matches!(it, JumpKind::Function | JumpKind::Program));
        leaves.filter(|_| is_endless || piece.kind() == "do_statement")
    }
}

impl<'t> Names<'_, 't> {
    /// Returns the variables that a loop changes in only one place, with that place.
    fn updates(&self, piece: SyntaxNode<'t>) -> Vec<(String, SyntaxNode<'t>)> {
        let parts = [piece.field("update"), piece.field("body"), piece.field("condition")];
        let changes =
            parts.into_iter().flatten().flat_map(|part| self.program.syntax_index.changes(part));
        let found: Vec<(&str, SyntaxNode<'t>)> =
            changes.filter(|(_, it)| it.kind() != "pointer_expression").collect();
        let mut n_of: HashMap<&str, usize> = HashMap::new();
        found.iter().for_each(|(key, _)| *n_of.entry(key).or_default() += 1);
        let once = found.into_iter().filter(|(key, _)| n_of.get(key) == Some(&1));
        once.map(|(key, it)| (key.to_owned(), it)).collect()
    }

    fn known(&self, key: &str) -> Expr {
        match self.value_of(key) {
            Some(NameValue::Expr(expr)) => expr.clone(),
            _ => Expr::Varying(key.to_owned()),
        }
    }

    /// Returns the number of iterations, and the variable that counts them.
    fn count(
        &self,
        piece: SyntaxNode<'t>,
        decides: Option<&Expr>,
        updates: &[(String, SyntaxNode<'t>)],
        first: &[(String, Expr)],
    ) -> (Expr, Option<Repeat>) {
        if piece.kind() == "for_range_loop" {
            let over = piece.field("right").map(short).unwrap_or_default();
            return (Expr::Name(format!("size({over})")), None);
        }
        let found = decides.into_iter().flat_map(conjuncts).find_map(|condition| {
            updates.iter().zip(first).find_map(|((key, update), (_, first))| {
                let stride = self.stride(key, *update)?;
                let count = passes(condition, key, first, &stride)?;
                let step = match stride {
                    Stride::By(step) => step,
                    Stride::Times(factor) => Expr::Call("times".into(), vec![factor]),
                };
                let repeat = Repeat { variable: key.clone(), first: first.clone(), step };
                Some((count, Some(repeat)))
            })
        });
        found.unwrap_or_else(|| (unknown("i", piece), None))
    }

    /// Returns the summand or factor of an update.
    fn stride(&self, variable: &str, update: SyntaxNode<'t>) -> Option<Stride> {
        let value = |piece: SyntaxNode<'t>| -> Option<Expr> {
            if let Some(number) = constant(piece.text(), &self.program.constants) {
                return Some(Expr::Number(number));
            }
            let is_name = matches!(piece.kind(), "identifier" | "field_expression");
            is_name.then(|| self.read_variable(piece))
        };
        if update.kind() == "update_expression" {
            let step = if update.text().contains("++") { 1 } else { -1 };
            return Some(Stride::By(Expr::Number(step)));
        }
        let right = update.field("right")?;
        let power = |bits: Expr| match bits {
            Expr::Number(bits) if (0..=30).contains(&bits) => Some(Expr::Number(1 << bits)),
            _ => None,
        };
        let (operator, operand) = match update.field("operator")?.text() {
            "=" if right.field("left")?.key().as_deref() == Some(variable) => {
                (right.field("operator")?.text(), right.field("right")?)
            }
            assignment => (assignment.strip_suffix('=')?, right),
        };
        match operator {
            "+" => value(operand).map(Stride::By),
            "-" => value(operand).map(|step| Stride::By(Expr::Number(0).minus(step))),
            "*" | "/" => value(operand).map(Stride::Times),
            "<<" | ">>" => power(value(operand)?).map(Stride::Times),
            _ => None,
        }
    }
}

/// Returns the iterations of a loop with this condition; `None` when the condition is not about the variable.
fn passes(condition: &Expr, variable: &str, first: &Expr, stride: &Stride) -> Option<Expr> {
    let Expr::Binary(operator, one, other) = condition else { return None };
    let is_it = |expr: &Expr| matches!(expr, Expr::Varying(name) if name == variable);
    let (operator, bound) = if is_it(one) {
        (*operator, other.as_ref())
    } else if is_it(other) {
        (mirrored(*operator), one.as_ref())
    } else {
        return None;
    };
    if bound.parts().into_iter().any(is_it) {
        return None;
    }
    let (first, bound) = (first.clone(), bound.clone());
    match stride {
        Stride::Times(factor) => {
            let ratio = match operator {
                Operator::Less | Operator::LessEqual | Operator::Unequal => bound.over(first),
                Operator::Greater if bound == Expr::Number(0) => first,
                Operator::Greater | Operator::GreaterEqual => first.over(bound),
                _ => return None,
            };
            let log = Expr::Call("log2".into(), vec![ratio]);
            match factor {
                Expr::Number(2) => Some(log),
                factor => Some(log.over(Expr::Call("log2".into(), vec![factor.clone()]))),
            }
        }
        Stride::By(step) => {
            let is_down = matches!(step, Expr::Number(step) if *step < 0)
                || matches!(operator, Operator::Greater | Operator::GreaterEqual);
            let (span, step) = if is_down {
                (first.minus(bound), Expr::Number(0).minus(step.clone()))
            } else {
                (bound.minus(first), step.clone())
            };
            let span = match operator {
                Operator::LessEqual | Operator::GreaterEqual => span.plus(Expr::Number(1)),
                Operator::Less | Operator::Greater | Operator::Unequal => span,
                _ => return None,
            };
            Some(span.over(step))
        }
    }
}

fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessEqual => Operator::GreaterEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterEqual => Operator::LessEqual,
        same => same,
    }
}

/// Returns the conditions of a conjunction.
fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    let mut found = Vec::new();
    let mut left = vec![condition];
    while let Some(one) = left.pop() {
        match one {
            Expr::Binary(Operator::And, one, other) => left.extend([other.as_ref(), one.as_ref()]),
            one => found.push(one),
        }
    }
    found
}

/// Returns the header of a loop as written, without its body.
fn header(piece: SyntaxNode<'_>) -> String {
    let words = match (piece.kind(), piece.field("body")) {
        ("do_statement", _) => {
            let condition = piece.field("condition").map(short).unwrap_or_default();
            format!("do while {condition}")
        }
        (_, Some(body)) => {
            let n_bytes = body.node.start_byte().saturating_sub(piece.node.start_byte());
            let head = piece.text().get(..n_bytes).unwrap_or_default();
            head.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        (_, None) => short(piece),
    };
    cut(words, HEADER_MAX)
}

const HEADER_MAX: usize = 80;
