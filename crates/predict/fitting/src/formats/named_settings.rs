//! Parameters in the name of a folder or a file, as Extra-P wants them: `NAME.p4.n100.r1` has `p` and `n`.
//!
//! The name may lack `NAME.`, and points between parameters. `r1` is the number of the repetition.

/// Returns the parameters of a file: those of its folder's name, or else of its own.
pub(super) fn of_path(path: &str) -> Vec<(String, f64)> {
    let mut names = path.rsplit('/').filter(|name| !name.is_empty());
    let file = names.next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let folder = names.next().and_then(of_name);
    folder.or_else(|| of_name(stem)).unwrap_or_default()
}

/// Returns the parameters of a name; `None` unless it has words and numbers in turn.
fn of_name(name: &str) -> Option<Vec<(String, f64)>> {
    let parts = name.split_once('.').map_or(name, |(_, parts)| parts);
    let mut rest = without_repetition(parts);
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_at(rest.find(is_of_number)?);
        let end = after.find(|letter| !is_of_number(letter)).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        let value = number.replace(',', ".").trim_end_matches('.').parse().ok()?;
        if !name.contains(char::is_alphabetic) {
            return None;
        }
        found.push((name.to_owned(), value));
        rest = after;
    }
    Some(found).filter(|found| !found.is_empty())
}

fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '.' || letter == ','
}

/// Removes the number of the repetition from the end.
fn without_repetition(parts: &str) -> &str {
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
    parts
        .rsplit_once(".r")
        .filter(|(_, number)| is_number(number))
        .map_or(parts, |(parts, _)| parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &[(&str, f64)]) {
        let expected: Vec<(String, f64)> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        assert_eq!(of_path(path), expected);
    }

    #[test]
    fn a_name_has_words_and_numbers_in_turn() {
        check("mm.p4.n100.r1/profile.cubex", &[("p", 4.0), ("n", 100.0)]);
        check("all/mm.x1y2z3/profile.cubex", &[("x", 1.0), ("y", 2.0), ("z", 3.0)]);
        check("x10y1/profile.cubex", &[("x", 10.0), ("y", 1.0)]);
        check("mm.x21.5,y21,5,z1.15.r1/a.cubex", &[("x", 21.5), ("y", 21.5), ("z", 1.15)]);
        check("scan/mm.p4.n100.cubex", &[("p", 4.0), ("n", 100.0)]);
        check("mm.relax2.p8.r10/profile.cubex", &[("relax", 2.0), ("p", 8.0)]);
    }

    #[test]
    fn another_name_has_none() {
        for path in
            ["", "profile.cubex", "scorep-20260101_1200_123/profile.cubex", "a.p4.b/x.cubex"]
        {
            check(path, &[]);
        }
    }
}
