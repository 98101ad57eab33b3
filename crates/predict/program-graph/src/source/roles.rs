//! Divides ranks into roles.
//!
//! The program's conditions on the rank are evaluated on the ranks of an imaginary run. Ranks for which each
//! condition gives the same answer form one role. A number that the source does not give, `k` in `rank < k`, gets an
//! imaginary value too, each a different one.
//!
//! # Invariants
//! - A condition that depends on more than the rank distinguishes roles only where the rest does not matter.

use super::program::SourceProgram;
use super::syntax_node::SyntaxNode;
use crate::expr::{Expr, Operator};
use crate::shape::rank_spans;
use std::collections::BTreeMap;

/// Number of ranks of the imaginary run: odd, prime, and larger than the numbers that programmers write.
const N_RANKS: i64 = 211;
/// Imaginary value of the first number that the source does not give, and the increment for further ones.
const FIRST_VALUE: i64 = 37;
const VALUE_STEP: i64 = 31;
/// Largest number of roles; further ones are not distinguished.
const N_ROLES_MAX: usize = 8;

/// Ranks of one role, in the imaginary run.
#[derive(Clone, Debug)]
pub(super) struct RoleRanks {
    pub(super) ranks: Vec<i64>,
    values: BTreeMap<String, i64>,
}

impl RoleRanks {
    /// Returns whether a condition holds for all of them (true) or for none (false); `None` otherwise.
    pub(super) fn hold(&self, condition: &Expr, constants: &BTreeMap<String, i64>) -> Option<bool> {
        if !condition.has_rank() {
            return always(condition, constants);
        }
        let on = |rank: &i64| answer(condition, Some(*rank), &self.values, constants);
        let mut answers = self.ranks.iter().map(on);
        let first = answers.next()??;
        answers.all(|answer| answer == Some(first)).then_some(first)
    }
}

/// Conditions on the rank that a walk meets, decided for the ranks of a role.
pub(super) struct Conditions<'p, 't> {
    pub(super) program: &'p SourceProgram<'t>,
    /// Ranks whose control flow is followed; `None` follows all branches.
    pub(super) ranks: Option<&'p RoleRanks>,
    /// Conditions that distinguish roles, in the order in which they were met.
    pub(super) met: Vec<Expr>,
}

impl<'t> Conditions<'_, 't> {
    /// Returns whether a condition holds for this role; `None` when it depends on more than the rank.
    pub(super) fn holds(&mut self, condition: &Expr) -> Option<bool> {
        if condition.has_rank() && !self.met.contains(condition) {
            self.met.push(condition.clone());
        }
        self.holds_quietly(condition)
    }

    /// Does the same without making the condition one that distinguishes roles.
    pub(super) fn holds_quietly(&self, condition: &Expr) -> Option<bool> {
        match self.ranks {
            Some(ranks) => ranks.hold(condition, &self.program.constants),
            None => always(condition, &self.program.constants),
        }
    }

    /// Returns whether a condition holds for this role. It distinguishes roles only if MPI operations depend on it.
    pub(super) fn holds_before(&mut self, condition: &Expr, piece: SyntaxNode<'t>) -> Option<bool> {
        let is_decisive = self.program.reaches_mpi(piece) || self.program.leaves_mpi(piece);
        if is_decisive { self.holds(condition) } else { self.holds_quietly(condition) }
    }
}

/// Returns whether a condition holds without the rank, if the program's constants determine it.
fn always(condition: &Expr, constants: &BTreeMap<String, i64>) -> Option<bool> {
    answer(condition, None, &BTreeMap::new(), constants)
}

/// Returns whether a condition holds on a rank of the imaginary run, or without any.
fn answer(
    condition: &Expr,
    rank: Option<i64>,
    values: &BTreeMap<String, i64>,
    constants: &BTreeMap<String, i64>,
) -> Option<bool> {
    let value = condition.whole(&|leaf| match leaf {
        Expr::Rank => rank,
        Expr::Size => rank.map(|_| N_RANKS),
        Expr::Name(name) => constants.get(name).or_else(|| values.get(name)).copied(),
        _ => None,
    });
    value.map(|value| value != 0)
}

/// Returns the roles of a program with these conditions, and the conditions that would make too many.
pub(super) fn of_conditions<'c>(
    conditions: &'c [Expr],
    constants: &BTreeMap<String, i64>,
) -> (Vec<RoleRanks>, Vec<&'c Expr>) {
    let values = imagined(conditions, constants);
    let mut groups: Vec<Vec<i64>> = vec![(0..N_RANKS).collect()];
    let mut left_out = Vec::new();
    for condition in conditions {
        let mut finer: Vec<Vec<i64>> = Vec::new();
        for group in &groups {
            let mut parts: BTreeMap<Option<bool>, Vec<i64>> = BTreeMap::new();
            for rank in group {
                parts
                    .entry(answer(condition, Some(*rank), &values, constants))
                    .or_default()
                    .push(*rank);
            }
            finer.extend(parts.into_values());
        }
        if finer.len() <= N_ROLES_MAX {
            groups = finer;
        } else {
            left_out.push(condition);
        }
    }
    groups.sort_by_key(|ranks| ranks.first().copied());
    let roles = groups.into_iter().map(|ranks| RoleRanks { ranks, values: values.clone() });
    (roles.collect(), left_out)
}

/// Returns imaginary values for the names with which the rank is compared.
fn imagined(conditions: &[Expr], constants: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    let mut values = BTreeMap::new();
    for part in conditions.iter().flat_map(compared) {
        if let Expr::Name(name) = part
            && !constants.contains_key(name)
            && !values.contains_key(name)
        {
            let n_before = i64::try_from(values.len()).unwrap_or_default();
            values.insert(name.clone(), FIRST_VALUE + VALUE_STEP * (n_before % 5));
        }
    }
    values
}

/// Returns the parts of those comparisons in a condition that contain the rank.
fn compared(condition: &Expr) -> Vec<&Expr> {
    let comparisons = condition.parts().into_iter().filter(|part| {
        matches!(
            part,
            Expr::Binary(
                Operator::Equal
                    | Operator::Unequal
                    | Operator::Less
                    | Operator::LessEqual
                    | Operator::Greater
                    | Operator::GreaterEqual
                    | Operator::Remainder
                    | Operator::Subtract
                    | Operator::Divide,
                ..
            )
        ) && part.has_rank()
    });
    comparisons.flat_map(Expr::parts).collect()
}

/// Describes ranks in words: `rank 0`, `ranks 1-`, `even ranks`, `ranks 1 to p - 2`.
pub(super) fn in_words(
    ranks: &[i64],
    conditions: &[Expr],
    constants: &BTreeMap<String, i64>,
) -> String {
    let n_ranks = i64::try_from(ranks.len()).unwrap_or_default();
    if n_ranks == N_RANKS {
        return "all ranks".to_owned();
    }
    for (odd, words) in [(0, "even ranks"), (1, "odd ranks")] {
        let is_half = n_ranks == (N_RANKS + 1 - odd) / 2;
        if is_half && ranks.iter().all(|rank| rank % 2 == odd) {
            return words.to_owned();
        }
    }
    let spans = rank_spans(ranks.iter().copied());
    if N_SPANS_MAX < spans.len() {
        return format!("{n_ranks} of {N_RANKS} ranks");
    }
    let known = ends(conditions, constants);
    let end = |rank: i64| -> String {
        let named = known.iter().find(|(value, _)| SMALL < rank && *value == rank);
        match named {
            Some((_, name)) => name.clone(),
            None if N_RANKS - rank <= SMALL => format!("p - {}", N_RANKS - rank),
            None => rank.to_string(),
        }
    };
    let is_one = n_ranks == 1;
    let spans = spans.iter().map(|(first, last)| match (first == last, last + 1 == N_RANKS) {
        (true, _) => end(*first),
        (false, true) => format!("{}-", end(*first)),
        (false, false) => format!("{} to {}", end(*first), end(*last)),
    });
    let spans: Vec<String> = spans.collect();
    format!("{} {}", if is_one { "rank" } else { "ranks" }, spans.join(", "))
}

/// Largest number that is written literally.
const SMALL: i64 = 5;
const N_SPANS_MAX: usize = 4;

/// Returns the program's expressions for the ranks at which roles change.
fn ends(conditions: &[Expr], constants: &BTreeMap<String, i64>) -> Vec<(i64, String)> {
    let values = imagined(conditions, constants);
    let mut ends = Vec::new();
    for part in conditions.iter().flat_map(compared).filter(|part| !part.has_rank()) {
        let value = part.whole(&|leaf| match leaf {
            Expr::Size => Some(N_RANKS),
            Expr::Name(name) => constants.get(name).or_else(|| values.get(name)).copied(),
            _ => None,
        });
        let has_name = part.parts().iter().any(|it| matches!(it, Expr::Size | Expr::Name(_)));
        if let Some(value) = value.filter(|_| has_name) {
            ends.push((value, part.to_string()));
            ends.push((value - 1, part.clone().minus(Expr::Number(1)).to_string()));
            ends.push((value + 1, part.clone().plus(Expr::Number(1)).to_string()));
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: i64) -> Expr {
        Expr::Number(number)
    }

    #[track_caller]
    fn check(conditions: &[Expr], expected: &[&str]) {
        let constants = BTreeMap::from([("MASTER".to_owned(), 0)]);
        let (roles, _) = of_conditions(conditions, &constants);
        let words: Vec<String> =
            roles.iter().map(|role| in_words(&role.ranks, conditions, &constants)).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn ranks_of_a_role_have_a_name() {
        let rank = || Expr::Rank;
        let name = |name: &str| Expr::Name(name.into());
        check(&[], &["all ranks"]);
        check(&[rank().join(Operator::Equal, number(0))], &["rank 0", "ranks 1-"]);
        check(&[rank().join(Operator::Equal, name("MASTER"))], &["rank 0", "ranks 1-"]);
        check(&[Expr::Not(Box::new(rank()))], &["rank 0", "ranks 1-"]);
        check(&[rank().join(Operator::Less, name("k"))], &["ranks 0 to k - 1", "ranks k-"]);
        check(
            &[rank().join(Operator::Equal, name("root"))],
            &["ranks 0 to root - 1, root + 1-", "rank root"],
        );
        check(
            &[rank().join(Operator::Remainder, number(2)).join(Operator::Equal, number(0))],
            &["even ranks", "odd ranks"],
        );
        let last = rank().join(Operator::Equal, Expr::Size.minus(number(1)));
        check(
            &[rank().join(Operator::Greater, number(0)), last],
            &["rank 0", "ranks 1 to p - 2", "rank p - 1"],
        );
        let verbose = rank().join(Operator::Equal, number(0)).join(Operator::And, name("verbose"));
        check(&[verbose], &["rank 0", "ranks 1-"]);
        check(
            &[name("verbose").join(Operator::Or, rank().join(Operator::Less, number(3)))],
            &["ranks 0 to 2", "ranks 3-"],
        );
    }
}
