//! Parses the data movements of a call: the part of a line after `|`.

use super::Trouble;
use crate::accounting::{Amount, Case, Condition, Count, Factor, Flow, Movement};
use crate::kind::ParameterKind;
use crate::operation::Param;

/// Clauses of one operation.
#[derive(Default)]
pub(super) struct Clauses {
    pub(super) movements: Vec<Movement>,
    pub(super) completes: Option<usize>,
}

/// Parses clauses, which name parameters of `params`.
pub(super) fn parse_clauses(text: &str, params: &[Param]) -> Result<Clauses, Trouble> {
    let mut clauses = Clauses::default();
    if text.trim() == "none" {
        return Ok(clauses);
    }
    for clause in text.split(';').map(str::trim) {
        let scope = Scope { params, expression: clause };
        let unknown = || Trouble::UnknownClause(clause.to_owned());
        let (verb, rest) = clause.split_once(' ').ok_or_else(unknown)?;
        if verb == "complete" {
            let is_request =
                |kind| matches!(kind, ParameterKind::Request | ParameterKind::Requests);
            clauses.completes = Some(scope.find(rest, is_request)?);
            continue;
        }
        let flow = Flow::NAMES.iter().find(|(name, _)| *name == verb).ok_or_else(unknown)?.1;
        clauses.movements.push(parse_movement(flow, rest, params)?);
    }
    Ok(clauses)
}

fn parse_movement(flow: Flow, text: &str, params: &[Param]) -> Result<Movement, Trouble> {
    let scope = Scope { params, expression: text };
    let sides = text.split_once(" to ").or_else(|| text.split_once(" from "));
    let (amount, peer) = sides.map_or((text, None), |(amount, peer)| (amount, Some(peer)));
    let peer = peer.map(|peer| scope.find(peer, |kind| kind == ParameterKind::Int)).transpose()?;
    let cases = amount.split(" else ").map(|case| parse_case(case, params));
    let cases = cases.collect::<Result<Vec<_>, _>>()?;
    let ends = |(position, case): (usize, &Case)| {
        (case.condition == Condition::Always) == (position + 1 == cases.len())
    };
    if !cases.iter().enumerate().all(ends) {
        return Err(Trouble::UnknownClause(text.to_owned()));
    }
    Ok(Movement { flow, peer, cases })
}

fn parse_case(text: &str, params: &[Param]) -> Result<Case, Trouble> {
    let scope = Scope { params, expression: text };
    let Some((amount, condition)) = text.split_once(" if ") else {
        return Ok(Case { condition: Condition::Always, amount: scope.amount(text)? });
    };
    Ok(Case { condition: scope.condition(condition)?, amount: scope.amount(amount)? })
}

/// Parameters that an expression may name, and the expression itself for error messages.
#[derive(Clone, Copy)]
struct Scope<'a> {
    params: &'a [Param],
    expression: &'a str,
}

impl Scope<'_> {
    fn find(self, name: &str, is_right: impl Fn(ParameterKind) -> bool) -> Result<usize, Trouble> {
        let name = name.trim();
        let found = self.params.iter().position(|p| p.name == name && is_right(p.kind));
        found.ok_or_else(|| Trouble::UnknownParam {
            name: name.to_owned(),
            expression: self.expression.to_owned(),
        })
    }

    fn condition(self, text: &str) -> Result<Condition, Trouble> {
        let is_int = |kind| kind == ParameterKind::Int;
        if let Some(buffer) = argument(text, "in-place") {
            return self.find(buffer, ParameterKind::is_choice_buffer).map(Condition::InPlace);
        }
        if let Some(root) = argument(text, "remote-root") {
            return self.find(root, is_int).map(Condition::RemoteRoot);
        }
        let root = argument(text, "root").ok_or_else(|| self.unknown())?;
        self.find(root, is_int).map(Condition::Root)
    }

    fn amount(self, text: &str) -> Result<Amount, Trouble> {
        if let Some((sum, datatype)) = text.rsplit_once(")*") {
            if let Some(list) = argument(&format!("{sum})"), "sum") {
                return self.sum(list, datatype);
            }
        } else if let Some(list) = argument(text, "sum") {
            return self.sum_of_products(list);
        }
        let factors: Vec<_> = text.split('*').collect();
        let (count, datatype, factor) = match factors[..] {
            [status] => {
                return self.find(status, |k| k == ParameterKind::Status).map(Amount::Status);
            }
            [count, datatype] => (count, datatype, Factor::One),
            [count, datatype, factor] => (count, datatype, self.factor(factor)?),
            _ => return Err(self.unknown()),
        };
        let count = self.count(count)?;
        let datatype = self.find(datatype, |kind| kind == ParameterKind::Type)?;
        Ok(Amount::Elements { count, datatype, factor })
    }

    fn count(self, text: &str) -> Result<Count, Trouble> {
        if text == "1" {
            return Ok(Count::One);
        }
        if let Some(counts) = argument(text, "own") {
            return self.find(counts, ParameterKind::is_counts).map(Count::Own);
        }
        self.find(text, ParameterKind::is_count).map(Count::Param)
    }

    fn sum(self, list: &str, datatype: &str) -> Result<Amount, Trouble> {
        let (counts, n) = list.split_once(',').ok_or_else(|| self.unknown())?;
        Ok(Amount::Sum {
            counts: self.find(counts, ParameterKind::is_counts)?,
            datatype: self.find(datatype, |kind| kind == ParameterKind::Type)?,
            n: self.factor(n)?,
        })
    }

    fn sum_of_products(self, list: &str) -> Result<Amount, Trouble> {
        let (product, n) = list.split_once(',').ok_or_else(|| self.unknown())?;
        let (counts, datatypes) = product.split_once('*').ok_or_else(|| self.unknown())?;
        Ok(Amount::SumOfProducts {
            counts: self.find(counts, ParameterKind::is_counts)?,
            datatypes: self.find(datatypes, |kind| kind == ParameterKind::Types)?,
            n: self.factor(n)?,
        })
    }

    fn factor(self, text: &str) -> Result<Factor, Trouble> {
        match text.trim() {
            "peers" => Ok(Factor::Peers),
            "ranks" => Ok(Factor::Ranks),
            "outdegree" => Ok(Factor::Outdegree),
            name => self.find(name, |kind| kind == ParameterKind::Int).map(Factor::Param),
        }
    }

    fn unknown(self) -> Trouble {
        Trouble::UnknownClause(self.expression.to_owned())
    }
}

/// Returns the argument `x` of `function(x)`.
fn argument<'a>(text: &'a str, function: &str) -> Option<&'a str> {
    text.trim().strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')')
}
