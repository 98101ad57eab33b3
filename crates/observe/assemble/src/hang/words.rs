//! Words of the explanation: ranks in short, ordinal numbers.

/// Number of ranges of ranks that are written out.
const N_RANGES_MAX: usize = 8;

/// Returns `0-3, 7`, given ranks in ascending order; the rest of a long list is counted.
pub(super) fn ranges(ranks: &[u32]) -> String {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => found.push((*rank, *rank)),
        }
    }
    let told = found.iter().take(N_RANGES_MAX).map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    let told = told.collect::<Vec<_>>().join(", ");
    match found.len().checked_sub(N_RANGES_MAX) {
        Some(1..) => format!("{told}, ... ({} in all)", ranks.len()),
        _ => told,
    }
}

/// Returns `rank 3` or `ranks 0-3`.
pub(super) fn plural_ranks(ranks: &[u32]) -> String {
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, ranges(ranks))
}

/// Returns `1st`, `2nd`, `11th`.
pub(super) fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_a_row_are_a_range() {
        let check = |ranks: &[u32], expected: &str| assert_eq!(ranges(ranks), expected);
        check(&[], "");
        check(&[3], "3");
        check(&[3, 4, 6], "3, 4, 6");
        check(&[0, 1, 2, 3, 7], "0-3, 7");
        check(
            &(0..40).map(|rank| 2 * rank).collect::<Vec<_>>(),
            "0, 2, 4, 6, 8, 10, 12, 14, ... (40 in all)",
        );
    }

    #[test]
    fn numbers_have_their_endings() {
        for (number, expected) in
            [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (112, "112th"), (121, "121st")]
        {
            assert_eq!(ordinal(number), expected);
        }
    }
}
