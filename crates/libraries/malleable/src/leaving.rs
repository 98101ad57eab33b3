//! Chooses the ranks that may leave: processes that were started together leave together or not at all, and whole hosts
//! are given back where that can be.

use resize_api::Strategy;
use std::collections::BTreeMap;

/// Freedom of choice in which ranks stay when a program shrinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Marked ranks must stay; of the others any may leave.
    Free {
        /// Whether each rank must stay.
        is_bound: Vec<bool>,
    },
    /// Exactly these ranks stay, in this order.
    Fixed {
        /// Ranks that stay.
        staying: Vec<u32>,
    },
    /// All ranks leave, and new processes take their places.
    All,
}

/// Determines which ranks may leave when ranks, each with the id of its world (processes started together), become
/// `n_targets`.
///
/// Single-process worlds leave first. Where they are not enough, larger worlds leave as a whole, with as few ranks as
/// possible. If no choice of worlds fits, all ranks leave.
pub(crate) fn leaving(worlds: &[u64], n_targets: usize, strategy: Strategy) -> Leaving {
    if strategy == Strategy::Baseline {
        return Leaving::All;
    }
    let mut sizes = BTreeMap::<u64, usize>::new();
    worlds.iter().for_each(|world| *sizes.entry(*world).or_default() += 1);
    let n_leaving = worlds.len().saturating_sub(n_targets);
    let n_single = sizes.values().filter(|n_ranks| **n_ranks == 1).count();
    if n_leaving <= n_single {
        let is_bound = worlds.iter().map(|world| sizes.get(world) != Some(&1)).collect();
        return Leaving::Free { is_bound };
    }
    let large = sizes.iter().filter(|(_, n_ranks)| 1 < **n_ranks);
    let large = large.map(|(world, n_ranks)| (*world, *n_ranks)).collect::<Vec<_>>();
    let Some(whole) = worlds_that_leave(&large, n_leaving, n_single) else { return Leaving::All };
    let n_whole = worlds.iter().filter(|world| whole.contains(world)).count();
    let mut n_single_leaving = n_leaving - n_whole;
    // Of single processes the last leave.
    let mut staying = Vec::with_capacity(n_targets);
    for (place, world) in worlds.iter().enumerate().rev() {
        if whole.contains(world) {
            continue;
        }
        if sizes.get(world) == Some(&1) && 0 < n_single_leaving {
            n_single_leaving -= 1;
            continue;
        }
        staying.push(u32::try_from(place).unwrap_or(u32::MAX));
    }
    staying.reverse();
    Leaving::Fixed { staying }
}

/// Chooses among worlds with their sizes those that leave, the last ones first, so that at most `n_single` more ranks
/// make it `n_leaving`.
fn worlds_that_leave(
    large: &[(u64, usize)],
    n_leaving: usize,
    n_single: usize,
) -> Option<Vec<u64>> {
    // For each number of ranks, the worlds that add up to it.
    let mut made = vec![None; n_leaving + 1];
    made[0] = Some(Vec::new());
    for (world, n_ranks) in large.iter().rev() {
        for sum in (*n_ranks..=n_leaving).rev() {
            if made[sum].is_none()
                && let Some(mut worlds) = made[sum - n_ranks].clone()
            {
                worlds.push(*world);
                made[sum] = Some(worlds);
            }
        }
    }
    (n_leaving.saturating_sub(n_single)..=n_leaving).find_map(|sum| made[sum].take())
}

/// Marks ranks as bound to stay until exactly `n_leaving` are free to leave, chosen so that they empty as many hosts as
/// possible.
///
/// Largest hosts first, of equal ones the last; the host of rank 0 last of all. The remaining leavers come from the
/// smallest host, so that another resize empties it.
pub(crate) fn empty_hosts(is_bound: &mut [bool], hosts: &[String], n_leaving: usize) {
    let mut leaving = vec![false; is_bound.len()];
    let mut left = n_leaving;
    let mut groups = groups(is_bound, hosts);
    groups.sort_by_key(|group| std::cmp::Reverse((!group.is_kept, group.free.len())));
    let (whole, parts) = groups.into_iter().partition::<Vec<_>, _>(|group| {
        let fits = !group.is_kept && group.free.len() <= left;
        left -= if fits { group.free.len() } else { 0 };
        fits
    });
    // The smallest host that may be emptied, then hosts that are kept anyway.
    let (kept, open) = parts.into_iter().partition::<Vec<_>, _>(|group| group.is_kept);
    let rest = open.into_iter().rev().chain(kept).flat_map(|group| group.free.into_iter().rev());
    let whole = whole.into_iter().flat_map(|group| group.free);
    whole.chain(rest).take(n_leaving).for_each(|rank| leaving[rank] = true);
    is_bound.iter_mut().zip(leaving).for_each(|(bound, leaves)| *bound |= !leaves);
}

/// Ranks of a host that may leave.
struct Group<'a> {
    host: &'a str,
    free: Vec<usize>,
    /// Whether some rank must stay on the host.
    is_kept: bool,
}

/// Groups of all hosts, the last host first.
fn groups<'a>(is_bound: &[bool], hosts: &'a [String]) -> Vec<Group<'a>> {
    let mut groups = Vec::<Group<'a>>::new();
    for (rank, (host, bound)) in hosts.iter().zip(is_bound).enumerate() {
        let place = groups.iter().position(|group| group.host == host);
        let place = place.unwrap_or_else(|| {
            groups.push(Group { host, free: Vec::new(), is_kept: rank == 0 });
            groups.len() - 1
        });
        match bound {
            true => groups[place].is_kept = true,
            false => groups[place].free.push(rank),
        }
    }
    groups.reverse();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(worlds: &[u64], n_targets: usize, expected: &Leaving) {
        assert_eq!(leaving(worlds, n_targets, Strategy::Merge), *expected);
    }

    fn free(is_bound: &[u8]) -> Leaving {
        Leaving::Free { is_bound: is_bound.iter().map(|bound| *bound != 0).collect() }
    }

    fn fixed(staying: &[u32]) -> Leaving {
        Leaving::Fixed { staying: staying.to_vec() }
    }

    #[test]
    fn single_ranks_leave_first() {
        check(&[0, 0, 0, 0, 4, 5], 4, &free(&[1, 1, 1, 1, 0, 0]));
        check(&[0, 0, 4, 5], 8, &free(&[1, 1, 0, 0]));
        check(&[0, 1, 2], 1, &free(&[0, 0, 0]));
    }

    #[test]
    fn larger_worlds_leave_as_a_whole() {
        check(&[0, 0, 2, 3, 4], 2, &free(&[1, 1, 0, 0, 0]));
        check(&[0, 0, 2, 3, 4], 1, &fixed(&[2]));
        check(&[0, 0, 2, 3, 3], 2, &fixed(&[0, 1]));
        check(&[5, 5, 6, 6, 6], 2, &fixed(&[0, 1]));
        check(&[0, 0, 2, 2], 2, &fixed(&[0, 1]));
    }

    #[test]
    fn where_no_choice_fits_all_leave() {
        check(&[0, 0, 0, 0], 2, &Leaving::All);
        check(&[0, 0, 0, 1], 2, &Leaving::All);
        assert_eq!(leaving(&[0, 1], 4, Strategy::Baseline), Leaving::All);
    }

    /// Checks which ranks leave; each letter is the host of a rank, upper case for ranks bound to stay.
    #[track_caller]
    fn check_hosts(ranks: &str, n_leaving: usize, expected: &[usize]) {
        let hosts = ranks.chars().map(|host| host.to_lowercase().to_string()).collect::<Vec<_>>();
        let mut is_bound = ranks.chars().map(char::is_uppercase).collect::<Vec<_>>();
        empty_hosts(&mut is_bound, &hosts, n_leaving);
        let free = is_bound.iter().enumerate().filter(|(_, bound)| !**bound);
        assert_eq!(free.map(|(rank, _)| rank).collect::<Vec<_>>(), expected, "{ranks}");
    }

    #[test]
    fn hosts_are_emptied_as_a_whole() {
        check_hosts("AAbbcc", 2, &[4, 5]);
        check_hosts("AbcAbc", 2, &[2, 5]);
        check_hosts("AAbbbcc", 3, &[2, 3, 4]);
        check_hosts("AAbbbcc", 4, &[2, 3, 4, 6]);
        check_hosts("AAbbcc", 4, &[2, 3, 4, 5]);
    }

    #[test]
    fn what_is_left_comes_from_the_smallest_host() {
        check_hosts("AAbbbcc", 1, &[6]);
        check_hosts("AAabc", 3, &[2, 3, 4]);
        check_hosts("AAa", 1, &[2]);
    }

    #[test]
    fn the_host_of_rank_0_is_the_last() {
        check_hosts("abb", 1, &[2]);
        check_hosts("aab", 1, &[2]);
        check_hosts("aab", 2, &[1, 2]);
        check_hosts("aaaa", 2, &[2, 3]);
    }
}
