//! Chooses the ranks that leave so that whole hosts are given back.

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

    /// Checks which ranks leave; each letter is the host of a rank, upper case for ranks bound to stay.
    #[track_caller]
    fn check(ranks: &str, n_leaving: usize, expected: &[usize]) {
        let hosts = ranks.chars().map(|host| host.to_lowercase().to_string()).collect::<Vec<_>>();
        let mut is_bound = ranks.chars().map(char::is_uppercase).collect::<Vec<_>>();
        empty_hosts(&mut is_bound, &hosts, n_leaving);
        let free = is_bound.iter().enumerate().filter(|(_, bound)| !**bound);
        assert_eq!(free.map(|(rank, _)| rank).collect::<Vec<_>>(), expected, "{ranks}");
    }

    #[test]
    fn hosts_are_emptied_as_a_whole() {
        check("AAbbcc", 2, &[4, 5]);
        check("AbcAbc", 2, &[2, 5]);
        check("AAbbbcc", 3, &[2, 3, 4]);
        check("AAbbbcc", 4, &[2, 3, 4, 6]);
        check("AAbbcc", 4, &[2, 3, 4, 5]);
    }

    #[test]
    fn what_is_left_comes_from_the_smallest_host() {
        check("AAbbbcc", 1, &[6]);
        check("AAabc", 3, &[2, 3, 4]);
        check("AAa", 1, &[2]);
    }

    #[test]
    fn the_host_of_rank_0_is_the_last() {
        check("abb", 1, &[2]);
        check("aab", 1, &[2]);
        check("aab", 2, &[1, 2]);
        check("aaaa", 2, &[2, 3]);
    }
}
