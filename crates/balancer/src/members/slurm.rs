//! Slurm's lists of nodes, as in `SLURM_JOB_NODELIST`: `node[01-03,7],gpu1`.

/// Hosts of one list at most.
const N_HOSTS_MAX: usize = 65_536;

/// Why a list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeListError {
    /// A bracket that is not closed, or was not opened.
    #[error(
        "the brackets of the node list `{list}` do not match; write it as `node[01-03,7],gpu1`"
    )]
    Brackets {
        /// The list.
        list: String,
    },
    /// Something in brackets that is neither a number nor a range.
    #[error("`{range}` in the node list `{list}` is no range; write `7` or `01-03`")]
    Range {
        /// The list.
        list: String,
        /// What stands there.
        range: String,
    },
    /// An empty name.
    #[error("the node list `{list}` has an empty name; write it as `node[01-03,7],gpu1`")]
    Empty {
        /// The list.
        list: String,
    },
    /// More than any cluster has.
    #[error("the node list `{list}` has more than {N_HOSTS_MAX} nodes")]
    TooMany {
        /// The list.
        list: String,
    },
}

/// The names of all hosts of a list, in its order.
///
/// # Errors
/// It is not written as Slurm writes lists.
pub fn expand_node_list(list: &str) -> Result<Vec<String>, NodeListError> {
    let mut hosts = Vec::new();
    for word in words(list)? {
        let expanded = expand(list, word)?;
        if N_HOSTS_MAX < hosts.len() + expanded.len() {
            return Err(NodeListError::TooMany { list: list.to_owned() });
        }
        hosts.extend(expanded);
    }
    Ok(hosts)
}

/// Splits at commas that stand outside of brackets.
fn words(list: &str) -> Result<Vec<&str>, NodeListError> {
    let brackets = || NodeListError::Brackets { list: list.to_owned() };
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
        return Err(NodeListError::Empty { list: list.to_owned() });
    }
    Ok(words)
}

/// One word: every combination of what stands in its brackets, the last changing first.
fn expand(list: &str, word: &str) -> Result<Vec<String>, NodeListError> {
    let mut hosts = vec![String::new()];
    let mut rest = word;
    while let Some((before, (inner, after))) =
        rest.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?)))
    {
        let numbers = numbers(list, inner)?;
        if N_HOSTS_MAX < hosts.len().saturating_mul(numbers.len()) {
            return Err(NodeListError::TooMany { list: list.to_owned() });
        }
        hosts = hosts
            .iter()
            .flat_map(|host| numbers.iter().map(move |number| format!("{host}{before}{number}")))
            .collect();
        rest = after;
    }
    hosts.iter_mut().for_each(|host| host.push_str(rest));
    Ok(hosts)
}

/// What stands in brackets: numbers and ranges; a range has as many digits as its first number.
fn numbers(list: &str, inner: &str) -> Result<Vec<String>, NodeListError> {
    let mut numbers = Vec::new();
    for range in inner.split(',').map(str::trim) {
        let wrong = || NodeListError::Range { list: list.to_owned(), range: range.to_owned() };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let value = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse::<u32>().ok()).flatten().ok_or_else(wrong)
        };
        let (from, to, n_digits) = (value(first)?, value(last)?, first.len());
        if to < from {
            return Err(wrong());
        }
        if N_HOSTS_MAX <= usize::try_from(to - from).unwrap_or(usize::MAX) + numbers.len() {
            return Err(NodeListError::TooMany { list: list.to_owned() });
        }
        numbers.extend((from..=to).map(|number| format!("{number:0n_digits$}")));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, expected: &[&str]) {
        assert_eq!(
            expand_node_list(list).as_deref(),
            Ok(expected.map_to_owned().as_slice()),
            "{list}"
        );
    }

    trait MapToOwned {
        fn map_to_owned(&self) -> Vec<String>;
    }

    impl MapToOwned for [&str] {
        fn map_to_owned(&self) -> Vec<String> {
            self.iter().map(|&host| host.to_owned()).collect()
        }
    }

    #[track_caller]
    fn wrong(list: &str, expected: &str) {
        let error = expand_node_list(list).unwrap_err().to_string();
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
        wrong("a[99999999999]", "is no range");
        wrong("a[0-4294967295]", "more than 65536");
        wrong("a[1-999]b[1-999]", "more than 65536");
    }
}
