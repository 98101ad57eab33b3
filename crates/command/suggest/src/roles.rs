//! Ranks that behave alike: those that make about the same MPI calls.
//!
//! Ranks at an edge of the domain lack some calls of the others; a master has hardly a call in common with its workers.

use std::collections::{BTreeMap, BTreeSet};

/// Least share of common call sites of ranks with the same role.
const LIKENESS_MIN: f64 = 0.5;
/// Most roles; a program with more has none that could be named.
const N_ROLES_MAX: usize = 4;

/// Ranks with the same role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) ranks: BTreeSet<u32>,
    /// The ranks as a description has them: `0`, `1-`, `0,2`.
    pub(crate) text: String,
}

/// Returns the roles of ranks with these call sites, that of the lowest rank first.
pub(crate) fn find(sites_of_ranks: &BTreeMap<u32, BTreeSet<u32>>) -> Vec<Role> {
    let mut groups: Vec<(&BTreeSet<u32>, BTreeSet<u32>)> = Vec::new();
    for (rank, sites) in sites_of_ranks {
        match groups.iter_mut().find(|(first, _)| LIKENESS_MIN <= likeness(first, sites)) {
            Some((_, ranks)) => {
                ranks.insert(*rank);
            }
            None => groups.push((sites, BTreeSet::from([*rank]))),
        }
    }
    let n_groups = groups.len();
    if !(2..=N_ROLES_MAX).contains(&n_groups) {
        let ranks = sites_of_ranks.keys().copied().collect();
        return vec![Role { name: "all".to_owned(), ranks, text: "all".to_owned() }];
    }
    let last = sites_of_ranks.keys().next_back().copied();
    let groups = groups.into_iter().enumerate();
    let is_dealt = n_groups == 2 && groups.clone().any(|(_, (_, ranks))| ranks.len() == 1);
    groups
        .map(|(at, (_, ranks))| {
            let name = match (is_dealt, ranks.len()) {
                (true, 1) if at == 0 => "master".to_owned(),
                (true, _) if at == 1 => "worker".to_owned(),
                _ => format!("role_{}", at + 1),
            };
            Role { text: text(&ranks, last), name, ranks }
        })
        .collect()
}

/// Returns the share of sites that two ranks have in common.
fn likeness(a: &BTreeSet<u32>, b: &BTreeSet<u32>) -> f64 {
    let n_all = a.union(b).count();
    if n_all == 0 { 1.0 } else { a.intersection(b).count() as f64 / n_all as f64 }
}

/// Writes ranks as spans; the one that reaches the last rank is open.
fn text(ranks: &BTreeSet<u32>, last: Option<u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == *rank => *end = *rank,
            _ => spans.push((*rank, *rank)),
        }
    }
    let spans = spans.into_iter().map(|(first, end)| match () {
        () if Some(end) == last && first != 0 => format!("{first}-"),
        () if first == end => first.to_string(),
        () => format!("{first}-{end}"),
    });
    spans.collect::<Vec<_>>().join(",")
}

/// Returns the name of the role that has all these ranks; `all` if none has.
pub(crate) fn name_of<'r>(roles: &'r [Role], ranks: &BTreeSet<u32>) -> &'r str {
    let holds = |role: &&Role| !ranks.is_empty() && ranks.is_subset(&role.ranks);
    roles.iter().find(holds).map_or("all", |role| role.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sites: &[&[u32]], expected: &str) {
        let sites = (0..).zip(sites.iter().map(|sites| sites.iter().copied().collect()));
        let roles = find(&sites.collect());
        let said: Vec<_> = roles.iter().map(|it| format!("{} {}", it.name, it.text)).collect();
        assert_eq!(said.join("; "), expected);
    }

    #[test]
    fn ranks_with_the_same_calls_have_the_same_role() {
        check(&[&[1, 2], &[1, 2], &[1, 2]], "all all");
        check(&[&[1, 2], &[1, 2, 3], &[1, 2, 3, 4]], "all all");
        check(&[&[1, 2, 9], &[3, 4, 9], &[3, 4, 9]], "master 0; worker 1-");
        check(&[&[1], &[1], &[2], &[1], &[2]], "role_1 0-1,3; role_2 2,4-");
        check(&[&[1], &[2], &[3], &[4], &[5]], "all all");
        check(&[&[]], "all all");
    }

    #[test]
    fn some_ranks_are_of_the_role_that_has_them() {
        let roles = find(
            &(0..)
                .zip([&[1][..], &[2], &[2]])
                .map(|(rank, sites)| (rank, sites.iter().copied().collect()))
                .collect(),
        );
        assert_eq!(name_of(&roles, &BTreeSet::from([2])), "worker");
        assert_eq!(name_of(&roles, &BTreeSet::from([0, 2])), "all");
        assert_eq!(name_of(&roles, &BTreeSet::new()), "all");
    }
}
