//! Conditionals: those on the rank are decided for each role; for others both alternatives are shown.

use super::expression::{as_written, short};
use super::syntax_index::SyntaxIndex;
use super::syntax_node::SyntaxNode;
use super::walker::{Flow, Walker};
use crate::expr::{Expr, Operator};
use crate::shape::{Arm, Branch, JumpKind};

/// Label and statements of an alternative of a branch, before it is walked.
type Alternative<'t> = (String, Vec<SyntaxNode<'t>>);

impl<'t> Walker<'_, 't> {
    pub(super) fn if_statement(&mut self, piece: SyntaxNode<'t>) -> Flow {
        let condition = piece.field("condition")?;
        let written = short(condition);
        let written = written
            .strip_prefix('(')
            .and_then(|it| it.strip_suffix(')'))
            .unwrap_or(&written)
            .to_owned();
        let decides = self.expression(condition);
        let (one, other) = (piece.field("consequence"), piece.field("alternative"));
        let other: Vec<SyntaxNode<'t>> = match other {
            Some(other) if other.kind() == "else_clause" => other.children(),
            other => other.into_iter().collect(),
        };
        let one: Vec<SyntaxNode<'t>> = one.into_iter().collect();
        if let Some(holds) = self.conditions.holds_before(&decides, piece) {
            return self.sequence(if holds { &one } else { &other });
        }
        self.branch(piece, written, decides, vec![("yes".into(), one), ("no".into(), other)])
    }

    /// Reads a conditional expression `a ? b : c`.
    pub(super) fn choice(&mut self, piece: SyntaxNode<'t>) -> Expr {
        let (Some(condition), Some(one), Some(other)) =
            (piece.field("condition"), piece.field("consequence"), piece.field("alternative"))
        else {
            return as_written(piece);
        };
        let written = short(condition);
        let decides = self.expression(condition);
        if let Some(holds) = self.conditions.holds_before(&decides, piece) {
            return self.expression(if holds { one } else { other });
        }
        if !self.program.reaches_mpi(piece) {
            let (one, other) = (self.expression(one), self.expression(other));
            return Expr::Choice(Box::new(decides), Box::new(one), Box::new(other));
        }
        let alternatives = vec![("yes".into(), vec![one]), ("no".into(), vec![other])];
        self.branch(piece, written, decides, alternatives);
        as_written(piece)
    }

    /// Reads `a && b` or `a || b` with MPI in `b`; `None` for other expressions.
    pub(super) fn shortcut(&mut self, piece: SyntaxNode<'t>) -> Option<Expr> {
        let sign = piece.field("operator").map_or("", SyntaxNode::text);
        let (left, right) = (piece.field("left")?, piece.field("right")?);
        if !matches!(sign, "&&" | "||") || !self.program.reaches_mpi(right) {
            return None;
        }
        let decides = self.expression(left);
        let holds = self.conditions.holds(&decides);
        let is_reached = holds.map(|holds| holds == (sign == "&&"));
        let value = match is_reached {
            Some(true) => self.expression(right),
            Some(false) => return Some(decides),
            None => {
                let (label, other) = if sign == "&&" { ("yes", "no") } else { ("no", "yes") };
                let alternatives = vec![(label.into(), vec![right]), (other.into(), Vec::new())];
                self.branch(piece, short(left), decides.clone(), alternatives);
                Expr::Varying(short(right))
            }
        };
        Some(decides.join(Operator::of(sign)?, value))
    }

    fn branch(
        &mut self,
        piece: SyntaxNode<'t>,
        condition: String,
        decides: Expr,
        alternatives: Vec<Alternative<'t>>,
    ) -> Flow {
        let location = self.names.location(piece);
        let is_of_interest =
            self.program.reaches_mpi(piece) || self.program.syntax_index.leaves(piece);
        if !is_of_interest {
            self.quiet_branch(piece);
            return None;
        }
        let before = self.names.scope().values.clone();
        let mut arms = Vec::new();
        let mut flows = Vec::new();
        for (at, (label, pieces)) in alternatives.into_iter().enumerate() {
            self.names.scope().values.clone_from(&before);
            let (body, flow) = self.in_new_steps(|walker| {
                let flow = walker.sequence(&pieces);
                let is_break = piece.kind() == "switch_statement" && flow == Some(JumpKind::Loop);
                if let (Some(leaves), Some(last)) = (flow.filter(|_| !is_break), pieces.last()) {
                    walker.steps.exit(leaves, walker.names.location(*last));
                }
                flow
            });
            arms.push(Arm { name: letter(at), label, body, probability: None });
            flows.push(flow);
        }
        self.names.scope().values = before;
        let is_varying = self.names.is_in_loop();
        self.names.forget_changed(piece, is_varying);
        self.steps.put_branch(Branch { condition, decides, arms }, location);
        // Where every arm leaves in the same way, nothing follows.
        let first = flows.first().copied().flatten();
        first.filter(|_| flows.iter().all(|flow| *flow == first))
    }

    /// Adds a conditional that neither communicates nor leaves, as a simple statement.
    fn quiet_branch(&mut self, piece: SyntaxNode<'t>) {
        let n_loops = self.program.syntax_index.n_loops(piece);
        let location = self.names.location(piece);
        self.steps.top().statement(location.clone());
        if 0 < n_loops {
            self.steps.top().costly(location, "loops under a condition", n_loops);
        }
        self.quiet_calls(piece);
        let is_varying = self.names.is_in_loop();
        self.names.forget_changed(piece, is_varying);
    }

    pub(super) fn switch_statement(&mut self, piece: SyntaxNode<'t>) -> Flow {
        let (Some(on), Some(body)) = (piece.field("condition"), piece.field("body")) else {
            return None;
        };
        let written = short(on);
        let value = self.expression(on);
        let cases: Vec<SyntaxNode<'t>> =
            body.children().into_iter().filter(|it| it.kind() == "case_statement").collect();
        let mut alternatives: Vec<(Option<Expr>, Alternative<'t>)> = Vec::new();
        for case in &cases {
            let label = case.field("value");
            let pieces = case.children();
            let pieces = pieces.into_iter().filter(|it| !label.is_some_and(|label| label.is(*it)));
            let text = label.map_or("default".to_owned(), |label| format!("case {}", short(label)));
            let value = label.map(|label| self.expression(label));
            alternatives.push((value, (text, pieces.collect())));
        }
        fall_through(&mut alternatives, &self.program.syntax_index);
        let decided: Vec<Option<bool>> = alternatives
            .iter()
            .map(|(case, _)| {
                let case = case.clone()?;
                self.conditions.holds_before(&value.clone().join(Operator::Equal, case), piece)
            })
            .collect();
        let taken = match decided.iter().position(|holds| *holds == Some(true)) {
            Some(taken) => Some(Some(taken)),
            None => {
                let default = alternatives.iter().position(|(case, _)| case.is_none());
                let is_none = alternatives
                    .iter()
                    .zip(&decided)
                    .all(|((case, _), it)| case.is_none() || *it == Some(false));
                is_none.then_some(default)
            }
        };
        let flow = match taken {
            Some(taken) => taken
                .and_then(|taken| alternatives.get(taken))
                .and_then(|(_, (_, pieces))| self.sequence(pieces)),
            None => {
                let alternatives =
                    alternatives.into_iter().map(|(_, alternative)| alternative).collect();
                self.branch(piece, format!("switch {written}"), value, alternatives)
            }
        };
        // `break` leaves only the switch.
        flow.filter(|leaves| *leaves != JumpKind::Loop)
    }
}

/// Lets cases without `break` continue with the next one.
fn fall_through<'t>(
    alternatives: &mut [(Option<Expr>, Alternative<'t>)],
    syntax_index: &SyntaxIndex<'t>,
) {
    for at in (1..alternatives.len()).rev() {
        let (before, after) = alternatives.split_at_mut(at);
        let (Some((_, (_, one))), Some((_, (_, next)))) = (before.last_mut(), after.first()) else {
            continue;
        };
        let leaves = one.last().is_some_and(|last| {
            matches!(
                last.kind(),
                "break_statement" | "return_statement" | "continue_statement" | "goto_statement"
            ) || last.kind() == "compound_statement" && syntax_index.leaves(*last)
        });
        if !leaves && one.len() + next.len() < N_FALLEN_MAX {
            one.extend(next.iter().copied());
        }
    }
}

/// Largest number of statements in cases that fall through.
const N_FALLEN_MAX: usize = 500;

/// Returns the name of an arm: `A`, `B`, ..., `Z`, `A2`, ...
pub(super) fn letter(at: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(at % 26).unwrap_or_default());
    match at / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}
