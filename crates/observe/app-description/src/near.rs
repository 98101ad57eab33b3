//! Suggestions for misspelled words.

/// Returns the candidate nearest to `word` if it is near enough for a typing error.
///
/// Swapped neighboring letters count as one error, wrong case as none.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let n_slips_max = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= n_slips_max)
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), candidate))
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
