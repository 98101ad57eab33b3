//! Suggestions for misspelled words.

/// Returns the candidate nearest to `word` if it is near enough for a typing error.
///
/// Swapped neighboring letters count as one error, wrong case as none.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let n_slips_max = (word.len() / 3).max(1);
    let slips = |candidate: &str| {
        let candidate: Vec<char> = candidate.to_lowercase().chars().collect();
        let is_hopeless = n_slips_max < candidate.len().abs_diff(word.len());
        if is_hopeless { usize::MAX } else { distance(&word, &candidate) }
    };
    candidates
        .into_iter()
        .map(|candidate| (slips(candidate), candidate))
        .filter(|(n_slips, candidate)| *n_slips <= n_slips_max && *n_slips < candidate.len())
        .min_by_key(|(n_slips, _)| *n_slips)
        .map(|(_, candidate)| candidate)
}

/// Returns `; did you mean ...?` if there is a near candidate, otherwise the remedy.
pub(crate) fn hint<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    remedy: &str,
) -> String {
    match nearest(word, candidates) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; {remedy}"),
    }
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbors between two words.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, wanted) in to.iter().enumerate() {
            let mut cost =
                (last[j] + usize::from(letter != wanted)).min(last[j + 1] + 1).min(row[j] + 1);
            let is_exchange = 0 < i && 0 < j && *letter == to[j - 1] && from[i - 1] == *wanted;
            if is_exchange {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(nearest(word, ["actor", "function", "at", "attributes", "worker"]), expected);
    }

    #[test]
    fn a_slip_finds_the_word_and_another_word_does_not() {
        check("actor", Some("actor"));
        check("actors", Some("actor"));
        check("wroker", Some("worker"));
        check("Function", Some("function"));
        check("atributs", Some("attributes"));
        check("a", Some("at"));
        check("speed", None);
        check("xy", None);
        check("", None);
    }
}
