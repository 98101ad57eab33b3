//! Parses node names with brackets.

use crate::error::{Mistake, NodeListError};
use crate::{N_NODES_MAX, NAME_BYTES_MAX};
use std::str::FromStr;

/// Returns the names of all nodes of a list, in its order.
///
/// # Errors
/// If the list is not in Slurm's form.
pub fn expand(list: &str) -> Result<Vec<String>, NodeListError> {
    let mut nodes = Vec::new();
    for word in words(list)? {
        nodes.extend(of_word(list, word, N_NODES_MAX - nodes.len())?);
    }
    Ok(nodes)
}

/// Splits a list at commas that stand outside of brackets.
///
/// # Errors
/// If brackets do not match, or a word is empty.
pub fn words(list: &str) -> Result<Vec<&str>, NodeListError> {
    let brackets = || Mistake::Brackets.in_list(list);
    let (mut words, mut begin, mut inside) = (Vec::new(), 0, false);
    for (idx, letter) in list.char_indices() {
        match letter {
            '[' if inside => return Err(brackets()),
            ']' if !inside => return Err(brackets()),
            '[' | ']' => inside = !inside,
            ',' if !inside => {
                words.push(&list[begin..idx]);
                begin = idx + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(brackets());
    }
    words.push(&list[begin..]);
    let words: Vec<&str> = words.into_iter().map(str::trim).collect();
    if words.iter().any(|word| word.is_empty()) {
        return Err(Mistake::Empty.in_list(list));
    }
    Ok(words)
}

/// Expands one word to every combination of the numbers in its brackets, the last changing fastest; at most
/// `n_room` names.
pub(crate) fn of_word(list: &str, word: &str, n_room: usize) -> Result<Vec<String>, NodeListError> {
    let too_many = || Mistake::TooMany.in_list(list);
    let mut nodes = vec![String::new()];
    let mut rest = word;
    while let Some((before, (inner, after))) =
        rest.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?)))
    {
        let numbers = numbers(list, inner)?;
        if n_room < nodes.len().saturating_mul(numbers.len()) {
            return Err(too_many());
        }
        // All names are nearly as long as the longest, so that this bounds the memory of what follows.
        let longest = numbers.iter().map(String::len).max().unwrap_or(0) + before.len();
        check_length(list, nodes.last().map_or(0, String::len).saturating_add(longest))?;
        nodes = nodes
            .iter()
            .flat_map(|node| numbers.iter().map(move |number| format!("{node}{before}{number}")))
            .collect();
        rest = after;
    }
    if n_room < nodes.len() {
        return Err(too_many());
    }
    for node in &mut nodes {
        check_length(list, node.len().saturating_add(rest.len()))?;
        node.push_str(rest);
    }
    Ok(nodes)
}

fn check_length(list: &str, n_bytes: usize) -> Result<(), NodeListError> {
    let too_long = || Mistake::TooLong.in_list(list);
    (n_bytes <= NAME_BYTES_MAX).then_some(()).ok_or_else(too_long)
}

/// Expands the contents of a bracket: numbers and ranges, with as many digits as the first number of the range.
fn numbers(list: &str, inner: &str) -> Result<Vec<String>, NodeListError> {
    let mut numbers = Vec::new();
    for range in inner.split(',').map(str::trim) {
        let wrong = || Mistake::Range(range).in_list(list);
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let value = |digits: &str| number::<u64>(digits).ok_or_else(wrong);
        let (from, to, n_digits) = (value(first)?, value(last)?, first.len());
        if to < from {
            return Err(wrong());
        }
        check_length(list, n_digits)?;
        if N_NODES_MAX <= usize::try_from(to - from).unwrap_or(usize::MAX) + numbers.len() {
            return Err(Mistake::TooMany.in_list(list));
        }
        numbers.extend((from..=to).map(|number| format!("{number:0n_digits$}")));
    }
    Ok(numbers)
}

/// Reads a number that consists of digits only.
pub(crate) fn number<N: FromStr>(digits: &str) -> Option<N> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(list: &str, expected: &[&str]) {
        let expected = expected.iter().map(|node| (*node).to_owned()).collect();
        assert_eq!(expand(list), Ok(expected), "{list}");
    }

    #[track_caller]
    fn wrong(list: &str, expected: &str) {
        let error = expand(list).unwrap_err().to_string();
        assert!(error.contains(expected), "{list}: {error}");
    }

    #[test]
    fn a_list_is_names_and_ranges() {
        check("n1", &["n1"]);
        check("n1,n2", &["n1", "n2"]);
        check("node[01-03,7],gpu1", &["node01", "node02", "node03", "node7", "gpu1"]);
        check("n[9-11]", &["n9", "n10", "n11"]);
        check("n[099-101]", &["n099", "n100", "n101"]);
        check("r[1-2]n[1-2]", &["r1n1", "r1n2", "r2n1", "r2n2"]);
        check("a[1-2]-ib0.x, b", &["a1-ib0.x", "a2-ib0.x", "b"]);
        check("[1-2]", &["1", "2"]);
        check("n[5-5]", &["n5"]);
        // Node numbers can be dates.
        check("n[20261123001-20261123002]", &["n20261123001", "n20261123002"]);
    }

    #[test]
    fn other_lists_are_refused_with_what_is_wrong() {
        wrong("", "has an empty name");
        wrong("a,,b", "has an empty name");
        wrong("a[1", "do not match");
        wrong("a1]", "do not match");
        wrong("a[1[2]]", "do not match");
        wrong("a[]", "`` in the node list `a[]` is no range");
        wrong("a[1-]", "`1-` in");
        wrong("a[3-1]", "`3-1` in");
        wrong("a[x]", "`x` in");
        wrong("a[1-2-3]", "`1-2-3` in");
        wrong("a[+1]", "`+1` in");
        wrong("a[99999999999999999999]", "is no range");
    }

    #[test]
    fn what_comes_of_a_list_is_bounded() {
        wrong("a[0-4294967295]", "more than 65536");
        wrong("a[1-999]b[1-999]", "more than 65536");
        wrong("a[1-65536],b", "more than 65536");
        wrong(&"n".repeat(256), "more than 255 bytes");
        wrong(&format!("n[{}1-9]", "0".repeat(300)), "more than 255 bytes");
        wrong(&format!("{}[1-9]", "n".repeat(255)), "more than 255 bytes");
    }

    proptest! {
        /// A list without brackets expands to itself, and a range to as many names as numbers.
        #[test]
        fn ranges_have_their_numbers(first in 0_u32..2000, n in 1_u32..300, racks in 1_u32..5) {
            let list = format!("r[1-{racks}]n[{first:03}-{:03}]", first + n - 1);
            let nodes = expand(&list).unwrap();
            prop_assert_eq!(nodes.len(), (n * racks) as usize);
            prop_assert_eq!(expand(&nodes.join(",")).unwrap(), nodes);
        }
    }
}
