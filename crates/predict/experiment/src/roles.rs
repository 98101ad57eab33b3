//! Roles of ranks: ranks that call MPI at the same places have the same role.

use std::collections::BTreeSet;

/// Returns the name of each rank's role, given the places at which it calls MPI.
///
/// Names do not depend on the number of ranks where possible, so that a role has the same name in all runs
/// of an experiment.
pub(crate) fn roles(places: &[BTreeSet<&str>]) -> Vec<String> {
    let first_alike: Vec<usize> = places
        .iter()
        .map(|own| places.iter().position(|other| other == own).expect("a rank is like itself"))
        .collect();
    let n_roles = first_alike.iter().collect::<BTreeSet<_>>().len();
    let last = places.len().saturating_sub(1);
    let n_alike = |first: usize| first_alike.iter().filter(|other| **other == first).count();
    let master_is_alone = n_roles == 2 && n_alike(0) == 1;
    let name = |first: &usize| match *first {
        _ if n_roles == 1 => "all ranks".to_owned(),
        0 if master_is_alone => "master".to_owned(),
        _ if master_is_alone => "workers".to_owned(),
        first if first != 0 && first == last => "last rank".to_owned(),
        first if n_alike(first) == 1 => format!("rank {first}"),
        first => format!("ranks {first}-"),
    };
    first_alike.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(places: &[&str], expected: &[&str]) {
        let places: Vec<BTreeSet<&str>> =
            places.iter().map(|all| all.split(' ').collect()).collect();
        assert_eq!(roles(&places), expected);
    }

    #[test]
    fn ranks_that_do_the_same_have_a_role() {
        check(&[], &[]);
        check(&["a"], &["all ranks"]);
        check(&["a b", "b a", "a b"], &["all ranks"; 3]);
        check(&["a", "b"], &["master", "workers"]);
        check(&["a", "b", "b"], &["master", "workers", "workers"]);
        check(&["b", "b", "a"], &["ranks 0-", "ranks 0-", "last rank"]);
        check(&["a", "b", "b", "c"], &["rank 0", "ranks 1-", "ranks 1-", "last rank"]);
        check(&["a", "b", "a", "b"], &["ranks 0-", "ranks 1-", "ranks 0-", "ranks 1-"]);
    }
}
